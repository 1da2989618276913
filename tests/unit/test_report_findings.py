"""Each finding, and cases in which there must be none."""

import json

import numpy as np
import pytest

from likely import Application
from likely.report.findings import list_findings
from likely.report.row_findings import Diagnostics

EQUAL = Application([0.5, 0.5])


def facts_of(codes, applications, kind="comparison", **changes):
    """Facts of an unremarkable comparison of two systems, with changes."""
    n_classes = applications[0].n_classes
    counts = np.bincount(codes, minlength=n_classes)
    names = [f"application {i}" for i in range(len(applications))]
    costs = {
        "minimum": 0.3,
        "actual": 0.31,
        "uncalibrated": 0.31,
        "minimum interval": [0.25, 0.36],
        "actual interval": [0.26, 0.37],
    }
    facts = {
        "kind": kind,
        "about": {"rows": len(codes), "by": "minimum"},
        "classes": [{"label": f"<{k}>", "rows": int(count), "weight": float(count)} for k, count in enumerate(counts)],
        "target": "<1>" if n_classes == 2 else None,
        "applications": [
            {"name": name, "priors": app.priors.tolist()} for name, app in zip(names, applications, strict=True)
        ],
        "leaderboard": [
            {"name": name, "family": "logistic", "settings": {}, "costs": {each: dict(costs) for each in names}}
            | {"p_value": p_value}
            for name, p_value in (("first", None), ("second", 0.01))
        ],
        "failures": {},
        "evaluation": None,
        "series": [{"name": "first", "auc": 0.9}, {"name": "second", "auc": 0.8}],
        "grids": [],
    }
    return facts | changes


def scores_of(codes, rng, spread=2.0):
    """Calibrated llrs of two classes, or log-likelihoods of more."""
    if codes.max() == 1:
        return spread * rng.normal(size=len(codes)) + spread**2 / 2 * (2 * codes - 1)
    likelihoods = rng.normal(size=(len(codes), int(codes.max()) + 1))
    likelihoods[np.arange(len(codes)), codes] += spread
    return spread * likelihoods


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def plain(rng):
    """Facts and scores without findings."""
    codes = np.arange(1000) % 2
    return facts_of(codes, [EQUAL]), Diagnostics(codes, None, [EQUAL], scores_of(codes, rng), folds_of(1000, rng))


def folds_of(n, rng, n_folds=5):
    return np.array_split(rng.permutation(n), n_folds)


def find(code, facts, diagnostics):
    made = list_findings(facts, diagnostics)
    json.dumps(made, allow_nan=False)
    return next((each for each in made if each["code"] == code), None)


def replace(diagnostics, **changes):
    names = ("codes", "weight", "applications", "best", "tests", "numbers", "groups", "training")
    return Diagnostics(**({name: getattr(diagnostics, name) for name in names} | changes))


def with_costs(facts, **costs):
    """Change the best system's costs at the first application."""
    facts["leaderboard"][0]["costs"]["application 0"].update(costs)
    return facts


def test_an_unremarkable_comparison_has_no_findings(plain):
    assert list_findings(*plain) == []


def test_unremarkable_scores_have_no_findings(plain):
    facts, diagnostics = plain

    assert list_findings(facts | {"kind": "scores"}, diagnostics) == []


def test_warnings_come_before_notes(plain):
    facts, diagnostics = plain
    facts["failures"] = {"third": "No rows."}

    made = list_findings(with_costs(facts, actual=0.6), diagnostics)

    assert [each["code"] for each in made] == ["miscalibrated", "failed"]
    assert [each["level"] for each in made] == ["warning", "note"]


# Calibration.


def test_decisions_that_cost_clearly_more_than_the_minimum_are_miscalibrated(plain):
    facts, diagnostics = plain

    assert find("miscalibrated", with_costs(facts, actual=0.6), diagnostics)["level"] == "warning"


def test_a_calibration_loss_within_the_interval_may_be_chance(plain):
    facts, diagnostics = plain

    made = find("miscalibrated", with_costs(facts, actual=0.38), diagnostics)

    assert made["level"] == "note"
    assert "chance" in made["said"]
    assert find("miscalibrated", with_costs(facts, actual=0.35), diagnostics) is None


