"""Laws of the perceptron for every ``keep``, and its rule written in plain Python."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import linear_model

from likely import ArraySource, Perceptron, Source
from likely.blocks import Block
from likely.objectives import perceptron

pytestmark = pytest.mark.filterwarnings("ignore::likely.NotConvergedWarning")

KEPT = ["average", "pocket", "last"]
every_keep = pytest.mark.parametrize("keep", KEPT)
any_number_of_classes = pytest.mark.parametrize("n_classes", [2, 3, 5])


def overlapping(rng, n_classes=3, n=90, d=4):
    """Rows in random order around means on a circle, too near each other to be separated."""
    y = rng.permutation(np.arange(n) % n_classes)
    return rng.normal(size=(n, d)) + np.pad(around(n_classes), [(0, 0), (0, d - 2)])[y], y


def separable(rng, n_classes=2, n=120, gap=0.3):
    """Rows, classes and weights (bias last) that separate them with margins larger than ``gap``."""
    truth = np.column_stack([around(n_classes), rng.normal(size=(n_classes, 2)) / 4])
    X = rng.normal(size=(40 * n, 3))
    scores = X @ truth[:, :-1].T + truth[:, -1]
    ranked = np.sort(scores, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > gap
    X, y = X[clear][:n], scores.argmax(axis=1)[clear][:n]
    assert len(np.unique(y)) == n_classes
    return X, y, truth


def around(n_classes):
    turns = 2 * np.pi * np.arange(n_classes) / n_classes
    return np.column_stack([np.cos(turns), np.sin(turns)])


def by_hand(X, y, n_classes, n_epochs):
    """Weights after every presentation of a row, one vector for each class, and the mistakes of each epoch."""
    rows = np.column_stack([X, np.ones(len(X))])
    W = np.zeros((n_classes, rows.shape[1]))
    after, missed = [], []
    for _ in range(n_epochs):
        missed.append(0)
        for x, k in zip(rows, y, strict=True):
            scores = W @ x
            others = [j for j in range(n_classes) if j != k]
            rival = max(others, key=lambda j: (scores[j], j))
            if scores[k] <= scores[rival]:
                W[k] += x
                W[rival] -= x
                missed[-1] += 1
            after.append(W.copy())
        if not missed[-1]:
            break
    return np.array(after), missed


def weights_of(model):
    return np.column_stack([model.coef_, model.intercept_])


def as_one_vector(W):
    """The vector of the second class for two classes, else those of all classes."""
    return W[1:] if len(W) == 2 else W


def mistakes(W, X, y):
    scores = np.column_stack([X, np.ones(len(X))]) @ W.T
    if len(W) == 1:
        return int((np.where(y == 1, 1, -1) * scores[:, 0] <= 0).sum())
    truth = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    return int((truth <= scores.max(axis=1)).sum())


# The update rule


@any_number_of_classes
@pytest.mark.parametrize("n_epochs", [1, 7])
def test_last_and_average_weights_equal_the_textbook_rule(n_classes, n_epochs, rng):
    X, y = overlapping(rng, n_classes)
    after, missed = by_hand(X, y, n_classes, n_epochs)

    last, average = (Perceptron(keep=keep, max_iter=n_epochs).fit(X, y) for keep in ("last", "average"))

    assert_allclose(weights_of(last), as_one_vector(after[-1]), atol=1e-10)
    assert_allclose(weights_of(average), as_one_vector(after.mean(axis=0)), atol=1e-10)
    for model in (last, average):
        assert_array_equal(model.mistakes_, missed)
        assert model.n_updates_ == sum(missed)
        assert model.n_iter_ == n_epochs


@pytest.mark.parametrize("n_epochs", [1, 5, 20])
def test_weights_of_two_classes_equal_those_of_scikit_learn(n_epochs, rng):
    X, y = overlapping(rng, 2, 400, 10)
    peer = linear_model.Perceptron(shuffle=False, tol=None, max_iter=n_epochs).fit(X, y)

    model = Perceptron(keep="last", max_iter=n_epochs).fit(X, y)

    assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-9)


@any_number_of_classes
def test_compiled_loops_give_the_same_bits_as_python(n_classes, rng, monkeypatch):
    X, y = overlapping(rng, n_classes, 200, 7)
    X[rng.random(X.shape) < 0.3] = 0
    w = rng.choice([0.5, 1, 2.5], size=200)
    for rows in (X, csr_array(X)):
        models = []
        for few in (0, 10**9):
            monkeypatch.setattr(perceptron, "MAX_PYTHON_PRODUCTS", few)
            models.append([Perceptron(keep=keep, max_iter=5).fit(rows, y, w) for keep in KEPT])

        for compiled, plain in zip(*models, strict=True):
            assert_array_equal(weights_of(compiled), weights_of(plain))
            assert_array_equal(compiled.mistakes_, plain.mistakes_)


def test_many_rows_are_presented_by_compiled_loops_and_few_by_python(rng):
    loops = [perceptron._loops(np.empty(shape), 1, 1) for shape in [(20, 4), (20_000, 20)]]

    assert loops[0].present_rows is perceptron.present_rows
    assert loops[1].present_rows is not perceptron.present_rows


# The convergence theorem


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shuffle", [False, True])
def test_separable_classes_are_separated_within_the_bound_of_updates(seed, shuffle):
    X, y, truth = separable(np.random.default_rng(seed))
    rows, star = np.column_stack([X, np.ones(len(X))]), truth[1] - truth[0]
    margins = np.where(y == 1, 1, -1) * (rows @ star)

    model = Perceptron(keep="last", max_iter=10_000, shuffle=shuffle, random_state=0).fit(X, y)

    assert model.converged_
    assert model.score(X, y) == 1
    assert model.n_updates_ == model.mistakes_.sum()
    assert model.n_updates_ <= (rows**2).sum(axis=1).max() * (star @ star) / margins.min() ** 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [3, 5])
def test_many_separable_classes_are_separated_within_twice_the_bound(n_classes, seed):
    X, y, truth = separable(np.random.default_rng(seed), n_classes, 300, gap=0.2)
    rows = np.column_stack([X, np.ones(len(X))])
    ranked = np.sort(rows @ truth.T, axis=1)

    model = Perceptron(keep="last", max_iter=10_000).fit(X, y)

    assert model.converged_
    assert model.score(X, y) == 1
    smallest = (ranked[:, -1] - ranked[:, -2]).min()
    assert model.n_updates_ <= 2 * (rows**2).sum(axis=1).max() * (truth**2).sum() / smallest**2


@any_number_of_classes
def test_the_pocket_of_separable_classes_holds_the_last_weights(n_classes, rng):
    X, y, _ = separable(rng, n_classes, 150)

    pocket, last = (Perceptron(keep=keep, max_iter=10_000).fit(X, y) for keep in ("pocket", "last"))

    assert mistakes(weights_of(pocket), X, y) == 0
    assert pocket.converged_
    assert pocket.n_updates_ == last.n_updates_


def test_training_stops_after_an_epoch_without_mistakes(rng):
    X, y, _ = separable(rng)

    model = Perceptron(keep="last", max_iter=10_000).fit(X, y)

    assert model.mistakes_[-1] == 0
    assert (model.mistakes_[:-1] > 0).all()
    assert len(model.mistakes_) == model.n_iter_ < 10_000


# The pocket algorithm


@any_number_of_classes
@pytest.mark.parametrize("shuffle", [False, True])
def test_mistakes_of_the_pocket_never_increase_with_more_epochs(n_classes, shuffle, rng):
    X, y = overlapping(rng, n_classes)
    counts = []

    for n_epochs in (1, 2, 4, 8, 16, 32):
        model = Perceptron(keep="pocket", max_iter=n_epochs, shuffle=shuffle, random_state=0).fit(X, y)
        counts.append(mistakes(weights_of(model), X, y))

    assert counts == sorted(counts, reverse=True)


@any_number_of_classes
def test_the_pocket_holds_the_best_of_its_candidates(n_classes, rng):
    X, y = overlapping(rng, n_classes)
    after, _ = by_hand(X, y, n_classes, 20)
    occurred = np.array([as_one_vector(W) for W in after])

    pocket = weights_of(Perceptron(keep="pocket", max_iter=20).fit(X, y))

    assert np.abs(occurred - pocket).max(axis=(1, 2)).min() < 1e-9
    ends = [mistakes(W, X, y) for W in occurred[len(X) - 1 :: len(X)]]
    steadiest = mistakes(_longest_unchanged(occurred), X, y)
    assert mistakes(pocket, X, y) <= min(*ends, steadiest)


def _longest_unchanged(occurred):
    changed = np.flatnonzero((np.diff(occurred, axis=0) != 0).any(axis=(1, 2)))
    return occurred[changed[np.diff(changed).argmax() + 1]]


def test_the_pocket_counts_mistakes_by_weight(rng):
    X, y = overlapping(rng, 2)
    w = np.where(y == 1, 20.0, 1.0)

    heavy = Perceptron(keep="pocket", shuffle=True, random_state=0).fit(X, y, w)
    plain = Perceptron(keep="pocket", shuffle=True, random_state=0).fit(X, y)

    assert w @ (heavy.predict(X) != y) < w @ (plain.predict(X) != y)


# Weights


@every_keep
@any_number_of_classes
def test_whole_weights_equal_repetition_in_place(keep, n_classes, rng):
    X, y = overlapping(rng, n_classes)
    repeats = rng.integers(0, 5, len(y))
    repeats[:n_classes] = 1

    weighted = Perceptron(keep=keep, max_iter=9).fit(X, y, sample_weight=repeats.astype(float))
    repeated = Perceptron(keep=keep, max_iter=9).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))

    assert weighted.n_updates_ == repeated.n_updates_
    assert_array_equal(weighted.mistakes_, repeated.mistakes_)
    assert_array_equal(weighted.coef_, repeated.coef_)


@every_keep
def test_rows_of_weight_zero_are_ignored(keep, rng):
    X, y = overlapping(rng)
    w = (rng.random(len(y)) < 0.7).astype(float)
    dirty = np.where(w[:, None] == 0, np.nan, X)

    weighted, without = Perceptron(keep=keep).fit(dirty, y, w), Perceptron(keep=keep).fit(X[w > 0], y[w > 0])

    assert_array_equal(weights_of(weighted), weights_of(without))


@every_keep
def test_scaling_weights_up_to_1_scales_the_solution(keep, rng):
    X, y = overlapping(rng)
    w = rng.choice([0.25, 0.5, 1.0], size=len(y))

    whole, half = Perceptron(keep=keep).fit(X, y, w), Perceptron(keep=keep).fit(X, y, w / 2)

    assert_allclose(weights_of(half), weights_of(whole) / 2)
    assert_array_equal(half.mistakes_, whole.mistakes_ / 2)


# Sources and forms of rows


class Elsewhere(Source):
    """A source whose rows are not in memory."""

    def __init__(self, source):
        self.source, self.classes, self.n_features = source, source.classes, source.n_features
        self.n_blocks = source.n_blocks

    def block(self, index) -> Block:
        return self.source.block(index)


@every_keep
@pytest.mark.parametrize("kind", [ArraySource, lambda *a, **k: Elsewhere(ArraySource(*a, **k))])
def test_a_source_gives_the_same_bits_as_arrays(keep, kind, rng):
    X, y = overlapping(rng)
    source = kind(X, y, classes=np.array(["a", "b", "c"]), block_rows=17)

    model = Perceptron(keep=keep, max_iter=9).fit_source(source)
    plain = Perceptron(keep=keep, max_iter=9).fit(X, np.array(["a", "b", "c"])[y])

    assert_array_equal(weights_of(model), weights_of(plain))
    assert_array_equal(model.predict(X), plain.predict(X))


@every_keep
def test_the_order_of_rows_is_kept_however_wide_they_are(keep, rng):
    X, y = overlapping(rng, 3, 60, 300)

    model = Perceptron(keep=keep, max_iter=3).fit(X, y)
    cut = Perceptron(keep=keep, max_iter=3).fit_source(ArraySource(X, y, classes=np.arange(3), block_rows=7))

    assert_array_equal(weights_of(model), weights_of(cut))


@pytest.mark.parametrize("keep", ["average", "last"])
@any_number_of_classes
def test_partial_fits_make_one_pass_over_all_their_rows(keep, n_classes, rng):
    X, y = overlapping(rng, n_classes)
    parts, whole = Perceptron(keep=keep), Perceptron(keep=keep, max_iter=1).fit(X, y)

    for rows in np.split(np.arange(len(y)), [3, 40, 41]):
        parts.partial_fit(X[rows], y[rows], classes=np.arange(n_classes))

    assert_array_equal(weights_of(parts), weights_of(whole))
    assert parts.n_updates_ == whole.n_updates_
    assert parts.mistakes_.sum() == whole.mistakes_.sum()
    assert parts.n_iter_ == 4


@pytest.mark.parametrize("keep", ["average", "last"])
def test_repeated_partial_fits_equal_one_fit(keep, rng):
    X, y = overlapping(rng)
    steps, whole = Perceptron(keep=keep), Perceptron(keep=keep, max_iter=6).fit(X, y)

    for _ in range(6):
        steps.partial_fit(X, y)

    assert_array_equal(weights_of(steps), weights_of(whole))
    assert_array_equal(steps.mistakes_, whole.mistakes_)


@every_keep
@pytest.mark.parametrize("convert", [csr_array, np.asfortranarray, lambda X: X.tolist(), np.int8, np.float32])
@any_number_of_classes
def test_every_form_of_input_gives_the_same_weights(keep, convert, n_classes, rng):
    X, y = overlapping(rng, n_classes)
    X = np.round(3 * X)

    model, plain = (Perceptron(keep=keep, max_iter=20).fit(rows, y) for rows in (convert(X), X))

    assert_array_equal(weights_of(model), weights_of(plain))
    assert_allclose(model.decision_function(convert(X)), plain.decision_function(X), rtol=1e-10, atol=1e-10)


# Order of rows and names of classes


@pytest.mark.parametrize("kind", [ArraySource, lambda *a, **k: Elsewhere(ArraySource(*a, **k))])
def test_shuffling_presents_every_row_once_and_is_repeatable(kind, rng):
    X, y = overlapping(rng)
    w = rng.random(len(y))
    source = kind(X, y, w, classes=np.arange(3), block_rows=20, positions=np.arange(100, 190))

    orders = []
    for seed in (0, 0, 1):
        blocks = list(source.iter_blocks(np.random.RandomState(seed)))
        orders.append(np.concatenate([block.positions for block in blocks]) - 100)
        assert_array_equal(np.vstack([block.X for block in blocks]), X[orders[-1]])
        assert_array_equal(np.concatenate([block.codes for block in blocks]), y[orders[-1]])
        assert_array_equal(np.concatenate([block.weight for block in blocks]), w[orders[-1]])

    assert_array_equal(np.sort(orders[0]), np.arange(90))
    assert_array_equal(orders[0], orders[1])
    assert (orders[0] != orders[2]).any()
    assert (orders[0] != np.arange(90)).any()


def test_shuffling_helps_if_rows_are_sorted_by_class(rng):
    X, y = overlapping(rng, 3, 300)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]

    mixed = [Perceptron(keep="last", shuffle=True, random_state=seed).fit(X, y).score(X, y) for seed in range(5)]

    assert np.mean(mixed) > Perceptron(keep="last").fit(X, y).score(X, y)


@every_keep
def test_exchanging_two_classes_changes_only_the_sign(keep, rng):
    X, y = overlapping(rng, 2)

    plain, turned = Perceptron(keep=keep).fit(X, y), Perceptron(keep=keep).fit(X, 1 - y)

    assert_array_equal(weights_of(turned), -weights_of(plain))
    assert_array_equal(turned.decision_function(X), -plain.decision_function(X))


@every_keep
@any_number_of_classes
def test_predictions_follow_the_scores(keep, n_classes, rng):
    X, y = overlapping(rng, n_classes)
    model = Perceptron(keep=keep).fit(X, y)
    scores = model.decision_function(X)

    assert scores.shape == ((90,) if n_classes == 2 else (90, n_classes))
    assert_allclose(scores, np.squeeze(X @ model.coef_.T + model.intercept_), atol=1e-9)
    assert_array_equal(model.predict(X), scores > 0 if n_classes == 2 else scores.argmax(axis=1))


@pytest.mark.parametrize("keep", ["average", "pocket"])
def test_average_and_pocket_beat_the_last_weights_if_classes_overlap(keep):
    gains = []
    for seed in range(10):
        X, y = overlapping(np.random.default_rng(seed), 2, 1000, 5)
        kept, last = (Perceptron(keep=which, max_iter=10).fit(X[:500], y[:500]) for which in (keep, "last"))
        gains.append(kept.score(X[500:], y[500:]) - last.score(X[500:], y[500:]))

    assert np.mean(gains) > 0.01


@every_keep
def test_a_pickled_model_is_the_same(keep, rng):
    X, y = overlapping(rng)
    model = Perceptron(keep=keep).fit(X, y)

    again = pickle.loads(pickle.dumps(model))

    assert_array_equal(again.decision_function(X), model.decision_function(X))
