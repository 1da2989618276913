"""Facts as Markdown: every number in its place, and names that are shown literally whatever they contain."""

from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from likely.report.facts import describe_mistakes
from likely.report.markdown import render_markdown

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": '<img src=x onerror="alert(1)">',
    "link": "[here](http://example.com)",
    "script link": "[here](javascript:alert(1))",
    "picture": "![x](http://example.com/x.png)",
    "address": "<http://example.com>",
    "emphasis": "*very* __sure__ ~~not~~ `code`",
    "table": "a | b |\n| --- | --- |",
    "heading": "# not a heading",
    "underline": "===",
    "rule": "---",
    "bullet": "- not a list",
    "numbered": "1. not a list",
    "quote": "> not a quote",
    "entity": "&lt;b&gt; &amp; &#x3c;",
    "backslash": "\\<b> \\\\*x*",
    "reference": "[a]: http://example.com",
    "formula": "$x$ {{ 7 * 7 }} {% raw %}",
    "quotes": "'\"”’",
    "emoji": "🐈 näme 名",
    "code": "    indented",
    "fence": "```\nfenced",
}
UNSEEN = {"line break": "a\nb", "override": "a\u202eb", "null": "a\x00b", "surrogate": "a\udc80b", "bom": "a\ufeffb"}
TAGS = {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "em"}


