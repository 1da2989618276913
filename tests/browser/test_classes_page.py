"""The page for more than two classes decides a sample of rows as the library does, and shows its standard error."""

import json
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest
from typer.testing import CliRunner

import likely
from likely import Application
from likely.cli.app import app as command_line
from likely.report.explorer import decode_numbers

READ = """() => ({
  texts: Object.fromEntries([...document.querySelectorAll("[id]")].filter(e => !e.children.length && e.id !== "spoken")
    .map(e => [e.id, e.textContent])),
  priors: [...document.querySelectorAll("input.prior")].map(e => Number(e.value)),
  said: [...document.querySelectorAll("input.prior")].map(e => e.getAttribute("aria-valuetext")),
  costs: [...document.querySelectorAll("table.costs tbody tr")].map(
    row => [...row.querySelectorAll("input")].map(e => Number(e.value))),
  reject: document.getElementById("reject").getAttribute("aria-valuetext"),
  place: Number(document.getElementById("reject").value),
  system: Number(document.getElementById("system").value),
  preset: document.getElementById("preset").value,
  scores: document.documentElement.dataset.scores,
  confusion: [...document.querySelectorAll("#confusion-live tbody tr")].map(
    row => [...row.querySelectorAll("td")].map(e => e.textContent)),
})"""

WALK = f"""hashes => hashes.map(hash => {{
  history.replaceState(null, "", "#" + hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
  return ({READ})();
}})"""


@dataclass
class Case:
    """A comparison of more than two classes, its page, and the sample in the page."""

    comparison: likely.Comparison

    @cached_property
    def report(self):
        return self.comparison.report()

    @cached_property
    def html(self):
        return self.report.html()

    @property
    def explorer(self):
        return self.report.facts["explorer"]

    @cached_property
    def n(self):
        return len(self.comparison.classes)

    @cached_property
    def codes(self):
        return np.array(decode_numbers(self.explorer["codes"]))

    @cached_property
    def scores(self):
        return [
            -one["resolution"] * np.array(decode_numbers(one["scores"])).reshape(-1, self.n)
            for one in self.explorer["systems"]
        ]

    @cached_property
    def weights(self):
        coded = self.explorer["weights"]
        return np.ones(len(self.codes)) if coded is None else np.array(decode_numbers(coded), dtype=float)

    @property
    def whole(self):
        return self.explorer["rows"] == self.explorer["of"]


def rows(n, n_classes, seed, spread=1.5):
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 20.0)))
    scores = rng.normal(spread * (y[:, None] == np.arange(n_classes)), 1.0)
    return y, scores, rng


def three():
    y, scores, _ = rows(150, 3, 1)
    labels = np.array(["ant", "bee's", "c=d"])[y]
    applications = {
        "equal": Application.equal(3),
        "skewed": Application({"ant": 0.1, "bee's": 0.7, "c=d": 0.2}, [[0, 1, 5], [2, 0, 1], [10, 3, 0]]),
        "unsure": Application([0.3, 0.3, 0.4], reject_cost=0.2),
    }
    return likely.compare_scores(labels, {"mine": scores, "twice": 2 * scores}, applications)


def four_sampled():
    y, scores, _ = rows(5000, 4, 2)
    return likely.compare_scores(y, {"mine": scores}, [Application([0.4, 0.3, 0.2, 0.1])])


def ten():
    y, scores, _ = rows(400, 10, 3, 2.5)
    return likely.compare_scores(y, {"mine": scores})


def weighted_sampled():
    y, scores, rng = rows(3000, 3, 4)
    return likely.compare_scores(y, {"mine": scores}, sample_weight=rng.integers(0, 4, len(y)))


def compared():
    y, X, _ = rows(90, 3, 5, 3.0)
    return likely.compare(X, y, candidates=["nearest-mean", "Gaussian: LDA, full"])


MAKERS = (three, four_sampled, ten, weighted_sampled, compared)


@cache
def made(maker):
    return Case(maker())


@pytest.fixture(scope="module", params=MAKERS, ids=lambda maker: maker.__name__)
def case(request):
    return made(request.param)


