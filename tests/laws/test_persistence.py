"""Loaded models equal saved models bit for bit: one law over all exported estimators, including future ones."""

import inspect
import warnings
from functools import cached_property

import numpy as np
import pytest
import sklearn.pipeline
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedGroupKFold, StratifiedKFold
from sklearn.preprocessing import QuantileTransformer

import likely
from likely._constraints import ABSENT, constraints_of
from likely.persistence.registry import CLASSES

EXPORTS = {name: getattr(likely, name) for name in likely.__all__}
NOT_SAVABLE = {"FunctionKernel"}
"""A function is code, which model files do not hold."""
ESTIMATORS = {
    name: export
    for name, export in EXPORTS.items()
    if inspect.isclass(export) and not inspect.isabstract(export)
    if hasattr(export, "get_params") and name not in NOT_SAVABLE
}
REGISTERED = {each.type for each in CLASSES}

BY_LABEL = {"a": 0.25, "b": 0.75}
EXAMPLES = {
    "Bernoulli": [likely.Bernoulli(), likely.Bernoulli(pseudo_count=1, threshold=0.5)],
    "CalibratedClassifier": [
        likely.CalibratedClassifier(likely.GaussianClassifier(tied=True), cv=3),
        likely.CalibratedClassifier(
            likely.LeastSquaresClassifier(), calibrator=likely.AffineCalibrator(training_prior=0.1), cv=KFold(3)
        ),
        likely.CalibratedClassifier(likely.Perceptron(max_iter=3), cv=StratifiedKFold(3, shuffle=True, random_state=1)),
        likely.CalibratedClassifier(likely.make_pipeline(likely.PCA(2), likely.GaussianClassifier()), cv=LeaveOneOut()),
        likely.CalibratedClassifier(
            likely.FisherClassifier(), calibrator=likely.IsotonicCalibrator(bounded=True), cv=3
        ),
    ],
    "Categorical": [
        likely.Categorical(),
        likely.Categorical(pseudo_count=0.5, n_categories=3),
        likely.Categorical(n_categories=[2, 3, 4, 5]),
    ],
    "Encode": [likely.Encode(), likely.Encode(max_categories=2)],
    "FusedClassifier": [
        likely.FusedClassifier([likely.GaussianClassifier(), likely.LogisticRegression(0.1)], cv=3),
        likely.FusedClassifier({"g": likely.GaussianClassifier(), "n": likely.NearestMeanClassifier()}, cv=3),
        likely.FusedClassifier([("one", likely.GaussianClassifier("diagonal"))], fuser=likely.VotingFusion(), cv=3),
    ],
    "Gaussian": [likely.Gaussian(), likely.Gaussian("diagonal"), likely.Gaussian(likely.Spherical(unbiased=True))],
    "GaussianClassifier": [
        *(
            likely.GaussianClassifier(shape, tied=tied)
            for shape in ("full", "diagonal", "spherical")
            for tied in (0 > 1, True)
        ),
        likely.GaussianClassifier(likely.Full(shrinkage=0.1, unbiased=True), priors=BY_LABEL),
        likely.GaussianClassifier(likely.Full(shrinkage=0.1, towards="pooled")),
        likely.GaussianClassifier(likely.Full(shrinkage="oas", towards="identity")),
        likely.GaussianClassifier(likely.Diagonal(floor=np.float64(1e-6)), priors=np.array([0.5, 0.5])),
    ],
    "GenerativeClassifier": [
        likely.GenerativeClassifier(likely.Gaussian()),
        likely.GenerativeClassifier(likely.Gaussian(likely.Diagonal(shrinkage=0.1)), priors=BY_LABEL),
    ],
    "Independent": [
        likely.Independent([(likely.Gaussian(), [3, 1]), (likely.Laplace(), "rest")]),
        likely.Independent([(likely.Categorical(), "rest"), (likely.Multinomial(pseudo_count=1), np.array([0, 2]))]),
        likely.Independent(
            [(likely.Independent([(likely.Laplace(), 0), (likely.Laplace(floor=0.1), [1, 2, 3])]), "rest")]
        ),
    ],
    "KernelLogisticRegression": [
        likely.KernelLogisticRegression(),
        likely.KernelLogisticRegression(0.1, kernel="linear", training_prior=(0.2, 0.8), priors=BY_LABEL),
        likely.KernelLogisticRegression(0.1, kernel=likely.RBFKernel(0.1) + 1.0, n_landmarks=7, random_state=0),
    ],
    "KernelPCA": [
        likely.KernelPCA(),
        likely.KernelPCA(3, kernel=2.0 * likely.PolynomialKernel(3) + likely.LinearKernel()),
    ],
    "KernelProduct": [likely.RBFKernel(0.1) * likely.LinearKernel()],
    "KernelSum": [likely.RBFKernel(0.1) + 2.0 * likely.LinearKernel()],
    "LDA": [likely.LDA(), likely.LDA(1)],
    "LinearRegression": [likely.LinearRegression(), likely.LinearRegression(regularization=0.1)],
    "LogisticRegression": [
        likely.LogisticRegression(0.01),
        likely.LogisticRegression(0.01, penalty=likely.ElasticNet(0.3), training_prior=(0.2, 0.8), priors=[0.5, 0.5]),
        likely.LogisticRegression(0.01, solver=likely.GradientDescent(batch=32), tol=0.5),
    ],
    "MixtureClassifier": [
        *(
            likely.MixtureClassifier(2, covariance=shape, tied=tied)
            for shape in ("full", "diagonal", "spherical")
            for tied in (0 > 1, True)
        ),
        likely.MixtureClassifier("bic", covariance="diagonal", floor=likely.AbsoluteFloor(0.1), init=likely.LBG(0.2)),
        likely.MixtureClassifier(
            2, covariance="diagonal", relevance=4.0, init="kmeans", random_state=1, priors=BY_LABEL
        ),
        likely.MixtureClassifier({"a": 1, "b": 3}, floor=0.01),
    ],
    "NystromFeatures": [
        likely.NystromFeatures(5, random_state=0),
        likely.NystromFeatures(kernel="linear", landmarks=[[0.0, 1, 2, 3], [1, 1, 1, 1]]),
    ],
    "OpenSetClassifier": [
        likely.OpenSetClassifier(background=likely.GaussianMixture(2, covariance="diagonal")),
        likely.OpenSetClassifier(likely.Gaussian(), background=likely.Gaussian("diagonal")),
        likely.OpenSetClassifier(likely.Gaussian("diagonal"), background=likely.Gaussian(), unknown="a"),
    ],
    "Perceptron": [
        likely.Perceptron(keep=keep, max_iter=4, shuffle=True, random_state=0) for keep in ("average", "pocket", "last")
    ],
    "PCA": [likely.PCA(), likely.PCA(2), likely.PCA(0.9)],
    "Pipeline": [
        likely.make_pipeline(likely.Standardize(), likely.PCA(2), likely.LDA(), likely.GaussianClassifier(tied=True)),
        likely.make_pipeline(likely.QuadraticFeatures(), likely.LogisticRegression(0.1)),
        likely.make_pipeline(likely.RadialFeatures(5, random_state=0), likely.LeastSquaresClassifier()),
        likely.make_pipeline(likely.Fill(), QuantileTransformer(n_quantiles=9), likely.FisherClassifier()),
        likely.make_pipeline(likely.Standardize(), "passthrough", likely.GaussianClassifier("diagonal")),
        likely.make_pipeline(likely.Center(), likely.Whiten(by="within"), likely.PCA(2)),
        likely.make_pipeline(sklearn.pipeline.make_pipeline(likely.Fill()), likely.NearestMeanClassifier()),
    ],
    "SVM": [
        likely.SVM(),
        likely.SVM(10.0, kernel="rbf", training_prior=(0.2, 0.8), solver=likely.DualSolver(cache_mb=1)),
        likely.SVM(kernel=likely.PolynomialKernel(3) * 0.1, bias_scale=1.0, multiclass="ovo", tol=1e-3),
        likely.SVM(regularization=0.01, solver=likely.PrimalSolver(max_iter=300)),
        likely.SVM(multiclass="joint"),
        likely.SVM(kernel="rbf", bias_scale=2.0, multiclass="joint"),
    ],
    "DualSolver": [likely.DualSolver(cache_mb=10.0, max_iter=5)],
    "PrimalSolver": [likely.PrimalSolver(max_iter=5)],
    "QuadraticFeatures": [likely.QuadraticFeatures(), likely.QuadraticFeatures(kernel=True)],
    "AbsoluteFloor": [likely.AbsoluteFloor(0.1)],
    "LBG": [likely.LBG(0.2)],
    "KMeansStart": [likely.KMeansStart(3)],
    "RandomStart": [likely.RandomStart(3)],
    "KMeans": [likely.KMeans(3, random_state=0), likely.KMeans(2, init=[[0.0, 1, 2, 3], [1, 1, 1, 1]])],
    "GaussianMixture": [
        *(
            likely.GaussianMixture(2, covariance=shape, tied=tied)
            for shape in ("full", "diagonal")
            for tied in (False, True)
        ),
        likely.GaussianMixture(2, init=likely.KMeansStart(2), random_state=0, floor=likely.AbsoluteFloor(0.01)),
        likely.GaussianMixture(2, init=[[0.0, 1, 2, 3], [1, 1, 1, 1]], assignments="hard"),
        likely.GaussianMixture(1, init=([1.0], [[0.0, 1, 2, 3]], [[1.0, 1, 1, 1]])),
    ],
    "Mixture": [likely.Mixture(likely.Laplace(), n_components=2, random_state=0)],
    "RadialFeatures": [
        likely.RadialFeatures(3, random_state=0),
        likely.RadialFeatures(centers=[[0.0, 1, 2, 3], [1, 1, 1, 1]], width=2),
    ],
    "Whiten": [likely.Whiten(), likely.Whiten(form="pca", by="within")],
}
WITHOUT_CLASSES = (likely.LinearRegression, likely.QuadraticFeatures, likely.GaussianMixture)
MODELS = [model for name, export in ESTIMATORS.items() for model in EXAMPLES.get(name) or [export()]]
OUTPUTS = ["log_likelihood", "llr", "predict_log_proba", "predict", "decision_function", "transform", "log_density"]

