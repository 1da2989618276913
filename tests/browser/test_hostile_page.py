"""Labels, columns, systems, applications and files with hostile names are shown as text, and no code in them runs."""

import numpy as np
import pytest

import likely
from likely import Application
from likely._formatting import escape_controls

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "end of script": "</script><script>alert(1)</script>",
    "end of comment": "--><!--<script>alert(1)//",
    "svg": "</title></svg><svg onload=alert(1)>",
    "quotes": "'\"`´\\'\\\"",
    "backslashes": "\\u003cb\\n\\",
    "template": "${7*7} {{7*7}} {% raw %} {#x#}",
    "cdata": "]]><![CDATA[",
    "entities": "&lt;b&gt; &amp; &#60;",
    "right to left": "\u202eevil\u202c \u2067x",
    "long": "x" * 10_000,
    "long words": "a b " * 2500,
    "long emoji": "👩‍👩‍👧‍👦" * 1400,
    "emoji": "🦊👩‍👩‍👧‍👦🏳️‍🌈",
    "lines": "one\ntwo\r\nthree\u2028four\u2029five",
    "controls": "a\x01b\x1b[31mc\x7f\x9b",
    "nul": "a\x00b",
    "empty": "",
    "space": "  ",
    "proto": "__proto__",
    "constructor": "constructor",
    "url": "javascript:alert(1)",
    "option": "--help; $(rm -rf /) `id`",
    "combining": "Z" + "̃" * 300,
}

SETTLE = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))"


def two_classes(target, other, name, systems=None):
    """A report with hostile labels, title, file and application, and systems of all these names."""
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    llr = rng.normal(2.0 * y - 1, 1.5)
    labels = np.array([other, target], dtype=object)[y]
    names = systems or (target, other, name)
    scores = {each: llr + rng.normal(0, k, 60) for k, each in enumerate(names)}
    applications = {name: Application.binary(0.1, 10, positive=target), other: Application.binary(0.5, positive=target)}
    comparison = likely.compare_scores(labels, scores, applications, pos_label=target)
    return comparison.report(title=name or None, about={"file": name})


def more_classes(names):
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(len(names)), 8)
    scores = rng.normal(2.0 * (y[:, None] == np.arange(len(names))), 1.0)
    # Columns are in the order of the sorted labels.
    order = np.array(sorted(names), dtype=object)
    return likely.compare_scores(order[y], {names[0]: scores}, {names[-1]: Application.equal(len(names))}).report()


def assert_harmless(page):
    """Assert that no name has become an element, and that the page is not wider than its window."""
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelectorAll('[onerror], [onload], [onclick]').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


KINDS = [kind for kind in HOSTILE if kind != "long"]
TRIPLES = [[KINDS[k], KINDS[k - 1], KINDS[k - 2]] for k in range(0, len(KINDS), 3)]


@pytest.mark.parametrize("kinds", TRIPLES, ids=lambda kinds: ", ".join(kinds))
def test_hostile_names_are_text_everywhere(kinds, open_page, slide):
    names = [HOSTILE[kind] for kind in kinds]
    html = two_classes(*names).html()
    assert len(html.encode()) < 1_000_000
    page = open_page(html, width=390)
    assert_harmless(page)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    slide(page, "#prior", 4)
    slide(page, "#fn", 5)
    page.select_option("#series", "1")
    page.select_option("#preset", "1")
    page.locator("#leaderboard thead button").nth(1).click()
    page.evaluate(SETTLE)
    assert_harmless(page)

    copied = eval(page.text_content("#as-python"), {"Application": Application})
    assert copied.labels == (None, names[0])
    assert copied.priors.tolist() == [0.5, 0.5]
    embedded = page.evaluate("JSON.parse(document.getElementById('facts').textContent)")
    assert embedded["target"] == names[0]
    assert {each["label"] for each in embedded["classes"]} == set(names[:2])
    shown = page_text(page, "#leaderboard tbody th")
    for name in names:
        expected = escape_controls(name)[:40]
        assert any(expected in text for text in shown), shown
    page.set_viewport_size({"width": 1280, "height": 900})
    assert_harmless(page)


def test_a_word_of_ten_thousand_letters_is_shortened(open_page, slide):
    word = HOSTILE["long"]
    for target, other in ((word, "a"), ("a", word)):
        html = two_classes(target, other, word, ("mine", "yours")).html()
        assert len(html.encode()) < 1_000_000
        page = open_page(html, width=390)
        slide(page, "#prior", 4)
        assert_harmless(page)
        assert eval(page.text_content("#as-python"), {"Application": Application}).labels == (None, target)


def page_text(page, selector):
    return page.locator(selector).evaluate_all("all => all.map(one => one.textContent)")


def test_hostile_names_of_more_classes_are_text_everywhere(open_page, slide):
    names = [name for kind, name in HOSTILE.items() if not kind.startswith("long")]
    html = more_classes(names).html()
    assert len(html.encode()) < 1_000_000
    page = open_page(html, width=390)
    assert_harmless(page)
    slide(page, "#prior-3", 200)
    page.evaluate(SETTLE)
    assert_harmless(page)

    copied = eval(page.text_content("#as-python"), {"Application": Application})
    assert list(copied.labels) == sorted(names)
    assert copied.priors.sum() == pytest.approx(1)
    assert page.locator("#confusion-live tbody tr").count() == len(names)


def test_hostile_columns_are_text_everywhere(open_page, slide):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    y = np.array(["</script>", "<b>"])[np.arange(60) % 2]
    frame = pandas.DataFrame({name: rng.normal(np.arange(60) % 2 / 4, 1.0) for name in HOSTILE.values()})
    frame["<i>kinds</i>"] = np.array(["<u>", "\"'"])[rng.integers(0, 2, 60)]
    comparison = likely.compare(frame, y, candidates=["nearest-mean"])
    html = comparison.report(about={"file": HOSTILE["image"]}).html()
    assert len(html.encode()) < 1_000_000

    page = open_page(html, width=390)
    assert_harmless(page)
    slide(page, "#prior", 3)
    assert_harmless(page)
    assert page.locator("#data svg").count() > 3
    assert page.locator("b, i, u").count() == 0


def test_the_fragment_for_a_notebook_is_harmless(open_page):
    rng = np.random.default_rng(4)
    y = np.array(["<b>", HOSTILE["end of script"]])[np.arange(40) % 2]
    systems = {name: rng.normal(np.arange(40) % 2, 1.0) for name in list(HOSTILE.values())[::2]}
    comparison = likely.compare_scores(y, systems, {HOSTILE["image"]: Application.binary(0.3)})
    html = comparison._repr_html_()
    page = open_page(f"<!doctype html><title>Notebook</title>{html}", width=800)

    assert page.locator("script, img, b").count() == 0
    assert "alert(1)" in page.inner_text("body")
    assert len(html) < 300_000


def test_a_system_whose_name_is_one_long_word_does_not_widen_the_page(open_page):
    page = open_page(two_classes("a", "b", "c", ("x" * 60, "yours")).html(), width=390)

    assert_harmless(page)


def test_ten_labels_of_ten_thousand_letters_stay_below_a_megabyte():
    assert len(more_classes([f"{k}" + "x" * 10_000 for k in range(10)]).html().encode()) < 1_000_000
