"""Facts shared by several renderers: places, leaders of families, mistakes, applications."""

import json

import numpy as np
import pytest

from likely import Application, compare_scores
from likely.report.facts import (
    application_facts,
    complete_facts,
    describe_mistakes,
    first_of_each,
    mean_cost,
    rank_costs,
)


def test_equal_costs_share_a_place_and_infinite_ones_come_last():
    assert rank_costs([0.3, 0.1, None, 0.1 + 1e-14, None]) == [3, 1, 4, 1, 4]
    assert rank_costs([]) == []


def test_a_mean_with_an_infinite_cost_is_infinite():
    assert mean_cost([0.25, 0.75]) == 0.5
    assert mean_cost([0.25, None]) is None


def test_the_first_of_each_kind_keeps_the_order():
    assert first_of_each(["b1", "a1", "b2", "c1"], lambda name: name[0]) == ["b1", "a1", "c1"]


def test_mistakes_including_rejected_rows_are_listed_by_frequency():
    counts = [[5, 0, 3], [2, 7, 3]]

    found = describe_mistakes(counts, ["a", "b"])

    assert [(each["truth"], each["decided"], each["rows"]) for each in found] == [
        ("a", "rejected", 3),
        ("b", "rejected", 3),
        ("b", "a", 2),
    ]


def test_only_the_most_frequent_mistakes_are_listed():
    counts = np.arange(110).reshape(10, 11).tolist()

    found = describe_mistakes(counts, list(range(10)))

    assert len(found) == 30
    assert found[0] == {"truth": 9, "decided": "rejected", "rows": 109}


@pytest.mark.parametrize("target", [0, 1])
def test_an_application_is_described_for_its_target(target):
    application = Application([0.25, 0.75], [[0, 3], [5, 1]])

    facts = application_facts("mine", application, target)

    assert facts["priors"] == [0.25, 0.75]
    assert facts["prior"] == [0.25, 0.75][target]
    assert facts["base"] == ([1, 0], [0, 1])[target]
    assert (facts["cost_fn"], facts["cost_fp"]) == ((3, 4), (4, 3))[target]
    assert facts["threshold"] == pytest.approx((1 - 2 * (target == 0)) * application.threshold)


def test_an_application_of_more_classes_has_no_target():
    facts = application_facts("mine", Application.equal(3))

    assert facts["prior"] is None
    assert facts["threshold"] is None
    assert facts["constant_cost"] == pytest.approx(2 / 3)


def test_facts_of_earlier_versions_are_completed():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    systems = {name: rng.normal(size=(60, 3)) + 2 * np.eye(3)[y] for name in ("one", "two")}
    facts = compare_scores(y, systems).report().facts
    earlier = json.loads(json.dumps(facts))
    for row in earlier["leaderboard"]:
        del row["leads_family"]
    for table in earlier["confusion"]:
        del table["mistakes"]

    assert complete_facts(earlier) == facts


def test_evaluated_systems_of_earlier_versions_get_places_and_means():
    systems = [
        {"name": "a", "minimum": [0.1, 0.3], "actual": [0.2, None], "cllr": 0.5},
        {"name": "b", "minimum": [0.3, 0.1], "actual": [0.2, 0.4], "cllr": 0.4},
    ]
    board = [{"name": "a", "family": "f"}, {"name": "b", "family": "f"}]

    by_minimum, by_cllr = (
        complete_facts(
            {"leaderboard": board, "evaluation": {"systems": [dict(each) for each in systems]}, "by": by, "classes": []}
        )["evaluation"]["systems"]
        for by in ("minimum", "cllr")
    )

    assert [each["place"] for each in by_minimum] == [1, 1]
    assert [each["place"] for each in by_cllr] == [2, 1]
    assert by_minimum[0]["means"] == {"minimum": pytest.approx(0.2), "actual": None}
    assert [row["leads_family"] for row in board] == [True, False]