@pytest.fixture(scope="module")
def few():
    return made(three)


def number(text):
    return float(text.replace(",", "").replace("∞", "inf"))


def agrees(text, value):
    """Whether a number equals the one shown, up to the digits shown; large ones have three significant digits."""
    mantissa, _, exponent = text.replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    least = 0.5 * 10 ** (np.floor(np.log10(value)) - 2) if value >= 1000 and not decimals else 0
    return abs(number(text) - value) <= max(0.5 * 10.0 ** (int(exponent or 0) - decimals), least) * (1 + 1e-6) + 1e-12


def significant(text, value, digits):
    """Whether a number is shown with the given number of significant digits."""
    rounded = float(f"{value:.{digits}g}")
    return number(text) == pytest.approx(rounded, rel=10.0 ** (1 - digits) * 1.01 if rounded != number(text) else 1e-12)


def assert_shown(seen, case):
    """Assert that the page shows the library's decisions on the sample for the application in the copied code."""
    texts, where = seen["texts"], seen["texts"]["as-python"]
    app = eval(where, {"Application": Application}).aligned(case.comparison.classes)
    assert app.priors.sum() == pytest.approx(1, abs=1e-9)
    sampled = np.bincount(case.codes, case.weights, minlength=case.n)
    decided = app.decide_codes(case.scores[seen["system"]]) % (case.n + 1)
    counts = np.zeros((case.n, case.n + 1))
    np.add.at(counts, (case.codes, decided), case.weights)
    rates = counts / sampled[:, None]

    cost, constant = app.risk(rates if app.reject_cost is not None else rates[:, : case.n]), constant_cost(app)
    assert significant(texts["per-thousand"], 1000 * cost, 4), (where, texts["per-thousand"], 1000 * cost)
    assert agrees(texts["actual"], cost / constant) if constant > 0 else texts["actual"] == "–", where
    wrong = 1 - rates.diagonal() - rates[:, -1]
    assert agrees(texts["errors"].removesuffix(" %"), 100 * app.priors @ wrong), where
    assert agrees(texts["rejected"].removesuffix(" %"), 100 * app.priors @ rates[:, -1]), where
    for row, shares in zip(seen["confusion"], rates, strict=True):
        assert all(agrees(text or "0.0", 100 * share) for text, share in zip(row, shares, strict=True)), where
    assert_error_shown(texts, app, decided, constant, case)
    assert_controls(seen, app, case)
    return app


def constant_cost(app):
    return min(*(app.priors @ app.costs), np.inf if app.reject_cost is None else app.reject_cost)


def assert_error_shown(texts, app, decided, constant, case):
    """Assert that ± is twice the standard error of a stratified mean, with two rows added to each class."""
    if case.whole:
        assert texts["per-thousand-note"] == "on all rows"
        assert "±" not in texts["actual-note"]
        return
    variances = [error_of(app, k, decided[case.codes == k], case) for k in range(case.n)]
    error = 2 * np.sqrt(np.sum(app.priors**2 * variances))
    said, found = texts["per-thousand-note"].removeprefix("± ").split(", from ")
    assert significant(said, 1000 * error, 2), (said, 1000 * error)
    assert found == f"{case.explorer['rows']:,} of {case.explorer['of']:,} rows"
    if constant > 0:
        assert agrees(texts["actual-note"].removeprefix("± ").split(", ")[0], error / constant)


def error_of(app, k, decided, case):
    """Variance of the mean cost of a class due to sampling."""
    price = app.costs[k] if app.reject_cost is None else np.append(app.costs[k], app.reject_cost)
    weight, rows, of = case.weights[case.codes == k], len(decided), case.explorer["class_rows"][k]
    prices = np.array([*price[decided], price.min(), price.max()])
    weights = np.array([*weight, weight.mean(), weight.mean()])
    spread = np.sum(weights**2 * (prices - np.average(prices, weights=weights)) ** 2) / weights.sum() ** 2
    return spread * (rows + 2) / (rows + 1) * (1 - rows / of)


