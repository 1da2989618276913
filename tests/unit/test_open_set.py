"""Open-set classifier: hand-derived costs, order of the classes, and errors."""

from dataclasses import astuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import likely
from likely import (
    Application,
    CalibratedClassifier,
    Gaussian,
    OpenSetClassifier,
    bayes_risk,
    kfold_scores,
    make_pipeline,
    open_set_cost,
)

PLAIN = {"density": Gaussian(), "background": Gaussian("diagonal")}


@pytest.fixture
def data(rng):
    y = np.array(["ann", "bob", "cat"])[rng.choice(3, 300, p=[0.5, 0.3, 0.2])]
    centres = {"ann": [0.0, 0.0], "bob": [4.0, 0.0], "cat": [0.0, 4.0]}
    return rng.normal(size=(300, 2)) + [centres[label] for label in y], y


def test_the_unknown_class_comes_last_whatever_its_label(data):
    X, y = data
    model = OpenSetClassifier(**PLAIN, unknown="ann").fit(X, y)

    assert model.classes_.tolist() == ["bob", "cat", "ann"]
    for k, label in enumerate(model.classes_):
        kind = "diagonal" if label == "ann" else "full"
        assert_allclose(model.log_likelihood(X)[:, k], Gaussian(kind).fit(X[y == label]).log_density(X))
    assert_allclose(model.training_priors_, [(y == label).mean() for label in model.classes_])
    assert model.score(X, y) > 0.94


def test_without_unknown_rows_all_rows_train_the_background(data):
    X, y = data
    model = OpenSetClassifier(**PLAIN).fit(X, y)

    assert model.classes_.tolist() == ["ann", "bob", "cat", "unknown"]
    assert_allclose(model.log_likelihood(X)[:, 3], Gaussian("diagonal").fit(X).log_density(X))
    shares = np.array([(y == label).mean() for label in ["ann", "bob", "cat"]])
    assert_allclose(model.training_priors_, [*(0.75 * shares), 0.25])
    assert model.predict([[30.0, -30.0]]) == ["unknown"]


def test_one_known_class_suffices(data):
    X, y = data
    model = OpenSetClassifier(**PLAIN).fit(X, np.where(y == "bob", "bob", "unknown"))

    assert model.classes_.tolist() == ["bob", "unknown"]
    assert_allclose(model.llr(X), np.diff(model.log_likelihood(X), axis=1)[:, 0])
    cost = model.costs(X, np.where(y == "bob", "bob", "unknown"), Application([0.5, 0.5]))
    assert cost.closed is None
    assert cost.known_confused == 0


def test_log_likelihoods_contain_no_priors_and_decisions_take_a_mapping_or_a_sequence(data):
    X, y = data
    model = OpenSetClassifier(**PLAIN, unknown="ann").fit(X, y)
    priors = {"ann": 0.9, "cat": 0.05, "bob": 0.05}

    by_label = model.decide(X, Application(priors))

    assert_array_equal(by_label, model.decide(X, Application([0.05, 0.05, 0.9])))
    assert_array_equal(by_label, OpenSetClassifier(**PLAIN, unknown="ann", priors=priors).fit(X, y).predict(X))
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (by_label == "ann").sum() > (model.predict(X) == "ann").sum()


def test_integer_labels_take_an_integer_unknown_label(data):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    model = OpenSetClassifier(**PLAIN, unknown=-1).fit(X, codes)

    assert model.classes_.tolist() == [0, 1, 2, -1]
    assert model.classes_.dtype.kind == "i"


@pytest.mark.parametrize(
    ("labels", "unknown", "message"),
    [
        ([0, 1], "unknown", "such as 0, but is 'unknown'. Use, for example, unknown=2"),
        ([0, 1], -0.5, "such as 0, but is -0.5. Use, for example, unknown=2"),
        (["a", "b"], -1, "such as 'a', but is -1. Use, for example, unknown='unknown'"),
        ([False, True], "unknown", "such as False, but is 'unknown'. Use y.astype"),
        (["a", "b"], ["c", "d"], "but is ['c', 'd']"),
    ],
)
def test_an_unknown_label_of_another_type_raises(labels, unknown, message, data):
    y = np.array(labels)[np.arange(300) % 2]

    with pytest.raises(likely.InvalidParameterError) as error:
        OpenSetClassifier(**PLAIN, unknown=unknown).fit(data[0], y)
    assert message in str(error.value)