pytestmark = [
    pytest.mark.filterwarnings("ignore::likely.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning"),
]
everything = pytest.mark.parametrize("model", MODELS, ids=lambda m: str(m).replace("\n", "").replace(" ", "")[:90])


def is_discrete(model):
    parts = [density for density, _ in model.parts] if isinstance(model, likely.Independent) else [model]
    return any(isinstance(part, (likely.Bernoulli, likely.Categorical, likely.Multinomial)) for part in parts)


def is_fuser(model):
    return type(model).__name__.endswith("Fusion")


def is_calibrator(model):
    return type(model).__name__.endswith("Calibrator")


def rows_for(model, rng, n_classes, framed):
    """Return rows and labels that a model can learn from."""
    n = 60
    y = np.array(["a", "b", "ç\n"])[np.arange(n) % n_classes]
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + np.arange(n)[:, None] % n_classes * [1.0, 0.5, 0.0, 1.0] + 3
    if is_discrete(model):
        X = np.rint(np.abs(X)) % 2
    if is_fuser(model):
        return X[:, :3] if n_classes == 2 else np.stack([X[:, :3], X[:, 1:]], axis=1), y
    if is_calibrator(model):
        return X[:, 0] if n_classes == 2 else X[:, :n_classes], y
    if isinstance(model, likely.Encode):
        pd = pytest.importorskip("pandas")
        texts = np.array(["", "=", "(other)", "ü\x00\n", "x" * 99, None, "  "], dtype=object)
        frame = pd.DataFrame({"age": X[:, 0], "what / ever": rng.choice(texts, n), "flag": y, "Ω": X[:, 1]})
        return frame, y
    if framed:
        X = pytest.importorskip("pandas").DataFrame(X, columns=["one", "two/2", "drei'", "__class__"])
    return X, X[:, 0] if isinstance(model, likely.LinearRegression) and not framed else y


