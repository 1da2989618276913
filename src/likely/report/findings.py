"""The verdict of a report, and its findings: warnings and notes with a remedy."""

from __future__ import annotations

import math
from typing import Any

from scipy.stats import norm

from likely._formatting import format_cost, format_label, quote
from likely.report.row_findings import (
    CLEAR,
    QUANTILE,
    SIGNIFICANT,
    Diagnostics,
    Finding,
    check_duplicate_rows,
    check_overfitting,
    check_prior_mismatch,
    check_separable,
    check_tiny_class,
    check_unstable_fold,
    list_costs,
    mention_application,
    name_best_map,
    quote_labels,
)

LOSS, SHARE_LOST = 0.02, 0.1
"""Smallest calibration loss that is reported if it is clearly not chance: in normalised cost, and as a share of the
minimum cost. A smaller loss changes few decisions."""

USELESS = 0.99
"""Minimum cost above which no calibration helps: the scores carry no information."""

DOUBTFUL_LOSS, DOUBTFUL_SHARE = 0.05, 0.25
"""Smallest calibration loss that is reported if it may be chance. With few rows there is always a smaller loss, because
the minimum cost is optimised on these rows."""

MIN_VALUES, FLAT = 3, 0.01
"""A grid is checked if it has at least MIN_VALUES values. It is reported if its last step reduces the cost by more than
the share FLAT."""

SLIGHT = 0.05
"""The verdict mentions that one cost exceeds another only if it does so by at least this share."""


def write_verdict(facts: dict[str, Any]) -> list[str]:
    """Write a few sentences: the best system, its cost compared with deciding without looking, and the certainty."""
    parts = (
        _describe_best,
        _describe_cost,
        _describe_calibration,
        _name_cheapest_as_given,
        _describe_race,
        _describe_evaluation,
    )
    return [sentence for describe in parts if (sentence := describe(facts))]


def _describe_best(facts: dict[str, Any]) -> str:
    board, rows = facts["leaderboard"], f"{facts['about']['rows']:,} rows"
    name, by = quote(board[0]["name"], 80), facts["about"]["by"]
    if len(board) == 1:
        return f"One system, {name}, was evaluated on {rows}."
    lead = {
        "minimum": f"is the cheapest {_at_best_map(facts)}",
        "actual": "is the cheapest after calibration on other rows",
        "cllr": "has the lowest Cllr",
    }[by]
    several = len(facts["applications"])
    mean = f", on average over {several} applications" if several > 1 and by != "cllr" else ""
    return f"Of {len(board)} systems evaluated on {rows}, {name} {lead}{mean}."


def _at_best_map(facts: dict[str, Any]) -> str:
    return "at its best threshold" if len(facts["classes"]) == 2 else "after its best affine calibration"


def _describe_cost(facts: dict[str, Any]) -> str:
    """Describe what the best system costs at the first application, per thousand cases."""
    application, row = facts["applications"][0], facts["leaderboard"][0]
    costs = row["costs"][application["name"]]
    which = "uncalibrated" if facts["kind"] == "scores" else "actual"
    at, blind = _describe_application(application, facts), _money(1.0, application)
    if costs[which] is None:
        return f"At {at}, the cost of its scores as given is infinite: they are certain of a wrong answer."
    paid, around = _money(costs[which], application), costs.get("actual interval") if which == "actual" else None
    if around is not None and None not in around and around[0] != around[1]:
        paid += f" (95 % interval {_money(around[0], application)} to {_money(around[1], application)})"
    saved = f"{100 * (1 - costs[which]):.0f} % saved" if costs[which] < 0.995 else "nothing saved"
    if costs[which] > 1.005:
        times = f"{costs[which]:.1f} times as much" if costs[which] < 10 else "10 times as much or more"
        saved = f"{times}, so it is better not to use these scores without calibration"
        if facts["kind"] != "scores":
            saved = f"{times}, so it is better not to use this system here"
    decided = " decided by its scores as given" if facts["kind"] == "scores" else ""
    constant = f"{blind} for deciding without looking (always giving the same answer)"
    return f"At {at}, 1,000 cases{decided} cost {paid}, against {constant}: {saved}."


