"""The page for two classes shows the library's numbers at every setting of its controls."""

import json
import shlex
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtri
from typer.testing import CliRunner

import likely
from likely import Application, Trials
from likely.cli.app import app as command_line

CELLS = ("n-refused", "n-accepted", "n-rejected", "t-refused", "t-accepted", "t-rejected")
SLIDERS = ("prior", "fn", "fp", "reject")

READ = """() => {
  const text = id => document.getElementById(id).textContent;
  const attributes = (mark, names) => Object.fromEntries(
    ["display", ...names].map(name => [name, mark.getAttribute(name)]));
  const plots = [...document.querySelectorAll("svg[data-plot]")].map(svg => ({
    plot: svg.dataset.plot, series: svg.dataset.series, x: svg.dataset.x, y: svg.dataset.y,
    circles: Object.fromEntries(["actual", "minimum"].flatMap(which => {
      const mark = svg.querySelector(`circle.mark.${which}`);
      return mark ? [[which, attributes(mark, ["cx", "cy"])]] : [];
    })),
    lines: [...svg.querySelectorAll("line.mark.threshold")].map(mark => attributes(mark, ["x1", "x2"])),
  }));
  return {
    texts: Object.fromEntries([...document.querySelectorAll("[id]:not(#spoken)")].filter(e => !e.children.length)
      .map(e => [e.id, e.textContent])),
    values: Object.fromEntries(["prior", "fn", "fp", "reject", "series", "preset"].map(
      id => [id, document.getElementById(id).value])),
    heard: Object.fromEntries(["prior", "fn", "fp", "reject"].map(
      id => [id, document.getElementById(id).getAttribute("aria-valuetext")])),
    variant: document.querySelector("input[name=variant]:checked").value,
    scores: document.documentElement.dataset.scores,
    plots,
  };
}"""

WALK = f"""hashes => hashes.map(hash => {{
  history.replaceState(null, "", "#" + hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
  return ({READ})();
}})"""


@dataclass
class Case:
    """A comparison, its page, and the library's results."""

    comparison: likely.Comparison

    @cached_property
    def facts(self):
        return self.comparison.report().facts

    @cached_property
    def html(self):
        return self.comparison.report().html()

    @cached_property
    def systems(self):
        """The systems drawn, in the order of the page."""
        named = {system.name: system for system in self.comparison.systems}
        return [named[one["name"]] for one in self.facts["series"]]

    @cached_property
    def trials(self):
        rows, target = self.comparison.workings.protocol.judged, self.comparison.target
        sign = 1.0 if target == self.comparison.classes[1] else -1.0
        return [
            {
                which: Trials(rows.y, sign * scores, pos_label=target, sample_weight=rows.weight)
                for which, scores in (("given", system.scores), ("calibrated", system.calibrated))
            }
            for system in self.systems
        ]


