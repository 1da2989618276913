"""Facts rendered as one offline page, and as a fragment for notebooks."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound, Undefined
from markupsafe import Markup

from likely._formatting import format_cost, format_label
from likely.report import column_pictures, pictures

SCRIPTS = ("numbers.js", "tables.js", "binary.js", "classes.js", "page.js")
MOST_ROWS, MOST_COSTS, MOST_TABLED = 200, 24, 40
"""Most rows of the leaderboard; most classes whose costs can be set; most classes whose decisions are a table."""

_SECTIONS = {
    "verdict": "Verdict",
    "decide": "Decide",
    "leaderboard": "Leaderboard",
    "curves": "Curves",
    "calibration": "Calibration",
    "confusion": "Confusion",
    "settings": "Settings",
    "data": "Data",
    "evaluation": "Evaluation",
    "notes": "Notes",
}


def render_page(facts: dict[str, Any]) -> str:
    """Render the whole report as HTML that needs no network and no other file."""
    style, script = _text("style.css") + _text("plots.css"), _script()
    return _environment().get_template("page.html").render(
        facts=facts,
        plots=pictures,
        column_plots=column_pictures,
        sections=_sections(facts),
        nontarget=_nontarget(facts),
        confusion=lambda table: _render_confusion(table, facts),
        most_rows=MOST_ROWS,
        most_costs=MOST_COSTS,
        most_tabled=MOST_TABLED,
        style=Markup(style),
        style_hash=_digest(style),
        script=Markup(script),
        script_hash=_digest(script),
        embedded=_embedded(facts),
    )  # fmt: skip


def render_fragment(facts: dict[str, Any]) -> str:
    """Render the verdict and the leaderboard as a piece of HTML without a script."""
    template = _environment().get_template("fragment.html")
    return template.render(facts=facts, plots=pictures, style=Markup(_text("fragment.css")))


class _Files(BaseLoader):
    """Templates from the package, wherever it is installed."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, Any]:
        try:
            return _text(template), template, lambda: True
        except FileNotFoundError:
            raise TemplateNotFound(template) from None


@cache
def _environment() -> Environment:
    made = Environment(
        loader=_Files(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"short": format_label, "number": format_cost, "count": lambda n: f"{n:,}", "around": _around}
    return made


@cache
def _text(name: str) -> str:
    return files("likely.report").joinpath("files", name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Several files as one script in a scope."""
    parts = "\n".join(_text(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


def _digest(text: str) -> str:
    """The hash by which the content policy of the page allows its own style and script, and nothing else."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _sections(facts: dict[str, Any]) -> list[tuple[str, str]]:
    there = {
        "curves": facts["series_of"] == "class",
        "confusion": facts["explorer"]["kind"] != "binary",
        "settings": bool(facts["grids"]),
        "data": bool(facts["columns"]),
        "evaluation": bool(facts["evaluation"]),
    }
    return [(key, name) for key, name in _SECTIONS.items() if there.get(key, True)]


def _nontarget(facts: dict[str, Any]) -> str | None:
    """The other of two classes."""
    return next((each["label"] for each in facts["classes"] if each["label"] != facts["target"]), None)


def _embedded(facts: dict[str, Any]) -> Markup:
    """The data of the script, as JSON that cannot end its element."""
    needed = {key: facts[key] for key in ("kind", "classes", "target", "applications", "explorer")}
    needed["series"] = [{key: one[key] for key in ("name", "class", "tables") if key in one} for one in facts["series"]]
    text = json.dumps(needed, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _around(interval: Any) -> Markup | str:
    """Render an interval after a number, if it is known."""
    if isinstance(interval, Undefined) or interval is None or None in interval:
        return ""
    return Markup(' <span class="muted">[{}, {}]</span>').format(format_cost(interval[0]), format_cost(interval[1]))


def _render_confusion(table: dict[str, Any], facts: dict[str, Any]) -> Markup:
    """Render counts shaded by their share of the row; of many classes, the most frequent mistakes."""
    counts = table["counts"]
    labels = [each["label"] for each in facts["classes"]]
    if len(labels) > MOST_TABLED:
        return _render_mistakes(table["mistakes"])
    rejects = any(row[-1] for row in counts)
    heads = [*labels, *(["rejected"] if rejects else [])]
    rows = [_render_row(label, i, row[: len(heads)]) for i, (label, row) in enumerate(zip(labels, counts, strict=True))]
    header = Markup("").join(
        Markup('<th scope="col"><bdi title="{}">{}</bdi></th>').format(format_label(head, 200), format_label(head, 12))
        for head in heads
    )
    body = Markup("").join(rows)
    template = '<table class="confusion wide"><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table>'
    return Markup(f'<div class="scroll">{template}</div>').format(header, body)


def _render_mistakes(mistakes: list[dict[str, Any]]) -> Markup:
    items = [
        Markup("<li><bdi>{}</bdi> decided to be <bdi>{}</bdi>: {}</li>").format(
            format_label(each["truth"]), format_label(each["decided"]), f"{each['rows']:,.6g}"
        )
        for each in mistakes
    ]
    return Markup("<p>The most frequent mistakes:</p><ol>{}</ol>").format(Markup("").join(items))


def _render_row(label: str, at: int, counts: list[float]) -> Markup:
    total = sum(counts) or 1.0
    cells = [
        Markup('<td class="{}{}">{}</td>').format(
            "right " if k == at else "", f"h{min(9, round(9 * count / total))}", f"{count:,.6g}" if count else ""
        )
        for k, count in enumerate(counts)
    ]
    head = Markup('<th scope="row"><bdi title="{}">{}</bdi></th>').format(
        format_label(label, 200), format_label(label, 12)
    )
    return Markup("<tr>{}{}</tr>").format(head, Markup("").join(cells))
