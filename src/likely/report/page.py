"""Facts rendered as one offline page, and as a fragment for notebooks."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Undefined
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


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"short": format_label, "number": format_cost, "around": _around}
    made.filters |= {"count": "{:,}".format, "amount": "{:,.6g}".format}
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
