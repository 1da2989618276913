"""Rendering of the facts of a report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from likely._formatting import escape_controls, format_amount, format_cost, format_number

MAX_NAME, MAX_SENTENCE = 60, 2000
"""Maximum lengths of a name and of a sentence in characters. Of a longer text, the beginning and the end are shown."""

MAX_CLASSES, MAX_MISTAKES = 12, 10
"""Maximum number of classes with a full confusion matrix. For more, this number of frequent mistakes is listed."""

KINDS = {"minimum": "minimum", "actual": "calibrated", "uncalibrated": "as given"}
"""The kinds of costs of a system, and the heading of each kind."""

ORDERS = {"minimum": "minimum cost", "actual": "calibrated cost", "cllr": "Cllr"}
"""Names of the quantities by which systems are ordered."""

SHARES = (0.5, 0.9, 0.99)
"""For each of these shares of the variance, the report gives the number of principal components that keep it."""

_MARKS = re.compile(r"([\\`*_{}\[\]<>|#~&$@!]|:(?=//)|(?<=[wW]{3})\.)")
"""Characters with which Markdown markup, HTML elements, formulas or links begin. They are escaped."""

_BEGINNINGS = re.compile(r"^(\d{0,9})([-+.)](?=\s|$)|[-=](?=[-=\s]*$))")
"""Beginnings of a line that turn it into a list item, a rule or a heading. They are escaped."""


def render_markdown(facts: dict[str, Any]) -> str:
    r"""Render facts as Markdown: the verdict, the findings and all tables, without curves.

    Characters of names and labels that Markdown or HTML would interpret are escaped, and invisible ones are shown as
    escapes. An infinite cost is shown as ∞.

    Parameters
    ----------
    facts : dict
        Facts of a :class:`likely.Report`.

    Returns
    -------
    str

    Examples
    --------
    >>> facts = {"title": "<b>mine</b>", "about": {"rows": 6, "protocol": "scores as given", "by": "minimum"}}
    >>> print(render_markdown(facts | {"verdict": ["One system was judged."], "leaderboard": []}))
    # \<b\>mine\</b\>
    <BLANKLINE>
    6 rows, scores as given, ordered by minimum cost.
    <BLANKLINE>
    One system was judged.
    <BLANKLINE>
    """
    failures = facts.get("failures") or {}
    sections = [
        _render_header(facts),
        _render_findings(facts.get("findings") or []),
        _render_applications(facts),
        _render_leaderboard(facts),
        _render_evaluation(facts),
        _render_confusions(facts),
        _render_series(facts),
        *(_render_grid(grid) for grid in facts.get("grids") or []),
        _render_classes(facts.get("classes") or []),
        _render_columns(facts.get("columns")),
        _format_list("Failures", [f"{_name(name)}: {_sentence(why)}" for name, why in failures.items()]),
        _format_list("Notes", map(_sentence, facts.get("notes") or [])),
    ]
    versions = [f"{_name(name)} {_name(version)}" for name, version in (facts["about"].get("versions") or {}).items()]
    sections += [[f"Made with {', '.join(versions)}."]] if versions else []
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _render_header(facts: dict[str, Any]) -> list[str]:
    about = facts["about"]
    of = f" of {_name(about['file'])}" if about.get("file") else ""
    target = f" The target is {_name(facts['target'])}." if facts.get("target") is not None else ""
    rows = f"{about['rows']:,} row{'' if about['rows'] == 1 else 's'}"
    order = ORDERS[about["by"]]
    subtitle = f"{rows}{of}, {_sentence(about['protocol'])}, ordered by {order}.{target}"
    lines = [f"# {_name(facts['title'])}", "", subtitle]
    return lines + [line for sentence in facts.get("verdict") or [] for line in ("", _sentence(sentence))]


def _render_findings(findings: Sequence[dict[str, Any]]) -> list[str]:
    return _format_list(
        "Findings",
        [
            f"**{_name(f['level'])}: {_name(f['code'])}.** {_sentence(f['said'])} *{_sentence(f['remedy'])}*"
            for f in findings
        ],
    )


def _render_applications(facts: dict[str, Any]) -> list[str]:
    """Render priors and costs. For two classes, only those of the target are shown."""
    applications = facts.get("applications") or []
    if not applications:
        return []
    if applications[0].get("prior") is not None:
        header = [
            "application",
            "prior of the target",
            "cost of a miss",
            "cost of a false alarm",
            "reject cost",
            "threshold",
        ]
        keys = ["prior", "cost_fn", "cost_fp", "reject_cost", "threshold"]
        return _format_table(
            "Applications", header, [[_name(a["name"]), *(format_amount(a[key]) for key in keys)] for a in applications]
        )
    labels = [each["label"] for each in facts["classes"]]
    header = ["application", *(f"prior of {_name(label)}" for label in labels), "reject cost"]
    rows = [[_name(a["name"]), *map(format_amount, a["priors"]), format_amount(a["reject_cost"])] for a in applications]
    return _format_table("Applications", header, rows) if len(labels) <= MAX_CLASSES else []


def _render_leaderboard(facts: dict[str, Any]) -> list[str]:
    """Render the costs at each application, with intervals: minimum, calibrated, and as given."""
    board = facts["leaderboard"]
    names = list(board[0]["costs"]) if board else []
    costs = [f"{heading} at {_name(name)}" for name in names for heading in KINDS.values()]
    header = ["", "system", *costs, "Cllr", "min Cllr", "p"]
    rows = [
        [
            str(row["place"]),
            _name(row["name"]),
            *(_format_with_interval(row["costs"][name], kind) for name in names for kind in KINDS),
            _format_with_interval(row, "cllr"),
            format_cost(row["min_cllr"]),
            format_number(row["p_value"]),
        ]
        for row in board
    ]
    return _format_table("Leaderboard", header, rows)


def _render_evaluation(facts: dict[str, Any]) -> list[str]:
    evaluation = facts.get("evaluation")
    if not evaluation:
        return []
    names = [_name(application["name"]) for application in facts["applications"]]
    header = ["system", *(f"{which} at {name}" for which in ("minimum", "calibrated") for name in names), "Cllr"]
    rows = [
        [_name(s["name"]), *map(format_cost, s["minimum"]), *map(format_cost, s["actual"]), format_cost(s["cllr"])]
        for s in evaluation["systems"]
    ]
    title = "On the evaluation rows"
    return [f"## {title}", "", _sentence(evaluation["verdict"]), *_format_table(title, header, rows)[1:]]


def _render_confusions(facts: dict[str, Any]) -> list[str]:
    """Render confusion matrices, or the most frequent mistakes. Rejected rows, if any, have a column."""
    labels = [_name(each["label"]) for each in facts.get("classes") or []]
    lines: list[str] = []
    for confusion in facts.get("confusion") or []:
        title, counts = (
            f"Decisions of {_name(confusion['system'])} at {_name(confusion['application'])}",
            confusion["counts"],
        )
        if len(labels) <= MAX_CLASSES:
            width = len(labels) + any(row[-1] for row in counts if len(row) > len(labels))
            header = ["true class", *labels, "rejected"][: width + 1]
            rows = [[label, *map(format_amount, row[:width])] for label, row in zip(labels, counts, strict=True)]
        else:
            title, header = f"{title}: the most frequent mistakes", ["true class", "decision", "rows"]
            mistakes = confusion["mistakes"][:MAX_MISTAKES]
            rows = [[_name(m["truth"]), _name(m["decided"]), format_amount(m["rows"])] for m in mistakes]
        lines += [*([""] if lines else []), *_format_table(title, header, rows)]
    return lines


def _render_series(facts: dict[str, Any]) -> list[str]:
    one = "system" if facts.get("series_of") == "system" else "class, against the rest"
    rows = [[_name(s["name"]), format_number(s["eer"]), format_number(s["auc"])] for s in facts.get("series") or []]
    return _format_table("EER and AUC", [one, "EER", "AUC"], rows)


def _render_grid(grid: dict[str, Any]) -> list[str]:
    """Render the costs of a family for each value of its setting, averaged over applications."""
    lines, parameter = grid["lines"], _name(grid["parameter"])
    named = [f" {_name(line['name'])}" if line["name"] else "" for line in lines]
    header = [parameter, *(f"{which}{name}" for name in named for which in ("minimum", "calibrated"))]
    rows = [
        [_format_setting(value), *(format_number(line[kind][at]) for line in lines for kind in ("minimum", "actual"))]
        for at, value in enumerate(grid["values"])
    ]
    return _format_table(f"{_name(grid['family'])}: cost by {parameter}", header, rows)


def _render_classes(classes: Sequence[dict[str, Any]]) -> list[str]:
    weighted = any(each["weight"] != each["rows"] for each in classes)
    header = ["class", "rows", "weight"][: 2 + weighted]
    rows = [[_name(c["label"]), format_amount(c["rows"]), format_amount(c["weight"])][: 2 + weighted] for c in classes]
    return _format_table("Classes", header, rows)


def _render_columns(columns: dict[str, Any] | None) -> list[str]:
    """Render the most separating columns, and the number of principal components for some shares of variance."""
    if columns is None:
        return []
    found = columns["histograms"]
    rows = [[_name(c["name"]), format_number(c["separation"]), format_number(c["missing"])] for c in found]
    header = ["column", "share of variance between classes", "share of missing values"]
    table = _format_table(f"Columns: the {len(found)} most separating of {columns['n_columns']:,}", header, rows)
    n_rows, n_total = columns["rows"], columns["of"]
    sentences = [f"From a sample of {n_rows:,} of {n_total:,} rows."] if n_rows < n_total else []
    shares = columns.get("explained_variance") or []
    counts = {share: next((k for k, held in enumerate(shares, 1) if held >= share), None) for share in SHARES}
    parts = [f"{count} keep {100 * share:.0f} %" for share, count in counts.items() if count is not None]
    if parts:
        sentences.append(f"Variance that principal components of standardised columns keep: {', '.join(parts)}.")
    return [*table, *(["", " ".join(sentences)] if sentences else []), *_render_directions(columns.get("directions"))]


def _render_directions(directions: dict[str, Any] | None) -> list[str]:
    if not directions:
        return []
    lines = []
    for name, weights in zip(directions["names"], directions["weights"], strict=True):
        lines.append(f"- {_name(name)}: " + ", ".join(f"{format_number(w)} {_name(column)}" for column, w in weights))
    return ["", "Discriminant directions, by their largest weights:", "", *lines]


def _format_list(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return [f"## {title}", "", *lines] if lines else []


def _format_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]
    return [f"## {title}", "", *lines] if rows else []


def _format_with_interval(values: dict[str, Any], key: str) -> str:
    """Return the text of a cost and of its interval, if the cost has one. An end that is None is infinite."""
    interval = values.get(f"{key} interval")
    ends = f" [{', '.join(map(format_cost, interval))}]" if interval else ""
    if interval and interval[0] == interval[1]:
        ends = " [–]"  # no mistakes, so no interval
    return format_cost(values[key]) + ends if key in values else ""


def _format_setting(value: Any) -> str:
    return format_amount(value) if isinstance(value, (int, float)) else _name(value)


def _name(value: Any) -> str:
    return _escape(str(value), MAX_NAME)


def _sentence(value: Any) -> str:
    return _escape(str(value), MAX_SENTENCE)


def _escape(text: str, max_length: int) -> str:
    r"""Escape a text so that Markdown and HTML show it literally, on one line, with all characters visible.

    Examples
    --------
    >>> print(_escape("*a*\n<b>", 60), _escape(" ", 60), _escape("- 1", 60), _escape("abcdefgh", 5))
    \*a\*\\n\<b\> " " \- 1 ab…gh
    """
    shown = escape_controls(text[: 2 * max_length] + text[2 * max_length :][-max_length:])
    if shown.strip() != shown or not shown:
        shown = f'"{shown}"'
    if len(shown) > max_length:
        shown = f"{shown[: max_length // 2]}…{shown[len(shown) - (max_length - 1) // 2 :]}"
    return _BEGINNINGS.sub(r"\1\\\2", _MARKS.sub(r"\\\1", shown))
