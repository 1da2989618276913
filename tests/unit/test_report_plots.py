"""Plots of facts: positions of points, texts, and robustness to any names and numbers."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from markupsafe import Markup
from scipy.special import ndtri

from likely.evaluation import Trials
from likely.report import column_pictures, pictures
from likely.report.svg import element, path, shorten, width

HOSTILE = "</title><script>alert(\"x\" + 'y')</script> & \x00\x1b\ud800 ‮ 分類器 🙂\n\t"
LABELS = ["benign", "malignant"]


def listed(values):
    return [float(value) if np.isfinite(value) else None for value in values]


def series(name="A", seed=0, n=400, separation=2.0, scale=3.0):
    """Facts of a system with overconfident scores, and of the same scores calibrated."""
    y = np.arange(n) % 4 == 0
    llr = separation * np.random.default_rng(seed).normal(size=n) + separation**2 * (y - 0.5)
    both = {"given": Trials(y, scale * llr), "calibrated": Trials(y, llr)}
    bayes = {key: listed(trials.bayes_error_curve().actual) for key, trials in both.items()}
    curve = both["given"].bayes_error_curve()
    return {
        "name": name,
        "eer": both["given"].eer(),
        "auc": both["given"].roc_auc(),
        "roc": {key: rates(trials) for key, trials in both.items()},
        "bayes_error": {"log_odds": listed(curve.prior_log_odds), "minimum": listed(curve.minimum), **bayes},
        "histogram": {key: histogram(trials) for key, trials in both.items()},
        "reliability": {
            key: {column: listed(values) for column, values in trials.reliability_curve().columns().items()}
            for key, trials in both.items()
        },
    }


def rates(trials):
    det = trials.det_curve()
    return {"false_alarms": listed(det.fpr), "misses": listed(det.fnr)}


def histogram(trials):
    low, high = float(trials.llr.min()), float(trials.llr.max())
    shares = [np.histogram(trials.llr[trials.is_target == t], 60, (low, high))[0] for t in (False, True)]
    nontargets, targets = (listed(counts / counts.sum()) for counts in shares)
    return {"low": low, "high": high, "nontargets": nontargets, "targets": targets, "outside": [0.001, 0.0]}


def leaderboard(name="A"):
    costs = [{"minimum": 0.2, "actual": 0.25, "actual interval": [0.2, 0.3]}, {"minimum": 0.3, "actual": None}]
    return [{"name": f"{name} {k}", "costs": {"even": each}} for k, each in enumerate(costs)]


def grid(values=(0.01, 0.1, 1.0), scale="log", name="standardised", minimum=(0.3, 0.2, None), actual=(0.4, 0.3, 9.0)):
    lines = [{"name": name, "minimum": list(minimum), "actual": list(actual)}]
    return {"family": name, "parameter": "λ", "scale": scale, "values": list(values), "lines": lines}


def column(name="width", counts=((1, 2, 3), (3, 0, 1)), low=0.0, high=3.0):
    return {"name": name, "separation": 0.4, "missing": 0.1, "low": low, "high": high, "counts": counts}


def correlations(n, name="column"):
    values = np.corrcoef(np.random.default_rng(0).normal(size=(n, 30))).round(2).tolist() if n > 1 else [[1.0]] * n
    return {"names": [f"{name} {k}" for k in range(n)], "values": values}


def two_directions(k=3, n=20):
    rng = np.random.default_rng(0)
    points = [[*rng.normal(of, 1, 2).tolist(), of] for of in range(k) for _ in range(n)]
    means, covariances = [[of, of] for of in range(k)], [[[1.0, 0.2], [0.2, 0.5]]] * k
    return {"names": ["direction 1", "direction 2"], "points": points, "means": means, "covariances": covariances}


def one_direction(k=2):
    of = {"low": -1.0, "high": 1.0, "counts": [[j, 2, 1] for j in range(k)]}
    return {"names": ["direction 1"], "histogram": of, "points": None}


def all_plots(systems=1, name="A", classes=2):
    """Every kind of plot, with the same name for all systems, classes and columns."""
    many, labels = [series(name, seed) for seed in range(systems)], [f"{name} {k}" for k in range(classes)]
    drawn = [
        pictures.roc(many),
        pictures.det(many),
        pictures.bayes_error(many),
        pictures.standings(leaderboard(name), "even"),
    ]
    for k, one in enumerate(many):
        drawn += [pictures.histogram(one, k, variant, [name, name]) for variant in ("given", "calibrated")]
        drawn.append(pictures.reliability(one, k))
    drawn += [pictures.costs_of_grid(grid(name=name)), pictures.costs_of_grid(grid([name, name, ""], "category"), 1)]
    drawn += [
        column_pictures.column_histogram(column(name, [[1, 2, k] for k in range(classes)]), labels, k)
        for k in range(12)
    ]
    drawn += [column_pictures.correlation(correlations(20, name)), column_pictures.explained_variance([0.5, 0.95])]
    drawn += [column_pictures.directions(two_directions(classes), labels)]
    return [*drawn, column_pictures.direction_weights([[[name, 0.5], [name, -0.2]], [[name, 0.1]]])]


def other_plots():
    """Other forms of plots in ``all_plots``."""
    return [column_pictures.directions(one_direction(), LABELS), pictures.costs_of_grid(grid([1, 2, 3], "linear"))]


def parse(svg):
    assert isinstance(svg, Markup)
    assert not re.search(r"\b(nan|inf|None)\b", svg)
    return ElementTree.fromstring(str(svg))


def axis(svg, which):
    """Return a function from transformed values to coordinates, from the attributes that the script reads."""
    low, high, start, end = map(float, parse(svg).get(f"data-{which}").split())
    return lambda value: start + (value - low) / (high - low) * (end - start)


def points(d):
    """Absolute points of a path with the commands M, h, v and l."""
    x = y = 0.0
    found = []
    for command, arguments in re.findall(r"([Mhvlz])([^Mhvlz]*)", d):
        numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+", arguments)]
        dx, dy = {"h": (*numbers, 0), "v": (0, *numbers), "z": (0, 0)}.get(command, numbers)
        x, y = (dx, dy) if command == "M" else (x + dx, y + dy)
        found.append((x, y))
    return found


def curves(svg, classes, *within):
    """Points of the paths of a CSS class within nested groups of given classes."""
    elements = [parse(svg)]
    for name in within:
        elements = [e for parent in elements for e in parent.iter("g") if e.get("class") == name]
    return [points(e.get("d")) for parent in elements for e in parent.iter("path") if e.get("class") == classes]


def with_roc(alarms, misses, eer=0.05):
    one = {**series(), "eer": eer}
    return {**one, "roc": {"given": {"false_alarms": alarms, "misses": misses}}}


def with_costs(odds, costs):
    return {**series(), "bayes_error": {"log_odds": odds, "given": costs, "minimum": costs}}


def test_a_point_of_the_roc_in_the_middle_falls_in_the_middle_of_the_axes():
    svg = pictures.roc([with_roc([0, 0.5, 1], [1, 0.5, 0])])
    x, y = axis(svg, "x"), axis(svg, "y")
    corners = [(x(0), y(0)), (x(0.5), y(0.5)), (x(1), y(1))]
    assert curves(svg, "line", "series s0", "given only")[0] == [pytest.approx(corner) for corner in corners]


def test_rates_of_a_det_plot_are_at_their_normal_quantiles():
    svg = pictures.det([with_roc([0, 0.01, 0.2, 1], [1, 0.2, 0.01, 0])])
    x, y = axis(svg, "x"), axis(svg, "y")
    drawn = curves(svg, "line", "series s0", "given only")[0]
    for alarm, miss in ((0.01, 0.2), (0.2, 0.01)):
        at = x(ndtri(alarm)), y(ndtri(miss))
        assert min(np.hypot(a - at[0], b - at[1]) for a, b in drawn) < 0.1


def test_rates_of_zero_lie_on_the_edge_of_a_det_plot_and_high_ones_are_clipped():
    svg = pictures.det([with_roc([0, 0, 0.02, 1], [1, 0.02, 0, 0])])
    low, high, start, end = map(float, parse(svg).get("data-x").split())
    drawn = np.array(curves(svg, "line", "series s0", "given only")[0])
    assert low == pytest.approx(ndtri(0.01), abs=1e-5)
    assert high == pytest.approx(ndtri(0.6), abs=1e-5)
    assert drawn[:, 0].min() == start
    assert drawn[:, 0].max() == pytest.approx(end, abs=0.1)


@pytest.mark.parametrize("separation", [0.1, 1.0, 3.0, 5.0])
def test_ticks_of_a_det_plot_do_not_overlap(separation):
    svg = pictures.det([series(separation=separation, n=3000)])
    ticks = next(e for e in parse(svg).iter("g") if e.get("class") == "tick")
    places = sorted(float(text.get("x")) for text in ticks)
    assert len(places) >= 4
    assert min(np.diff(places)) >= 26


def test_costs_above_the_top_of_the_bayes_error_plot_are_clipped():
    one = series()
    one["bayes_error"] = {"log_odds": [-1.0, 0.0, 1.0], "given": [0.5, 2.5, None], "minimum": [0.1, 0.2, 0.3]}
    svg = pictures.bayes_error([one])
    x, y = axis(svg, "x"), axis(svg, "y")
    cut = [(x(-1), y(0.5)), (x(-1 + 0.7 / 2), y(1.2))]
    assert curves(svg, "solid", "series s0", "given only")[0] == [pytest.approx(point, abs=0.1) for point in cut]
    assert len(curves(svg, "dashed", "series s0")[0]) == 3


def test_groups_and_marks_are_those_that_the_script_uses():
    many = [series("A"), series("B", 1)]
    wanted = {
        "roc": ["minimum", "actual"],
        "det": ["minimum", "actual"],
        "bayes-error": ["threshold", "minimum", "actual"],
    }
    for svg in (pictures.roc(many), pictures.det(many), pictures.bayes_error(many)):
        root = parse(svg)
        marks = [e for e in root.iter() if (e.get("class") or "").startswith("mark ")]
        assert [e.get("class").split()[1] for e in marks] == wanted[root.get("data-plot")]
        assert {e.get("display") for e in marks} == {"none"}
        for k in range(2):
            groups = [e for e in root if e.get("class") == f"series s{k}"]
            assert [e.get("data-series") for e in groups] == [str(k)]
            assert [e.get("class") for e in groups[0].iter("g")][1:] == ["given", "calibrated"]


def test_plots_of_one_series_have_its_number_and_a_threshold_mark():
    one = series()
    for svg in (pictures.histogram(one, 3, "given", LABELS), pictures.reliability(one, 3)):
        root = parse(svg)
        assert root.get("data-series") == "3"
        assert [e.tag for e in root if e.get("class") == "mark threshold"] == ["line"]
    assert parse(pictures.histogram(one, 3, "given", LABELS)).get("class") == "plot given"


def test_scores_without_a_calibrated_variant_stay_visible():
    one = series()
    for part in ("roc", "histogram", "reliability", "bayes_error"):
        del one[part]["calibrated"]
    assert parse(pictures.histogram(one, 0, "given", LABELS)).get("class") == "plot given only"
    for svg in (pictures.roc([one]), pictures.det([one]), pictures.bayes_error([one]), pictures.reliability(one, 0)):
        assert 'class="given only"' in svg
        assert "calibrated" not in re.sub(r"well calibrated|<desc.*?</desc>", "", svg)


def test_blocks_of_one_class_lie_on_the_edges_of_the_reliability_plot():
    one = series()
    blocks = {
        "low": [-3, -1, 2],
        "high": [-2, 1, 3],
        "llr": [None, 0.5, None],
        "targets": [0, 5, 90],
        "nontargets": [90, 3, 0],
    }
    one["reliability"] = {"given": blocks}
    svg = pictures.reliability(one, 0)
    x = axis(svg, "x")
    _, _, bottom, top = map(float, parse(svg).get("data-y").split())
    ends = np.array(curves(svg, "block w4", "series s0")[0])
    assert ends[:, 1].tolist() == pytest.approx([bottom, bottom, top, top])
    assert ends[:, 0].tolist() == pytest.approx([x(-3), x(-2), x(2), x(3)], abs=0.1)
    assert len(curves(svg, "block w2", "series s0")[0]) == 2


def test_claims_far_beyond_the_observed_ratios_do_not_stretch_the_axes():
    one = series()
    blocks = {"low": [-900, -1], "high": [-800, 1], "llr": [-3.0, 0.5], "targets": [1, 1], "nontargets": [1, 5]}
    one["reliability"] = {"given": blocks}
    svg = pictures.reliability(one, 0)
    assert float(parse(svg).get("data-x").split()[1]) < 10
    assert "(25 % of the rows outside)" in svg


def test_bins_of_a_histogram_are_adjacent_and_empty_ones_are_not_drawn():
    svg = column_pictures.column_histogram(column(counts=[[1, 0, 3]]), ["a"])
    x, y = axis(svg, "x"), axis(svg, "y")
    expected = [(0, 0), (0, 0.25), (1, 0.25), (1, 0), (2, 0), (2, 0.75), (3, 0.75), (3, 0)]
    drawn = curves(svg, "area line c0")[0]
    assert drawn == [pytest.approx((x(a), y(b)), abs=0.11) for a, b in expected]


def test_standings_draw_costs_and_intervals_and_infinite_costs_as_arrows():
    svg = pictures.standings(leaderboard(), "even")
    x = axis(svg, "x")
    rows = [e for e in parse(svg) if e.get("class") == "row"]
    dots = [(e.get("class"), float(e.get("cx"))) for e in rows[0].iter("circle")]
    assert dots == [("dot minimum", pytest.approx(x(0.2), abs=0.1)), ("dot actual", pytest.approx(x(0.25), abs=0.1))]
    whisker = next(points(e.get("d")) for e in rows[0].iter("path") if e.get("class") == "whisker")
    assert [at for at, _ in whisker[:2]] == [pytest.approx(x(end), abs=0.1) for end in (0.2, 0.3)]
    assert [e.get("class") for e in rows[1].iter("path")][-1] == "dot actual"
    assert "A 1: minimum 0.3, calibrated infinite" in svg


@pytest.mark.parametrize(("scale", "at"), [("log", np.log10), ("linear", float), ("category", [0.01, 0.1, 1.0].index)])
def test_the_lowest_minimum_of_a_grid_is_marked_on_every_kind_of_axis(scale, at):
    svg = pictures.costs_of_grid(grid(scale=scale))
    ring = next(e for e in parse(svg).iter("circle") if e.get("class") == "ring")
    assert float(ring.get("cx")) == pytest.approx(axis(svg, "x")(at(0.1)), abs=0.1)
    assert float(ring.get("cy")) == pytest.approx(axis(svg, "y")(0.2), abs=0.1)
    assert "Lowest minimum cost: 0.2 at λ = 0.1" in svg


def test_a_grid_with_a_value_that_has_no_logarithm_has_an_axis_of_categories():
    assert parse(pictures.costs_of_grid(grid([0.0, 0.1, 1.0]))).get("data-x").split()[:2] == ["-0.5", "2.5"]


def test_correlations_have_eleven_tones_and_their_numbers_as_tooltips():
    facts = {"names": ["a", "b", "c"], "values": [[1, -1.0, 0.5], [-1.0, 1, None], [0.5, None, 1]]}
    svg = column_pictures.correlation(facts)
    cells = [e for e in parse(svg).iter("rect") if len(e)]
    assert [(e.get("class"), e[0].text) for e in cells] == [
        ("r-5", "b and a: −1.00"),
        ("r2", "c and a: 0.50"),
        ("r-none", "c and b: unknown"),
    ]
    assert "The strongest correlation is −1.00, between b and a." in svg


def test_the_ellipses_of_a_class_follow_its_covariance():
    facts = two_directions(1)
    facts["means"], facts["covariances"] = [[1.0, 2.0]], [[[2.5, 1.5], [1.5, 2.5]]]
    svg = column_pictures.directions(facts, ["a"])
    x, y = axis(svg, "x"), axis(svg, "y")
    unit = x(1) - x(0)
    assert y(0) - y(1) == pytest.approx(unit, rel=1e-3)
    for n, ellipse in enumerate(parse(svg).iter("ellipse"), 1):
        assert float(ellipse.get("rx")) == pytest.approx(n * 2 * unit, abs=0.1)
        assert float(ellipse.get("ry")) == pytest.approx(n * 1 * unit, abs=0.1)
        assert ellipse.get("transform").endswith("rotate(-45)")


def test_explained_variance_names_the_number_of_components():
    svg = column_pictures.explained_variance([0.5, 0.8, 0.91, 1.0])
    assert "3 of 4 components keep 90 % of the variance." in svg
    assert "90 % with 3" in svg


@pytest.mark.parametrize("name", ["A", HOSTILE, "x" * 10_000, "", "W" * 80, "مصنف " * 30], ids=range(6))
def test_every_plot_is_well_formed_for_any_names(name):
    for svg in [*all_plots(2, name), *other_plots()]:
        root = parse(svg)
        tags = {e.tag for e in root.iter()}
        assert tags <= {"svg", "title", "desc", "g", "path", "text", "tspan", "circle", "line", "rect", "ellipse"}
        assert len(svg.encode()) < 60_000


def test_long_names_are_shortened_and_complete_in_a_tooltip():
    name = "a system of a name that is much too long to be written into the legend of any picture"
    root = parse(pictures.roc([series(name)]))
    seen = [e.text for e in root.iter("tspan") if e.get("class") == "name"]
    assert len(seen) == 1
    assert "…" in seen[0]
    assert any((e.text or "").startswith(name) for e in root.iter("title"))


def test_every_plot_has_a_title_a_description_and_unique_ids():
    drawn = all_plots(3)
    ids = [e.get("id") for svg in drawn for e in parse(svg).iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for svg in drawn:
        root = parse(svg)
        texts = {e.get("id"): e.text for e in root if e.tag in ("title", "desc")}
        assert root.get("role") == "img"
        assert root.get("aria-labelledby").split() == list(texts)
        assert all(texts.values())
        assert re.search(r"\d", list(texts.values())[1])


def test_no_plot_has_inline_colours_or_styles():
    for svg in [*all_plots(2), *other_plots()]:
        assert not re.search(r'\s(fill|stroke|style|color|on\w+)="', svg)


def test_no_coordinate_has_more_than_one_decimal():
    for svg in [*all_plots(2), *other_plots()]:
        for drawn in re.findall(r'\s(?:d|x|y|cx|cy|r|rx|ry|width|height|x1|y1)="([^"]*)"', svg):
            assert not re.search(r"\.\d\d", drawn)


def test_a_curve_of_400_points_takes_4_kilobytes_and_all_plots_of_6_systems_250():
    rates = np.sort(np.random.default_rng(0).random((2, 400)))
    one = with_roc(listed(rates[0]), listed(rates[1][::-1]), 0.4)
    assert max(len(d) for d in re.findall(r' d="([^"]*)"', pictures.roc([one]) + pictures.det([one]))) < 4096
    assert sum(len(svg.encode()) for svg in all_plots(6)) < 250_000


@pytest.mark.parametrize("classes", [2, 3, 12, 40])
def test_any_number_of_classes_is_drawn(classes):
    labels = [f"class {k}" for k in range(classes)]
    for svg in (
        column_pictures.directions(two_directions(classes), labels),
        column_pictures.directions(one_direction(classes), labels),
    ):
        assert "class 1<" in svg
        assert ("… and 16 more" in svg) == (classes == 40)
        assert "c12" not in svg


NOTHING = {
    "no series": lambda: [pictures.roc([]), pictures.det([]), pictures.bayes_error([])],
    "no points": lambda: [pictures.roc([with_roc([], [])]), pictures.det([with_roc([], [])])],
    "only None": lambda: [pictures.roc([with_roc([None], [None])]), pictures.det([with_roc([None], [None])])],
    "no costs": lambda: [pictures.bayes_error([with_costs([], [])])],
    "infinite costs": lambda: [pictures.bayes_error([with_costs([0, 1], [None, None])])],
    "no bins": lambda: [pictures.histogram({"name": "A", "histogram": {}}, 0, "given", LABELS)],
    "no blocks": lambda: [pictures.reliability({"name": "A", "reliability": {}}, 0)],
    "no system": lambda: [pictures.standings([], "even")],
    "no grid": lambda: [
        pictures.costs_of_grid(grid([], minimum=[], actual=[])),
        pictures.costs_of_grid({**grid(), "lines": []}),
    ],
    "only infinite costs": lambda: [pictures.costs_of_grid(grid(minimum=[None] * 3, actual=[None] * 3))],
    "no counts": lambda: [column_pictures.column_histogram(column(counts=[[0, 0], []]), LABELS)],
    "no components": lambda: [column_pictures.explained_variance([]), column_pictures.explained_variance([None])],
    "no directions": lambda: [
        column_pictures.directions({"names": ["direction 1"], "histogram": None}, LABELS),
        column_pictures.directions({"names": ["1", "2"], "points": [], "means": None, "covariances": None}, LABELS),
    ],
}


@pytest.mark.parametrize("case", NOTHING)
def test_a_plot_without_data_has_a_text_instead(case):
    for svg in NOTHING[case]():
        texts = [e for e in parse(svg).iter("text") if e.get("class") == "nothing"]
        assert len(texts) == 1


def test_empty_triangles_and_weights_are_valid_images():
    for svg in (
        column_pictures.correlation(correlations(0)),
        column_pictures.correlation(correlations(1)),
        column_pictures.direction_weights([]),
    ):
        assert parse(svg).get("role") == "img"


@pytest.mark.parametrize(
    ("low", "high"), [(3.0, 3.0), (0.0, 0.0), (-1e308, 1e308), (1e8, 1e8 + 1e-3), (0, 5e-324), (1e20, 1e20)]
)
def test_columns_of_any_range_are_drawn_within_the_image(low, high):
    svg = column_pictures.column_histogram(column(low=low, high=high, counts=[[4], [None]]), LABELS)
    drawn = np.array(curves(svg, "area line c0")[0])
    assert drawn.min() >= 0
    assert drawn[:, 0].max() <= 220
    assert 1 <= len(re.findall(r"<text x=", svg)) <= 8


def test_single_points_are_drawn_as_dots():
    one = grid([0.1], minimum=[0.2], actual=[0.3])
    assert len(curves(pictures.costs_of_grid(one), "tried")) == 2
    assert curves(column_pictures.explained_variance([0.7]), "dots")
    facts = two_directions(1, 1)
    assert curves(column_pictures.directions({**facts, "means": None, "covariances": None}, ["a"]), "dots", "c0")
    assert curves(pictures.bayes_error([with_costs([0], [1])]), "solid")


def test_a_class_of_unknown_or_degenerate_covariance_is_drawn_without_failing():
    facts = two_directions(3)
    facts["covariances"] = [None, [[0.0, 0.0], [0.0, 0.0]], [[None, 0.0], [0.0, 1.0]]]
    ellipses = list(parse(column_pictures.directions(facts, ["a", "b", "c"])).iter("ellipse"))
    assert [float(e.get("rx")) for e in ellipses] == [0, 0]


def test_text_and_attributes_are_escaped_and_markup_is_not():
    assert element("g", element("b"), "<", data_x='"') == '<g data-x="&#34;"><b/>&lt;</g>'


def test_paths_do_not_accumulate_rounding_errors():
    walk = [(k / 30, k / 70) for k in range(3000)]
    assert points(path(walk))[-1] == pytest.approx(walk[-1], abs=0.051)


@pytest.mark.parametrize("text", ["a" * 50, "W" * 50, "分" * 50, "é" * 50])
def test_shortened_text_is_not_wider_than_its_room(text):
    assert 8 < width(shorten(text, 12)) <= 12
