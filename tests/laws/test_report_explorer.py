"""The counts in a page give the library's costs at every position of its sliders."""

import json
from bisect import bisect_left
from itertools import islice, product
from math import inf, isinf, log, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likely import Application, IsotonicCalibrator, Trials, compare_scores
from likely.report.explorer import Controls, decode_numbers, encode_numbers

MILLION = 1_000_000


class Held:
    """The facts of the explorer for two classes, decoded as the page's script does."""

    def __init__(self, facts):
        explorer = facts["explorer"]
        self.priors, self.costs, self.rejects = (explorer[key] for key in ("priors", "costs", "reject_costs"))
        self.resolution = explorer["resolution"]
        self.units = {
            kind: np.cumsum([part["first"], *decode_numbers(part["steps"])]).tolist()
            for kind, part in explorer["thresholds"].items()
        }
        self.nontargets, self.targets = explorer["totals"]
        self.tables = [
            {which: {kind: self._counts(text, kind) for kind, text in texts.items()} for which, texts in tables.items()}
            for tables in (one["tables"] for one in facts["series"])
        ]

    def _counts(self, text, kind):
        increases = np.zeros((len(self.units[kind]), 2))
        triples = np.array(decode_numbers(text), dtype=int).reshape(-1, 3)
        increases[np.cumsum(triples[:, 0])] = triples[:, 1:]
        return np.cumsum(increases, axis=0)

    def index(self, kind, threshold):
        return bisect_left(self.units[kind], threshold / self.resolution - 2)

    def cost(self, which, position, series=0):
        """Normalised cost at a position: prior, cost of a miss, cost of a false alarm, and reject cost or None."""
        prior, fn, fp, reject = position
        counts = self.tables[series][which]
        ends = thresholds_at(position)
        (missed, refused), (below, below_others) = (counts[kind][self.index(kind, at)] for kind, at in ends)
        accepted, alarms = self.targets - below, self.nontargets - below_others
        price = reject or 0.0
        of_targets = fn * missed + price * (self.targets - missed - accepted)
        of_nontargets = fp * alarms + price * (self.nontargets - refused - alarms)
        cost = prior * of_targets / self.targets + (1 - prior) * of_nontargets / self.nontargets
        return cost / min(prior * fn, (1 - prior) * fp, inf if reject is None else reject)


def logit(p):
    return log(p) - log1p(-p)


def thresholds_at(position):
    """Kinds and values of two thresholds: refused up to the first, accepted from the second on, rejected in between."""
    prior, fn, fp, reject = position
    middle = "middle", log((1 - prior) * fp) - log(prior * fn)
    if reject is None or reject >= min(fn, fp):
        return middle, middle
    low, high = logit(reject / fn) - logit(prior), -logit(reject / fp) - logit(prior)
    return (("low", low), ("high", high)) if high - low > 1e-9 else (middle, middle)


def application(position, target=None):
    prior, fn, fp, reject = position
    return Application.binary(prior, fn, fp, positive=target, reject_cost=reject)


def scores_of(kind):
    """Labels, llrs and weights."""
    rng = np.random.default_rng(7)
    y = np.arange(160) % 3 // 2
    llr = rng.normal(3 * y - 1.5, 2.0)
    if kind == "tied":
        llr = np.round(llr) + 0.25
    if kind == "infinite":
        llr[::9], llr[1::17] = -inf, inf
    if kind == "constant":
        llr = np.zeros(160)
    if kind == "few rows":
        y, llr = np.array([0, 0, 1, 1]), np.array([-0.5, 0.1, 0.0, 0.7])
    if kind == "far":
        llr = llr * 1e6
    weights = {"whole weights": rng.integers(0, 5, 160), "fractional weights": rng.gamma(1.0, 1.0, 160)}
    return y, llr, weights.get(kind)


def calibrator_of(scores):
    """A calibrator for these scores: the affine one does not accept infinite scores."""
    return None if np.isfinite(scores).all() else IsotonicCalibrator()


KINDS = ["plain", "tied", "infinite", "constant", "far", "whole weights", "fractional weights"]


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    """A report, and the trials of its scores as given and calibrated."""
    y, llr, weight = scores_of(request.param)
    applications = [Application.binary(0.03, 7, 3), Application.binary(0.6, reject_cost=0.13)]
    comparison = compare_scores(y, {"mine": llr}, applications, sample_weight=weight, calibrator=calibrator_of(llr))
    rows = comparison.workings.rows
    trials = {
        "given": Trials(rows.y, comparison.best.scores, sample_weight=rows.weight),
        "calibrated": Trials(rows.y, comparison.best.calibrated, sample_weight=rows.weight),
    }
    return comparison.report().facts, trials


def assert_same_costs(held, trials, positions):
    apps = [application(position) for position in positions]
    # Weights that are not integers are rounded to a small part of their sum.
    slack = [2e-8 * max(fn, fp) / app.constant_cost for (_, fn, fp, _), app in zip(positions, apps, strict=True)]
    expected = {
        "given": trials["given"].actual_dcf(apps),
        "calibrated": trials["calibrated"].actual_dcf(apps),
        "minimum": trials["given"].min_dcf(apps),
    }
    for which, costs in expected.items():
        found = np.array([held.cost(which, position) for position in positions])
        wrong = np.flatnonzero(np.abs(found - costs) > 1e-9 * costs + slack)
        assert [(positions[k], found[k], costs[k]) for k in wrong] == [], which


