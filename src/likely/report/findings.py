"""The verdict of a report and its findings: what to beware of, in plain words, with a remedy."""

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
    duplicate_rows,
    list_costs,
    name_best_map,
    overfitting,
    prior_mismatch,
    quote_labels,
    separable,
    tiny_class,
    unstable_fold,
    where_paid,
)

LOSS, SHARE_LOST = 0.02, 0.1
"""Calibration loss worth a warning if it is clear: of normalised cost, and as a share of the minimum. Less would change
few decisions."""

USELESS = 0.99
"""Minimum cost above which no calibration helps: there is nothing to calibrate."""

DOUBTFUL_LOSS, DOUBTFUL_SHARE = 0.05, 0.25
"""The same of one that may be chance: a smaller one is what few rows always show, since the minimum is made small on
them."""

LEAST_VALUES, FLAT = 3, 0.01
"""Values from which on a grid has an end, and the share of the cost that its last step must bring."""

SLIGHT = 0.05
"""Share by which one cost must exceed another to be mentioned in the verdict."""

_BY = {"minimum": "least minimum cost", "actual": "least cost as calibrated", "cllr": "least Cllr"}


def write_verdict(facts: dict[str, Any]) -> list[str]:
    """Write a few sentences: the best system, its cost against deciding without looking, and how sure that is."""
    parts = (
        _describe_best,
        _describe_cost,
        _describe_calibration,
        _cheapest_as_given,
        _describe_race,
        _describe_evaluation,
    )
    return [sentence for describe in parts if (sentence := describe(facts))]


def _describe_best(facts: dict[str, Any]) -> str:
    board, rows = facts["leaderboard"], f"{facts['about']['rows']:,} rows"
    name = quote(board[0]["name"], 80)
    if len(board) == 1:
        return f"One system, {name}, was judged on {rows}."
    by, several = _BY[facts["about"]["by"]], len(facts["applications"])
    mean = f", in the mean of {several} applications" if several > 1 and facts["about"]["by"] != "cllr" else ""
    return f"Of {len(board)} systems judged on {rows}, {name} has the {by}{mean}."


def _describe_cost(facts: dict[str, Any]) -> str:
    """What the best system costs at the first application, in a thousand cases."""
    application, row = facts["applications"][0], facts["leaderboard"][0]
    costs = row["costs"][application["name"]]
    which = "uncalibrated" if facts["kind"] == "scores" else "actual"
    at, blind = _described(application, facts), _money(1.0, application)
    if costs[which] is None:
        return f"At {at} its scores as given cost infinitely much: they are sure of what is wrong."
    paid, around = _money(costs[which], application), costs.get("actual interval") if which == "actual" else None
    if around is not None and None not in around and around[0] != around[1]:
        paid += f" (95 % interval {_money(around[0], application)} to {_money(around[1], application)})"
    saved = f"{100 * (1 - costs[which]):.0f} % saved" if costs[which] < 0.995 else "nothing saved"
    if costs[which] > 1.005:
        times = f"{costs[which]:.1f} times as much" if costs[which] < 10 else "many times as much"
        saved = f"{times}, so as they are they are worse than nothing"
    whose = "with its scores as given " if facts["kind"] == "scores" else ""
    return f"At {at}, {whose}1,000 cases cost {paid}, against {blind} when deciding without looking: {saved}."


def _described(application: dict[str, Any], facts: dict[str, Any]) -> str:
    if facts["target"] is None:
        return format_label(application["name"], 100)
    prior, miss, alarm = application["prior"], application["cost_fn"], application["cost_fp"]
    reject = "" if application["reject_cost"] is None else f", rejecting {application['reject_cost']:g}"
    target = quote(facts["target"], 80)
    return f"a prior of {prior:.6g} for {target}, a miss costing {miss:g}, a false alarm {alarm:g}{reject}"