def assert_controls(seen, app, case):
    assert seen["priors"] == pytest.approx(1000 * app.priors, abs=0.5 + 1e-9)
    assert all(agrees(said.removesuffix(" %"), 100 * p) for said, p in zip(seen["said"], app.priors, strict=True))
    assert np.array(seen["costs"]) == pytest.approx(app.costs)
    assert seen["reject"] == ("never" if app.reject_cost is None else f"{app.reject_cost:g}")
    assert seen["scores"] == case.explorer["systems"][seen["system"]]["variant"]


def address(priors, costs, reject, system):
    table = ";".join(",".join(f"{cost:g}" for cost in row) for row in costs)
    return f"priors={','.join(map(str, priors))}&costs={table}&reject={reject}&system={system}"


def test_at_first_the_page_shows_the_first_application(case, open_page):
    seen = open_page(case.html).evaluate(READ)
    app = assert_shown(seen, case)

    first = next(iter(case.comparison.applications.values())).aligned(case.comparison.classes)
    assert app.priors == pytest.approx(first.priors, abs=1e-12)
    assert app.costs == pytest.approx(first.costs)
    assert (seen["preset"], seen["system"]) == ("0", 0)


def test_random_addresses_show_the_librarys_numbers(case, open_page):
    rng, walk, states = np.random.default_rng(7), [], []
    for _ in range(40):
        priors = rng.dirichlet(np.ones(case.n))
        costs = rng.choice([1, 2, 5, 0.5, 20], (case.n, case.n)) * (1 - np.eye(case.n))
        reject = rng.choice([None, 0.05, 0.3, 1])
        system = int(rng.integers(len(case.scores)))
        states.append((priors, costs, reject, system))
        walk.append(address(priors, costs, "off" if reject is None else reject, system))
    for seen, (priors, costs, reject, system) in zip(open_page(case.html).evaluate(WALK, walk), states, strict=True):
        app = assert_shown(seen, case)
        assert app.priors == pytest.approx(priors, abs=1e-9)
        assert app.costs == pytest.approx(costs)
        assert (app.reject_cost, seen["system"]) == (reject, system)


def test_moving_a_prior_keeps_the_proportions_of_the_others(case, open_page, slide):
    page, rng = open_page(case.html), np.random.default_rng(3)
    for _ in range(5):
        k, index = int(rng.integers(case.n)), int(rng.integers(1, 1000))
        before = assert_shown(page.evaluate(READ), case).priors
        slide(page, f"#prior-{k}", index)
        after = assert_shown(page.evaluate(READ), case).priors
        assert after[k] == pytest.approx(index / 1000, abs=1e-12)
        others = np.arange(case.n) != k
        assert after[others] / after[others].sum() == pytest.approx(before[others] / before[others].sum())


def test_a_prior_can_be_set_to_one_and_back(few, open_page, slide):
    page = open_page(few.html)
    for index in (1000, 400, 0, 1000, 999):
        slide(page, "#prior-1", index)
        app = assert_shown(page.evaluate(READ), few)
        assert app.priors[1] == pytest.approx(index / 1000, abs=1e-12)
        assert "NaN" not in page.inner_text("body")
    assert app.priors[[0, 2]] == pytest.approx([0.0005, 0.0005])


def test_costs_can_be_set_in_the_table(few, open_page):
    page = open_page(few.html)
    for truth, decision, cost in ((0, 1, "7"), (2, 0, "0.25"), (1, 2, "1e3"), (0, 2, "0")):
        page.fill(f"input[data-truth='{truth}'][data-decision='{decision}']", cost)
        app = assert_shown(page.evaluate(READ), few)
        assert app.costs[truth, decision] == float(cost)
    assert "costs=" in page.text_content("#as-python")


@pytest.mark.parametrize(("truth", "decision", "cost"), [(0, 1, "-1"), (0, 1, ""), (1, 1, "3"), (2, 1, "1e999")])
def test_invalid_costs_are_marked_and_ignored(truth, decision, cost, few, open_page):
    page = open_page(few.html)
    before = page.evaluate(READ)["texts"]
    cell = page.locator(f"input[data-truth='{truth}'][data-decision='{decision}']")
    cell.fill(cost)

    assert cell.get_attribute("aria-invalid") == "true"
    after = page.evaluate(READ)["texts"]
    assert {key: after[key] for key in ("actual", "per-thousand", "as-python")} == {
        key: before[key] for key in ("actual", "per-thousand", "as-python")
    }
    cell.fill("0" if truth == decision else "2")
    assert cell.get_attribute("aria-invalid") in (None, "false")
    assert_shown(page.evaluate(READ), few)