def test_every_position_of_the_sliders_has_the_cost_of_the_library(case):
    facts, trials = case
    held = Held(facts)

    positions = [(*position, None) for position in product(held.priors, held.costs, held.costs)]

    assert len(positions) >= 4000
    assert_same_costs(held, trials, positions)


def test_every_position_with_a_reject_cost_has_the_cost_of_the_library(case):
    facts, trials = case
    held, rng = Held(facts), np.random.default_rng(3)
    parts = (held.priors, held.costs, held.costs, held.rejects)

    positions = list(zip(*(rng.choice(part, 1500).tolist() for part in parts), strict=True))

    assert_same_costs(held, trials, positions)


def test_scores_of_0_are_accepted_where_the_threshold_is_0():
    y, llr, _ = scores_of("tied")
    comparison = compare_scores(y, {"mine": np.round(llr)}, [Application.binary(0.5)])
    held, trials = Held(comparison.report().facts), Trials(y, np.round(llr))

    for position in product(held.priors, held.costs, held.costs, [None]):
        assert held.cost("given", position) == pytest.approx(trials.actual_dcf(application(position))), position


@pytest.mark.parametrize("target", ["a", "b"])
def test_either_label_may_be_the_target(target):
    y, llr, _ = scores_of("tied")
    labels = np.array(["a", "b"])[y if target == "b" else 1 - y]
    facts = compare_scores(labels, {"mine": llr}, [Application.binary(0.1, 5, positive=target)]).report().facts
    held, trials = Held(facts), Trials(labels, llr, pos_label=target)

    assert facts["target"] == target
    for position in product(held.priors[::5], held.costs, held.costs, [None, 0.5]):
        expected = trials.actual_dcf(application(position, target))
        assert held.cost("given", position) == pytest.approx(expected, rel=1e-9)


def test_thresholds_rise_and_are_those_of_the_sliders(case):
    held = Held(case[0])
    positions = product(held.priors, held.costs, held.costs, [None])
    reachable = {"middle": {round(thresholds_at(position)[0][1] / held.resolution) for position in positions}}
    for kind, sign in (("low", 1), ("high", -1)):
        reachable[kind] = {
            round((sign * logit(reject / cost) - logit(prior)) / held.resolution)
            for prior, cost, reject in product(held.priors, held.costs, held.rejects)
            if reject < cost
        }

    for kind, units in held.units.items():
        assert (np.diff(units) > 4).all()
        nearest = [units[min(bisect_left(units, unit - 2), len(units) - 1)] for unit in reachable[kind]]
        assert max(abs(a - b) for a, b in zip(nearest, reachable[kind], strict=True)) <= 2
        assert set(nearest) == set(units)


def test_the_sliders_include_the_positions_of_the_applications(case):
    held = Held(case[0])

    assert {0.03, 0.6} <= set(held.priors)
    assert {7.0, 3.0} <= set(held.costs)
    assert 0.13 in held.rejects
    for positions in (held.priors, held.costs, held.rejects):
        assert positions == sorted(set(positions))


@given(st.lists(st.integers(0, 2**60)))
def test_decoding_inverts_encoding(numbers):
    text = encode_numbers(numbers)

    assert decode_numbers(text) == numbers
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(allow_nan=False), st.integers(1, 3)), min_size=2, max_size=30).filter(
        lambda rows: len({row[0] for row in rows}) == 2
    )
)
def test_any_scores_have_the_same_costs(rows):
    y, llr, weight = (np.array(column) for column in zip(*rows, strict=True))
    controls, trials = Controls(), Trials(y, llr + 0.01, sample_weight=weight)
    totals = [int(trials.n_nontargets), int(trials.n_targets)]
    held = Held(
        {"explorer": {**controls.to_dict(), "totals": totals}, "series": [{"tables": controls.counts(trials, 1)}]}
    )
    positions = list(product(held.priors[::9], held.costs[::4], held.costs[::4], [None, 0.1]))
    apps = [application(position, True) for position in positions]

    assert [held.cost("actual", position) for position in positions] == pytest.approx(trials.actual_dcf(apps), rel=1e-9)
    assert [held.cost("minimum", position) for position in positions] == pytest.approx(trials.min_dcf(apps), rel=1e-9)


@pytest.mark.parametrize("kind", [*KINDS, "few rows"])
def test_facts_are_json_without_nan(kind):
    y, llr, weight = scores_of(kind)
    systems, calibrator = {"mine": llr, "turned": -llr}, calibrator_of(llr)
    report = compare_scores(y, systems, [0.1, 0.5], sample_weight=weight, calibrator=calibrator).report()

    assert_finite(report.facts)
    assert json.loads(report.json()) == json.loads(json.dumps(report.facts, allow_nan=False))
    assert len(report.html()) < MILLION


