"""The gist of a report in plain words."""

from __future__ import annotations

from typing import Any

from likely._formatting import format_label, quote

__all__ = ["verdict"]

CLEAR = 0.05
"""The level of tests, and the share by which one cost must exceed another to be worth a word."""

_BY = {"minimum": "least minimum cost", "actual": "least cost as calibrated", "cllr": "least Cllr"}


def verdict(facts: dict[str, Any]) -> list[str]:
    """A few sentences: what is best, what it costs, against deciding without looking too, and how sure that is."""
    sentences = [_best(facts), _cost(facts), _calibration(facts), _cheapest_as_given(facts), _race(facts)]
    sentences += [_evaluation(facts)]
    return [sentence for sentence in sentences if sentence]


def _best(facts: dict[str, Any]) -> str:
    board, rows = facts["leaderboard"], f"{facts['about']['rows']:,} rows"
    name = quote(board[0]["name"], 80)
    if len(board) == 1:
        return f"One system, {name}, was judged on {rows}."
    by, several = _BY[facts["about"]["by"]], len(facts["applications"])
    mean = f", in the mean of {several} applications" if several > 1 and facts["about"]["by"] != "cllr" else ""
    return f"Of {len(board)} systems judged on {rows}, {name} has the {by}{mean}."


def _cost(facts: dict[str, Any]) -> str:
    """What the best system costs at the first application, in a thousand cases."""
    application, row = facts["applications"][0], facts["leaderboard"][0]
    costs = row["costs"][application["name"]]
    which = "uncalibrated" if facts["kind"] == "scores" else "actual"
    at, blind = _described(application, facts), _money(1.0, application)
    if costs[which] is None:
        return f"At {at} its scores as given cost infinitely much: they are sure of what is wrong."
    said = _between(costs.get("actual interval") if which == "actual" else None, application)
    whose = "with its scores as given " if facts["kind"] == "scores" else ""
    return (
        f"At {at}, {whose}1,000 cases cost {_money(costs[which], application)}{said}, against {blind} when deciding "
        f"without looking: {_share(costs[which])}."
    )


def _share(cost: float) -> str:
    if cost > 1.005:
        times = f"{cost:.1f} times as much" if cost < 10 else "many times as much"
        return f"{times}, so as they are they are worse than nothing"
    return f"{100 * (1 - cost):.0f} % saved" if cost < 0.995 else "nothing saved"


def _described(application: dict[str, Any], facts: dict[str, Any]) -> str:
    if facts["target"] is None:
        return format_label(application["name"], 100)
    prior, miss, alarm = application["prior"], application["cost_fn"], application["cost_fp"]
    reject = "" if application["reject_cost"] is None else f", rejecting {application['reject_cost']:g}"
    target = quote(facts["target"], 80)
    return f"a prior of {prior:.6g} for {target}, a miss costing {miss:g}, a false alarm {alarm:g}{reject}"


def _calibration(facts: dict[str, Any]) -> str:
    """What is lost by calibration, or what it would save."""
    application = facts["applications"][0]
    costs = facts["leaderboard"][0]["costs"][application["name"]]
    best = "the best threshold" if facts["target"] is not None else "the best affine calibration"
    if costs["minimum"] is None or costs["actual"] is None:
        return ""
    least, calibrated = _money(costs["minimum"], application), _money(costs["actual"], application)
    if facts["kind"] == "scores":
        given = costs["uncalibrated"]
        if given is not None and given - costs["minimum"] <= CLEAR * max(costs["minimum"], 0.01):
            return f"That is about what {best} would give, {least}: they are well calibrated there."
        return f"Calibrated on other rows they would cost {calibrated}; {best} would give {least}."
    if costs["actual"] - costs["minimum"] <= CLEAR * max(costs["minimum"], 0.01):
        return f"That is about what {best} would give, {least}: it is well calibrated there."
    return f"That is by scores calibrated on other rows; {best} would give {least}."


def _race(facts: dict[str, Any]) -> str:
    tested = [row for row in facts["leaderboard"][1:] if row["p_value"] is not None]
    if not tested:
        return ""
    alike = sum(row["p_value"] > CLEAR for row in tested)
    if not alike:
        return "The difference to each of the next systems is more than chance."
    which = "None" if alike == len(tested) else f"{len(tested) - alike}"
    return f"{which} of the next {len(tested)} can be told from it by more than chance (p < 0.05)."


def _cheapest_as_given(facts: dict[str, Any]) -> str:
    """Of others' scores, the system that costs least without being calibrated, where it is another than the best."""
    if facts["kind"] != "scores" or len(facts["leaderboard"]) < 2:
        return ""
    application = facts["applications"][0]
    costs = [(row["costs"][application["name"]]["uncalibrated"], row["name"]) for row in facts["leaderboard"]]
    known = [(cost, name) for cost, name in costs if cost is not None]
    if not known or min(known)[0] in (costs[0][0], None):
        return ""
    return f"As given, {quote(min(known)[1], 80)} costs least: {_money(min(known)[0], application)}."


def _evaluation(facts: dict[str, Any]) -> str:
    """On rows that nothing was chosen on: whether the choice stands, and the cost to promise."""
    found = facts["evaluation"]
    if not found:
        return ""
    chosen = next((each for each in found["systems"] if each["name"] == found["chosen"]), None)
    application = facts["applications"][0]
    if chosen is None or chosen["actual"][0] is None:
        return f"On rows that nothing was chosen on: {found['verdict']}"
    cost = _money(chosen["actual"][0], application)
    return f"On rows that nothing was chosen on, 1,000 cases cost {cost}. {found['verdict']}"


def _money(cost: float, application: dict[str, Any]) -> str:
    """What a normalised cost is in a thousand cases, in units of the table of costs."""
    return f"{float(format(1000 * application['constant_cost'] * cost, '.3g')):,.12g}"


def _between(around: Any, application: dict[str, Any]) -> str:
    if around is None or None in around or around[0] == around[1]:
        return ""
    return f" (95 % interval {_money(around[0], application)} to {_money(around[1], application)})"
