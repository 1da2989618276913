"""The gist of a report in plain words."""

from __future__ import annotations

from typing import Any

__all__ = ["verdict"]

CLEAR = 0.05
"""The level of tests, and the share by which one cost must exceed another to be worth a word."""


def verdict(facts: dict[str, Any]) -> list[str]:
    """A few sentences: what is best, what it costs, against deciding without looking too, and how sure that is."""
    sentences = [_best(facts), _cost(facts), _calibration(facts), _race(facts)]
    if facts["evaluation"]:
        sentences.append(f"On rows that nothing was chosen on: {facts['evaluation']['verdict']}")
    return [sentence for sentence in sentences if sentence]


def _best(facts: dict[str, Any]) -> str:
    board, rows = facts["leaderboard"], f"{facts['about']['rows']:,} rows"
    name = board[0]["name"]
    if len(board) == 1:
        return f"One system, {name!r}, was judged on {rows}."
    by = {"minimum": "least cost", "actual": "least cost as calibrated", "cllr": "least Cllr"}[facts["about"]["by"]]
    return f"Of {len(board)} systems judged on {rows}, {name!r} has the {by}."


def _cost(facts: dict[str, Any]) -> str:
    """What the best system costs at the first application, in a thousand cases."""
    application, row = facts["applications"][0], facts["leaderboard"][0]
    costs = row["costs"][application["name"]]
    cost, which = _paid(facts, costs)
    if cost is None:
        return f"At {application['name']} its scores as given cost infinitely much: they are sure of what is wrong."
    constant = _constant(application)
    said = _between(costs.get("actual interval") if which == "actual" else None, 1000 * constant)
    return (
        f"At {_described(application, facts)}, 1,000 cases cost {1000 * constant * cost:.3g}{said}, against "
        f"{1000 * constant:.3g} when deciding without looking: {_share(cost)}."
    )


def _paid(facts: dict[str, Any], costs: dict[str, Any]) -> tuple[float | None, str]:
    """What decisions cost: by a comparison's calibrated scores, or by others' scores as they are."""
    which = "uncalibrated" if facts["kind"] == "scores" else "actual"
    return costs[which], which


def _share(cost: float) -> str:
    if cost > 1:
        return f"{cost:.2f} times as much, so it is worse than no system"
    return f"{100 * (1 - cost):.0f} % saved" if cost < 0.995 else "nothing saved"


def _described(application: dict[str, Any], facts: dict[str, Any]) -> str:
    if facts["target"] is None:
        return str(application["name"])
    prior, miss, alarm = application["prior"], application["cost_fn"], application["cost_fp"]
    return f"a prior of {prior:.3g} for {facts['target']!r}, a miss costing {miss:g} and a false alarm {alarm:g}"


def _constant(application: dict[str, Any]) -> float:
    """Cost of the best decision that looks at nothing."""
    priors, costs = application["priors"], application["costs"]
    constants = [sum(p * row[k] for p, row in zip(priors, costs, strict=True)) for k in range(len(priors))]
    reject = application["reject_cost"]
    return float(min(constants if reject is None else [*constants, reject]))


def _calibration(facts: dict[str, Any]) -> str:
    costs = facts["leaderboard"][0]["costs"][facts["applications"][0]["name"]]
    cost, _ = _paid(facts, costs)
    least = costs["minimum"]
    if cost is None or least is None:
        return ""
    best = "the best threshold" if facts["target"] is not None else "the best affine calibration"
    whose = "Its scores as given" if facts["kind"] == "scores" else "Calibrated on other rows, its scores"
    if cost - least > CLEAR * max(least, 0.01):
        more = f"{100 * (cost / least - 1):.0f} % more than" if least > 0 else "more than"
        return f"{whose} cost {more} {best} would: {cost:.3f} against {least:.3f}."
    return f"{whose} cost about what {best} would: {cost:.3f} against {least:.3f}."


def _race(facts: dict[str, Any]) -> str:
    tested = [row for row in facts["leaderboard"][1:] if row["p_value"] is not None]
    if not tested:
        return ""
    alike = sum(row["p_value"] >= CLEAR for row in tested)
    if not alike:
        return "The difference to each of the next systems is more than chance."
    which = "None" if alike == len(tested) else f"{len(tested) - alike}"
    return f"{which} of the next {len(tested)} can be told from it by more than chance (p < 0.05)."


def _between(around: Any, scale: float) -> str:
    if around is None or None in around:
        return ""
    return f" (95 % interval {scale * around[0]:.3g} to {scale * around[1]:.3g})"