def _describe_calibration(facts: dict[str, Any]) -> str:
    """What is lost by calibration, or what it would save."""
    application = facts["applications"][0]
    costs = facts["leaderboard"][0]["costs"][application["name"]]
    best = "the best threshold" if facts["target"] is not None else "the best affine calibration"
    if costs["minimum"] is None or costs["actual"] is None:
        return ""
    least, calibrated = _money(costs["minimum"], application), _money(costs["actual"], application)
    if facts["kind"] == "scores":
        given = costs["uncalibrated"]
        if given is not None and given - costs["minimum"] <= SLIGHT * max(costs["minimum"], 0.01):
            return f"That is about what {best} would give, {least}: they are well calibrated there."
        return f"Calibrated on other rows they would cost {calibrated}; {best} would give {least}."
    if costs["actual"] - costs["minimum"] <= SLIGHT * max(costs["minimum"], 0.01):
        return f"That is about what {best} would give, {least}: it is well calibrated there."
    return f"That is by scores calibrated on other rows; {best} would give {least}."


def _describe_race(facts: dict[str, Any]) -> str:
    tested = [row for row in facts["leaderboard"][1:] if row["p_value"] is not None]
    if not tested:
        return ""
    alike = sum(row["p_value"] > SIGNIFICANT for row in tested)
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


def _describe_evaluation(facts: dict[str, Any]) -> str:
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


def list_findings(facts: dict[str, Any], diagnostics: Diagnostics) -> list[dict[str, Any]]:
    """Run all checks and list what they found, warnings before notes.

    Parameters
    ----------
    facts : dict
        The facts of a report without "findings" and "verdict".
    diagnostics : Diagnostics
        The data behind them.

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


def miscalibrated(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Decisions by the scores cost clearly more than they would by the best threshold."""
    if facts["kind"] == "scores":
        return _as_given(facts, diagnostics)
    lost = _loss(facts["leaderboard"][0], "actual", facts, diagnostics)
    if lost is None:
        return None
    i, is_clear = lost
    costs = list_costs(facts["leaderboard"][0], facts)[i]
    text = (
        f"Calibrated on other rows, the best system's decisions cost {format_cost(costs['actual'])}"
        f"{where_paid(facts, i)}, where the best {name_best_map(facts)} would cost {format_cost(costs['minimum'])}"
    )
    if not is_clear:
        return "note", f"{text}. That may be chance.", "More rows would tell; meanwhile expect a cost between the two."
    remedy = (
        "Try another calibrator: compare(…, calibrator=IsotonicCalibrator()), or likely calibrate with the isotonic "
        "method on its scores. If the folds hold different kinds of rows, no one map fits them all."
    )
    return "warning", f"{text}. That is more than chance.", remedy