@pytest.mark.parametrize("paid", [0.9, None], ids=["high", "infinite"])
def test_scores_as_given_are_reported_with_their_cost_after_calibration(plain, paid):
    facts, diagnostics = plain

    made = find("miscalibrated", with_costs(facts | {"kind": "scores"}, uncalibrated=paid), diagnostics)

    assert made["level"] == "warning"
    assert "likely calibrate" in made["remedy"]
    assert "0.310" in made["remedy"]


def test_without_intervals_a_loss_of_few_rows_may_be_chance(rng):
    codes = np.arange(40) % 3
    application = Application.equal(3)
    facts = with_costs(facts_of(codes, [application]), minimum=0.3, actual=0.45)
    for name in ("minimum interval", "actual interval"):
        del facts["leaderboard"][0]["costs"]["application 0"][name]

    made = find("miscalibrated", facts, Diagnostics(codes, None, [application], scores_of(codes, rng)))

    assert made["level"] == "note"


def test_scores_that_are_low_for_the_target_have_the_wrong_sign(plain):
    facts, diagnostics = plain
    facts |= {"kind": "scores", "series": [{"name": "first", "auc": 0.2}]}

    made = find("wrong-sign", facts, diagnostics)

    assert "as the positive class" in made["remedy"]
    assert find("worthless", with_costs(facts, actual=1.0, minimum=1.0), diagnostics) is None


def test_an_area_a_little_below_a_half_is_chance(plain):
    facts, diagnostics = plain

    assert (
        find("wrong-sign", facts | {"kind": "scores", "series": [{"name": "first", "auc": 0.48}]}, diagnostics) is None
    )


def test_a_system_that_costs_as_much_as_a_constant_decision_is_worthless(plain):
    facts, diagnostics = plain
    facts = with_costs(
        facts, minimum=0.95, actual=0.99, **{"minimum interval": [0.9, 1.0], "actual interval": [0.93, 1.05]}
    )

    assert find("worthless", facts, diagnostics)["level"] == "warning"


def test_the_best_of_many_must_be_further_below_one(plain):
    facts, diagnostics = plain
    facts = with_costs(
        facts, minimum=0.85, actual=0.9, **{"minimum interval": [0.8, 0.95], "actual interval": [0.82, 0.98]}
    )

    few = find("worthless", facts, diagnostics)
    facts["leaderboard"] += [facts["leaderboard"][1]] * 100

    assert few is None
    assert "102" in find("worthless", facts, diagnostics)["said"]


def test_a_good_system_that_is_badly_calibrated_is_not_worthless(plain):
    facts, diagnostics = plain

    assert find("worthless", with_costs(facts, actual=1.5, **{"actual interval": [1.4, 1.6]}), diagnostics) is None


# The rows.


def test_a_prior_of_twice_the_odds_is_reported(rng):
    codes, application = np.arange(1000) % 2, Application.binary(0.3)
    diagnostics = Diagnostics(codes, None, [application], scores_of(codes, rng))

    made = find("prior-mismatch", facts_of(codes, [application]), diagnostics)

    assert made["level"] == "note"
    assert "50 %" in made["said"]
    assert "30 %" in made["said"] or "70 %" in made["said"]


def test_priors_of_less_than_twice_the_odds_or_of_weighted_rows_are_not_reported(rng):
    codes, application = np.arange(1000) % 2, Application.binary(0.4)
    weight = np.where(codes == 1, 1.0, 9.0)

    near = Diagnostics(codes, None, [application], scores_of(codes, rng))
    weighted = Diagnostics(codes, weight, [Application.binary(0.1)], scores_of(codes, rng))

    assert find("prior-mismatch", facts_of(codes, [application]), near) is None
    assert find("prior-mismatch", facts_of(codes, weighted.applications), weighted) is None


def test_a_class_of_prior_zero_gives_a_finite_number(rng):
    codes, application = np.arange(300) % 3, Application([0.5, 0.5, 0.0])

    diagnostics = Diagnostics(codes, None, [application], scores_of(codes, rng))

    assert "0 %" in find("prior-mismatch", facts_of(codes, [application]), diagnostics)["said"]


