"""Regression tests for edge cases that were once wrong."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from likely import (
    LDA,
    PCA,
    Application,
    ArraySource,
    DegenerateDataError,
    DegenerateDataWarning,
    Full,
    Gaussian,
    GaussianClassifier,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    NotEnoughDataError,
    SourceError,
    Standardize,
    Whiten,
    kfold_scores,
    make_pipeline,
)
from likely.statistics import DiagonalMoments, Moments


@pytest.fixture
def data(rng):
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 3)) + y[:, None], y


@pytest.mark.parametrize("bad", ["degenerate", "infinite", "unlabelled"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_error_leaves_the_model_as_it_was(bad, method, data):
    X, y = data
    model = GaussianClassifier(Full(floor=0)).fit(X, y)
    before = model.log_likelihood(X)
    rows = {"degenerate": X[[0, 20]], "infinite": np.full((2, 3), np.inf), "unlabelled": X[:2]}[bad]
    labels = None if bad == "unlabelled" else ["x", "y"]

    with pytest.raises(ValueError, match=r"rank|infinity|requires y|All labels"):
        getattr(model, method)(rows, labels)

    assert_array_equal(model.classes_, [0, 1, 2])
    assert_array_equal(model.log_likelihood(X), before)


def test_a_model_that_was_never_fitted_raises(data):
    X, _ = data
    model = GaussianClassifier()
    with pytest.raises(DegenerateDataError):
        model.fit(X, ["z"] * 60)

    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(X)


def test_a_row_impossible_under_every_class_keeps_its_priors():
    app = Application([0.7, 0.2, 0.1])
    nothing = np.full((1, 3), -np.inf)

    assert_allclose(app.posteriors(nothing), [[0.7, 0.2, 0.1]])
    assert_array_equal(app.decide(nothing, [0, 1, 2]), [0])


def test_a_class_of_prior_zero_has_posterior_zero():
    assert_allclose(Application([1, 0, 0]).posteriors([[-np.inf, 0, 0]]), [[1, 0, 0]])
    assert_array_equal(Application([1.0, 0.0]).decide([np.inf], [0, 1]), [0])


def test_posteriors_take_llrs_and_refuse_nan():
    app = Application([0.5, 0.5])

    assert_allclose(app.posteriors(np.log([3.0])), [[0.25, 0.75]])
    with pytest.raises(InvalidDataError, match="NaN"):
        app.posteriors([[1.0, np.nan]])
    with pytest.raises(InvalidDataError, match="shape"):
        app.expected_costs(np.zeros((2, 3)))


@pytest.mark.parametrize("reject_cost", [np.inf, np.nan, "a"])
def test_a_reject_cost_is_a_finite_number(reject_cost):
    with pytest.raises(InvalidParameterError, match="reject_cost must be a number >= 0"):
        Application([0.5, 0.5], reject_cost=reject_cost)


def test_the_tie_at_the_threshold_does_not_depend_on_the_reject_cost():
    for prior in np.linspace(0.01, 0.99, 99):
        plain, rejecting = Application.binary(prior), Application.binary(prior, reject_cost=50)
        at = np.array([plain.threshold])
        assert_array_equal(plain.decide_codes(at), rejecting.decide_codes(at))


def test_priors_in_single_precision_are_taken():
    assert_allclose(Application(np.array([0.6, 0.3, 0.1], dtype=np.float32)).priors.sum(), 1)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_leaving_one_out_beside_a_floored_class_equals_refitting(covariance, rng):
    X = np.column_stack([rng.normal(size=12), np.r_[np.ones(6), 1, 2, 3, 4, 5, 9.0]])
    y = np.repeat(["a", "b"], 6)
    model = GaussianClassifier(covariance)
    loo = [(np.delete(np.arange(12), i), [i]) for i in range(12)]

    found = kfold_scores(model, X, y, loo)

    for train, test in loo:
        assert_allclose(found[test], clone(model).fit(X[train], y[train]).log_likelihood(X[test]), rtol=1e-6)


def test_training_sets_that_are_not_the_complement_are_respected(data, rng):
    X, y = data
    folds = [(rng.choice(train, len(train)), test) for train, test in StratifiedKFold(3).split(X, y)]

    found = kfold_scores(GaussianClassifier(), X, y, folds)

    for train, test in folds:
        assert_allclose(found[test], GaussianClassifier().fit(X[train], y[train]).log_likelihood(X[test]))


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([(np.arange(60), np.arange(60))], "must be different, but fold 0 has a row that is in both"),
        ([(np.arange(30), np.arange(30, 61))], "rows from 0 to 59, but fold 0 holds row 60"),
        ([(np.arange(30), np.arange(-30, 0))], "rows from 0 to 59, but fold 0 holds row -30"),
    ],
)
def test_folds_that_overlap_or_leave_the_data_are_refused(folds, message, data):
    with pytest.raises(InvalidDataError, match=message):
        kfold_scores(GaussianClassifier(), *data, folds)


def test_models_that_give_no_scores_or_take_no_weights_are_refused_before_any_work(data):
    X, y = data

    with pytest.raises(IncompatiblePartsError, match="RidgeCV has none of the methods"):
        kfold_scores([GaussianClassifier(), RidgeCV()], X, y)
    with pytest.raises(IncompatiblePartsError, match="PCA has none of the methods"):
        kfold_scores(PCA(), X, y)
    with pytest.raises(
        IncompatiblePartsError, match=r"KNeighborsClassifier.*none of the methods|takes no sample_weight"
    ):
        kfold_scores(KNeighborsClassifier(), X, y, sample_weight=np.full(60, 2.0))
    with pytest.raises(DegenerateDataError, match="All rows of class 2 have weight 0"):
        kfold_scores(GaussianClassifier(), X, y, sample_weight=(y < 2).astype(float))


@pytest.mark.parametrize("form", [sp.dia_array, sp.bsr_array, sp.coo_array])
def test_every_sparse_form_can_be_cross_validated(form, data):
    X, y = data

    assert_allclose(kfold_scores(GaussianClassifier(), form(X), y), kfold_scores(GaussianClassifier(), X, y))


def test_partial_fit_of_a_pipeline_continues_after_fit(data):
    X, y = data
    make = lambda: make_pipeline(PCA(2), GaussianClassifier())  # noqa: E731

    both = make().fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])

    assert_allclose(both.log_likelihood(X), make().fit(X, y).log_likelihood(X))


def test_a_pipeline_fitted_step_by_step_refuses_partial_fit(data):
    X, y = data
    X = X.copy()
    X[0, 0] = np.nan
    chain = make_pipeline(Standardize(), GaussianClassifier()).fit(X, y)

    with pytest.raises(IncompatiblePartsError, match="fitted step by step"):
        chain.partial_fit(X[1:], y[1:])


def test_the_attributes_of_a_pipeline_include_the_last_partial_fit(data):
    X, y = data
    chain = make_pipeline(PCA(2), GaussianClassifier()).partial_fit(X[:40], y[:40])
    assert_array_equal(chain.classes_, [0, 1])
    assert chain.n_features_in_ == 3
    chain.partial_fit(X[40:], y[40:])

    assert_array_equal(chain.classes_, [0, 1, 2])
    assert chain["pca"].statistics_.weight == 60
    assert_allclose(chain[:-1].transform(X), PCA(2).fit_transform(X), atol=1e-10)
    chain.set_params(pca=PCA(1))
    assert_allclose(chain.llr(X) if len(chain.classes_) == 2 else chain.predict_proba(X).sum(axis=1), 1)


def test_a_pipeline_of_features_has_partial_fit_without_labels(data):
    X, _ = data
    chain = make_pipeline(Standardize(), PCA(2))

    parts = clone(chain).partial_fit(X[:30]).partial_fit(X[30:])

    assert_allclose(parts.transform(X), clone(chain).fit(X).transform(X), atol=1e-10)


@pytest.mark.parametrize("chain", [GaussianClassifier(), make_pipeline(PCA(2), GaussianClassifier())], ids=str)
def test_a_model_without_enough_rows_can_be_printed_copied_and_pickled(chain, data):
    X, y = data
    model = clone(chain).partial_fit(X[:1], y[:1])

    assert "Gaussian" in model._repr_html_()
    assert not hasattr(model, "means_")
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(NotEnoughDataError, match="only one class"):
            other.predict(X)
        assert_allclose(other.partial_fit(X[1:], y[1:]).predict_proba(X).sum(axis=1), 1)


def test_a_model_whose_covariance_shape_was_changed_must_be_fitted_again(data):
    X, y = data
    model = GaussianClassifier("diagonal").fit(X, y).set_params(covariance="full")

    with pytest.raises(IncompatiblePartsError, match="fit the model again"):
        model.partial_fit(X, y)
    with pytest.raises(IncompatiblePartsError, match="cannot be estimated from diagonal moments"):
        Gaussian.from_moments(DiagonalMoments.of(X))


@pytest.mark.filterwarnings("error")
def test_em_with_a_constant_column_ends_at_the_floor_and_warns_once(rng):
    y = np.arange(40) % 2
    X = np.column_stack([rng.normal(size=40), np.where(y == 1, 3.0, rng.normal(size=40))])
    X[rng.random(40) < 0.3, 1] = np.nan

    with pytest.warns(DegenerateDataWarning) as record:
        full = GaussianClassifier().fit(X, y)
    with pytest.warns(DegenerateDataWarning):
        diagonal = GaussianClassifier("diagonal").fit(X, y)

    assert len(record) == 1
    assert "full covariance has rank 1 (constant columns: 1)" in str(record[0].message)
    assert_allclose(full.covariances_[1][1, 1], diagonal.covariances_[1][1], rtol=0.5)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_em_for_missing_values_converges(share, rng):
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3))
    X[rng.random(X.shape) < share] = np.nan
    fitted = Gaussian().fit(X)

    from likely.densities.missing import _complete_rows, _Iterate

    state = _Iterate(fitted._get_parameters(), np.zeros((1, 3), dtype=bool), None)
    again = _complete_rows(X, np.ones(300), state, 0)
    assert_allclose(again.covariance(), fitted.covariance_, rtol=1e-6, atol=1e-6)
    assert_allclose(again.mean, fitted.mean_, atol=1e-6)


def test_labels_of_two_types_do_not_merge(data):
    X, y = data
    model = GaussianClassifier().partial_fit(X, y)

    with pytest.raises(InvalidDataError, match="All labels must have the same type, but 'a' follows 0"):
        model.partial_fit(X, ["a"] * 60)
    with pytest.raises(InvalidDataError, match="y mixes int and str"):
        GaussianClassifier().fit(X, np.array([1, "a"] * 30, dtype=object))


def test_labels_of_many_types_are_accepted(data):
    X, y = data
    kinds = {
        "objects": y.astype(object),
        "large": y.astype(np.uint64) + np.uint64(2**63),
        "small": y.astype(np.int8) - 100,
        "text": y.astype(str),
        "dates": np.datetime64("2020-01-01") + y,
        "strings": y.astype(str).astype(np.dtypes.StringDType()),
    }
    plain = GaussianClassifier().fit(X, y).log_likelihood(X)

    for name, labels in kinds.items():
        fitted = GaussianClassifier().fit(X, labels)
        assert_array_equal(fitted.classes_, np.unique(np.array(labels.tolist())), err_msg=name)
        assert_allclose(fitted.log_likelihood(X), plain)


@pytest.mark.parametrize("kind", ["dates", "pandas"])
def test_the_error_names_the_row_of_a_missing_label_of_any_type(kind, data):
    X, y = data
    if kind == "dates":
        labels = np.where(y == 2, np.datetime64("NaT"), np.datetime64("2020-01-01") + y)
    else:
        labels = pytest.importorskip("pandas").Series(["a"] * 40 + [None] * 20, dtype="string")

    with pytest.raises(InvalidDataError, match="label of row 40 is missing"):
        GaussianClassifier().fit(X, labels)


def test_a_light_row_far_away_does_not_spoil_the_compiled_sums(rng):
    n = 30_000
    X, codes, w = rng.normal(size=(n, 20)), np.arange(n) % 2, np.ones(n)
    X[0], w[0] = 1e8, 1e-12

    found = DiagonalMoments.grouped(X, codes, w)[0].variances()

    backwards = DiagonalMoments.grouped(X[::-1], codes[::-1], w[::-1])[0].variances()
    assert_allclose(found, backwards, rtol=1e-6)


def test_an_overflow_in_one_class_does_not_affect_the_others(rng):
    X = np.concatenate([rng.normal(size=(20, 1)), 1e10 * rng.normal(size=(20, 1))])
    model = GaussianClassifier().fit(X, np.repeat([0, 1], 20))

    scores = model.log_likelihood([[1e155]])

    assert scores[0, 0] == -np.inf
    assert np.isfinite(scores[0, 1])
    assert_array_equal(model.predict([[1e155]]), [1])


def test_moments_of_any_memory_order_add_and_leave_their_inputs_writeable(data):
    X, _ = data
    a, b = Moments.of(X[:30]), Moments.of(X[30:])
    mean = a.mean.copy()

    total = Moments(a.weight, mean, np.asfortranarray(a.scatter)) + Moments(
        b.weight, b.mean, np.asfortranarray(b.scatter)
    )

    assert_allclose(total.covariance(), np.cov(X, rowvar=False, bias=True))
    mean[0] = 5.0


def test_sparse_entries_stored_twice_are_added():
    twice = sp.csr_array((np.array([1.0, 2, 5, 3]), np.array([0, 0, 1, 0]), np.array([0, 2, 3, 4])), shape=(3, 2))

    assert_allclose(Standardize().fit(twice).scale_, Standardize().fit(twice.toarray()).scale_)


def test_whitening_onto_principal_axes_keeps_a_small_column_and_drops_an_empty_direction(rng):
    a, b = rng.normal(size=(2, 200))

    Z = Whiten(form="pca").fit_transform(np.column_stack([a * 1e3, a * 1e3, b * 1e-3]))

    assert_allclose(np.cov(Z, rowvar=False, bias=True), np.eye(2), atol=1e-6)
    assert np.abs(np.corrcoef(Z[:, 1], b)[0, 1]) > 0.99


@pytest.mark.parametrize("model", [GaussianClassifier("diagonal"), GaussianClassifier(), LDA()], ids=str)
def test_classes_too_far_apart_for_their_squares_are_refused(model):
    with pytest.raises(InvalidDataError, match="column 0 are too large to be squared and summed"):
        model.fit([[1e200], [1e200], [0.0], [1.0]], [0, 0, 1, 1])


def test_a_projection_that_overflows_is_refused(data):
    X, y = data

    with pytest.raises(InvalidDataError, match="too large"):
        LDA().fit(X * 1e-10, y).transform([[1e308, 1e308, -1e308]])


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_ratios_with_a_zero_denominator_are_zero(data):
    X, _ = data

    assert_array_equal(PCA().fit(np.ones((5, 3))).explained_variance_ratio_, [0])
    assert_allclose(LDA().fit(np.tile(X, (2, 1)), np.repeat([0, 1], 60)).explained_variance_ratio_.sum(), 1, atol=1)


@pytest.mark.parametrize("make", [lambda: PCA("mle"), lambda: LDA("a"), lambda: LDA(1.5), lambda: PCA(True)])
def test_n_components_must_be_a_number(make, data):
    with pytest.raises(InvalidParameterError, match="n_components"):
        make().fit(*data)


def test_a_matrix_is_not_a_covariance_shape(data):
    with pytest.raises(InvalidParameterError, match="covariance of GaussianClassifier must be one of"):
        GaussianClassifier(np.eye(3)).fit(*data)


def test_the_inverse_of_a_projection_checks_its_input(data):
    X, _ = data
    pca = PCA(2).fit(X)

    with pytest.raises(InvalidDataError, match="takes the 2 columns that transform returns, but got 3"):
        pca.inverse_transform(X)


def test_places_of_bad_values_are_counted_before_rows_of_weight_zero_are_dropped(data):
    X, y = data
    X = X.copy()
    X[5, 1] = np.inf

    with pytest.raises(InvalidDataError, match="in row 5, column 1"):
        GaussianClassifier().fit(X, y, sample_weight=(np.arange(60) > 2).astype(float))


def test_the_llr_surface_of_floored_covariances_is_the_llr(data):
    X, y = data
    X, y = np.column_stack([X, X[:, 0]])[:40], y[:40]
    with pytest.warns(DegenerateDataWarning):
        model = GaussianClassifier().fit(X, y)

    assert_allclose(model.llr_surface()(X), model.llr(X), atol=1e-5)


def test_an_empty_source_has_one_empty_block():
    source = ArraySource(np.empty((0, 3)))

    assert source.n_blocks == 1
    assert len(source.block(0)) == 0


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (GaussianClassifier(), "Set tied=True, covariance='diagonal' or shrinkage."),
        (GaussianClassifier(tied=True), "Set covariance='diagonal' or shrinkage."),
        (GaussianClassifier("diagonal"), "Drop constant columns, or use tied=True."),
        (GaussianClassifier("diagonal", tied=True), "Drop constant columns."),
    ],
    ids=str,
)
def test_the_remedy_for_a_singular_covariance_is_not_already_in_use(model, advice, data):
    X, y = data

    with pytest.warns(DegenerateDataWarning) as record:
        model.fit(np.column_stack([X, np.ones(60)]), y)

    assert str(record[0].message).endswith(advice)


@pytest.mark.filterwarnings("ignore::likely.DegenerateDataWarning")
def test_a_failed_fit_leaves_a_pipeline_and_its_steps_as_they_were(data):
    X, y = data
    chain = make_pipeline(Standardize(), LDA(), GaussianClassifier(Full(floor=0))).fit(X, y)
    before = chain.log_likelihood(X)
    bad = X.copy()
    bad[0, 0] = np.inf

    for attempt in (
        lambda: chain.fit(X[[0, 20, 40]] + 9, [0, 1, 2]),
        lambda: chain.fit(bad, y),
        lambda: chain.fit(np.where(X > 0, X, np.nan), y),
        lambda: chain.fit_source(ArraySource(bad, y, classes=np.arange(3))),
        lambda: chain.partial_fit(bad, y),
    ):
        with pytest.raises(ValueError, match=r"rank|infinity|NaN"):
            attempt()
        assert_array_equal(chain.log_likelihood(X), before)


def test_fit_transform_discards_earlier_batches(data):
    X, _ = data
    chain = make_pipeline(Standardize(), PCA(2)).partial_fit(X + 100)

    assert_allclose(chain.fit_transform(X), chain.transform(X))
    assert_allclose(chain.transform(X).mean(axis=0), 0, atol=1e-10)


def test_named_steps_are_up_to_date(data):
    X, y = data
    chain = make_pipeline(Standardize(), PCA(2), GaussianClassifier()).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])

    assert_allclose(chain.named_steps["standardize"].mean_, X.mean(axis=0))
    assert len(chain[:2].get_feature_names_out()) == 2


@pytest.mark.parametrize("model", [GaussianClassifier(), Gaussian()], ids=str)
def test_rows_cannot_be_added_to_sums_that_em_completed(model, data):
    X, y = data
    blank = X.copy()
    blank[0, 0] = np.nan
    fitted = model.fit(blank, y)

    with pytest.raises(IncompatiblePartsError, match="by EM to rows with missing values, so partial_fit"):
        fitted.partial_fit(X, y)


@pytest.mark.parametrize("tied", [False, True])
def test_em_never_lowers_the_likelihood_of_what_was_observed(tied, rng):
    """This also holds if a class has a column with a single observed value."""
    n, y = 60, np.arange(60) % 2
    X = rng.normal(size=(n, 2))
    X[:, 1] += X[:, 0]
    X[(y == 0) & (np.arange(n) > 20), 1] = np.nan
    X[0, 1] = 0.5
    start = GaussianClassifier("diagonal", tied=tied).fit(X, y)

    fitted = GaussianClassifier(tied=tied).fit(X, y)

    own = np.arange(n), y
    assert fitted.log_likelihood(X)[own].sum() > start.log_likelihood(X)[own].sum()


def test_tied_em_survives_a_class_with_one_observed_value(rng):
    n, y = 60, np.arange(60) % 2
    X = rng.normal(size=(n, 2))
    X[:, 1] += X[:, 0]
    X[y == 0, 1] = np.nan
    X[0, 1] = 0.5

    fitted = GaussianClassifier(tied=True).fit(X, y)

    assert fitted.log_likelihood(X)[np.arange(n), y].sum() > -200
    assert np.abs(fitted.covariances_).max() < 10


def test_an_infinity_is_named_before_a_missing_value(data):
    X, y = data
    X = X.copy()
    X[0, 0], X[7, 1] = np.nan, np.inf

    for covariance in ("diagonal", "full"):
        with pytest.raises(InvalidDataError, match=r"infinity .* row 7, column 1"):
            GaussianClassifier(covariance).fit(X, y)


def test_object_arrays_of_numpy_numbers_are_labels(data):
    X, y = data
    labels = np.empty(60, dtype=object)
    labels[:] = [np.int64(v) if v else int(v) for v in y]

    assert_array_equal(GaussianClassifier().fit(X, labels).classes_, [0, 1, 2])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_named_outputs_between_steps_give_no_warnings(library, data):
    frames = pytest.importorskip(library)
    X, y = data
    frame = frames.DataFrame({f"x{j}": X[:, j] for j in range(3)})
    chain = make_pipeline(Standardize(), PCA(2), GaussianClassifier()).set_output(transform=library)

    for fitted in (clone(chain).fit(frame, y), clone(chain).partial_fit(frame, y)):
        assert_allclose(fitted.log_likelihood(frame), make_pipeline(*_fresh(chain)).fit(X, y).log_likelihood(X))
    assert_array_equal(clone(chain).fit(frame, y)[:1].transform(frame).columns, ["x0", "x1", "x2"])


def _fresh(chain):
    return [type(step)(**step.get_params()) for _, step in chain.steps]


def test_pipelines_that_scikit_learn_refuses_are_refused(data):
    X, y = data

    with pytest.raises(ValueError, match="not unique"):
        type(make_pipeline(PCA()))([("a", PCA(2)), ("a", GaussianClassifier())]).fit(X, y)
    with pytest.raises(ValueError, match="__"):
        type(make_pipeline(PCA()))([("a__b", GaussianClassifier())]).fit(X, y)


def test_steps_that_need_other_statistics_are_refused(data):
    from sklearn.linear_model import LogisticRegression

    X, y = data
    chain = make_pipeline(Standardize(), GaussianClassifier("diagonal")).fit(X, y)

    with pytest.raises(IncompatiblePartsError, match="Fit the pipeline again"):
        clone_fitted(chain).set_params(gaussianclassifier=GaussianClassifier()).predict(X)
    with pytest.raises(
        IncompatiblePartsError, match="LogisticRegression does not learn from moments, so this pipeline"
    ):
        clone_fitted(chain).set_params(gaussianclassifier=LogisticRegression()).predict(X)
    with pytest.raises(IncompatiblePartsError, match=r"partial_fit cannot add rows\. Call fit again"):
        Whiten().fit(X).set_params(by="within").partial_fit(X, y)


def clone_fitted(chain):
    return copy.deepcopy(chain)


def test_a_source_without_classes_is_refused_by_a_classifier(data):
    X, y = data

    for source in (ArraySource(X), ArraySource(X, y)):
        with pytest.raises(SourceError, match="GaussianClassifier learns from classes, but the source has none"):
            GaussianClassifier().fit_source(source)


@pytest.mark.parametrize("classes", [[0, 1, np.nan], [0, 1, None]])
def test_announced_classes_are_labels(classes, data):
    X, y = data

    with pytest.raises(InvalidDataError, match=r"missing|one type"):
        GaussianClassifier().partial_fit(X[:40], y[:40], classes=classes)


def test_announced_classes_may_be_a_set(data):
    X, y = data

    assert_array_equal(GaussianClassifier().partial_fit(X, y, classes={2, 1, 0}).classes_, [0, 1, 2])


@pytest.mark.parametrize("n", [6, 7, 8, 11])
def test_rounding_does_not_reject(n):
    app = Application(np.full(n, 1 / n), reject_cost=1 - 1 / n)

    assert app.decide_codes(np.zeros((1, n)))[0] == n - 1
    assert Application.binary(0.1, reject_cost=0.1).decide_codes(np.zeros(1))[0] == 0


def test_a_forked_child_gives_the_scores_of_its_parent(data):
    import multiprocessing

    X, y = np.tile(data[0], (60, 1)), np.tile(data[1], 60)
    model = GaussianClassifier().fit(X, y)
    expected = model.log_likelihood(X).sum()

    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(_total, (model, X)).get(timeout=60)

    assert_allclose(found, expected)


def _total(model, X):
    return model.log_likelihood(X).sum()


def test_places_of_bad_values_are_found_in_wide_rows(rng):
    X, y = rng.normal(size=(700, 300)), rng.integers(2, size=700)
    before = X.copy()
    X[123, 45] = np.inf

    with pytest.raises(InvalidDataError, match="in row 123, column 45"):
        GaussianClassifier().fit(X, y)
    X[123, 45] = before[123, 45]
    GaussianClassifier(Full(shrinkage=0.5)).fit(X, y)
    assert_array_equal(X, before)