def target_for(model, X, y):
    return np.asarray(X)[:, 1] if isinstance(model, likely.LinearRegression) else y


def fitted(model, X, y, weight=None):
    """Return a fitted copy; skip the test if the model cannot learn from such rows."""
    model = clone(model)
    y = target_for(model, X, y)
    if not hasattr(model, "fit"):
        return model
    weights = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(X, y, **weights)
        except (likely.InvalidDataError, likely.InvalidParameterError, likely.IncompatiblePartsError) as error:
            pytest.skip(f"cannot learn from such rows: {error}")


def skipped_of(cls):
    """Return the names of cached properties and of attributes that are not saved."""
    inputs = {**constraints_of(cls), **getattr(cls, "_inputs", {})}
    unsaved = {name for name, constraint in inputs.items() if not constraint.saved}
    owner = {"pipeline"} if cls.__name__ == "ChainSums" else set()  # the pipeline that holds these sums
    return unsaved | owner | {name for name in dir(cls) if isinstance(getattr(cls, name, None), cached_property)}


def assert_same(a, b, where="model"):
    """Assert that all attributes are equal bit for bit, except cached properties and attributes that are not saved."""
    assert type(a) is type(b), where
    if a is ABSENT:
        return
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        assert a.tolist() == b.tolist() if a.dtype.kind in "UO" else a.tobytes() == b.tobytes(), where
        assert a.ndim < 2 or a.flags.f_contiguous == b.flags.f_contiguous, where
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            assert_same(left, right, f"{where}[{i}]")
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif hasattr(a, "__dict__"):
        skipped = skipped_of(type(a))
        left, right = ({k: v for k, v in vars(x).items() if k not in skipped} for x in (a, b))
        assert set(left) == set(right), where
        for name in left:
            assert_same(left[name], right[name], f"{where}.{name}")
    else:
        assert a == b or (a != a and b != b), where