def _describe_application(application: dict[str, Any], facts: dict[str, Any]) -> str:
    if facts["target"] is None:
        return format_label(application["name"], 100)
    prior, miss, alarm = application["prior"], application["cost_fn"], application["cost_fp"]
    reject = "" if application["reject_cost"] is None else f" and a reject cost of {application['reject_cost']:g}"
    target = quote(facts["target"], 80)
    return f"a prior of {prior:.6g} for {target}, a miss cost of {miss:g} and a false-alarm cost of {alarm:g}{reject}"


def _describe_calibration(facts: dict[str, Any]) -> str:
    """Describe what imperfect calibration costs, or what calibration would save."""
    application = facts["applications"][0]
    costs = facts["leaderboard"][0]["costs"][application["name"]]
    best = _at_best_map(facts).replace("its", "the")
    if costs["minimum"] is None or costs["actual"] is None:
        return ""
    least, calibrated = _money(costs["minimum"], application), _money(costs["actual"], application)
    if facts["kind"] == "scores":
        given = costs["uncalibrated"]
        if given is not None and given - costs["minimum"] <= SLIGHT * max(costs["minimum"], 0.01):
            return f"They would cost about the same {best}, {least}, so the scores are well calibrated here."
        return f"After calibration on other rows, they would cost {calibrated}; {best}, {least}."
    if costs["actual"] - costs["minimum"] <= SLIGHT * max(costs["minimum"], 0.01):
        return f"They would cost about the same {best}, {least}, so the scores are well calibrated here."
    return f"This cost is of scores calibrated on other rows; {best}, the cases would cost {least}."


def _describe_race(facts: dict[str, Any]) -> str:
    tested = [row for row in facts["leaderboard"][1:] if row["p_value"] is not None]
    if not tested:
        return ""
    n, rows = sum(row["p_value"] > SIGNIFICANT for row in tested), f"{facts['about']['rows']:,} rows"
    if not n:
        return "Each of the next systems differs from it by more than chance (p < 0.05)."
    return f"{_mention_equals(n, len(tested))} as well, as far as {rows} can tell (p > 0.05)."


def _mention_equals(n_equal: int, n_tested: int) -> str:
    """Begin a sentence about the systems that do as well as the first."""
    if n_tested == 1:
        return "The next system does"
    which = f"The next {n_tested} systems" if n_equal == n_tested else f"{n_equal} of the next {n_tested} systems"
    return f"{which} {'does' if n_equal == 1 else 'do'}"


def _name_cheapest_as_given(facts: dict[str, Any]) -> str:
    """Name the system that costs least without calibration, if it is not the best one."""
    if facts["kind"] != "scores" or len(facts["leaderboard"]) < 2:
        return ""
    application = facts["applications"][0]
    costs = [(row["costs"][application["name"]]["uncalibrated"], row["name"]) for row in facts["leaderboard"]]
    known = [(cost, name) for cost, name in costs if cost is not None]
    if not known or min(known)[0] in (costs[0][0], None):
        return ""
    return f"Without calibration, {quote(min(known)[1], 80)} is the cheapest, at {_money(min(known)[0], application)}."


def _describe_evaluation(facts: dict[str, Any]) -> str:
    """Describe the cost on the evaluation rows, and whether they confirm the choice."""
    found = facts["evaluation"]
    if not found:
        return ""
    chosen = next((each for each in found["systems"] if each["name"] == found["chosen"]), None)
    application = facts["applications"][0]
    if chosen is None or chosen["actual"][0] is None:
        return f"On the evaluation rows, which were not used to train or choose: {found['verdict']}"
    cost = _money(chosen["actual"][0], application)
    unused = "which were not used to train or choose"
    return f"On the evaluation rows, {unused}, 1,000 cases cost {cost}. {found['verdict']}"


def _money(cost: float, application: dict[str, Any]) -> str:
    """Convert a normalised cost to the cost of a thousand cases, in units of the cost matrix."""
    return f"{float(format(1000 * application['constant_cost'] * cost, '.3g')):,.12g}"


def list_findings(facts: dict[str, Any], diagnostics: Diagnostics) -> list[dict[str, Any]]:
    """Run all checks and list their findings, warnings before notes.

    Parameters
    ----------
    facts : dict
        The facts of a report without "findings" and "verdict".
    diagnostics : Diagnostics
        The data from which findings are computed, in addition to the facts.

    Returns
    -------
    list of dict with "code", "level", "said" and "remedy"
    """
    found = []
    for code, check in CHECKS.items():
        finding = check(facts, diagnostics)
        if finding is not None:
            level, text, remedy = finding
            found.append({"code": code, "level": level, "said": text, "remedy": remedy})
    return sorted(found, key=lambda finding: finding["level"] != "warning")