@pytest.mark.parametrize(("rows", "level"), [(5, "warning"), (20, "note"), (30, None)])
def test_a_class_of_few_rows_is_reported_with_its_interval(rng, rows, level):
    codes = np.repeat([0, 1], [500, rows])
    diagnostics = Diagnostics(codes, None, [EQUAL], scores_of(codes, rng))

    made = find("tiny-class", facts_of(codes, [EQUAL]), diagnostics)

    assert (made and made["level"]) == level
    assert level is None or "may be anything from" in made["said"]


def test_rows_of_few_groups_count_as_few(rng):
    codes = np.arange(1000) % 2
    groups = np.arange(1000) // 2 % 8

    diagnostics = Diagnostics(codes, None, [EQUAL], scores_of(codes, rng), groups=groups)

    assert "8 groups" in find("tiny-class", facts_of(codes, [EQUAL]), diagnostics)["said"]


def test_labels_in_sentences_are_short(rng):
    codes = np.repeat([0, 1], [500, 5])
    facts = facts_of(codes, [EQUAL])
    facts["classes"][1]["label"] = "x" * 10_000

    assert len(find("tiny-class", facts, Diagnostics(codes, None, [EQUAL], scores_of(codes, rng)))["said"]) < 400


# Learning.


def test_a_system_without_mistakes_is_reported_as_separable(plain):
    facts, diagnostics = plain
    facts = with_costs(
        facts, minimum=0.0, actual=0.0, **{"minimum interval": [0.0, 0.0], "actual interval": [0.0, 0.0]}
    )

    made = find("separable", facts, diagnostics)

    assert "0.6 %" in made["said"]  # 3 in 500
    assert "Exclude such a column" in made["remedy"]


def test_a_training_cost_far_below_the_held_out_cost_is_overfitting(plain):
    facts, diagnostics = plain

    assert find("overfitting", facts, replace(diagnostics, training=[0.02])) is not None
    assert find("overfitting", facts, replace(diagnostics, training=[0.28])) is None


def test_few_mistakes_are_no_sign_of_overfitting(rng):
    codes = np.arange(40) % 2
    facts = with_costs(facts_of(codes, [EQUAL]), minimum=0.1)

    diagnostics = Diagnostics(codes, None, [EQUAL], scores_of(codes, rng), training=[0.0])

    assert find("overfitting", facts, diagnostics) is None


@pytest.mark.parametrize(("cost", "level"), [(0.6, "warning"), (0.33, None)])
def test_evaluation_rows_that_cost_more_than_estimated_are_reported(plain, cost, level):
    facts, diagnostics = plain
    system = {"name": "first", "family": "logistic", "minimum": [cost], "actual": [cost], "cllr": 0.5}
    facts["evaluation"] = {"verdict": "", "chosen": "first", "place": 1, "p_value": 1.0, "systems": [system]}

    made = find("overfitting", facts, diagnostics)

    assert (made and made["level"]) == level


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_fold_that_differs_is_reported(rng, n_classes):
    codes, application = np.arange(1000) % n_classes, Application.equal(n_classes)
    best, tests = scores_of(codes, rng), folds_of(1000, rng)
    best[tests[3]] = scores_of(codes[tests[3]], rng, 0.3)

    made = find("unstable-fold", facts_of(codes, [application]), Diagnostics(codes, None, [application], best, tests))

    assert made["said"].startswith("Fold 4 of 5")


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n", [60, 1000])
def test_folds_that_do_not_differ_are_seldom_reported(rng, n, n_classes):
    """Bernstein's bound gives at most one in twenty; simulations give one in a hundred."""
    codes, application = np.arange(n) % n_classes, Application.equal(n_classes)
    facts = facts_of(codes, [application])
    alarms = [
        find("unstable-fold", facts, Diagnostics(codes, None, [application], scores_of(codes, rng), folds_of(n, rng)))
        for _ in range(60)
    ]

    assert sum(alarm is not None for alarm in alarms) <= 3


