"""The facts of a report rendered as one page of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from likely._formatting import escape_controls, format_amount, format_cost, format_number

LONG, LONGEST = 60, 2000
"""Most characters of a name and of a sentence; its beginning and its end are shown."""

MOST_CLASSES, MOST_MISTAKES = 12, 10
"""Most classes that get a whole table of decisions; of more, the most frequent mistakes are shown."""

KINDS = {"minimum": "minimum", "actual": "calibrated", "uncalibrated": "as given"}
"""Costs of a system and their headings."""

SHARES = (0.5, 0.9, 0.99)
"""Shares of the variance that principal components are counted for."""

_MARKS = re.compile(r"([\\`*_{}\[\]<>|#~&$@!]|:(?=//)|(?<=[wW]{3})\.)")
"""Characters that begin Markdown, HTML, formulas or links."""

_BEGINNINGS = re.compile(r"^(\d{0,9})([-+.)](?=\s|$)|[-=](?=[-=\s]*$))")
"""Characters that turn a line into a list, a rule or a heading."""


def render_markdown(facts: dict[str, Any]) -> str:
    r"""Render facts as Markdown: the verdict, findings and all tables, but no curves.

    Characters of names and labels that Markdown or HTML would interpret are escaped, and invisible ones are spelled
    out. An infinite cost is shown as ∞.

    Parameters
    ----------
    facts : dict
        As a :class:`likely.Report` has them.

    Returns
    -------
    str

    Examples
    --------
    >>> facts = {"title": "<b>mine</b>", "about": {"rows": 6, "protocol": "scores as given", "by": "minimum"}}
    >>> print(render_markdown(facts | {"verdict": ["One system was judged."], "leaderboard": []}))
    # \<b\>mine\</b\>
    <BLANKLINE>
    6 rows, scores as given, by minimum.
    <BLANKLINE>
    One system was judged.
    <BLANKLINE>
    """
    sections = [
        _beginning(facts),
        _findings(facts.get("findings") or []),
        _applications(facts),
        _leaderboard(facts),
        _evaluation(facts),
        _confusions(facts),
        _series(facts),
        *(_grid(grid) for grid in facts.get("grids") or []),
        _classes(facts.get("classes") or []),
        _columns(facts.get("columns")),
        _list("Failures", [f"{_name(name)}: {_sentence(why)}" for name, why in (facts.get("failures") or {}).items()]),
        _list("Notes", map(_sentence, facts.get("notes") or [])),
    ]
    versions = [f"{_name(name)} {_name(version)}" for name, version in (facts["about"].get("versions") or {}).items()]
    sections += [[f"Made with {', '.join(versions)}."]] if versions else []
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _beginning(facts: dict[str, Any]) -> list[str]:
    about = facts["about"]
    of = f" of {_name(about['file'])}" if about.get("file") else ""
    target = f" The target is {_name(facts['target'])}." if facts.get("target") is not None else ""
    rows = f"{about['rows']:,} row{'' if about['rows'] == 1 else 's'}"
    lines = [f"# {_name(facts['title'])}", "", f"{rows}{of}, {_sentence(about['protocol'])}, by {about['by']}.{target}"]
    return lines + [line for sentence in facts.get("verdict") or [] for line in ("", _sentence(sentence))]


def _findings(findings: Sequence[dict[str, Any]]) -> list[str]:
    return _list(
        "Findings",
        [
            f"**{_name(f['level'])}: {_name(f['code'])}.** {_sentence(f['said'])} *{_sentence(f['remedy'])}*"
            for f in findings
        ],
    )


def _applications(facts: dict[str, Any]) -> list[str]:
    """Priors and costs; for two classes towards the target."""
    applications = facts.get("applications") or []
    if not applications:
        return []
    if applications[0].get("prior") is not None:
        header = [
            "application",
            "prior of the target",
            "cost of a miss",
            "of a false alarm",
            "of rejecting",
            "threshold",
        ]
        keys = ["prior", "cost_fn", "cost_fp", "reject_cost", "threshold"]
        return _table(
            "Applications", header, [[_name(a["name"]), *(format_amount(a[key]) for key in keys)] for a in applications]
        )
    labels = [each["label"] for each in facts["classes"]]
    header = ["application", *(f"prior of {_name(label)}" for label in labels), "cost of rejecting"]
    rows = [[_name(a["name"]), *map(format_amount, a["priors"]), format_amount(a["reject_cost"])] for a in applications]
    return _table("Applications", header, rows) if len(labels) <= MOST_CLASSES else []


def _leaderboard(facts: dict[str, Any]) -> list[str]:
    """Costs at each application with intervals: minimum, calibrated, and of the scores as given."""
    board = facts["leaderboard"]
    names = list(board[0]["costs"]) if board else []
    costs = [f"{heading} at {_name(name)}" for name in names for heading in KINDS.values()]
    header = ["", "system", *costs, "Cllr", "least Cllr", "p"]
    rows = [
        [
            str(row["place"]),
            _name(row["name"]),
            *(_within(row["costs"][name], kind) for name in names for kind in KINDS),
            _within(row, "cllr"),
            format_cost(row["min_cllr"]),
            format_number(row["p_value"]),
        ]
        for row in board
    ]
    return _table("Leaderboard", header, rows)


def _evaluation(facts: dict[str, Any]) -> list[str]:
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
    return [f"## {title}", "", _sentence(evaluation["verdict"]), *_table(title, header, rows)[1:]]


def _confusions(facts: dict[str, Any]) -> list[str]:
    """Decisions counted by truth, with the rejected where there are any; of many classes, the frequent mistakes."""
    labels = [_name(each["label"]) for each in facts.get("classes") or []]
    lines: list[str] = []
    for confusion in facts.get("confusion") or []:
        title, counts = (
            f"Decisions of {_name(confusion['system'])} at {_name(confusion['application'])}",
            confusion["counts"],
        )
        if len(labels) <= MOST_CLASSES:
            width = len(labels) + any(row[-1] for row in counts if len(row) > len(labels))
            header = ["truth", *labels, "rejected"][: width + 1]
            rows = [[label, *map(format_amount, row[:width])] for label, row in zip(labels, counts, strict=True)]
        else:
            title, header = f"{title}: the most frequent mistakes", ["truth", "decided", "rows"]
            mistakes = confusion["mistakes"][:MOST_MISTAKES]
            rows = [[_name(m["truth"]), _name(m["decided"]), format_amount(m["rows"])] for m in mistakes]
        lines += [*([""] if lines else []), *_table(title, header, rows)]
    return lines


def _series(facts: dict[str, Any]) -> list[str]:
    one = "system" if facts.get("series_of") == "system" else "class, against the rest"
    rows = [[_name(s["name"]), format_number(s["eer"]), format_number(s["auc"])] for s in facts.get("series") or []]
    return _table("Ranks", [one, "EER", "AUC"], rows)


def _grid(grid: dict[str, Any]) -> list[str]:
    """Costs of a family against its setting, the mean over applications."""
    lines, parameter = grid["lines"], _name(grid["parameter"])
    named = [f" {_name(line['name'])}" if line["name"] else "" for line in lines]
    header = [parameter, *(f"{which}{name}" for name in named for which in ("minimum", "calibrated"))]
    rows = [
        [_setting(value), *(format_number(line[kind][at]) for line in lines for kind in ("minimum", "actual"))]
        for at, value in enumerate(grid["values"])
    ]
    return _table(f"{_name(grid['family'])}: cost by {parameter}", header, rows)


def _classes(classes: Sequence[dict[str, Any]]) -> list[str]:
    weighted = any(each["weight"] != each["rows"] for each in classes)
    header = ["class", "rows", "weight"][: 2 + weighted]
    rows = [[_name(c["label"]), format_amount(c["rows"]), format_amount(c["weight"])][: 2 + weighted] for c in classes]
    return _table("Classes", header, rows)


def _columns(columns: dict[str, Any] | None) -> list[str]:
    """The columns that tell the classes apart most, and how many directions the data have."""
    if columns is None:
        return []
    found = columns["histograms"]
    rows = [[_name(c["name"]), format_number(c["separation"]), format_number(c["missing"])] for c in found]
    header = ["column", "share of variance between classes", "missing"]
    table = _table(f"Columns: {len(found)} of {columns['n_columns']:,}, the most separating", header, rows)
    sentences = [f"On {columns['rows']:,} of {columns['of']:,} rows."] if columns["rows"] < columns["of"] else []
    shares = columns.get("explained_variance") or []
    counts = {share: next((k for k, held in enumerate(shares, 1) if held >= share), None) for share in SHARES}
    parts = [f"{100 * share:.0f} % of the variance by {count}" for share, count in counts.items() if count is not None]
    sentences += [f"Principal components of standardised columns hold {', '.join(parts)}."] if parts else []
    return [*table, *(["", " ".join(sentences)] if sentences else []), *_directions(columns.get("directions"))]


def _directions(directions: dict[str, Any] | None) -> list[str]:
    if not directions:
        return []
    lines = []
    for name, weights in zip(directions["names"], directions["weights"], strict=True):
        lines.append(f"- {_name(name)}: " + ", ".join(f"{format_number(w)} {_name(column)}" for column, w in weights))
    return ["", "Discriminant directions, by their largest weights:", "", *lines]


def _list(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return [f"## {title}", "", *lines] if lines else []


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]
    return [f"## {title}", "", *lines] if rows else []


def _within(values: dict[str, Any], key: str) -> str:
    """A cost with its interval, if it has one; an end that has no number is infinite."""
    interval = values.get(f"{key} interval")
    ends = f" [{', '.join(map(format_cost, interval))}]" if interval else ""
    return format_cost(values[key]) + ends if key in values else ""


def _setting(value: Any) -> str:
    return format_amount(value) if isinstance(value, (int, float)) else _name(value)


def _name(value: Any) -> str:
    return _escaped(str(value), LONG)


def _sentence(value: Any) -> str:
    return _escaped(str(value), LONGEST)


def _escaped(text: str, most: int) -> str:
    r"""Escape a text so that Markdown and HTML show it literally, on one line, with all characters visible.

    Examples
    --------
    >>> print(_escaped("*a*\n<b>", 60), _escaped(" ", 60), _escaped("- 1", 60), _escaped("abcdefgh", 5))
    \*a\*\\n\<b\> " " \- 1 ab…gh
    """
    shown = escape_controls(text[: 2 * most] + text[2 * most :][-most:])
    if shown.strip() != shown or not shown:
        shown = f'"{shown}"'
    if len(shown) > most:
        shown = f"{shown[: most // 2]}…{shown[len(shown) - (most - 1) // 2 :]}"
    return _BEGINNINGS.sub(r"\1\\\2", _MARKS.sub(r"\\\1", shown))
