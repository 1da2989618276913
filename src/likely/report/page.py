"""Rendering of facts as one offline page, and as a fragment for notebooks."""

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
MAX_ROWS, MAX_COSTS, MAX_TABLED = 200, 24, 40
"""Maximum numbers of rows of a leaderboard, of classes with a table of costs, and of classes in a confusion matrix."""

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
    style, script = _read_text("style.css") + _read_text("plots.css"), _join_scripts()
    return _environment().get_template("page.html").render(
        facts=facts,
        plots=pictures,
        column_plots=column_pictures,
        sections=_list_sections(facts),
        nontarget=_find_nontarget(facts),
        max_rows=MAX_ROWS,
        max_costs=MAX_COSTS,
        max_tabled=MAX_TABLED,
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        embedded=_embed_facts(facts),
    )  # fmt: skip


def render_fragment(facts: dict[str, Any]) -> str:
    """Render the verdict and the leaderboard as an HTML fragment without a script."""
    template = _environment().get_template("fragment.html")
    return template.render(facts=facts, plots=pictures, style=Markup(_read_text("fragment.css")))


@cache
def _environment() -> Environment:
    loader = FunctionLoader(_read_text)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"short": format_label, "number": format_cost, "around": _format_interval}
    environment.filters |= {"count": "{:,}".format, "amount": "{:,.6g}".format}
    return environment


@cache
def _read_text(name: str) -> str:
    return files("likely.report").joinpath("files", name).read_text(encoding="utf-8")


@cache
def _join_scripts() -> str:
    """Return all script files as one script. A function around them keeps their names out of the global scope."""
    parts = "\n".join(_read_text(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


def _hash(text: str) -> str:
    """Return the hash of a style or script. The page's content security policy allows only text with these hashes."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _list_sections(facts: dict[str, Any]) -> list[tuple[str, str]]:
    present = {
        "curves": facts["series_of"] == "class",
        "confusion": facts["explorer"]["kind"] != "binary",
        "settings": bool(facts["grids"]),
        "data": bool(facts["columns"]),
        "evaluation": bool(facts["evaluation"]),
    }
    return [(key, name) for key, name in _SECTIONS.items() if present.get(key, True)]


def _find_nontarget(facts: dict[str, Any]) -> str | None:
    """Find the label of the class that is not the target."""
    return next((each["label"] for each in facts["classes"] if each["label"] != facts["target"]), None)


def _embed_facts(facts: dict[str, Any]) -> Markup:
    """Return the facts that the script needs, as JSON inside an HTML element.

    Characters that could close the element are escaped.
    """
    needed = {key: facts[key] for key in ("kind", "classes", "target", "applications", "explorer")}
    needed["series"] = [{key: one[key] for key in ("name", "class", "tables") if key in one} for one in facts["series"]]
    text = json.dumps(needed, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _format_interval(interval: Any) -> Markup | str:
    """Render the interval of a number, if it is known. A dash means that all resamples gave the same number."""
    if isinstance(interval, Undefined) or interval is None or None in interval:
        return ""
    if interval[0] == interval[1]:
        return Markup(' <span class="muted">[–]</span>')
    return Markup(' <span class="muted">[{}, {}]</span>').format(format_cost(interval[0]), format_cost(interval[1]))