def test_groups_that_differ_do_not_make_a_fold_unstable(rng):
    """Whole groups are right or wrong here, so a fold with several wrong groups is not unusual."""
    codes, groups, alarms = np.arange(1000) % 2, np.arange(1000) // 2 % 40, 0
    for _ in range(30):
        best = 4 * (2.0 * codes - 1) * np.where(rng.random(40) < 0.3, -1, 1)[groups]
        tests = [np.flatnonzero(np.isin(groups, part)) for part in folds_of(40, rng)]
        diagnostics = Diagnostics(codes, None, [EQUAL], best, tests, groups=groups)
        alarms += find("unstable-fold", facts_of(codes, [EQUAL]), diagnostics) is not None

    assert alarms <= 1


def test_copies_across_folds_are_a_warning_unless_they_are_coincidences(plain, rng):
    facts, diagnostics = plain
    unique = rng.normal(size=(1000, 3))
    copied = np.vstack([unique[:500], unique[:500]])
    coarse = rng.integers(0, 2, (1000, 2))

    serious = find("duplicate-rows", facts, replace(diagnostics, numbers=copied))

    assert serious["level"] == "warning"
    assert "into one group" in serious["remedy"]
    assert find("duplicate-rows", facts, replace(diagnostics, numbers=unique)) is None
    assert find("duplicate-rows", facts, replace(diagnostics, numbers=coarse))["level"] == "note"


# The choice.


def test_the_end_of_a_grid_where_the_cost_still_falls_is_reported(plain):
    facts, diagnostics = plain
    grid = {"family": "logistic", "parameter": "λ", "scale": "log", "values": [0.01, 0.1, 1.0]}
    line = {"name": "standardised", "actual": [0.5, 0.4, 0.3]}

    def find_edge(costs):
        return find("edge-of-grid", facts | {"grids": [grid | {"lines": [line | {"minimum": costs}]}]}, diagnostics)

    assert "λ 1," in find_edge([0.5, 0.4, 0.3])["said"]
    assert "λ 0.01," in find_edge([0.3, 0.4, 0.5])["said"]
    assert find_edge([0.5, 0.3, 0.4]) is None
    assert find_edge([0.5, 0.3, 0.2999]) is None  # flat
    assert find_edge([0.5, None, 0.3]) is None


def test_choices_and_a_penalty_of_zero_have_no_end(plain):
    facts, diagnostics = plain
    lines = [{"name": "", "minimum": [0.3, 0.4, 0.5], "actual": [0.3, 0.4, 0.5]}]
    grids = [
        {"family": "logistic", "parameter": "shape", "scale": "category", "values": ["a", "b", "c"], "lines": lines},
        {"family": "logistic", "parameter": "λ", "scale": "category", "values": ["0", "0.1", "1"], "lines": lines},
    ]

    assert find("edge-of-grid", facts | {"grids": grids}, diagnostics) is None


def test_another_system_that_does_better_on_evaluation_rows_is_reported(plain):
    facts, diagnostics = plain
    systems = [
        {"name": name, "family": "logistic", "minimum": [cost], "actual": [cost], "cllr": 0.5}
        for name, cost in (("second", 0.2), ("first", 0.31))
    ]
    verdict = {"verdict": "", "chosen": "first", "place": 2, "systems": systems}

    assert find("choice", facts | {"evaluation": verdict | {"p_value": 0.001}}, diagnostics)["level"] == "warning"
    assert find("choice", facts | {"evaluation": verdict | {"p_value": 0.3}}, diagnostics) is None


def test_systems_that_do_as_well_as_the_first_are_counted(plain):
    facts, diagnostics = plain
    facts["leaderboard"].append(facts["leaderboard"][1] | {"name": "third", "p_value": 0.6})

    made = find("close-race", facts, diagnostics)

    assert made["said"].startswith("1 of the next 2 systems does as well as the first")
    assert "'third'" in made["said"]


def test_candidates_that_failed_are_reported_with_the_first_reason(plain):
    facts, diagnostics = plain

    made = find("failed", facts | {"failures": {"a": "Too few rows.", "b": "x" * 10_000}}, diagnostics)

    assert "'a': Too few rows." in made["said"]
    assert len(find("failed", facts | {"failures": {"b": "x" * 10_000}}, diagnostics)["said"]) < 400