def check_miscalibrated(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether decisions with the scores cost clearly more than decisions at the best threshold."""
    if facts["kind"] == "scores":
        return _check_scores_as_given(facts, diagnostics)
    lost = _find_loss(facts["leaderboard"][0], "actual", facts, diagnostics)
    if lost is None:
        return None
    i, is_clear = lost
    costs = list_costs(facts["leaderboard"][0], facts)[i]
    text = (
        f"With scores calibrated on other rows, the best system's decisions cost {format_cost(costs['actual'])}"
        f"{mention_application(facts, i)}; with the best {name_best_map(facts)} they would cost "
        f"{format_cost(costs['minimum'])}"
    )
    if not is_clear:
        remedy = "More rows would show whether it is chance. Until then, expect a cost between these two costs."
        return "note", f"{text}. The difference may be chance.", remedy
    remedy = (
        "Try another calibrator: call compare(…, calibrator=IsotonicCalibrator()), or apply the isotonic method of "
        "likely calibrate to the scores of the system. If the folds have different kinds of rows, no single map "
        "fits all of them."
    )
    return "warning", f"{text}. The difference is more than chance.", remedy


def _check_scores_as_given(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check the calibration of given scores, which the library did not calibrate."""
    reversed_names = [each["name"] for each in _find_reversed(facts, diagnostics)]
    rows = [row for row in facts["leaderboard"] if row["name"] not in reversed_names]
    losses = [(row, _find_loss(row, "uncalibrated", facts, diagnostics)) for row in rows]
    clear = [(row, lost[0]) for row, lost in losses if lost is not None and lost[1]]
    uncertain = [(row, lost[0]) for row, lost in losses if lost is not None and not lost[1]]
    if not clear and not uncertain:
        return None
    row, i = (clear or uncertain)[0]
    costs, others = list_costs(row, facts)[i], len(clear or uncertain) - 1
    text = (
        f"The scores of {quote(row['name'])} as given cost {format_cost(costs['uncalibrated'])}"
        f"{mention_application(facts, i)}; with the best {name_best_map(facts)} they would cost "
        f"{format_cost(costs['minimum'])}.{'' if clear else ' The difference may be chance.'}{_mention_others(others)}"
    )
    calibrated = ""
    if costs.get("actual") is not None:
        calibrated = f" After calibration on other rows, they cost {format_cost(costs['actual'])}."
    remedy = (
        f"Calibrate them before deciding, with likely calibrate or TailCalibrator.{calibrated} "
        "Scores that are not log-likelihood ratios, such as posteriors, always need calibration."
    )
    return "warning" if clear else "note", text, remedy


def _mention_others(n_others: int) -> str:
    """Write a sentence about further systems, if there are any."""
    if not n_others:
        return ""
    return f" The same holds for {'one more system' if n_others == 1 else f'{n_others} more systems'}."


def _find_loss(
    row: dict[str, Any], which: str, facts: dict[str, Any], diagnostics: Diagnostics
) -> tuple[int, bool] | None:
    """Find the application with the largest calibration loss, and whether the loss is clearly not chance.

    A loss that is clearly not chance goes before any other. Return None if no loss is large enough to report.
    """
    found = []
    for i, costs in enumerate(list_costs(row, facts)):
        paid, least = (math.inf if costs[each] is None else costs[each] for each in (which, "minimum"))
        is_clear = paid > _bound_minimum(costs, diagnostics.unit_cost(i))
        loss, part = (LOSS, SHARE_LOST) if is_clear else (DOUBTFUL_LOSS, DOUBTFUL_SHARE)
        if least < USELESS and paid - least >= max(loss, part * least):
            found.append((is_clear, paid - least, -i))
    return (-max(found)[2], max(found)[0]) if found else None


def _bound_minimum(costs: dict[str, Any], unit: float) -> float:
    """Return an upper bound of the true minimum cost. Its estimate is too low: it was optimised on the same rows."""
    least, interval = costs["minimum"], costs.get("minimum interval")
    if least is None:
        return math.inf
    if interval is not None and interval[1] is not None:
        return float(least + max(CLEAR / QUANTILE * (interval[1] - least), 2 * unit))
    return float(least + CLEAR * math.sqrt(least * unit) + CLEAR * unit)


def check_wrong_sign(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether given scores of two classes are higher for the class that is not the target."""
    found = _find_reversed(facts, diagnostics)
    if not found:
        return None
    target = quote(facts["target"])
    other = next((label for label in quote_labels(facts) if label != target), target)
    text = (
        f"Scores of {quote(found[0]['name'])} are lower for {target} than for {other}. In only "
        f"{100 * found[0]['auc']:.0f} % of all pairs of one row of each class, the row of {target} has the higher "
        "score."
        f"{_mention_others(len(found) - 1)}"
    )
    remedy = f"Change the sign of the scores, or name {other} as the positive class, because its scores are high."
    return "warning", text, remedy


def _find_reversed(facts: dict[str, Any], diagnostics: Diagnostics) -> list[dict[str, Any]]:
    """Find the systems whose scores are clearly lower for the target."""
    if facts["kind"] != "scores" or len(facts["classes"]) != 2:
        return []
    n, m = (max(1.0, float(count)) for count in diagnostics.effective_units)
    chance = math.sqrt((n + m + 1) / (12 * n * m))
    return [each for each in facts["series"] if each["auc"] < 0.5 - CLEAR * chance]


def check_worthless(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether the best system is no better than deciding without looking, or is the best of many by chance."""
    if facts["leaderboard"][0]["name"] in [each["name"] for each in _find_reversed(facts, diagnostics)]:
        return None
    row, tried, n = facts["leaderboard"][0], len(facts["leaderboard"]), len(diagnostics.applications)
    paid = [_bound_cost(costs, diagnostics, i, tried) for i, costs in enumerate(list_costs(row, facts))]
    bad = [i for i, (_, bound) in enumerate(paid) if bound >= 1]
    if not bad:
        return None
    more = f" and {len(bad) - 1} of the other {n - 1} applications" if len(bad) > 1 else ""
    text = (
        f"As far as these rows can tell, the best system is no better than deciding without looking"
        f"{mention_application(facts, bad[0])}{more}: it costs {format_cost(paid[bad[0]][0])}, and always giving the "
        f"same answer costs 1.{f' The lowest of {tried} costs is low partly by chance.' if tried > 1 else ''}"
    )
    remedy = (
        "No threshold improves this. Look for more informative columns, or collect more rows of the rarer class. If a "
        "prior is extreme, check that the costs are what you intend."
    )
    return "warning" if len(bad) == n else "note", text, remedy


def _bound_cost(costs: dict[str, Any], diagnostics: Diagnostics, i: int, tried: int) -> tuple[float, float]:
    """Return a system's cost and an upper bound of it, which allows for a choice among several systems (Bonferroni).

    The cost of calibrated decisions is used, because it is not optimised on the rows on which it is measured. If
    calibration failed, the minimum cost is used instead.
    """
    actual, least = (math.inf if costs.get(which) is None else costs[which] for which in ("actual", "minimum"))
    unit, quantile = diagnostics.unit_cost(i), float(norm.isf(SIGNIFICANT / tried))
    if actual > _bound_minimum(costs, unit):
        more = max(0.0, quantile - CLEAR) * _estimate_error(costs, "minimum", unit)
        return least, _bound_minimum(costs, unit) + more
    return actual, actual + quantile * _estimate_error(costs, "actual", unit)


def _estimate_error(costs: dict[str, Any], which: str, unit: float) -> float:
    """Estimate the standard error of a cost, from the interval of the cost if there is one."""
    interval = costs.get(f"{which} interval")
    if interval is None or None in interval:
        return math.sqrt(costs[which] * unit)
    return float(interval[1] - interval[0]) / (2 * QUANTILE)


def check_choice(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether another system is clearly better on the evaluation rows."""
    there = facts["evaluation"]
    if not there or there["place"] == 1 or there["p_value"] is None or there["p_value"] >= SIGNIFICANT:
        return None
    best = there["systems"][0]
    text = (
        f"On the evaluation rows, {quote(best['name'])} is better than the chosen system, {quote(there['chosen'])}, "
        f"which has place {there['place']} of {len(there['systems'])} there. The difference is more than chance (p = "
        f"{there['p_value']:.2g})."
    )
    remedy = (
        f"Consider this system: comparison.model({best['name']!r}) or likely fit -m trains it. You then choose it on "
        "the evaluation rows, so evaluate it on other rows before you report its cost."
    )
    return "warning", text, format_label(remedy, 400)


def check_close_race(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether other systems do as well as the first, as far as the rows can tell."""
    tested = [row for row in facts["leaderboard"][1:] if row["p_value"] is not None]
    alike = [row for row in tested if row["p_value"] > SIGNIFICANT]
    if not alike:
        return None
    names = ", ".join(quote(row["name"]) for row in alike[:3]) + (" and others" if len(alike) > 3 else "")
    count = _mention_equals(len(alike), len(tested))
    text = f"{count} as well as the first, as far as these rows can tell (p > 0.05): {names}."
    models = ""
    if facts["kind"] != "scores":
        simple = next((row["name"] for row in alike if row["family"] not in ("fusion", "outside")), None)
        models = ": comparison.model(NAME)" + ("" if simple is None else f", or likely fit -m {quote(simple)}")
    return "note", text, f"Choose the simplest of them, or the fastest{models}. More rows may show a difference."


def check_failures(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether candidates failed and have no scores."""
    failures = facts["failures"]
    if not failures:
        return None
    name, reason = next(iter(failures.items()))
    n = len(failures)
    text = f"{n} of {n + len(facts['leaderboard'])} candidates failed. {quote(name)}: {format_label(reason, 300)}"
    remedy = "The comparison leaves them out. The list of failures has each message, which says what is needed."
    return "warning" if n >= len(facts["leaderboard"]) else "note", text, remedy


def check_edge_of_grid(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Check whether the best setting of the best family is at an end of its grid."""
    family = next((row["family"] for row in facts["leaderboard"] if row["family"] != "fusion"), None)
    which = "actual" if facts["about"]["by"] == "actual" else "minimum"
    grids = [grid for grid in facts.get("grids") or [] if grid["family"] == family]
    if not grids or len(grids[0]["values"]) < MIN_VALUES or (value := _find_open_end(grids[0], which)) is None:
        return None
    values, parameter = [float(each) for each in grids[0]["values"]], format_label(grids[0]["parameter"])
    side, end = ("smaller", "smallest") if value == min(values) else ("larger", "largest")
    text = (
        f"The best {format_label(family)} system has {parameter} {value:g}, the {end} of the {len(values)} values "
        "tried, and the cost still falls towards it."
    )
    remedy = (
        f"Try {side} values: in Python, pass compare your own classifiers with other values of {parameter} as "
        "candidates, together with names of families."
    )
    return "note", text, remedy


def _find_open_end(grid: dict[str, Any], which: str) -> float | None:
    """Find the value at an end of a numeric grid towards which the cost of the best line still falls."""
    try:
        order = sorted(range(len(grid["values"])), key=lambda i: float(grid["values"][i]))
    except ValueError:  # choices have no end
        return None
    lines = [[line[which][i] for i in order] for line in grid["lines"]]
    known = [line for line in lines if any(cost is not None for cost in line)]
    if not known:
        return None
    best = min(known, key=lambda line: min(cost for cost in line if cost is not None))
    line = [math.inf if cost is None else cost for cost in best]
    for end, before in ((0, 1), (-1, -2)):
        value = float(grid["values"][order[end]])
        falls = math.isfinite(line[before]) and line[before] - line[end] > FLAT * line[before]
        if line[end] == min(line) and falls and value != 0:
            return value
    return None


CHECKS = {
    "wrong-sign": check_wrong_sign,
    "worthless": check_worthless,
    "separable": check_separable,
    "duplicate-rows": check_duplicate_rows,
    "miscalibrated": check_miscalibrated,
    "overfitting": check_overfitting,
    "unstable-fold": check_unstable_fold,
    "choice": check_choice,
    "tiny-class": check_tiny_class,
    "failed": check_failures,
    "edge-of-grid": check_edge_of_grid,
    "close-race": check_close_race,
    "prior-mismatch": check_prior_mismatch,
}
"""One check for each code, the most serious first."""
