"""Laws of confidence intervals and of paired comparison."""

import runpy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import likely.blocks.threads
from likely import (
    Application,
    DegenerateDataError,
    Trials,
    actual_dcf,
    bayes_risk,
    cllr,
    confidence_interval,
    confidence_intervals,
    confusion,
    cross_entropy_after_affine,
    eer,
    min_cllr,
    min_dcf,
    paired_difference,
)

SIMULATION = Path(__file__).parents[2] / "benchmarks" / "interval_coverage.py"


def draw(rng, targets=60, nontargets=240, d=2.0):
    y = np.repeat([0, 1], [nontargets, targets])
    return y, d * rng.normal(size=len(y)) + np.where(y == 1, 1, -1) * d * d / 2


def ends(found):
    return np.array([found.low, found.high])


METRICS = [cllr, min_cllr, eer, partial(min_dcf, applications=0.2), partial(actual_dcf, applications=0.2)]


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: getattr(m, "func", m).__name__)
def test_estimates_equal_the_metric_and_bounds_are_in_order(rng, metric):
    y, llr = draw(rng)
    found = (
        confidence_interval(metric, y, llr, n_resamples=200)
        if not hasattr(metric, "func")
        else _partial(metric, y, llr)
    )

    assert found.estimate == metric(y, llr)
    assert 0 < found.low < found.high


def _partial(metric, y, llr):
    return confidence_intervals({"it": metric}, y, llr, n_resamples=200)["it"]


def test_the_same_seed_gives_the_same_draws_for_any_number_of_threads(rng, monkeypatch):
    y, llr = draw(rng)
    first = ends(confidence_interval(cllr, y, llr, n_resamples=100, seed=3))
    monkeypatch.setattr(likely.blocks.threads, "n_threads", lambda: 1)

    assert_allclose(ends(confidence_interval(cllr, y, llr, n_resamples=100, seed=3)), first, rtol=0)
    assert not np.array_equal(ends(confidence_interval(cllr, y, llr, n_resamples=100, seed=4)), first)


def test_several_metrics_at_once_equal_one_at_a_time(rng):
    y, llr = draw(rng)
    together = confidence_intervals(
        {"a": cllr, "b": partial(min_dcf, applications=[0.1, 0.5])}, y, llr, n_resamples=100
    )

    assert_allclose(ends(together["a"]), ends(confidence_interval(cllr, y, llr, n_resamples=100)))
    assert_allclose(together["b"].low[1], confidence_interval(min_dcf, y, llr, 0.5, n_resamples=100).low)
    assert together["b"].estimate.shape == together["b"].high.shape == (2,)


def test_a_user_function_gives_the_interval_of_the_same_metric(rng):
    y, llr = draw(rng)

    def own(y_true, scores, sample_weight=None):
        return cllr(y_true, scores, sample_weight=sample_weight)

    assert_allclose(
        ends(confidence_interval(own, y, llr, n_resamples=50)), ends(confidence_interval(cllr, y, llr, n_resamples=50))
    )


def test_costs_of_many_classes_have_intervals(rng):
    y = np.repeat(["a", "b", "c"], 40)
    scores = rng.normal(size=(120, 3)) + 2 * (y[:, None] == np.array(["a", "b", "c"]))
    app = Application([0.2, 0.3, 0.5])
    risk = confidence_interval(bayes_risk, y, scores, app, n_resamples=100)
    affine = confidence_interval(cross_entropy_after_affine, y, scores, n_resamples=20)

    assert risk.low < bayes_risk(y, scores, app) < risk.high
    assert affine.low < affine.high

    def accuracy(y_true, chosen, sample_weight=None):
        return confusion(y_true, chosen, sample_weight=sample_weight).accuracy

    found = confidence_interval(accuracy, y, np.array(["a", "b", "c"])[scores.argmax(axis=1)], n_resamples=100)
    assert found.low < found.estimate < found.high <= 1


def test_intervals_are_nested_by_level_and_narrower_for_more_trials(rng):
    y, llr = draw(rng)
    narrow, wide = (ends(confidence_interval(cllr, y, llr, level=level)) for level in (0.5, 0.95))
    more = confidence_interval(cllr, *draw(rng, 960, 3840))

    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert more.high - more.low < (wide[1] - wide[0]) / 2


def test_groups_of_one_row_equal_rows_and_copies_in_groups_add_no_information(rng):
    y, llr = draw(rng)
    once = confidence_interval(cllr, y, llr)
    copies = confidence_interval(cllr, np.repeat(y, 4), np.repeat(llr, 4), groups=np.repeat(np.arange(len(y)), 4))
    taken_for_rows = confidence_interval(cllr, np.repeat(y, 4), np.repeat(llr, 4))

    assert_allclose(ends(confidence_interval(cllr, y, llr, groups=np.arange(len(y)))), ends(once))
    assert_allclose(ends(copies), ends(once))
    assert taken_for_rows.high - taken_for_rows.low < 0.6 * (once.high - once.low)