def outputs(model, X):
    """Return all outputs of a model for rows, or the error message of each that raises."""
    found = {}
    for name in OUTPUTS:
        try:
            found[name] = getattr(model, name)(X)
        except (likely.LikelyError, AttributeError) as error:
            found[name] = str(error)
    return found


def round_trip(model, path):
    likely.save(model, path)
    return likely.load(path)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_exported_estimator_is_registered(name):
    assert ESTIMATORS[name] in REGISTERED, (
        f"likely.{name} cannot be saved: add it to likely/persistence/registry.py, and examples to this file if it "
        "needs arguments."
    )


@everything
@pytest.mark.parametrize(("n_classes", "framed", "weighted"), [(2, False, False), (3, True, False), (2, True, True)])
def test_a_loaded_model_equals_the_saved_model(model, n_classes, framed, weighted, rng, tmp_path):
    X, y = rows_for(model, rng, n_classes, framed)
    model = fitted(model, X, y, rng.integers(1, 4, size=len(y)).astype(float) if weighted else None)
    path = tmp_path / "model"

    loaded = round_trip(model, path)

    assert_same(model, loaded)
    assert_same(model.get_params(), loaded.get_params())
    assert_same(outputs(model, X), outputs(loaded, X))
    before = path.read_bytes()
    likely.save(loaded, path)
    assert path.read_bytes() == before


@everything
def test_an_unfitted_model_is_loaded_unfitted(model, tmp_path):
    assert_same(model, round_trip(model, tmp_path / "model"))


@everything
def test_partial_fit_continues_after_loading(model, rng, tmp_path):
    if not hasattr(model, "partial_fit"):
        pytest.skip("has no partial_fit")
    X, y = rows_for(model, rng, 2, False)
    t = target_for(model, X, y)
    model = clone(model)
    classes = {} if isinstance(model, WITHOUT_CLASSES) else {"classes": ["a", "b"]}
    try:
        model.partial_fit(X[:30], t[:30], **classes)
    except likely.IncompatiblePartsError:
        pytest.skip("a pipeline with a step that has no partial_fit")

    loaded = round_trip(model, tmp_path / "model").partial_fit(X[30:], t[30:])
    model.partial_fit(X[30:], t[30:])

    assert_same(outputs(model, X), outputs(loaded, X))
    assert_same(model, loaded)


def test_batches_too_small_for_an_estimate_are_saved(tmp_path):
    model = likely.make_pipeline(likely.Standardize(), likely.GaussianClassifier()).partial_fit(
        [[0.0], [1.0]], ["a", "a"], classes=["a", "b"]
    )

    loaded = round_trip(model, tmp_path / "model")

    with pytest.raises(likely.NotEnoughDataError):
        loaded.predict([[1.0]])
    assert loaded.partial_fit([[5.0], [6.0]], ["b", "b"]).predict([[5.5]]) == ["b"]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1]),
        np.array([2**63, 1], dtype=np.uint64),
        np.array([True, False]),
        np.array([1.0, -2.0]),
        np.array(["b", "a"], dtype="U9"),
        np.array([b"b", b"\xff"]),
        np.array(["b", "\U0001f600"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels, rng, tmp_path):
    X, y = rng.normal(size=(20, 2)), labels[np.arange(20) % 2]
    priors = dict.fromkeys(np.unique(y).tolist(), 0.5)
    model = likely.GaussianClassifier(priors=priors).fit(X, y)

    loaded = round_trip(model, tmp_path / "model")

    assert_same(model, loaded)
    assert_same(model.predict(X), loaded.predict(X))


@pytest.mark.parametrize(
    "cv",
    [
        3,
        None,
        KFold(3, shuffle=True, random_state=4),
        GroupKFold(3),
        StratifiedGroupKFold(3),
        [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))],
        [[list(range(30)), list(range(30, 60))], [list(range(30, 60)), list(range(30))]],
    ],
    ids=lambda cv: str(cv)[:30],
)
def test_folds_are_saved_as_parameters(cv, rng, tmp_path):
    X, y = rows_for(None, rng, 2, False)
    model = likely.CalibratedClassifier(likely.GaussianClassifier(), cv=cv)
    model.fit(X, y, groups=np.arange(60) % 7 if "Group" in str(cv) else None)

    loaded = round_trip(model, tmp_path / "model")

    assert_same(model, loaded)
    assert loaded.scores_ is None
    assert loaded.calibrated_scores_ is None