def _as_given(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """The same of scores that somebody gave, which were not calibrated here."""
    turned = [each["name"] for each in _turned(facts, diagnostics)]
    rows = [row for row in facts["leaderboard"] if row["name"] not in turned]
    losses = [(row, _loss(row, "uncalibrated", facts, diagnostics)) for row in rows]
    clear = [(row, lost[0]) for row, lost in losses if lost is not None and lost[1]]
    uncertain = [(row, lost[0]) for row, lost in losses if lost is not None and not lost[1]]
    if not clear and not uncertain:
        return None
    row, i = (clear or uncertain)[0]
    costs, others = list_costs(row, facts)[i], len(clear or uncertain) - 1
    text = (
        f"As given, the scores of {quote(row['name'])} cost {format_cost(costs['uncalibrated'])}{where_paid(facts, i)},"
        f" where the best {name_best_map(facts)} would cost {format_cost(costs['minimum'])}"
        f"{'' if clear else '; that may be chance'}.{_also_of(others)}"
    )
    mended = ""
    if costs.get("actual") is not None:
        mended = f" Calibrated on other rows they cost {format_cost(costs['actual'])}."
    remedy = (
        f"Calibrate them before deciding, by likely calibrate or AffineCalibrator.{mended} "
        "Scores that are no log-likelihood ratios at all, such as posteriors, need it in any case."
    )
    return "warning" if clear else "note", text, remedy


def _also_of(n_others: int) -> str:
    """A sentence about further systems, if there are any."""
    if not n_others:
        return ""
    return f" The same holds for {'one system' if n_others == 1 else f'{n_others} systems'} more."


def _loss(row: dict[str, Any], which: str, facts: dict[str, Any], diagnostics: Diagnostics) -> tuple[int, bool] | None:
    """The application at which most is lost, clearly if at any; whether clearly; None if it is not worth a word."""
    found = []
    for i, costs in enumerate(list_costs(row, facts)):
        paid, least = (math.inf if costs[each] is None else costs[each] for each in (which, "minimum"))
        is_clear = paid > _highest_minimum(costs, diagnostics.unit_cost(i))
        loss, part = (LOSS, SHARE_LOST) if is_clear else (DOUBTFUL_LOSS, DOUBTFUL_SHARE)
        if least < USELESS and paid - least >= max(loss, part * least):
            found.append((is_clear, paid - least, -i))
    return (-max(found)[2], max(found)[0]) if found else None


def _highest_minimum(costs: dict[str, Any], unit: float) -> float:
    """How high the minimum may be in truth: it was made small on the rows it is measured on, and chosen for it."""
    least, interval = costs["minimum"], costs.get("minimum interval")
    if least is None:
        return math.inf
    if interval is not None and interval[1] is not None:
        return float(least + max(CLEAR / QUANTILE * (interval[1] - least), 2 * unit))
    return float(least + CLEAR * math.sqrt(least * unit) + CLEAR * unit)


def wrong_sign(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Scores given for two classes are higher for the class that is not the target."""
    turned = _turned(facts, diagnostics)
    if not turned:
        return None
    target = quote(facts["target"])
    other = next((label for label in quote_labels(facts) if label != target), target)
    text = (
        f"Scores of {quote(turned[0]['name'])} are lower for {target} than for {other}: a row of {target} scores "
        f"higher in {100 * turned[0]['auc']:.0f} % of pairs only.{_also_of(len(turned) - 1)}"
    )
    remedy = f"Turn the sign of the scores, or name the class they are high for, {other}, as the positive class."
    return "warning", text, remedy


def _turned(facts: dict[str, Any], diagnostics: Diagnostics) -> list[dict[str, Any]]:
    """The systems whose scores are clearly lower for the target."""
    if facts["kind"] != "scores" or len(facts["classes"]) != 2:
        return []
    n, m = (max(1.0, float(count)) for count in diagnostics.effective_units)
    chance = math.sqrt((n + m + 1) / (12 * n * m))
    return [each for each in facts["series"] if each["auc"] < 0.5 - CLEAR * chance]


def worthless(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Even the best system does no better than deciding without looking, or than the best of many by chance."""
    if facts["leaderboard"][0]["name"] in [each["name"] for each in _turned(facts, diagnostics)]:
        return None
    row, tried, n = facts["leaderboard"][0], len(facts["leaderboard"]), len(diagnostics.applications)
    paid = [_at_most(costs, diagnostics, i, tried) for i, costs in enumerate(list_costs(row, facts))]
    bad = [i for i, (_, most) in enumerate(paid) if most >= 1]
    if not bad:
        return None
    where = where_paid(facts, bad[0]) + (f" and {len(bad) - 1} more of the {n} applications" if len(bad) > 1 else "")
    text = (
        f"The best system cannot be told from deciding without looking{where}: it costs {format_cost(paid[bad[0]][0])},"
        f" where always making the same decision costs 1"
        f"{f', and the best of {tried} comes out low by chance' if tried > 1 else ''}."
    )
    remedy = (
        "No threshold mends that. Look for columns that say more, or gather more rows of the rarer class; where a "
        "prior is extreme, ask whether the costs are what you mean."
    )
    return "warning" if len(bad) == n else "note", text, remedy


def _at_most(costs: dict[str, Any], diagnostics: Diagnostics, i: int, tried: int) -> tuple[float, float]:
    """A system's cost, and how high it may be given that it was the least of several (Bonferroni).

    The cost of calibrated decisions is not made small on its own rows; but where calibration failed, the minimum tells.
    """
    actual, least = (math.inf if costs.get(which) is None else costs[which] for which in ("actual", "minimum"))
    unit, quantile = diagnostics.unit_cost(i), float(norm.isf(SIGNIFICANT / tried))
    if actual > _highest_minimum(costs, unit):
        return least, _highest_minimum(costs, unit) + max(0.0, quantile - CLEAR) * _error(costs, "minimum", unit)
    return actual, actual + quantile * _error(costs, "actual", unit)


def _error(costs: dict[str, Any], which: str, unit: float) -> float:
    """Standard error of a cost, from its interval where there is one."""
    interval = costs.get(f"{which} interval")
    if interval is None or None in interval:
        return math.sqrt(costs[which] * unit)
    return float(interval[1] - interval[0]) / (2 * QUANTILE)


def choice(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Evaluation rows say that another system is clearly better."""
    there = facts["evaluation"]
    if not there or there["place"] == 1 or there["p_value"] is None or there["p_value"] >= SIGNIFICANT:
        return None
    best = there["systems"][0]
    text = (
        f"On the evaluation rows {quote(best['name'])} does better than {quote(there['chosen'])}, which was chosen "
        f"and is in place {there['place']} of {len(there['systems'])} there. That is more than chance (p = "
        f"{there['p_value']:.2g})."
    )
    remedy = (
        f"Consider it: comparison.model({best['name']!r}) trains it, and so does likely fit -m. Then it is chosen on "
        "those rows, so judge it on others before you promise its cost."
    )
    return "warning", text, format_label(remedy, 400)


def close_race(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Other systems cannot be told from the first."""
    tested = [row for row in facts["leaderboard"][1:] if row["p_value"] is not None]
    alike = [row for row in tested if row["p_value"] > SIGNIFICANT]
    if not alike:
        return None
    names = ", ".join(quote(row["name"]) for row in alike[:3]) + (" and others" if len(alike) > 3 else "")
    count = f"{len(alike)} of the next {len(tested)} systems" if len(tested) > 1 else "The next system"
    text = f"{count} cannot be told from the first by more than chance (p > 0.05): {names}."
    models = ""
    if facts["kind"] != "scores":
        simple = next((row["name"] for row in alike if row["family"] not in ("fusion", "outside")), None)
        models = ": comparison.model(NAME)" + ("" if simple is None else f", or likely fit -m {quote(simple)}")
    return "note", text, f"Take the simplest or the cheapest{models}. More rows may tell them apart."


def failed(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """Candidates have no scores."""
    failures = facts["failures"]
    if not failures:
        return None
    name, reason = next(iter(failures.items()))
    n = len(failures)
    text = f"{n} of {n + len(facts['leaderboard'])} candidates failed. {quote(name)}: {format_label(reason, 300)}"
    remedy = "The comparison goes without them. What each said is under failures; the message says what it needs."
    return "warning" if n >= len(facts["leaderboard"]) else "note", text, remedy


def edge_of_grid(facts: dict[str, Any], diagnostics: Diagnostics) -> Finding | None:
    """The best setting of the best family is the last that was tried."""
    family = next((row["family"] for row in facts["leaderboard"] if row["family"] != "fusion"), None)
    which = "actual" if facts["about"]["by"] == "actual" else "minimum"
    grids = [grid for grid in facts.get("grids") or [] if grid["family"] == family]
    if not grids or len(grids[0]["values"]) < LEAST_VALUES or (value := _last(grids[0], which)) is None:
        return None
    values, parameter = [float(each) for each in grids[0]["values"]], format_label(grids[0]["parameter"])
    side, end = ("below", "least") if value == min(values) else ("above", "greatest")
    text = (
        f"The best {format_label(family)} system has {parameter} {value:g}, the {end} of the {len(values)} values "
        "tried, and its cost still falls there."
    )
    remedy = (
        f"Try values {side} it: give compare candidates of your own, such as classifiers with other values of "
        f"{parameter}, beside the names of families."
    )
    return "note", text, remedy


def _last(grid: dict[str, Any], which: str) -> float | None:
    """The value at an end of a grid of numbers at which the best of its lines still falls."""
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
    "wrong-sign": wrong_sign,
    "worthless": worthless,
    "separable": separable,
    "duplicate-rows": duplicate_rows,
    "miscalibrated": miscalibrated,
    "overfitting": overfitting,
    "unstable-fold": unstable_fold,
    "choice": choice,
    "tiny-class": tiny_class,
    "failed": failed,
    "edge-of-grid": edge_of_grid,
    "close-race": close_race,
    "prior-mismatch": prior_mismatch,
}
"""One check for each code, the gravest first."""
