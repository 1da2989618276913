"""Out-of-fold scores from sums equal those of refitting."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneOut, PredefinedSplit, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC

import likely
from likely import (
    LDA,
    PCA,
    SVM,
    DegenerateDataError,
    FunctionKernel,
    GaussianClassifier,
    InvalidDataError,
    KernelLogisticRegression,
    KernelPCA,
    NearestMeanClassifier,
    NystromFeatures,
    Pipeline,
    RBFKernel,
    Standardize,
    Whiten,
    kfold_scores,
    make_pipeline,
)
from likely.kernels import GramRows

GAUSSIANS = [
    GaussianClassifier(shape, tied=tied) for shape in ("full", "diagonal", "spherical") for tied in (False, True)
]
SHRUNK = [
    GaussianClassifier(likely.Full(shrinkage=0.2, unbiased=True)),
    GaussianClassifier(likely.Full(shrinkage=0.2, towards="pooled", unbiased=True)),
    GaussianClassifier(likely.Full(shrinkage=0.2, towards="identity")),
    GaussianClassifier(likely.Full(shrinkage="oas", towards="identity"), tied=True),
]
MAPPED = [
    *GAUSSIANS,
    *SHRUNK,
    NearestMeanClassifier(),
    make_pipeline(PCA(3), GaussianClassifier()),
    make_pipeline(PCA(2), GaussianClassifier("diagonal", tied=True)),
    make_pipeline(PCA(0.9), GaussianClassifier(tied=True)),
    make_pipeline(Standardize(), PCA(3), LDA(), GaussianClassifier()),
    make_pipeline(Standardize(), GaussianClassifier("diagonal")),
    make_pipeline(Whiten(form="pca", by="within"), NearestMeanClassifier()),
]
FOLDS = {
    "stratified": StratifiedKFold(5, shuffle=True, random_state=0),
    "groups": GroupKFold(4),
    "number": 3,
    "predefined": PredefinedSplit(np.arange(150) % 6),
}


@pytest.fixture
def data(rng):
    y = np.array(["a", "b", "c"])[np.arange(150) % 3]
    X = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=(3, 5))[np.arange(150) % 3] * 2
    return X, y


def refitted(model, X, y, splits, weight=None):
    scores = np.empty((len(y), 3))
    for train, test in splits:
        kwargs = {} if weight is None else {"sample_weight": weight[train]}
        scores[test] = clone(model).fit(X[train], y[train], **kwargs).log_likelihood(X[test])
    return scores


@pytest.fixture
def forbid_fitting(monkeypatch):
    def forbidden(self, *args, **kwargs):
        raise AssertionError(f"{type(self).__name__} was fitted on data")

    for kind in (likely.blocks.AdditiveLearner, likely.Pipeline):
        for method in ("fit", "fit_source", "partial_fit"):
            monkeypatch.setattr(kind, method, forbidden)
    monkeypatch.setattr(GaussianClassifier, "fit_source", forbidden)


@pytest.mark.parametrize("folds", FOLDS)
def test_scores_from_one_pass_equal_refitting(folds, data):
    X, y = data
    groups = np.arange(150) // 5 if folds == "groups" else None
    splitter = FOLDS[folds]
    splits = list(StratifiedKFold(3).split(X, y) if folds == "number" else splitter.split(X, y, groups))

    found = kfold_scores(MAPPED, X, y, splitter, groups=groups)

    for model, scores in zip(MAPPED, found, strict=True):
        assert_allclose(scores, refitted(model, X, y, splits), rtol=1e-8, atol=1e-8)


def test_scores_from_one_pass_call_no_fit(data, forbid_fitting):
    X, y = data

    scores = kfold_scores(MAPPED, X, y)

    assert len(scores) == len(MAPPED)
    assert all(np.isfinite(s).all() for s in scores)


def test_cells_take_weights_and_sparse_rows(data, rng):
    X, y = np.round(data[0], 1), data[1]
    w = rng.integers(0, 3, 150).astype(float)
    splits = list(FOLDS["stratified"].split(X, y))

    for model, scores in zip(MAPPED, kfold_scores(MAPPED, csr_array(X), y, splits, sample_weight=w), strict=True):
        assert_allclose(scores, refitted(model, X, y, splits, w), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "model", [*GAUSSIANS, *SHRUNK, GaussianClassifier(likely.Full(unbiased=True), tied=True)], ids=str
)
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_one_out_by_downdating_equals_refitting(model, weighted, data, rng):
    X, y = data
    w = rng.integers(1, 4, 150).astype(float) if weighted else None

    scores = kfold_scores(model, X, y, LeaveOneOut(), sample_weight=w)

    assert_allclose(scores, refitted(model, X, y, LeaveOneOut().split(X), w), rtol=1e-8, atol=1e-8)


def test_leaving_one_out_fits_once_if_no_row_has_high_leverage(data, monkeypatch):
    X, y = data
    fits = []
    original = GaussianClassifier.fit
    monkeypatch.setattr(GaussianClassifier, "fit", lambda self, *a, **k: fits.append(1) or original(self, *a, **k))

    kfold_scores(GaussianClassifier(), X, y, LeaveOneOut())

    assert len(fits) == 1


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize("model", GAUSSIANS, ids=str)
def test_a_row_with_all_variance_of_a_column_is_refitted(model, data):
    X, y = data
    X = np.column_stack([X, np.zeros(150)])
    X[0, -1] = 1.0

    scores = kfold_scores(model, X, y, LeaveOneOut())

    assert_allclose(scores, refitted(model, X, y, LeaveOneOut().split(X)), rtol=1e-7, atol=1e-8)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize("model", GAUSSIANS, ids=str)
def test_a_column_constant_in_one_class_up_to_rounding_is_refitted(model, data):
    X, y = data
    X = X.copy()
    X[y == "b", 2] = 0.1

    scores = kfold_scores(model, X, y, LeaveOneOut())

    assert_allclose(scores, refitted(model, X, y, LeaveOneOut().split(X)), rtol=1e-7, atol=1e-8)


def test_shrunk_covariances_are_refitted_when_leaving_one_out(data):
    X, y = data
    model = GaussianClassifier(likely.Full(shrinkage=0.5))

    scores = kfold_scores(model, X, y, LeaveOneOut())

    assert_allclose(scores, refitted(model, X, y, LeaveOneOut().split(X)), rtol=1e-8)


@pytest.mark.parametrize("model", [GaussianClassifier(), GaussianClassifier("diagonal")], ids=str)
def test_missing_values_are_cross_validated_too(model, data, rng):
    X, y = data
    X = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    splits = list(FOLDS["stratified"].split(X, y))

    assert_allclose(kfold_scores(model, X, y, splits), refitted(model, X, y, splits), rtol=1e-8)


def test_cells_that_would_not_fit_in_memory_are_refitted(data, monkeypatch):
    X, y = data
    monkeypatch.setattr("likely.resampling.chains.MAX_BYTES", 100)
    splits = list(FOLDS["stratified"].split(X, y))
    model = make_pipeline(PCA(3), GaussianClassifier())

    assert_allclose(kfold_scores(model, X, y, splits), refitted(model, X, y, splits), rtol=1e-8)


def test_third_party_models_are_refitted_and_give_their_decision_function(data):
    X, y = data
    splits = list(FOLDS["stratified"].split(X, y))
    foreign = LogisticRegression()
    mixed = make_pipeline(QuantileTransformer(n_quantiles=20), GaussianClassifier())

    ours, theirs, chain = kfold_scores([GaussianClassifier(), foreign, mixed], X, y, splits)

    assert_allclose(ours, refitted(GaussianClassifier(), X, y, splits), rtol=1e-8)
    assert_allclose(chain, refitted(mixed, X, y, splits), rtol=1e-8)
    for train, test in splits:
        assert_allclose(theirs[test], clone(foreign).fit(X[train], y[train]).decision_function(X[test]))


def test_frames_can_be_cross_validated(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=list("pqrst"))

    assert_array_equal(kfold_scores(GaussianClassifier(), frame, y), kfold_scores(GaussianClassifier(), X, y))
    assert kfold_scores(LogisticRegression(), frame, y).shape == (150, 3)


def bumps(gamma):
    """Kernel that cannot be pickled."""
    return lambda A, B: np.exp(-gamma * np.square(A[:, None] - B).sum(axis=2))


@pytest.mark.parametrize(
    "model_of",
    [
        lambda kernel: SVM(kernel=kernel),
        lambda kernel: SVM(kernel=FunctionKernel(kernel)),
        lambda kernel: make_pipeline(NystromFeatures(4, kernel=kernel, random_state=0), NearestMeanClassifier()),
    ],
    ids=["function", "kernel of it", "feature of it"],
)
def test_models_with_different_lambdas_get_different_scores(model_of, data):
    X, y = data[0][:60], np.where(data[1][:60] == "a", "a", "b")
    models = [model_of(bumps(gamma)) for gamma in np.geomspace(0.01, 1, 100)]

    found = kfold_scores(models, X, y, 3)

    for model, scores in zip(models, found, strict=True):
        assert_allclose(scores, kfold_scores(model, X, y, 3), rtol=1e-7, atol=1e-9)
    assert len({scores.tobytes() for scores in found}) == len(models)


BUMPS, OF_NO_NAME = RBFKernel(0.05), bumps(0.05)


@pytest.mark.parametrize("kernel", ["rbf", BUMPS, OF_NO_NAME, FunctionKernel(OF_NO_NAME)], ids=type)
@pytest.mark.parametrize("steps", [[], [Standardize()]], ids=["alone", "in a chain"])
def test_one_kernel_matrix_per_fold_serves_all_costs(kernel, steps, data, monkeypatch):
    X, y = data
    models = [make_pipeline(*steps, SVM(C, kernel=kernel, tol=1e-9)) for C in (10.0, 0.1, 1.0, 100.0)]
    alone = [kfold_scores(model, X, y) for model in models]
    built, build = [], GramRows.__init__
    monkeypatch.setattr(GramRows, "__init__", lambda *args: built.append(1) or build(*args))

    found = kfold_scores(models, X, y)

    assert len(built) == 5
    for one, other in zip(found, alone, strict=True):
        assert_allclose(one, other, atol=1e-3)


def test_kernels_that_differ_are_not_shared(data, monkeypatch):
    X, y = data
    models = [SVM(C, kernel=RBFKernel(gamma)) for gamma in (0.01, 0.1) for C in (1.0, 10.0)]
    built, build = [], GramRows.__init__
    monkeypatch.setattr(GramRows, "__init__", lambda *args: built.append(1) or build(*args))

    found = kfold_scores(models, X, y)

    assert len(built) == 10
    assert len({scores.tobytes() for scores in found}) == 4


PAIRWISE = {
    "svm": lambda kernel: SVM(kernel=kernel, tol=1e-9),
    "logistic": lambda kernel: KernelLogisticRegression(kernel=kernel),
    "chain": lambda kernel: make_pipeline(KernelPCA(2, kernel=kernel), GaussianClassifier()),
    "nothing first": lambda kernel: Pipeline([("none", "passthrough"), ("svm", SVM(kernel=kernel, tol=1e-9))]),
    "theirs": lambda kernel: SVC(kernel=kernel, tol=1e-9),
}


@pytest.mark.parametrize("name", PAIRWISE)
@pytest.mark.parametrize("folds", ["stratified", "some rows unused", "one left out"])
def test_folds_of_a_precomputed_kernel_are_folds_of_the_rows(name, folds, data):
    X, y = (part[:60] for part in data)
    unused = [(np.arange(25, 55), np.arange(25)), (np.arange(25), np.arange(25, 60))]
    splits = {"stratified": 5, "some rows unused": unused, "one left out": LeaveOneOut()}[folds]

    of_kernel = kfold_scores(PAIRWISE[name]("precomputed"), BUMPS(X), y, splits)

    of_rows = kfold_scores(PAIRWISE[name](BUMPS), X, y, splits)
    assert_allclose(of_kernel, of_rows, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["sparse", "pandas", "polars", "pyarrow"])
def test_a_precomputed_kernel_may_come_as_any_table(kind, data):
    K, y = BUMPS(data[0]), data[1]
    columns = {f"c{at}": K[:, at] for at in range(len(K))}
    module = csr_array if kind == "sparse" else pytest.importorskip(kind)
    table = (
        csr_array(K) if kind == "sparse" else module.table(columns) if kind == "pyarrow" else module.DataFrame(columns)
    )

    found = kfold_scores(SVM(kernel="precomputed"), table, y)

    assert_allclose(found, kfold_scores(SVM(kernel="precomputed"), K, y), rtol=1e-9, atol=1e-9)


def test_columns_of_a_precomputed_kernel_are_features_for_other_models(data):
    X, y = data
    K = BUMPS(X)
    distances = np.sqrt(np.square(X[:, None] - X).sum(axis=2))

    pairs, features, path = kfold_scores(
        [SVM(kernel="precomputed", tol=1e-9), NearestMeanClassifier(), SVM(2.0, kernel="precomputed")], K, y
    )
    near = kfold_scores(KNeighborsClassifier(metric="precomputed"), distances, y)

    assert_allclose(pairs, kfold_scores(SVM(kernel=BUMPS, tol=1e-9), X, y), rtol=1e-5, atol=1e-5)
    assert_allclose(features, kfold_scores(NearestMeanClassifier(), K, y))
    assert_allclose(path, kfold_scores(SVM(2.0, kernel=BUMPS), X, y), atol=1e-2)
    assert_allclose(near, kfold_scores(KNeighborsClassifier(), X, y))


def test_a_precomputed_kernel_scores_rows_of_weight_zero_and_does_not_learn_from_them(data, rng):
    X, y = data
    w, splits = rng.integers(0, 3, 150).astype(float), list(FOLDS["stratified"].split(X, y))
    models = [SVM(kernel=kernel, tol=1e-9) for kernel in ("precomputed", BUMPS)]

    found = [kfold_scores(model, Z, y, splits, None, w) for model, Z in zip(models, (BUMPS(X), X), strict=True)]

    assert_allclose(*found, rtol=1e-5, atol=1e-5)


def test_a_kernel_matrix_that_is_not_square_is_rejected(data):
    with pytest.raises(InvalidDataError, match=r"needs a square matrix of all pairs of rows, but X has shape"):
        kfold_scores(SVM(kernel="precomputed"), BUMPS(data[0])[:, :50], data[1])


def test_the_models_given_are_not_changed(data):
    X, y = data
    model = make_pipeline(PCA(2), GaussianClassifier())

    kfold_scores(model, X, y)

    assert not hasattr(model[-1], "statistics_")


def test_test_sets_must_hold_every_row_once(data):
    X, y = data

    with pytest.raises(InvalidDataError, match="must hold every row exactly once, but row"):
        kfold_scores(GaussianClassifier(), X, y, ShuffleSplit(3, random_state=0))


def test_a_class_in_a_single_fold_is_an_error(data):
    X, y = data
    y = np.where(np.arange(150) < 2, "rare", y)

    with pytest.raises(DegenerateDataError, match="Class 'rare' has no rows outside fold 0"):
        kfold_scores(GaussianClassifier(), X, y, PredefinedSplit(np.arange(150) // 50))


def test_different_lengths_are_rejected(data):
    with pytest.raises(InvalidDataError, match="have 150 and 3"):
        kfold_scores(GaussianClassifier(), data[0], ["a", "b", "c"])