def test_prefitted_models_are_saved_once_and_stay_one_object(rng, tmp_path):
    X, y = rows_for(None, rng, 2, False)
    systems = [likely.GaussianClassifier().fit(X, y), likely.PCA(2).fit(X) and likely.FisherClassifier().fit(X, y)]

    for model in (
        likely.CalibratedClassifier(systems[0], cv="prefit").fit(X, y),
        likely.FusedClassifier(systems, cv="prefit").fit(X, y),
    ):
        loaded = round_trip(model, tmp_path / "model")
        given = loaded.estimators if hasattr(loaded, "estimators") else [loaded.estimator]
        assert all(a is b for a, b in zip(given, loaded.models_, strict=True))
        assert_same(outputs(model, X), outputs(loaded, X))


def test_a_fusion_of_given_scores_is_saved(rng, tmp_path):
    scores, y = rng.normal(size=(60, 2)) + np.arange(60)[:, None] % 2, np.arange(60) % 2
    model = likely.FusedClassifier(cv=3).fit(scores, y)

    assert_same(outputs(model, scores), outputs(round_trip(model, tmp_path / "model"), scores))


def test_the_separator_and_the_centre_of_far_rows_are_saved(rng, tmp_path):
    X, y = np.arange(8.0)[:, None] + [0, 1e9], np.arange(8) > 3

    model = likely.LogisticRegression().fit(X, y)
    loaded = round_trip(model, tmp_path / "model")

    assert model.separator_ is not None
    assert_same(model, loaded)
    assert_same(outputs(model, X), outputs(loaded, X))


def test_a_loaded_model_marginalises_missing_values_in_the_same_way(rng, tmp_path):
    X, y = rows_for(None, rng, 2, False)
    model = likely.GaussianClassifier().fit(X, y)
    X[::3, 1] = np.nan

    assert_same(outputs(model, X), outputs(round_trip(model, tmp_path / "model"), X))


def test_the_shape_of_predictions_is_the_same_after_loading(rng, tmp_path):
    X = rng.normal(size=(20, 3))
    for y in (X[:, 0], X[:, :1], X[:, :2]):
        model = likely.LinearRegression().fit(X, y)
        loaded = round_trip(model, tmp_path / "model")
        assert loaded.predict(X).shape == y.shape
        assert_same(model, loaded)


@pytest.mark.parametrize(
    "model",
    [
        likely.Application({"a": 0.1, "b": 0.2, None: 0.7}, reject_cost=0.3),
        likely.Application(np.full(7, 1 / 7)),
        likely.Application.binary(0.01, cost_fn=10, positive="spam"),
        likely.ElasticNet(0.2),
        likely.GradientDescent(batch=3, learning_rate=0.5),
        likely.LinearKernel(),
        likely.PolynomialKernel(3, offset=0.5),
        likely.RBFKernel(),
        likely.RBFKernel(np.float64(0.25)),
        likely.PrecomputedKernel(),
        likely.ConstantKernel(2),
        (likely.RBFKernel(0.1) + 2.0) * (likely.LinearKernel() * 0.5 + likely.PolynomialKernel()),
        likely.models.QuadraticForm(None, np.arange(3.0), 1.0),
        likely.models.QuadraticForm(np.eye(2), np.arange(2.0), 0.5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_parts_of_models_are_saved_by_themselves(model, tmp_path):
    loaded = round_trip(model, tmp_path / "model")

    assert_same(model, loaded)
    assert repr(model) == repr(loaded)


def test_the_output_container_is_saved(rng, tmp_path):
    pytest.importorskip("pandas")
    model = likely.PCA(2).set_output(transform="pandas").fit(rng.normal(size=(9, 3)))

    loaded = round_trip(model, tmp_path / "model")

    assert loaded.transform(np.ones((1, 3))).columns.tolist() == ["pca0", "pca1"]


def test_only_outputs_for_training_rows_are_not_saved():
    left_out = {
        (each.key, name)
        for each in CLASSES
        for name, constraint in {**each.fields, **getattr(each.type, "_inputs", {})}.items()
        if not constraint.saved
    }

    assert left_out == {("KMeans", "labels_")} | {
        (kind, name)
        for kind in ("CalibratedClassifier", "FusedClassifier")
        for name in ("scores_", "calibrated_scores_")
    }