def scores(seed, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3 // 2
    return y, rng.normal(3 * y - 1.5, 2.0), rng


class Bounded(likely.AffineCalibrator):
    """An affine calibrator fitted on clipped scores, so that scores may be infinite."""

    def fit(self, scores, y, sample_weight=None):
        return super().fit(np.clip(scores, -20, 20), y, sample_weight)


def outside():
    y, llr, rng = scores(1)
    llr[::10], llr[1::29], llr[2::31] = 0.0, np.inf, -np.inf
    systems = {"good": llr, "turned": -np.nan_to_num(llr, posinf=9, neginf=-9), "rough": np.round(llr + rng.normal(y))}
    applications = {
        "rare": Application.binary(0.01, 10, 1),
        "even": Application.binary(0.5),
        "odd": Application.binary(0.123, 3.5, 0.25),
        "unsure": Application.binary(0.3, 5, 2, reject_cost=0.15),
    }
    return likely.compare_scores(y, systems, applications, calibrator=Bounded(rising=True))


def first_label():
    y, llr, _ = scores(2)
    labels = np.array(["benign", "a malignant 'one'"])[y]
    target = "a malignant 'one'"
    return likely.compare_scores(labels, {"mine": llr, "half": llr / 2}, [Application.binary(0.2, 20, positive=target)])


def whole_weights():
    y, llr, rng = scores(3)
    return likely.compare_scores(y == 1, {"mine": llr + 0.01}, [0.1, 0.7], sample_weight=rng.integers(0, 6, len(y)))


def fractional_weights():
    y, llr, rng = scores(4)
    return likely.compare_scores(y, {"mine": llr}, [Application.binary(0.1, 7)], sample_weight=rng.gamma(2, 1, len(y)))


def compared():
    y, _, rng = scores(5, 90)
    X = rng.normal(y[:, None] * [1.5, 0.5, 0.0], 1.0)
    return likely.compare(X, y, candidates=["nearest-mean", "Gaussian: LDA, full"], applications=[0.5, 0.1])


MAKERS = (outside, first_label, whole_weights, fractional_weights, compared)


@cache
def made(maker):
    return Case(maker())


@pytest.fixture(scope="module", params=MAKERS, ids=lambda maker: maker.__name__)
def case(request):
    return made(request.param)


@pytest.fixture(scope="module")
def several():
    return made(outside)


def number(text):
    return float(text.replace(",", "").replace("∞", "inf").replace("−", "-"))


def agrees(text, value, least=0.0):
    """Whether a number equals the one shown, up to the digits shown."""
    said = number(text)
    if np.isinf(said) or np.isinf(value):
        return said == value
    mantissa, _, exponent = text.replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    if abs(value) >= 1000 and not decimals:  # three significant digits
        least = 0.5 * 10 ** (np.floor(np.log10(abs(value))) - 2)
    return abs(said - value) <= max(0.5 * 10 ** (int(exponent or 0) - decimals), least) * (1 + 1e-6) + 1e-12


def significant(text, value, digits):
    """Whether a number is shown with the given number of significant digits."""
    rounded = float(f"{value:.{digits}g}")
    return number(text) == pytest.approx(rounded, rel=10.0 ** (1 - digits) * 1.01 if rounded != number(text) else 1e-12)


def assert_shown(seen, case):
    """Assert that everything shown equals the library's results for the application in the copied code."""
    texts, where = seen["texts"], seen["texts"]["as-python"]
    app = eval(where, {"Application": Application})
    trials = case.trials[int(seen["values"]["series"])]
    actual, given = trials[seen["variant"]], trials["given"]
    assert seen["scores"] == seen["variant"]

    cost, least = actual.actual_dcf(app), given.min_dcf(app)
    assert agrees(texts["actual"], cost), where
    assert agrees(texts["minimum"], least), where
    assert agrees(texts["actual-note"].removesuffix(" of it due to miscalibration"), max(0, cost - least)), where
    per_thousand = 1000 * actual.actual_dcf(app, normalize=False)
    assert significant(texts["per-thousand"], per_thousand, 4), where
    without = texts["per-thousand-note"].removesuffix(" when deciding without looking")
    assert significant(without, 1000 * app.constant_cost, 4), where

    plain = Application.binary(app.priors[1], app.costs[1, 0], app.costs[0, 1], positive=app.labels[1])
    low, high = rejected_between(app)
    expected = [low, high] if low < high else [plain.threshold]
    found = texts["threshold"].split(" to ")
    assert len(found) == len(expected), (where, texts["threshold"])
    assert all(agrees(text, value) for text, value in zip(found, expected, strict=True)), where
    assert significant(texts["threshold-note"].removeprefix("effective prior "), plain.effective_prior, 3), where

    counts = actual.confusion(app).counts
    shares = counts / counts.sum(axis=1, keepdims=True)
    counts, shares = (np.hstack([part, np.zeros((2, 3 - part.shape[1]))]) for part in (counts, shares))
    for cell, count, share in zip(CELLS, counts.ravel(), shares.ravel(), strict=True):
        said, said_share = texts[cell].removesuffix(" %)").split(" (")
        assert abs(number(said) - count) <= 0.0051, (where, cell, texts[cell], count)
        assert agrees(said_share, 100 * share), (where, cell)
    assert_marked(seen, app, plain, actual, given)
    return app


def rejected_between(app):
    """The llrs between which rejecting is cheapest."""
    if app.reject_cost is None:
        return 0.0, 0.0
    prior, fn, fp = app.priors[1], app.costs[1, 0], app.costs[0, 1]
    if app.reject_cost >= fn * fp / (fn + fp) * (1 - 1e-9):
        return 0.0, 0.0
    odds = np.log(prior / (1 - prior))
    low, high = app.reject_cost / fn, 1 - app.reject_cost / fp
    return np.log(low / (1 - low)) - odds, np.log(high / (1 - high)) - odds


def pixel(axis, value):
    low, high, first, last = map(float, axis.split())
    return first + (np.clip(value, low, high) - low) / (high - low) * (last - first)


def assert_marked(seen, app, plain, actual, given):
    """Assert that marks are at the library's rates and costs, and hidden on curves without rejection."""
    accepted = actual.confusion(plain).counts
    alarm, miss = accepted[0, 1] / accepted[0].sum(), accepted[1, 0] / accepted[1].sum()
    at = given.pooled.starts[np.searchsorted(given.pooled.llr, plain.threshold)]
    best = given.steps.false_alarms[at] / given.n_nontargets, given.steps.misses[at] / given.n_targets
    with np.errstate(divide="ignore"):
        places = {
            "roc": {"actual": (alarm, 1 - miss), "minimum": (best[0], 1 - best[1])},
            "det": {"actual": ndtri([alarm, miss]), "minimum": ndtri(best)},
            "bayes-error": {
                "actual": (-plain.threshold, actual.actual_dcf(plain)),
                "minimum": (-plain.threshold, given.min_dcf(plain)),
            },
        }
    low, high = rejected_between(app)
    thresholds = [low, high] if low < high else [plain.threshold]
    found = {plot["plot"] for plot in seen["plots"]}
    assert {"roc", "det", "bayes-error", "histogram", "reliability"} <= found
    for plot in seen["plots"]:
        for which, point in places.get(plot["plot"], {}).items():
            mark = plot["circles"][which]
            low, high = map(float, plot["x"].split()[:2])
            hidden = app.reject_cost is not None and plot["plot"] != "bayes-error"
            hidden |= plot["plot"] == "bayes-error" and not low <= point[0] <= high
            assert mark["display"] == ("none" if hidden else "inline")
            if not hidden:
                expected = pixel(plot["x"], point[0]), pixel(plot["y"], point[1])
                assert (float(mark["cx"]), float(mark["cy"])) == pytest.approx(expected, abs=0.0501), plot["plot"]
        if plot["plot"] in ("histogram", "reliability", "bayes-error"):
            values = [-plain.threshold] if plot["plot"] == "bayes-error" else thresholds
            assert_lines(plot, values)


def assert_lines(plot, values):
    low, high = map(float, plot["x"].split()[:2])
    expected = sorted(pixel(plot["x"], value) for value in values if low <= value <= high)
    shown = [line for line in plot["lines"] if line["display"] == "inline"]
    assert len(plot["lines"]) >= 1
    assert sorted(float(line["x1"]) for line in shown) == pytest.approx(expected, abs=0.0501), plot["plot"]
    assert all(line["x1"] == line["x2"] for line in shown)


def hashes(case, count, seed):
    rng, explorer = np.random.default_rng(seed), case.facts["explorer"]
    for _ in range(count):
        prior, reject = rng.choice(explorer["priors"]), rng.choice(explorer["reject_costs"])
        fn, fp = rng.choice(explorer["costs"], 2)
        where = f"prior={prior}&fn={fn:g}&fp={fp:g}&reject={f'{reject:g}' if rng.random() < 0.4 else 'off'}"
        yield f"{where}&system={rng.integers(len(case.systems))}&scores={rng.choice(['given', 'calibrated'])}"


def test_at_first_the_page_shows_the_first_application_and_the_best_system(case, open_page):
    seen = open_page(case.html).evaluate(READ)
    app = assert_shown(seen, case)

    first = next(iter(case.comparison.applications.values())).aligned(case.comparison.classes)
    here = app.aligned(case.comparison.classes)
    assert here.priors == pytest.approx(first.priors)
    assert here.costs == pytest.approx(first.costs)
    assert seen["values"]["preset"] == "0"
    assert case.systems[int(seen["values"]["series"])].name == case.comparison.best.name


def test_random_addresses_show_the_librarys_numbers(case, open_page):
    page = open_page(case.html)
    walk = list(hashes(case, 60, 11))

    for seen, address in zip(page.evaluate(WALK, walk), walk, strict=True):
        app = assert_shown(seen, case)
        wanted = dict(part.split("=") for part in address.split("&"))
        assert app.priors[1] == pytest.approx(float(wanted["prior"]), abs=1e-12)
        assert [app.costs[1, 0], app.costs[0, 1]] == [float(wanted["fn"]), float(wanted["fp"])]
        assert app.reject_cost == (None if wanted["reject"] == "off" else float(wanted["reject"]))
        assert (seen["values"]["series"], seen["variant"]) == (wanted["system"], wanted["scores"])


def test_random_moves_of_the_controls_show_the_librarys_numbers(case, open_page, slide):
    page, rng = open_page(case.html), np.random.default_rng(5)
    explorer = case.facts["explorer"]
    positions = {
        "prior": explorer["priors"],
        "fn": explorer["costs"],
        "fp": explorer["costs"],
        "reject": [*explorer["reject_costs"], None],
    }
    for at in range(15):
        slider = SLIDERS[at % 4]
        index = int(rng.integers(len(positions[slider])))
        slide(page, f"#{slider}", index)
        seen = page.evaluate(READ)
        app = assert_shown(seen, case)
        wanted = positions[slider][index]
        found = {"prior": app.priors[1], "fn": app.costs[1, 0], "fp": app.costs[0, 1], "reject": app.reject_cost}
        assert found[slider] == (wanted if wanted is None else pytest.approx(wanted, abs=1e-12))
        said = "never" if wanted is None else f"{wanted:g}"
        assert seen["heard"][slider] == seen["texts"][f"{slider}-value"] == said


def test_each_slider_reaches_both_ends(several, open_page, slide):
    page, explorer = open_page(several.html), several.facts["explorer"]
    ends = {"prior": explorer["priors"], "fn": explorer["costs"], "reject": [*explorer["reject_costs"], None]}
    for slider, values in ends.items():
        for key, value in (("Home", values[0]), ("End", values[-1])):
            page.focus(f"#{slider}")
            page.keyboard.press(key)
            assert page.inner_text(f"#{slider}-value") == ("never" if value is None else f"{value:g}")
            assert_shown(page.evaluate(READ), several)


def test_systems_scores_and_applications_can_be_chosen(several, open_page):
    page = open_page(several.html)
    for series in range(len(several.systems)):
        page.select_option("#series", str(series))
        for variant in ("calibrated", "given"):
            page.check(f"input[name=variant][value={variant}]")
            assert_shown(page.evaluate(READ), several)
            assert (
                page.locator("figure[data-series]:not([hidden])").evaluate_all(
                    "all => all.map(one => one.dataset.series)"
                )
                == [str(series)] * 3
            )
            visible = page.locator("figure[data-series].given svg, figure[data-series].calibrated svg").evaluate_all(
                "all => all.filter(one => one.checkVisibility()).map(one => one.closest('figure').className)"
            )
            assert visible == [variant]
    for preset, (name, wanted) in enumerate(several.comparison.applications.items()):
        page.select_option("#preset", label=name)
        seen = page.evaluate(READ)
        app = assert_shown(seen, several)
        assert seen["values"]["preset"] == str(preset)
        assert app.priors == pytest.approx(wanted.priors)
        assert app.costs == pytest.approx(wanted.costs)
        assert app.reject_cost == wanted.reject_cost


def test_a_changed_application_is_shown_as_custom(several, open_page, slide):
    page = open_page(several.html)
    slide(page, "#fn", 3)

    assert page.locator("#preset").input_value() == ""
    assert page.locator("#preset option:checked").inner_text() == "custom, set below"


def test_the_sentence_has_the_numbers_of_cases(several, open_page):
    page = open_page(several.html, hash="prior=0.3&fn=5&fp=2&reject=0.15&scores=given")
    app = eval(page.inner_text("#as-python") or page.text_content("#as-python"), {"Application": Application})
    actual = several.trials[0]["given"]
    rates = actual.confusion(app).counts / np.array([[actual.n_nontargets], [actual.n_targets]])

    said = page.inner_text("#in-words")
    words = said.replace("Of 1,000 cases, ", "").replace(";", ",").split(", ")
    numbers = [float(part.split()[1] if part.startswith("and") else part.split()[0]) for part in words]
    expected = [300, 300 * rates[1, 0], 700 * rates[0, 1], 300 * rates[1, 2] + 700 * rates[0, 2]]
    assert numbers == pytest.approx(expected, rel=5e-3), said


def test_the_address_restores_the_state(case, open_page, slide):
    page = open_page(case.html)
    for slider, index in (("prior", 7), ("fn", 2), ("fp", 4), ("reject", 5)):
        slide(page, f"#{slider}", index)
    page.select_option("#series", str(len(case.systems) - 1))
    page.check("input[name=variant][value=given]")
    page.wait_for_function("() => location.hash.includes('scores=given') && location.hash.includes('prior')")
    page.wait_for_timeout(300)
    there = page.evaluate(READ)
    here = open_page(case.html, hash=page.evaluate("location.hash.slice(1)")).evaluate(READ)

    for seen in (here, there):
        for plot in seen["plots"]:
            marks = [*plot["lines"], *plot["circles"].values()]
            plot["lines"], plot["circles"] = (
                [],
                sorted(map(str, [mark for mark in marks if mark["display"] == "inline"])),
            )
    assert here == there


INVALID = [
    "prior=abc&fn=&fp=-3&reject=no",
    "prior=0&fn=0&system=99&scores=none",
    "prior=1e999&fn=Infinity&fp=NaN",
    "system=-1&scores=<script>alert(1)</script>",
    "system=1.5&prior=0.5=0.5&&&=&=x",
    "%E0%A4%A&=%",
    "__proto__=1&constructor=2&toString=3",
    "prior=7&fn=1e300&reject=1e-300",
    "x" * 5000 + "=1",
]


def test_invalid_addresses_are_harmless(several, open_page):
    page = open_page(several.html, hash=INVALID[0])
    assert_shown(page.evaluate(READ), several)

    for seen in page.evaluate(WALK, INVALID):
        app = assert_shown(seen, several)
        assert app.priors[1] in np.array(several.facts["explorer"]["priors"])
        assert app.costs[1, 0] in several.facts["explorer"]["costs"]
    assert page.evaluate(WALK, ["prior=0.1004&fn=19"])[0]["texts"]["as-python"].startswith(
        "Application.binary(0.1, cost_fn=20"
    )


def test_links_to_sections_keep_the_state(several, open_page, slide):
    page = open_page(several.html)
    slide(page, "#prior", 20)
    page.wait_for_function("() => location.hash.includes('prior=')")
    before = page.evaluate(READ)
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        link.click()
        assert page.evaluate(READ) == before
        assert page.locator(target).count() == 1
    page.wait_for_function("() => scrollY > 500")


def test_buttons_copy_what_is_shown(several, open_page, slide):
    page = open_page(several.html)
    slide(page, "#prior", 9)
    page.click("details.copy summary")
    for shown, button in (("as-python", "Copy Python"), ("as-command", "Copy command line")):
        page.get_by_role("button", name=button).click()
        page.wait_for_function("() => document.getElementById('copied').textContent === 'Copied.'")
        assert page.evaluate("navigator.clipboard.readText()") == page.inner_text(f"#{shown}")
        page.evaluate("document.getElementById('copied').textContent = ''")


@pytest.mark.parametrize("maker", [outside, first_label], ids=lambda maker: maker.__name__)
def test_the_copied_command_has_the_same_decisions_and_costs(maker, open_page, tmp_path):
    case = made(maker)
    rows, trials = case.comparison.workings.rows, case.trials[0]["given"]
    file = tmp_path / "scores.csv"
    lines = [f'"{label}",{score!r}' for label, score in zip(rows.y.tolist(), trials.llr.tolist(), strict=True)]
    file.write_text(f"label,{case.facts['series'][0]['name']}\n" + "\n".join(lines) + "\n")
    page = open_page(case.html)

    walk = [f"{address}&system=0&scores=given" for address in ("prior=0.05&fn=20&fp=5", "prior=0.3&fn=5&reject=0.2")]
    for seen in page.evaluate(WALK, walk):
        app = assert_shown(seen, case)
        program, verb, name, *options = shlex.split(seen["texts"]["as-command"])
        assert (program, verb, name) == ("likely", "decide", "SCORES.csv")
        decided = run(["decide", str(file), *options, "--json"])
        judged = run(["evaluate", str(file), *options, "--json", "--no-intervals"])
        assert agrees(seen["texts"]["actual"], decided["cost"]["normalized"])
        assert significant(seen["texts"]["per-thousand"], 1000 * decided["cost"]["mean"], 4)
        assert agrees(seen["texts"]["actual"], judged["systems"][0]["costs"][0]["actual"]["estimate"])
        assert agrees(seen["texts"]["minimum"], judged["systems"][0]["costs"][0]["minimum"]["estimate"])
        if app.reject_cost is None:
            assert agrees(seen["texts"]["threshold"], decided["application"]["threshold"])


def run(arguments):
    result = CliRunner().invoke(command_line, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def board():
    """A long leaderboard with names that look like numbers, an infinite cost, and a missing p-value."""
    y, llr, rng = scores(9)
    systems = {f"{name}": llr + rng.normal(0, 0.5 * k, len(y)) for k, name in enumerate([*range(8, 20), *"Bacd"])}
    systems |= {"surely wrong": np.where(np.arange(len(y)) == 3, np.inf, llr)}
    comparison = likely.compare_scores(y, systems, [0.5, 0.1], calibrator=Bounded(rising=True))
    return Case(comparison)


def column(page, index):
    return page.locator("#leaderboard tbody tr").evaluate_all(
        "(rows, index) => rows.map(row => row.cells[index].dataset.value ?? row.cells[index].textContent.trim())", index
    )


def test_every_column_sorts_both_ways(board, open_page):
    page = open_page(board.html)
    heads = page.locator("#leaderboard thead th")
    assert heads.first.get_attribute("aria-sort") == "ascending"
    none = 0
    for index in range(heads.count()):
        heads.nth(index).get_by_role("button").click()
        directions = [heads.nth(index).get_attribute("aria-sort")]
        orders = [column(page, index)]
        heads.nth(index).get_by_role("button").click()
        directions.append(heads.nth(index).get_attribute("aria-sort"))
        orders.append(column(page, index))
        assert page.locator("#leaderboard thead th[aria-sort]").count() == 1
        assert set(directions) == {"ascending", "descending"}
        rising, falling = orders if directions[0] == "ascending" else orders[::-1]
        assert sorted(rising) == sorted(falling)
        none += rising.count("None")
        assert is_rising(rising), (index, rising)
        assert is_rising(falling[::-1]), (index, falling)
    assert none > 0


def is_rising(texts):
    """Whether texts are sorted: numbers by value, then texts; missing numbers count as infinite."""

    def key(text):
        try:
            return (0, float(text), "")
        except ValueError:
            return (0, np.inf, "") if text in ("None", "") else (1, 0.0, text.lower())

    return all(key(one) <= key(other) for one, other in pairwise(texts))


def test_a_long_leaderboard_is_folded_until_the_button_is_pressed(board, open_page):
    page = open_page(board.html)
    rows = page.locator("#leaderboard tbody tr")
    assert rows.count() == 17
    assert rows.filter(visible=True).count() == 15
    page.locator("#leaderboard thead th").nth(5).get_by_role("button").click()
    assert rows.filter(visible=True).count() == 15
    assert rows.nth(14).is_visible()

    page.get_by_role("button", name="Show all 17 systems").click()
    assert rows.filter(visible=True).count() == 17
    page.locator("#leaderboard thead th").nth(3).get_by_role("button").click()
    assert rows.filter(visible=True).count() == 17
    assert not page.locator("#all-rows").is_visible()


def test_every_system_has_a_place(board, open_page):
    page = open_page(board.html)

    assert column(page, 0) == [str(place) for place in range(1, 18)]
    assert page.locator("#leaderboard tbody th").evaluate_all("all => all.map(one => one.textContent)") == [
        row["name"] for row in board.facts["leaderboard"]
    ]