def test_no_known_class_and_invalid_densities_raise(data):
    X, y = data
    with pytest.raises(
        likely.DegenerateDataError, match=r"at least one known class, but all rows are labelled 'unknown'"
    ):
        OpenSetClassifier(**PLAIN).fit(X, ["unknown"] * 300)
    with pytest.raises(likely.InvalidParameterError, match="background of OpenSetClassifier must be a density"):
        OpenSetClassifier(Gaussian(), background="mixture").fit(X, y)
    with pytest.raises(likely.DegenerateDataError, match=r"^The background: X has 2 rows"):
        OpenSetClassifier(Gaussian("diagonal"), background=Gaussian(likely.Full(floor=0))).fit(
            [[0.0, 1.0], [2.0, 3.0]], ["a", "a"]
        )


def test_out_of_fold_and_calibrated_scores_are_in_sorted_label_order(data):
    X, y = data
    model = OpenSetClassifier(**PLAIN, unknown="ann")
    usual = likely.GenerativeClassifier(Gaussian("diagonal"))
    app = Application.equal(3)

    scores = kfold_scores([model, make_pipeline(likely.Standardize(), model)], X, y)
    calibrated = CalibratedClassifier(model, cv=3).fit(X, y)

    for each in scores:
        assert bayes_risk(y, each, app) < 0.1
    assert_allclose(scores[0][:, 0], kfold_scores(usual, X, y)[:, 0])
    assert calibrated.classes_.tolist() == ["ann", "bob", "cat"]
    assert calibrated.score(X, y) > 0.94
    fitted = model.fit(X, y)
    assert bayes_risk(y, fitted.log_likelihood(X), app, labels=fitted.classes_) < 0.1


def test_calibration_raises_if_the_unknown_class_has_no_rows(data):
    with pytest.raises(likely.IncompatiblePartsError, match="'unknown'"):
        CalibratedClassifier(OpenSetClassifier(**PLAIN), cv=3).fit(*data)


Y = ["a", "a", "a", "a", "b", "b", "?", "?", "?", "?", "?"]
SCORES = np.array(
    [
        [5, 0, 1],  # a, correct
        [0, 4, 1],  # a, classified as b
        [2, 0, 3],  # a, classified as unknown; as a among the known classes
        [5, 0, 1],  # a, correct
        [0, 5, 1],  # b, correct
        [3, 0, 1],  # b, classified as a
        [0, 1, 5],
        [0, 1, 5],
        [0, 1, 5],
        [0, 1, 5],
        [4, 1, 0],  # unknown, classified as a
    ],
    dtype=float,
)


def test_costs_and_rates_equal_hand_counts():
    app = Application({"a": 0.3, "b": 0.3, "?": 0.4}, costs=[[0, 1, 2], [1, 0, 2], [5, 5, 0]])

    cost = open_set_cost(Y, SCORES - [0, 0, 2], app, "?", labels=["a", "b", "?"], normalize=False)
    plain = open_set_cost(Y, SCORES, Application([0.3, 0.3, 0.4]), "?", labels=["a", "b", "?"], normalize=False)

    assert_allclose(plain.known_rejected, (1 / 4 + 0) / 2)
    assert_allclose(plain.known_confused, (1 / 4 + 1 / 2) / 2)
    assert_allclose(plain.unknown_accepted, 1 / 5)
    assert_allclose(plain.open, 0.4 * plain.unknown_accepted + 0.6 * (plain.known_rejected + plain.known_confused))
    assert_allclose(plain.closed, (1 / 4 + 1 / 2) / 2)
    assert_allclose(cost.closed, plain.closed)
    assert_allclose(cost.open, bayes_risk(Y, (SCORES - [0, 0, 2]), app, normalize=False, labels=["a", "b", "?"]))