def test_the_reject_cost_reaches_both_ends(case, open_page, slide):
    page = open_page(case.html)
    last = int(page.locator("#reject").get_attribute("max"))
    found = []
    for index in range(0, last + 1, 3):
        slide(page, "#reject", index)
        app = assert_shown(page.evaluate(READ), case)
        found.append(np.inf if app.reject_cost is None else app.reject_cost)
    assert found == sorted(set(found))
    assert found[-1] == np.inf
    assert found[0] <= 0.01


def test_systems_and_applications_can_be_chosen(few, open_page):
    page = open_page(few.html)
    assert len(few.scores) == 3
    for system in range(3):
        page.select_option("#system", str(system))
        assert assert_shown(page.evaluate(READ), few) is not None
    for preset, name in enumerate(few.comparison.applications):
        page.select_option("#preset", label=name)
        seen = page.evaluate(READ)
        app, wanted = assert_shown(seen, few), few.comparison.applications[name]
        assert seen["preset"] == str(preset)
        assert app.priors == pytest.approx(wanted.priors)
        assert app.costs == pytest.approx(wanted.costs)
        assert app.reject_cost == wanted.reject_cost


def test_with_all_rows_the_cost_is_that_of_all_rows(few, open_page):
    rows = few.comparison.workings.rows
    page = open_page(few.html)
    for name, application in few.comparison.applications.items():
        page.select_option("#preset", label=name)
        expected = likely.bayes_risk(rows.y, few.comparison.best.scores, application)
        assert number(page.inner_text("#actual")) == pytest.approx(expected, abs=5.1e-4)


def test_the_cost_of_a_sample_is_within_the_error_shown(open_page):
    case = made(four_sampled)
    rows = case.comparison.workings.rows
    page = open_page(case.html)
    expected = likely.bayes_risk(rows.y, case.comparison.best.scores, next(iter(case.comparison.applications.values())))
    error = number(page.inner_text("#actual-note").removeprefix("± ").split(",")[0])

    assert 0 < error < 0.1
    assert number(page.inner_text("#actual")) == pytest.approx(expected, abs=1.5 * error)


def test_the_class_of_the_curves_can_be_chosen(few, open_page):
    page = open_page(few.html)
    for series in ("2", "0", "1"):
        page.select_option("#series", series)
        shown = page.locator("figure[data-series]").evaluate_all(
            "all => all.filter(one => !one.hidden).map(one => one.dataset.series)"
        )
        assert set(shown) == {series}
        assert set(page.locator("g.series.chosen").evaluate_all("all => all.map(one => one.dataset.series)")) == {
            series
        }


def test_the_address_restores_the_state(case, open_page, slide):
    page = open_page(case.html)
    slide(page, "#prior-1", 321)
    slide(page, "#reject", 4)
    page.select_option("#system", "1")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    page.fill("input[data-truth='0'][data-decision='1']", "6")
    page.wait_for_timeout(400)
    there = page.evaluate(READ)
    here = open_page(case.html, hash=page.evaluate("location.hash.slice(1)")).evaluate(READ)

    assert here == there


INVALID = [
    "priors=1,2&costs=1;2&reject=x&system=9",
    "priors=a,b,c&costs=x,y,z;;",
    "priors=-1,1,1&costs=0,-1,1;1,0,1;1,1,0",
    "priors=0,0,0&reject=-5&system=-1",
    "priors=1e999,1,1&system=0.5",
    "costs=5,1,1;1,5,1;1,1,5",
    "__proto__=1&constructor=2",
    "%E0%A4%A&=%",
]


