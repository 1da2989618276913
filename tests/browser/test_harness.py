"""The test harness passes a clean page, and fails one that logs, makes requests, opens dialogs or has errors."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CLEAN = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Clean</title><style>@media (prefers-color-scheme: dark) {body {background: #000}}</style>
<p id="said">Nothing to see but <b>this</b>.</p>
<img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">
<input type="range" id="prior" min="-2" max="2" step="0.5" value="0"><input type="range" id="off" disabled>
<script>
  const [slider, said] = [document.querySelector("input"), document.querySelector("p")];
  slider.addEventListener("input", () => { said.textContent = `${slider.value} ${location.hash}`; });
  console.log("well");
</script>
</html>"""

BAD = {
    "console": ("<script>console.error('so it is')</script>", "error: so it is"),
    "warning": ("<script>console.warn('beware')</script>", "warning: beware"),
    "late": ("<script>setTimeout(() => console.error('late'), 10)</script>", "error: late"),
    "script": ("<script>nothing.at.all</script>", "nothing is not defined"),
    "promise": ("<script>Promise.reject(new Error('broken'))</script>", "broken"),
    "alert": ("<script>alert('hear')</script>", "alert: hear"),
    "confirm": ("<script>setTimeout(() => confirm('sure?'))</script>", "confirm: sure?"),
    "image": ("<img src='http://127.0.0.1:9/a.png'>", "http://127.0.0.1:9/a.png"),
    "file": ("<link rel='stylesheet' href='beside.css'>", "beside.css"),
    "fetch": ("<script>fetch('http://127.0.0.1:9/b').catch(() => 0)</script>", "http://127.0.0.1:9/b"),
    "socket": ("<script>new WebSocket('ws://127.0.0.1:9/c')</script>", "ws://127.0.0.1:9/c"),
    "window": ("<script>open('http://127.0.0.1:9/d')</script>", "http://127.0.0.1:9/d"),
}


def test_a_clean_page_passes(open_page, seen):
    page = open_page(CLEAN)

    assert page.inner_text("#said") == "Nothing to see but this."
    assert page.url.startswith("file://")
    assert seen.take() == {}


@pytest.mark.parametrize("kind", BAD)
def test_forbidden_actions_of_a_page_are_recorded(kind, open_page, seen):
    html, expected = BAD[kind]
    page = open_page(f"<!doctype html><title>Bad</title>{html}")
    page.wait_for_timeout(300)

    assert expected in str(seen.take())


def test_a_test_fails_if_its_page_does_something_forbidden(browser, pytester):
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n')
    bad = {kind: html for kind, (html, _) in BAD.items() if kind in ("console", "alert", "image", "late")}
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.parametrize("html", {[*bad.values()]!r})
        def test_bad(open_page, html):
            open_page("<!doctype html><title>Bad</title>" + html)

        def test_forgiven(open_page, seen):
            open_page("<!doctype html><title>Bad</title><script>console.error('so it is')</script>")
            assert seen.take() == {{"console": ["error: so it is"]}}

        def test_clean(open_page):
            open_page("<!doctype html><title>Clean</title>")
        """
    )

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    # The body of each test passes, and the check at teardown is an error.
    result.assert_outcomes(passed=len(bad) + 2, errors=len(bad))


@pytest.mark.parametrize(("ci", "is_loud"), [("", False), ("true", True)])
def test_without_a_browser_tests_are_skipped_with_a_reason(ci, is_loud, pytester, monkeypatch):
    monkeypatch.setenv("LIKELY_CHROMIUM", "no-such-browser")
    monkeypatch.setenv("CI", ci)
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
    pytester.makepyfile("def test_page(open_page): open_page('')")

    result = pytester.runpytest_subprocess("-rs", "-p", "no:cacheprovider")

    result.assert_outcomes(skipped=1)
    assert "LIKELY_CHROMIUM names 'no-such-browser', which is not a program" in result.stdout.str()
    assert ("CHROMIUM IS MISSING IN CI" in result.stdout.str()) is is_loud


def test_a_page_opens_with_a_hash_in_dark_mode_and_on_a_phone(open_page):
    page = open_page(CLEAN, hash="prior=0.1", dark=True, mobile=True)

    assert page.evaluate("[location.hash, innerWidth, devicePixelRatio, navigator.maxTouchPoints > 0]") == [
        "#prior=0.1",
        390,
        2,
        True,
    ]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(0, 0, 0)"


def test_a_file_opens_from_its_path_at_the_given_width(open_page, tmp_path):
    place = tmp_path / "a page, näm#d?.html"
    place.write_text(CLEAN)

    page = open_page(place, width=600, height=500)

    assert page.evaluate("[innerWidth, innerHeight]") == [600, 500]
    assert page.inner_text("#said") == "Nothing to see but this."


@pytest.mark.parametrize(("index", "value"), [(0, -2), (1, -1.5), (4, 0), (5, 0.5), (8, 2)])
def test_a_slider_moves_to_a_step_and_fires_an_input_event(index, value, open_page, slide):
    page = open_page(CLEAN, hash="at")

    assert slide(page, "#prior", index) == value
    assert page.inner_text("#said") == f"{value:g} #at"


def test_a_slider_that_cannot_move_raises(open_page, slide):
    page = open_page(CLEAN)

    with pytest.raises(ValueError, match="steps 0 to 8, so there is no step 9"):
        slide(page, "#prior", 9)
    with pytest.raises(AssertionError, match="#off did not move"):
        slide(page, "#off", 3)


def test_the_clipboard_can_be_read(open_page):
    page = open_page(CLEAN)
    page.evaluate("navigator.clipboard.writeText('Application.binary(0.1)')")

    assert page.evaluate("navigator.clipboard.readText()") == "Application.binary(0.1)"