def test_columns_may_have_any_order_and_rows_may_have_weights():
    app = Application({"?": 0.4, "a": 0.3, "b": 0.3})
    order, weight = [2, 0, 1], np.arange(1.0, 12)

    cost = open_set_cost(Y, SCORES[:, order], app, "?", labels=["?", "a", "b"], sample_weight=weight)
    straight = open_set_cost(Y, SCORES, app, "?", labels=["a", "b", "?"], sample_weight=weight)

    assert_allclose(astuple(cost), astuple(straight), rtol=1e-14)
    repeated = np.repeat(np.arange(11), np.arange(1, 12))
    again = open_set_cost(np.array(Y)[repeated], SCORES[repeated], app, "?", labels=["a", "b", "?"])
    assert_allclose(cost.open, again.open)
    assert_allclose(cost.closed, again.closed)


def test_each_cost_is_normalised_by_its_best_constant_decision():
    app = Application({"a": 0.5, "b": 0.1, "?": 0.4})

    raw, normal = (open_set_cost(Y, SCORES, app, "?", labels=["a", "b", "?"], normalize=n) for n in (False, True))

    assert_allclose(normal.open, raw.open / 0.5)
    assert_allclose(normal.closed, raw.closed / (0.1 / 0.6))
    assert normal.known_rejected == raw.known_rejected


def test_rejected_rows_are_neither_accepted_nor_confused():
    app = Application({"a": 0.3, "b": 0.3, "?": 0.4}, reject_cost=1e-3)

    cost = open_set_cost(Y, SCORES * 1e-3, app, "?", labels=["a", "b", "?"], normalize=False)

    assert (cost.unknown_accepted, cost.known_rejected, cost.known_confused) == (0, 0, 0)
    assert_allclose(cost.open, 1e-3)


def test_the_model_computes_the_same_costs_as_the_function(data):
    X, y = data
    model = OpenSetClassifier(**PLAIN, unknown="ann").fit(X, y)
    app = Application({"ann": 0.5, "cat": 0.2, "bob": 0.3})

    assert model.costs(X, y, app) == open_set_cost(y, model.log_likelihood(X), app, "ann", labels=model.classes_)


def test_rows_that_cannot_be_evaluated_raise(data):
    X, y = data
    model = OpenSetClassifier(**PLAIN).fit(X, y)
    app = Application.equal(4)

    with pytest.raises(
        likely.InvalidDataError, match="for the class 'unknown', but no row of this class was evaluated"
    ):
        model.costs(X, y, app)
    with pytest.raises(likely.InvalidDataError, match=r"'dan', which is not among .* have the label 'unknown'"):
        model.costs(X[:2], ["ann", "dan"], app)
    with pytest.raises(likely.InvalidDataError, match="the same number of rows, but X has 2 and y has 1"):
        model.costs(X[:2], ["ann"], app)
    with pytest.raises(likely.InvalidParameterError, match="unknown must be one of the classes"):
        open_set_cost(Y, SCORES, Application.equal(3), "unknown", labels=["a", "b", "?"])
    closed = model.costs(X, y, Application([0.4, 0.3, 0.3, 0.0]))
    assert closed.unknown_accepted == 0


def test_one_known_class_without_background_raises():
    X = np.arange(20.0)[:, None]

    with pytest.raises(likely.DegenerateDataError, match="of all rows would not differ from the density of that class"):
        OpenSetClassifier().fit(X, ["a"] * 20)


def test_the_background_of_unknown_rows_is_a_mixture_chosen_by_bic(rng):
    centres = np.array([[-9.0, 0.0], [0.0, 9.0], [9.0, 0.0], [0.0, -9.0]])
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(200, 2)) + centres[np.arange(200) % 4]])
    y = ["known"] * 100 + ["unknown"] * 200

    model = OpenSetClassifier().fit(X, y)

    assert model.densities_[-1].n_components >= 4
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize(
    ("labels", "unknown"), [([0.0, 1.0], np.nan), (np.array([1, 2], dtype=np.uint64), -1)], ids=["nan", "negative"]
)
def test_an_unknown_label_that_cannot_join_the_labels_raises(labels, unknown):
    with pytest.raises(likely.InvalidParameterError, match="unknown of OpenSetClassifier"):
        OpenSetClassifier(unknown=unknown).fit(np.arange(8.0)[:, None], np.repeat(labels, 4))