def test_facts_of_more_classes_are_json_without_nan():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(90, 3))
    scores[::7, 0], scores[1::11, 1:] = -1e6, 1e300
    report = compare_scores(np.arange(90) % 3, {"mine": scores}).report()

    assert_finite(report.facts)
    assert len(report.html()) < MILLION


def assert_finite(facts):
    if isinstance(facts, dict):
        assert all(isinstance(key, str) for key in facts)
        facts = list(facts.values())
    if isinstance(facts, list):
        for part in facts:
            assert_finite(part)
    else:
        assert facts is None or type(facts) in (str, int, bool) or (type(facts) is float and abs(facts) < inf), facts


@pytest.mark.parametrize(("n_rows", "n_systems"), [(10_000, 1), (300, 60)])
def test_the_page_of_many_rows_or_systems_is_small(n_rows, n_systems):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n_rows)
    systems = {f"system {k}": rng.normal(y * (k + 1) / 10, 1.0) for k in range(n_systems)}
    report = compare_scores(y, systems, [Application.binary(0.1, 5), 0.5]).report()

    assert len(report.html().encode()) < MILLION / 2


def test_the_counts_of_many_rows_are_short():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, MILLION)
    trials = Trials(y, rng.normal(3.0 * y, 2.0))

    assert sum(len(text) for texts in Controls().counts(trials, 1).values() for text in texts.values()) < 50_000


@pytest.mark.parametrize("n_classes", [25, 200])
def test_the_page_of_many_classes_is_small(n_classes):
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(n_classes), 12)
    scores = rng.normal(2.0 * (y[:, None] == np.arange(n_classes)), 1.0)
    applications = [Application.equal(n_classes), Application(rng.dirichlet(np.full(n_classes, 2.0)))]
    report = compare_scores(y, {"mine": scores}, applications).report()

    assert len(report.html().encode()) < MILLION


def test_a_sample_has_rows_of_rare_classes_and_rounded_scores():
    rng = np.random.default_rng(2)
    y = rng.choice(3, 6000, p=[0.9, 0.09, 0.01])
    scores = rng.normal(2.0 * (y[:, None] == np.arange(3)), 1.0)
    scores[0] = [-500.0, 0.0, -100.0]
    facts = compare_scores(y, {"mine": scores}).report().facts["explorer"]
    codes, depth = (
        np.array(decode_numbers(facts["codes"])),
        np.array(decode_numbers(facts["systems"][0]["scores"])).reshape(-1, 3),
    )

    assert len(codes) == facts["rows"] <= 2000 < facts["of"] == 6000
    shares, rarest = np.bincount(y) / 6 + 1000 / 3, np.bincount(y)[2]
    assert np.bincount(codes) == pytest.approx([*shares[:2], rarest], abs=1)
    assert facts["class_rows"] == np.bincount(y).tolist()
    assert facts["weights"] is None
    assert (depth.min(axis=1) == 0).all()
    assert not isinf(depth.max())
    assert depth.max() <= 100_000


def test_scores_equal_to_thresholds_are_decided_as_by_the_library():
    grid = list(product((0.001, 0.03, 0.1, 0.3, 0.45, 0.5, 0.7, 0.95, 0.999), (1.0, 2.0, 5.0, 20.0), (1.0, 10.0, 50.0)))
    llr = np.repeat([application((*position, None)).threshold for position in grid], 2)
    y = np.arange(len(llr)) % 2
    comparison = compare_scores(y, {"mine": llr}, [Application.binary(0.5)])
    held, trials = Held(comparison.report().facts), Trials(y, llr)

    for position in product(held.priors, held.costs, held.costs):
        there = (*position, None)
        assert held.cost("given", there) == pytest.approx(trials.actual_dcf(application(there))), there


def test_scores_at_the_ends_of_the_rejected_interval_are_decided_as_by_the_library():
    y, llr, _ = scores_of("tied")
    facts = compare_scores(y, {"mine": np.round(llr)}, [Application.binary(0.5)]).report().facts
    held, trials = Held(facts), Trials(y, np.round(llr))

    for position in islice(product(held.priors, held.costs, held.costs, held.rejects), 0, None, 7):
        assert held.cost("given", position) == pytest.approx(trials.actual_dcf(application(position))), position


def test_integer_and_boolean_scores_change_sign_for_the_first_class():
    y = np.array([0, 1] * 50)
    for scores in (np.where(y == 0, 3, 0).astype(np.uint8), y == 0):
        assert compare_scores(y, {"mine": scores}, pos_label=0).best.standing.minimum == [0.0]


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_scores_of_more_classes_that_are_infinite_have_a_page(infinite):
    rng = np.random.default_rng(3)
    y = np.arange(90) % 3
    scores = rng.normal(2.0 * (y[:, None] == np.arange(3)), 1.0)
    scores[4, 1] = infinite

    report = compare_scores(y, {"mine": scores}).report()

    assert "nan" not in report.markdown().lower()
    assert report.html().rstrip().endswith("</html>")
    assert json.loads(report.json()) == report.facts
