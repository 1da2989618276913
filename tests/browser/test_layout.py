"""The page on phones and desktops, in print, in dark mode, with the keyboard only and without a script."""

import re
from itertools import pairwise

import numpy as np
import pytest

import likely
from likely import Application


def scores_page():
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    llr = rng.normal(2.0 * y - 1, 1.5)
    systems = {f"a system with a name of its own, number {k}": llr + rng.normal(0, k / 4, 80) for k in range(18)}
    labels = np.array(["negative", "positive"])[y]
    return likely.compare_scores(labels, systems, [Application.binary(0.1, 10), 0.5, 0.9])


def one_system_page():
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    return likely.compare_scores(y, rng.normal(2.0 * y - 1, 1.5))


def compared_page():
    rng = np.random.default_rng(2)
    y = np.arange(90) % 2
    X = rng.normal(y[:, None] * [1.5, 0.5, 0.2, 0.0], 1.0)
    evaluation = (rng.normal(y[:, None] * [1.5, 0.5, 0.2, 0.0], 1.0), y)
    candidates = ["nearest-mean", "Gaussian: LDA, full", "logistic"]
    return likely.compare(X, y, candidates=candidates, applications=[0.5, 0.1], evaluation=evaluation)


def classes_page():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 10, 300)
    return likely.compare_scores(y, {"mine": rng.normal(2.0 * (y[:, None] == np.arange(10)), 1.0)})


MAKERS = (scores_page, one_system_page, compared_page, classes_page)


@pytest.fixture(scope="module", params=MAKERS, ids=lambda maker: maker.__name__)
def html(request):
    return request.param().report().html()


def test_no_page_is_wider_than_its_window(html, open_page):
    page = open_page(html, width=1280)
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cut = page.evaluate(
            """() => [...document.querySelectorAll("svg.plot, button, select, input, output, h2, dd")]
            .filter(e => e.checkVisibility() && !e.closest(".scroll, nav")
              && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1))
            .map(e => e.outerHTML.slice(0, 100))"""
        )
        assert cut == [], width


def test_a_phone_shows_everything(html, open_page, slide):
    page = open_page(html, mobile=True)

    assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [390, 390]
    assert page.locator("#verdict p").first.is_visible()
    slide(page, "input[type=range] >> nth=0", 3)
    assert page.locator("#actual").inner_text() != ""


def test_a_page_prints_on_several_sheets(html, open_page):
    page = open_page(html)
    page.emulate_media(media="print")

    assert not page.locator("nav").is_visible()
    printed = page.locator("#leaderboard tbody tr").evaluate_all("all => all.filter(e => e.checkVisibility()).length")
    assert printed == min(15, page.locator("#leaderboard tbody tr").count())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    assert 1 < sheets < 20


CONTRASTS = """() => {
  const parsed = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (top, under) => [0, 1, 2].map(k => top[k] * top[3] + under[k] * (1 - top[3])).concat(1);
  const canvas = parsed(getComputedStyle(document.body).backgroundColor);
  const paper = e => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(parsed(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), canvas);
  };
  const light = c => {
    const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest("script, style, option")) continue;
    const style = getComputedStyle(e), svg = e.closest("svg");
    const under = paper(svg ? svg.parentElement : e);
    const ink = over(parsed(svg ? style.fill : style.color), under);
    const [dark, bright] = [light(ink), light(under)].sort((a, b) => a - b);
    found.push([(bright + 0.05) / (dark + 0.05), e.tagName + "." + (e.className.baseVal ?? e.className),
      e.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_enough_contrast(dark, html, open_page):
    page = open_page(html, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    found = page.evaluate(CONTRASTS)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert (paper == "rgb(255, 255, 255)") is not dark
    assert len(found) > 60
    assert {tag.split(".")[0] for _, tag, _ in found} >= {"P", "BUTTON", "TH", "TD", "text", "LABEL"}
    assert [each for each in found if each[0] < 4.5] == []


def test_every_control_has_a_name(html, open_page):
    page = open_page(html)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, a, summary")].filter(e =>
          !(e.getAttribute("aria-label") || [...(e.labels || [])].map(l => l.textContent).join("").trim()
            || e.textContent.trim())).map(e => e.outerHTML)"""
    )

    assert unnamed == []
    assert page.get_by_role("slider").count() == page.locator("input[type=range]").count()
    assert page.locator("html[lang=en]").count() == 1


def test_tab_reaches_every_control(html, open_page):
    page = open_page(html)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("a[href], button, input, select, summary")]
        .filter(e => e.checkVisibility() && !(e.type === "radio" && !e.checked))
        .map((e, at) => { e.dataset.reached = at; return String(at); })"""
    )
    reached = []
    for _ in range(2 * len(wanted) + 20):
        page.keyboard.press("Tab")
        at = page.evaluate("document.activeElement.dataset.reached")
        if at is not None:
            reached.append(at)
        if len(set(reached)) == len(wanted):
            break

    assert reached == wanted
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_plots_have_titles_and_headings_are_in_order(html, open_page):
    page = open_page(html)
    untitled = page.evaluate(
        """() => [...document.querySelectorAll("svg")].filter(svg => {
          const title = svg.querySelector(":scope > title"), desc = svg.querySelector(":scope > desc");
          const ids = (svg.getAttribute("aria-labelledby") || "").split(" ");
          return !(svg.getAttribute("role") === "img" && title && title.textContent.trim() && desc
            && ids.every(id => document.getElementById(id) && svg.contains(document.getElementById(id))));
        }).map(svg => svg.outerHTML.slice(0, 200))"""
    )
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(one => Number(one.tagName[1]))")

    assert untitled == []
    assert page.locator("svg").count() >= 5
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_ids_are_unique_and_references_exist(html, open_page):
    page = open_page(html)
    ids = page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    named = page.locator("[aria-labelledby], [for], a[href^='#']").evaluate_all(
        """all => all.flatMap(one => (one.getAttribute("aria-labelledby") || one.getAttribute("for")
          || one.getAttribute("href").slice(1)).split(" "))"""
    )

    assert sorted(ids) == sorted(set(ids))
    assert set(named) <= set(ids)


def test_verdict_leaderboard_and_curves_need_no_script(html, browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(html, encoding="utf-8")
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())

    assert page.locator("#verdict .verdict p").first.inner_text() != ""
    assert page.locator("#leaderboard tbody tr").first.is_visible()
    for plot in ("roc", "det", "bayes-error", "histogram", "reliability"):
        assert page.locator(f"svg[data-plot={plot}]").filter(visible=True).count() >= 1, plot
    context.close()


def test_the_page_makes_no_requests_and_logs_nothing(html, browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True)
    page, requests, messages = context.new_page(), [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(file.as_uri())
    page.locator("input[type=range]").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(400)
    context.close()

    assert requests == [file.as_uri()]
    assert messages == []
    addresses = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", html.split("<script")[0])
    assert all(address.startswith(("#", "data:")) for address in addresses), addresses


def test_text_is_dark_when_printed_in_dark_mode(html, open_page):
    page = open_page(html, dark=True)
    page.emulate_media(media="print", color_scheme="dark")

    assert [each for each in page.evaluate(CONTRASTS) if each[0] < 4.5] == []
