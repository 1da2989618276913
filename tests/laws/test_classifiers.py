"""Laws of every classifier with log-likelihoods, and of pipelines that end in one."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import likely
from likely import (
    LDA,
    PCA,
    Application,
    FisherClassifier,
    GaussianClassifier,
    GenerativeClassifier,
    MixtureClassifier,
    NearestMeanClassifier,
    Standardize,
    Whiten,
    make_pipeline,
)

SHAPES = [
    "full",
    "diagonal",
    "spherical",
    likely.Full(shrinkage=0.3),
    likely.Full(unbiased=True),
    likely.Full(shrinkage=0.3, towards="identity"),
    likely.Full(shrinkage="oas", towards="identity"),
    likely.Diagonal(shrinkage=0.3, unbiased=True),
]
MODELS = [
    NearestMeanClassifier(),
    *(GaussianClassifier(shape, tied=tied) for shape in SHAPES for tied in (False, True)),
    GaussianClassifier(likely.Full(shrinkage=0.3, towards="pooled", unbiased=True)),
]
CHAINS = [
    FisherClassifier(),
    GenerativeClassifier(likely.Gaussian()),
    GenerativeClassifier(likely.Gaussian("diagonal")),
    make_pipeline(PCA(3), GenerativeClassifier(likely.Gaussian())),
    MixtureClassifier(2, floor=0.05),
    MixtureClassifier(2, covariance="diagonal"),
    MixtureClassifier(2, covariance="diagonal", relevance=16.0),
    make_pipeline(Standardize(), PCA(3), MixtureClassifier(2, tied=True)),
    make_pipeline(PCA(3), FisherClassifier()),
    make_pipeline(PCA(3), GaussianClassifier()),
    make_pipeline(Standardize(), PCA(0.9), LDA(), GaussianClassifier(tied=True)),
    make_pipeline(Standardize(), GaussianClassifier("diagonal")),
    make_pipeline(Whiten(by="within"), NearestMeanClassifier()),
    make_pipeline(Whiten(form="pca"), LDA(1), GaussianClassifier("spherical")),
]
everyone = pytest.mark.parametrize("model", MODELS + CHAINS, ids=lambda m: str(m).replace("\n", "").replace(" ", ""))


@pytest.fixture
def data(rng):
    y = np.array(["a", "b", "c"])[rng.choice(3, size=300, p=[0.5, 0.3, 0.2])]
    means = {"a": [0, 0, 0, 0], "b": [2, 1, 0, 0], "c": [0, 2, 3, 0]}
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + np.array([means[label] for label in y])
    return X, y


def assert_same_evidence(a, b, X, rtol=1e-8):
    assert_allclose(a.log_likelihood(X), b.log_likelihood(X), rtol=rtol, atol=rtol)


@everyone
def test_weights_equal_repetition(model, data, rng):
    X, y = data
    repeats = rng.integers(1, 4, 300)

    weighted = clone(model).fit(X, y, sample_weight=repeats.astype(float))
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))

    assert_same_evidence(weighted, repeated, X)


@everyone
def test_rows_of_weight_zero_have_no_effect(model, data, rng):
    X, y = data
    w = (rng.random(300) < 0.7).astype(float)

    dirty = X.copy()
    dirty[w == 0] = 1e6
    assert_same_evidence(clone(model).fit(dirty, y, sample_weight=w), clone(model).fit(X[w > 0], y[w > 0]), X)


@everyone
def test_the_order_of_rows_does_not_matter(model, data, rng):
    X, y = data
    order = rng.permutation(300)

    assert_same_evidence(clone(model).fit(X[order], y[order]), clone(model).fit(X, y), X)


@everyone
@pytest.mark.parametrize("cuts", [[150], [5, 20, 290], [1, 2, 3]])
def test_batches_give_the_same_model_as_one_fit(model, data, cuts):
    X, y = data
    parts = clone(model)
    if not hasattr(model[-1] if isinstance(model, likely.Pipeline) else model, "partial_fit"):
        pytest.skip("learns all at once")

    for rows in np.split(np.arange(300), cuts):
        parts.partial_fit(X[rows], y[rows])

    assert_array_equal(parts.classes_ if hasattr(parts, "classes_") else ["a", "b", "c"], ["a", "b", "c"])
    assert_same_evidence(parts, clone(model).fit(X, y), X)


@everyone
def test_a_source_gives_the_same_model_as_arrays(model, data):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    source = likely.ArraySource(X, codes, classes=np.unique(y), block_rows=17)

    assert_same_evidence(clone(model).fit_source(source), clone(model).fit(X, y), X)


@everyone
def test_priors_only_shift_the_log_posteriors(model, data):
    X, y = data
    plain = clone(model).fit(X, y)
    last = plain.steps[-1][1] if isinstance(plain, likely.Pipeline) else plain
    priors = np.array([0.2, 0.2, 0.6])

    evidence = plain.log_likelihood(X)
    training = plain.predict_log_proba(X)
    last.priors = priors
    shifted = plain.predict_log_proba(X)

    assert_array_equal(plain.log_likelihood(X), evidence)
    shift = shifted - training
    assert_allclose(
        shift - shift[:, :1], np.broadcast_to(_relative(priors / default_priors(last)), shift.shape), atol=1e-8
    )


def _relative(ratio):
    return np.log(ratio) - np.log(ratio[0])


@everyone
def test_relabelling_only_renames_the_classes(model, data):
    X, y = data
    names = {"a": "z", "b": "y", "c": "x"}
    renamed = np.array([names[label] for label in y])

    plain, other = clone(model).fit(X, y), clone(model).fit(X, renamed)

    assert_allclose(other.log_likelihood(X)[:, ::-1], plain.log_likelihood(X), rtol=1e-8)
    assert_array_equal(other.predict(X), [names[label] for label in plain.predict(X)])


@everyone
def test_posteriors_predictions_and_decisions_agree(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)
    last = fitted.steps[-1][1] if isinstance(fitted, likely.Pipeline) else fitted
    posteriors = fitted.predict_proba(X)

    assert_allclose(posteriors.sum(axis=1), 1)
    assert_array_equal(fitted.predict(X), last.classes_[posteriors.argmax(axis=1)])
    assert_array_equal(fitted.decide(X, Application(default_priors(last))), fitted.predict(X))
    assert_allclose(fitted.decision_function(X), fitted.predict_log_proba(X))


@everyone
def test_one_fitted_model_serves_any_application(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)
    before = copy.deepcopy(fitted).log_likelihood(X)

    cautious = fitted.decide(X, Application([0.01, 0.01, 0.98]))
    rejecting = fitted.decide(X, Application([1 / 3] * 3, reject_cost=0.05))

    assert (cautious == "c").mean() > (fitted.predict(X) == "c").mean()
    assert None in rejecting.tolist()
    assert_array_equal(fitted.log_likelihood(X), before)


@everyone
def test_the_llr_of_two_classes_is_the_difference_of_their_log_likelihoods(model, data):
    X, y = data
    two = y != "c"
    fitted = clone(model).fit(X[two], y[two])
    last = fitted.steps[-1][1] if isinstance(fitted, likely.Pipeline) else fitted
    scores = fitted.log_likelihood(X)

    assert_allclose(fitted.llr(X), scores[:, 1] - scores[:, 0], atol=1e-12)
    odds = np.log(default_priors(last)[1] / default_priors(last)[0])
    assert_allclose(fitted.decision_function(X), fitted.llr(X) + odds)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("convert", [csr_array, np.asfortranarray, lambda X: X.tolist()])
def test_every_type_of_input_gives_the_same_log_likelihoods(model, data, convert):
    X, y = np.round(data[0], 1), data[1]
    plain, other = clone(model).fit(X, y), clone(model).fit(convert(X), y)

    assert_allclose(other.log_likelihood(convert(X)), plain.log_likelihood(X), rtol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_are_accepted_and_their_column_names_stored(library, data):
    frames = pytest.importorskip(library)
    X, y = data
    frame = frames.DataFrame({f"x{j}": X[:, j] for j in range(4)})
    fitted = GaussianClassifier().fit(frame, y)

    assert_array_equal(fitted.feature_names_in_, ["x0", "x1", "x2", "x3"])
    assert_allclose(fitted.log_likelihood(frame), GaussianClassifier().fit(X, y).log_likelihood(X))
    renamed = frames.DataFrame({f"z{j}": X[:, j] for j in range(4)})
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(renamed)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_samples_follow_the_model_that_draws_them(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)

    drawn, labels = fitted.sample(60_000, random_state=0)
    again = clone(model).fit(drawn, labels)

    spread = np.sqrt(X.var(axis=0))
    assert_allclose(again.means_ / spread, fitted.means_ / spread, atol=0.06)
    assert_allclose(again.training_priors_, default_priors(fitted), atol=0.01)
    if getattr(model, "covariance", None) in ("full", "diagonal", "spherical"):
        scale = np.abs(fitted.covariances_).max()
        assert_allclose(again.covariances_ / scale, fitted.covariances_ / scale, atol=0.06)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_scoring_marginalises_missing_values(model, data):
    """The density of some columns equals that of the model restricted to those columns."""
    X, y = data
    fitted = clone(model).fit(X, y)
    blank = X.copy()
    blank[:100, [0, 2]] = np.nan
    blank[100:110] = np.nan

    scores = fitted.log_likelihood(blank)

    kept = [1, 3]
    for k in range(3):
        C = fitted.covariances_[k]
        C = C[np.ix_(kept, kept)] if C.ndim == 2 else np.diag(C[kept])
        part = likely.Gaussian(likely.Full(floor=0))
        part.estimate(likely.statistics.Moments(1.0, fitted.means_[k][kept], C))
        assert_allclose(scores[:100, k], part.log_density(X[:100][:, kept]), rtol=1e-9)
    assert_array_equal(scores[100:110], 0)
    assert_allclose(scores[110:], fitted.log_likelihood(X[110:]))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_model_can_be_fitted_with_missing_values(model, data, rng):
    X, y = data
    blank = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    fitted = clone(model).fit(blank, y)

    assert fitted.score(X, y) > clone(model).fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_log_density_mixes_the_classes_and_is_low_for_outliers(model, data):
    X, y = data
    fitted = clone(model).fit(X, y)

    mixed = np.log(np.exp(fitted.log_likelihood(X)) @ default_priors(fitted))
    assert_allclose(fitted.log_density(X), mixed, rtol=1e-9)
    assert fitted.log_density([[100.0] * 4])[0] < mixed.min()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_llr_surface_equals_the_llr(model, data):
    X, y = data
    two = y != "c"
    fitted = clone(model).fit(X[two], y[two])
    surface = fitted.llr_surface()

    assert_allclose(surface(X), fitted.llr(X), rtol=1e-8, atol=1e-8)
    assert (surface.A is None) == getattr(model, "tied", True)


def default_priors(model):
    """Priors of predictions by default: those of training, or equal ones for the nearest mean."""
    equal = np.full(len(model.classes_), 1 / len(model.classes_))
    return equal if isinstance(model, NearestMeanClassifier) else model.training_priors_


def test_the_nearest_mean_is_predicted_whatever_the_shares(data):
    X, y = data
    kept = np.r_[np.flatnonzero(y == "a")[:5], np.flatnonzero(y != "a")]
    model = NearestMeanClassifier().fit(X[kept], y[kept])
    distances = np.linalg.norm(X[:, None] - model.means_, axis=2)

    assert_array_equal(model.predict(X), model.classes_[distances.argmin(axis=1)])
    assert_allclose(model.training_priors_[0], 5 / len(kept))
    weighted = NearestMeanClassifier(priors=model.training_priors_).fit(X[kept], y[kept])
    assert (weighted.predict(X) == "a").sum() < (model.predict(X) == "a").sum()