def test_groups_may_hold_both_classes(rng):
    y, llr = draw(rng)
    speakers = rng.integers(20, size=len(y))
    found = confidence_interval(cllr, y, llr, groups=speakers)

    assert found.low < found.estimate < found.high


def test_one_group_of_a_class_has_no_interval(rng):
    y, llr = draw(rng)

    with pytest.raises(DegenerateDataError, match="two independent rows or groups of each class"):
        confidence_interval(cllr, y, llr, groups=np.where(y == 1, 0, np.arange(1, len(y) + 1)))


def test_a_system_does_not_differ_from_itself_and_differences_have_a_sign(rng):
    y, llr = draw(rng)
    worse = llr + rng.normal(size=len(y))
    same, there, back = (
        paired_difference(cllr, y, *pair, n_resamples=200) for pair in ((llr, llr), (llr, worse), (worse, llr))
    )

    assert same.p_value == 1
    assert ends(same.difference).tolist() == [0, 0]
    assert_allclose(ends(there.difference), -ends(back.difference)[::-1])
    assert there.difference.estimate == cllr(y, worse) - cllr(y, llr)
    assert there.first == cllr(y, llr)


def test_paired_differences_detect_more_than_separate_intervals(rng):
    y, llr = draw(rng)
    worse = 2.5 * llr
    paired = paired_difference(cllr, y, llr, worse)
    apart = [confidence_interval(cllr, y, scores) for scores in (llr, worse)]

    assert paired.difference.low > 0
    assert apart[1].low < apart[0].high


def test_95_percent_intervals_of_costs_cover_the_truth_about_95_times_in_100():
    """60 simulations of 100 targets and 400 nontargets with known costs; one standard error is 2.8 %.

    ``benchmarks/interval_coverage.py`` runs the same simulation with more draws and larger data.
    """
    simulation = runpy.run_path(str(SIMULATION))
    measures, simulate, n = simulation["MEASURES"], simulation["simulate"], 60
    names = ["DCF, .5", "DCF, .1", "Cllr", "min DCF, .5", "EER", "min Cllr"]
    truth = dict(zip(measures, simulation["truths"](2.0), strict=True))
    rng, hits = np.random.default_rng(1), dict.fromkeys(names, 0)
    for seed in range(n):
        y, llr = simulate(2.0, 100, 400, rng)
        found = confidence_intervals({name: measures[name] for name in names}, y, llr, n_resamples=100, seed=seed)
        for name in names:
            hits[name] += found[name].low <= truth[name] <= found[name].high

    assert {name: 0.88 <= hits[name] / n <= 0.99 for name in names[:3]} == dict.fromkeys(names[:3], True), hits
    assert all(hits[name] / n > 0.85 for name in names[3:]), hits


def test_equal_systems_seldom_differ_significantly_in_minimum_cost():
    application, y = Application.binary(0.3, cost_fn=5), np.repeat([0, 1], [210, 90])
    n_significant = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        base = 1.2 * rng.normal(size=len(y)) + np.where(y == 1, 0.7, -0.7)
        first, second = (base + 0.15 * rng.normal(size=len(y)) for _ in range(2))
        n_significant += paired_difference(min_dcf, y, first, second, application, n_resamples=100).p_value < 0.05

    assert n_significant <= 6  # three are expected


def test_coarse_steps_give_the_intervals_of_all_steps(monkeypatch):
    rng = np.random.default_rng(5)
    y = rng.random(70_000) < 0.05
    llr = rng.normal(2.0 * (2 * y - 1), 1.6)
    measures = {
        "actual": partial(actual_dcf, applications=[0.5, 0.001]),
        "minimum": partial(min_dcf, applications=[0.5, 0.001]),
        "cllr": cllr,
        "eer": eer,
    }

    coarse = confidence_intervals(measures, y, llr, n_resamples=50)
    monkeypatch.setattr("likely.evaluation.trials.MAX_RESAMPLED_STEPS", 10**9)
    exact = confidence_intervals(measures, y, llr, n_resamples=50)

    for name, whole in exact.items():
        width = np.asarray(whole.high) - np.asarray(whole.low)
        assert np.array_equal(coarse[name].estimate, whole.estimate)
        for end in ("low", "high"):
            assert (np.abs(np.asarray(getattr(coarse[name], end)) - getattr(whole, end)) < 0.05 * width).all()


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_many_trials_of_any_weight_have_fine_steps(scale):
    rng = np.random.default_rng(5)
    y = rng.random(70_000) < 0.01
    llr = rng.normal(2.0 * (2 * y - 1), 1.6)

    unit, scaled = (Trials(y, llr, sample_weight=np.full(70_000, weight)).coarse().steps for weight in (1.0, scale))

    assert len(unit.thresholds) > 5000
    assert len(scaled.thresholds) == pytest.approx(len(unit.thresholds), rel=0.01)