def test_invalid_addresses_are_harmless(few, open_page):
    page = open_page(few.html, hash=INVALID[0])
    first = page.evaluate(READ)
    assert_shown(first, few)

    for seen in page.evaluate(WALK, INVALID):
        assert_shown(seen, few)
        assert seen["texts"]["as-python"] == first["texts"]["as-python"]
    assert page.evaluate(WALK, ["priors=2,1,1"])[0]["said"] == ["50.0 %", "25.0 %", "25.0 %"]


def test_links_to_sections_keep_the_state(few, open_page, slide):
    page = open_page(few.html)
    slide(page, "#prior-2", 123)
    before = page.evaluate(READ)
    for link in page.locator("nav a").all():
        link.click()
        assert page.evaluate(READ) == before
        assert page.locator(link.get_attribute("href")).count() == 1


def test_the_copied_command_line_costs_the_same(few, open_page, tmp_path, monkeypatch):
    rows, labels = few.comparison.workings.rows, few.comparison.classes.tolist()
    lines = [",".join(["label", *labels])]
    lines += [
        ",".join([label, *map(repr, values)])
        for label, values in zip(rows.y.tolist(), few.comparison.best.scores.tolist(), strict=True)
    ]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    page = open_page(few.html)
    costs = np.array([[0, 1, 5], [2, 0, 1], [10, 3, 0]])
    walk = [address([0.2, 0.3, 0.5], costs, 0.5, 0), address([0.2, 0.3, 0.5], 1 - np.eye(3), "off", 0)]
    for seen in page.evaluate(WALK, walk):
        assert_shown(seen, few)
        command = seen["texts"]["as-command"]
        if command.startswith("printf"):
            table, command = command.split("\n")
            subprocess.run(["sh", "-c", table], check=True)
        result = CliRunner().invoke(command_line, ["decide", "scores.csv", *shlex.split(command)[3:], "--json"])
        assert result.exit_code == 0, result.output
        cost = json.loads(result.stdout)["cost"]
        assert number(seen["texts"]["actual"]) == pytest.approx(cost["normalized"], abs=5.1e-4)
        assert significant(seen["texts"]["per-thousand"], 1000 * cost["mean"], 4)


def test_all_weighted_rows_have_the_cost_of_the_library(open_page):
    y, scores, rng = rows(150, 3, 4)
    weight = rng.integers(1, 6, len(y))
    comparison = likely.compare_scores(y, {"mine": scores}, sample_weight=weight)
    page = open_page(comparison.report().html())

    said = page.inner_text("#per-thousand-note")
    expected = likely.bayes_risk(y, scores, Application.equal(3), sample_weight=weight)
    assert "±" in said or number(page.inner_text("#actual")) == pytest.approx(expected, abs=5.1e-4)


def test_the_reject_cost_of_an_application_is_a_position_of_the_slider(open_page, slide):
    y, scores, _ = rows(150, 3, 1)
    case = Case(likely.compare_scores(y, {"mine": scores}, [Application([0.3, 0.3, 0.4], reject_cost=0.15)]))
    page = open_page(case.html)
    found = []
    for index in range(int(page.locator("#reject").get_attribute("max")) + 1):
        slide(page, "#reject", index)
        app = assert_shown(page.evaluate(READ), case)
        found.append(np.inf if app.reject_cost is None else app.reject_cost)
    assert found == sorted(set(found))
    assert 0.15 in found
    assert found[-1] == np.inf


def test_a_label_cannot_run_code_in_the_copied_command(open_page, tmp_path):
    labels = np.array(["a", f"b'\nEND\ntouch {tmp_path}/ran\n", "$(touch ran)"])
    y, scores, _ = rows(150, 3, 1)
    page = open_page(likely.compare_scores(labels[np.unique(y, return_inverse=True)[1]], scores).report().html())
    page.locator("input.cost").nth(1).evaluate("(input) => { input.closest('details').open = true; }")
    page.locator("input.cost").nth(1).fill("5")

    table = page.locator("#as-command").text_content().rsplit("\nlikely decide", 1)[0]
    subprocess.run(["sh", "-c", table], check=True, cwd=tmp_path)

    assert not list(tmp_path.rglob("ran"))
    assert (tmp_path / "costs.csv").read_text().count("touch") == 4