class Rendered(HTMLParser):
    """Markdown as rendered with HTML allowed: its tags, and its texts by cells and paragraphs."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], [""]
        self.feed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("strong", "em"):
            self.texts.append("")

    def handle_endtag(self, tag):
        if tag not in ("strong", "em"):
            self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data


def facts_of(labels, name="mine", **more):
    """Facts of one application and two systems, with every optional part."""
    k, two = len(labels), len(labels) == 2
    towards = {"prior": 0.1, "cost_fn": 10.0, "cost_fp": 1.0, "threshold": -0.1053605, "effective_prior": 0.526}
    around = {"minimum interval": [0.1, 0.3], "actual interval": [0.1, None]}
    costs = {"minimum": 0.2, "actual": 0.25, "uncalibrated": None}
    row = {"family": "own", "settings": {}, "min_cllr": 0.2, "cllr interval": None}
    counts = [[float(10 * i + j) for j in range(k)] + [0.0] for i in range(k)]
    return {
        "format": 1,
        "title": f"Systems of {name}",
        "kind": "comparison",
        "about": {"rows": 1234, "protocol": "5 folds", "by": "minimum", "file": name, "versions": {"likely": "0.1.0"}},
        "classes": [{"label": label, "rows": 600 + i, "weight": 600.0 + i} for i, label in enumerate(labels)],
        "target": labels[-1] if two else None,
        "applications": [
            {"name": name, "priors": [1 / k] * k, "costs": [[1.0] * k] * k, "reject_cost": None}
            | (towards if two else dict.fromkeys(towards))
        ],
        "verdict": [f"{name} is best.", name],
        "findings": [
            {"code": "tiny class", "level": "warning", "said": f"{labels[0]} is small.", "remedy": "Get more."}
        ],
        "leaderboard": [
            row | {"place": 1, "name": name, "costs": {name: costs | around}, "cllr": 0.00012345, "p_value": None},
            row | {"place": 2, "name": "other", "costs": {name: costs}, "cllr": None, "p_value": 0.5},
        ],
        "failures": {name: f"{name} has no scores."},
        "notes": [f"{name} was slow.", name],
        "evaluation": {
            "verdict": f"{name} stands.",
            "chosen": name,
            "place": 1,
            "p_value": 1.0,
            "systems": [{"name": name, "family": "own", "minimum": [0.31], "actual": [0.35], "cllr": None}],
        },
        "series_of": "system" if two else "class",
        "series": [{"name": name, "family": "own", "place": 1, "eer": 0.05, "auc": 0.99}],
        "confusion": [
            {
                "application": name,
                "system": name,
                "counts": counts,
                "mistakes": describe_mistakes(counts, labels),
            }
        ],
        "grids": [
            {
                "family": name,
                "parameter": "λ",
                "scale": "log",
                "values": [1e-5, 0.1, 100],
                "lines": [{"name": name, "minimum": [0.5, 0.4, None], "actual": [0.6, None, 0.7]}],
            },
        ],
        "columns": {
            "rows": 500,
            "of": 1234,
            "n_columns": 30,
            "histograms": [{"name": name, "separation": 0.625, "missing": 0.0}],
            "explained_variance": [0.6, 0.8, 0.95],
            "directions": {"names": ["direction 1"], "weights": [[[name, -0.75], ["b", 0.25]]]},
        },
    } | more


def test_all_parts_are_rendered_in_order():
    text = render_markdown(facts_of(["no", "yes"]))

    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Systems of mine",
        "## Findings",
        "## Applications",
        "## Leaderboard",
        "## On the evaluation rows",
        "## Decisions of mine at mine",
        "## EER and AUC",
        "## mine: cost by λ",
        "## Classes",
        "## Columns: the 1 most separating of 30",
        "## Failures",
        "## Notes",
    ]
    assert text.endswith("Made with likely 0.1.0.\n")


@pytest.mark.parametrize(
    "line",
    [
        "1,234 rows of mine, 5 folds, ordered by minimum cost. The target is yes.",
        "- **warning: tiny class.** no is small. *Get more.*",
        "| mine | 0.1 | 10 | 1 |  | -0.105 |",
        "|  | system | minimum at mine | calibrated at mine | as given at mine | Cllr | min Cllr | p |",
        "| 1 | mine | 0.200 [0.100, 0.300] | 0.250 [0.100, ∞] | ∞ | 0.000123 | 0.200 |  |",
        "| 2 | other | 0.200 | 0.250 | ∞ | ∞ | 0.200 | 0.500 |",
        "| mine | 0.310 | 0.350 | ∞ |",
        "| true class | no | yes |",
        "| yes | 10 | 11 |",
        "| mine | 0.050 | 0.990 |",
        "| 1e-05 | 0.500 | 0.600 |",
        "| 100 |  | 0.700 |",
        "| yes | 601 |",
        "| mine | 0.625 | 0.000 |",
        "From a sample of 500 of 1,234 rows. Variance that principal components of standardised columns keep: "
        "1 keep 50 %, 3 keep 90 %.",
        "- direction 1: -0.750 mine, 0.250 b",
        "- mine: mine has no scores.",
        "- mine was slow.",
    ],
)
def test_a_line_has_its_numbers(line):
    assert line in render_markdown(facts_of(["no", "yes"])).splitlines()


def test_a_line_of_a_grid_without_other_settings_has_no_name():
    grid = {
        "family": "f",
        "parameter": "λ",
        "values": ["a", "b"],
        "lines": [{"name": "", "minimum": [1], "actual": [2]}],
    }
    text = render_markdown(facts_of(["no", "yes"], grids=[grid | {"values": ["a"]}]))

    assert "| λ | minimum | calibrated |" in text


def test_ten_classes_have_their_priors_and_their_table():
    text = render_markdown(facts_of([str(k) for k in range(10)]))

    assert "| mine | " + "0.1 | " * 10 + " |" in text
    assert "| 9 | " + " | ".join(str(90 + j) for j in range(10)) + " |" in text
    assert "| class, against the rest | EER | AUC |" in text
    assert "The target" not in text


def test_the_most_frequent_mistakes_of_many_classes_are_listed():
    text = render_markdown(facts_of([f"class {k}" for k in range(20)]))

    assert "the most frequent mistakes" in text
    assert text.index("| class 19 | class 18 | 208 |") < text.index("| class 19 | class 17 | 207 |")
    assert "| class 19 | class 19 | 209 |" not in text


def test_rejected_rows_and_weights_have_columns_if_there_are_any():
    confusion = [{"application": "a", "system": "s", "counts": [[5, 1, 2], [0.25, 6, 0]]}]
    classes = [{"label": "no", "rows": 8, "weight": 8.0}, {"label": "yes", "rows": 7, "weight": 6.25}]
    text = render_markdown(facts_of(["no", "yes"], confusion=confusion, classes=classes))

    assert "| true class | no | yes | rejected |" in text
    assert "| yes | 0.25 | 6 | 0 |" in text
    assert "| yes | 7 | 6.25 |" in text


def test_missing_parts_are_left_out():
    facts = facts_of(["no", "yes"])
    kept = ("title", "about", "classes", "target", "applications", "leaderboard", "verdict")
    brief = {key: facts[key] for key in kept} | {"evaluation": None, "columns": None, "findings": []}
    brief["about"] = facts["about"] | {"file": None, "versions": {}}

    titles = [line for line in render_markdown(brief).splitlines() if line.startswith("#")]

    assert titles == ["# Systems of mine", "## Applications", "## Leaderboard", "## Classes"]


def test_a_table_without_rows_is_left_out_but_its_sentence_stays():
    columns = {"rows": 5, "of": 9, "n_columns": 2, "histograms": [], "explained_variance": [], "directions": None}
    text = render_markdown(
        facts_of(["no", "yes"], columns=columns, evaluation={"verdict": "It stands.", "systems": []})
    )

    assert "From a sample of 5 of 9 rows." in text
    assert "## Columns" not in text
    assert "## On the evaluation rows\n\nIt stands.\n\n## Decisions" in text


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_are_shown_literally(kind):
    name = HOSTILE[kind]
    rendered = Rendered(render_markdown(facts_of([name, f"{name} too"], name)))
    plain = Rendered(render_markdown(facts_of(["no", "yes"])))
    text = name.replace("\n", "\\n")
    shown = f'"{text}"' if text.strip() != text else text

    assert rendered.tags == plain.tags
    assert set(rendered.tags) <= TAGS
    assert rendered.texts.count(shown) >= 5
    assert any(sentence in (f"{text} is best.", f'"{text} is best."') for sentence in rendered.texts)


@pytest.mark.parametrize("kind", UNSEEN)
def test_invisible_characters_are_shown_as_escapes(kind):
    text = render_markdown(facts_of([UNSEEN[kind], "yes"], UNSEEN[kind]))

    assert text.replace("\n", "").isprintable()
    assert repr(UNSEEN[kind])[1:-1] in Rendered(text).texts


def test_long_names_are_shown_by_their_beginning_and_end():
    text = render_markdown(facts_of(["x" * 5000 + "1", "x" * 5000 + "2"], "y" * 10_000))

    assert len(text) < 20_000
    assert f"| {'x' * 30}…{'x' * 28}2 |" in text


def test_bare_addresses_make_no_links():
    text = render_markdown(facts_of(["no", "yes"], "http://example.com www.example.com a@example.com"))

    assert "http://" not in text
    assert "www.e" not in text
    assert "a@" not in text
