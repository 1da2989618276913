"""Displays: they agree with evaluation, draw exactly that, and have no side effects."""

import subprocess
import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import binary_dilation
from scipy.special import ndtri
from sklearn import decomposition
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline as peer_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from likely import (
    LDA,
    PCA,
    Application,
    Center,
    GaussianClassifier,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    MissingDependencyError,
    Perceptron,
    QuadraticFeatures,
    Standardize,
    Trials,
    Whiten,
    bayes_error_curve,
    confusion,
    make_pipeline,
    min_dcf,
    risk_coverage_curve,
)
from likely.displays import (
    BayesErrorDisplay,
    ConfusionDisplay,
    CostCurveDisplay,
    CrossEntropyDisplay,
    DecisionRegionsDisplay,
    DetDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    RocDisplay,
    ScoreHistogramDisplay,
    TippettDisplay,
    WeightsDisplay,
)
from likely.plots.canvas import visible_points

OF_TRIALS = [
    BayesErrorDisplay,
    CostCurveDisplay,
    CrossEntropyDisplay,
    DetDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ScoreHistogramDisplay,
    TippettDisplay,
]
EVEN = Application([0.5, 0.5])
BACKENDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": None}

every_display = pytest.mark.parametrize("display", [*OF_TRIALS, RiskCoverageDisplay], ids=lambda d: d.__name__)
every_display_of_trials = pytest.mark.parametrize("display", OF_TRIALS, ids=lambda d: d.__name__)


def of_scores(display, y, scores, **options):
    if display is RiskCoverageDisplay:
        return display.from_predictions(y, scores, EVEN, **options)
    return display.from_predictions(y, scores, **options)


def binormal(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3 == 0
    return y.astype(int), 2 * rng.normal(size=n) + np.where(y, 2, -2)


def cases():
    y, llr = binormal()
    infinite = np.where(np.abs(llr) > 4, np.sign(llr) * np.inf, llr)
    wrong = np.where(np.arange(len(y)) == 3, -np.inf, llr)
    return {
        "whole labels": (y, llr),
        "words": (np.where(y == 1, "yes", "no"), llr),
        "truth values": (y == 1, llr),
        "ties": (y, np.round(llr / 2)),
        "one score only": (y, np.zeros(len(y))),
        "infinities": (y, infinite),
        "nothing finite": (y, np.where(llr > 0, np.inf, -np.inf)),
        "an infinite mistake": (y, wrong),
        "separable": (y, np.where(y == 1, 1.0, -1.0) + 0.01 * llr),
        "the wrong way round": (y, -llr),
        "two rows": ([0, 1], [0.3, 0.1]),
        "two columns": (y, np.column_stack([np.zeros(len(y)), llr])),
    }


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def flowers():
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b", "c"], 40)
    means = {"a": (0, 0), "b": (3, 0), "c": (1, 3)}
    return np.array([means[label] for label in y]) + rng.normal(size=(120, 2)), y


@pytest.fixture(scope="module")
def detector():
    y, llr = binormal()
    X = np.column_stack([llr, np.random.default_rng(1).normal(size=len(y))])
    labels = np.where(y == 1, "yes", "no")
    return GaussianClassifier().fit(X, labels), X, labels


def curves_drawn(ax):
    """Drawn curves, without single marks and reference lines."""
    return [line.get_xydata() for line in ax.lines if line.get_marker() in ("None", None, "")]


def axes_of(display):
    return list(np.atleast_1d(display.ax_))


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3].astype(int)


def assert_nothing_is_cut_off(figure):
    figure.canvas.draw()
    (left, bottom), (right, top) = figure.get_tightbbox().get_points()
    width, height = figure.get_size_inches()
    assert left > -0.02
    assert bottom > -0.02
    assert right < width + 0.02
    assert top < height + 0.02


# Every display draws whatever is legal.


@every_display
@pytest.mark.parametrize("case", cases())
def test_all_valid_scores_are_drawn(display, case, ax):
    y, scores = cases()[case]
    blank = pixels(ax.figure)

    of_scores(display, y, scores).plot(ax)

    assert (pixels(ax.figure) != blank).any()


@every_display
def test_several_systems_are_drawn_and_nothing_is_cut_off(display):
    y, llr = binormal()
    systems = {"first": llr, "second": np.round(llr / 3), "a third one of a long name": cases()["infinities"][1]}

    drawn = of_scores(display, y, systems).plot()

    assert drawn.figure_ is axes_of(drawn)[0].figure
    assert_nothing_is_cut_off(drawn.figure_)


@pytest.mark.parametrize("display", [DetDisplay, RocDisplay, ScoreHistogramDisplay])
def test_marked_applications_leave_room_for_the_legend(display):
    y, llr = binormal()

    assert_nothing_is_cut_off(display.from_predictions(y, llr, application=[0.01, 0.5]).plot().figure_)


@every_display
def test_plot_returns_the_display_and_draws_on_the_given_axes(display, ax):
    shown = of_scores(display, *binormal())

    assert shown.plot(ax) is shown
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert not plt.get_fignums()
    assert ax.get_xlabel()
    assert ax.get_ylabel()


@every_display
def test_nothing_is_drawn_before_plot(display):
    shown = of_scores(display, *binormal())

    assert not plt.get_fignums()
    assert not hasattr(shown, "ax_")


@every_display
def test_drawing_leaves_the_settings_of_matplotlib_alone(display):
    before, scales = dict(mpl.rcParams), mpl.scale.get_scale_names()

    of_scores(display, *binormal()).plot().figure_.canvas.draw()

    assert dict(mpl.rcParams) == before
    assert mpl.scale.get_scale_names() == scales


@every_display
def test_a_display_may_be_drawn_twice_and_without_a_legend(display, ax):
    shown = of_scores(display, *binormal()).plot()
    first = shown.ax_

    shown.plot(ax, legend=False)

    assert shown.ax_ is ax is not first
    assert ax.get_legend() is None
    assert not ax.figure.legends


@every_display
def test_without_matplotlib_the_error_names_the_command_to_install_it(display, monkeypatch):
    shown = of_scores(display, *binormal())
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(MissingDependencyError, match=r"pip install 'likely\[plot\]'$"):
        shown.plot()


def test_computing_a_display_and_its_frame_loads_no_matplotlib():
    code = (
        "import sys; from likely.displays import RocDisplay;"
        "RocDisplay.from_predictions([0, 1], [0.0, 1.0]).frame('pyarrow'); print('matplotlib' in sys.modules)"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "False"


# What is drawn is what was computed.


def test_a_roc_is_drawn_point_by_point(ax):
    y, llr = binormal()
    trials = Trials(y, llr)
    display = RocDisplay.from_predictions(y, llr, name="A").plot(ax, hull=True)

    _, curve, hull = curves_drawn(ax)

    assert_array_equal(curve, np.column_stack([trials.roc_curve().fpr, trials.roc_curve().tpr]))
    assert_array_equal(hull, np.column_stack([trials.roc_hull().fpr, trials.roc_hull().tpr]))
    assert f"A (AUC {trials.roc_auc():.4g})" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert display.on_hull["A"].sum() == len(trials.roc_hull().fpr)


def test_a_det_is_drawn_point_by_point_with_rates_of_zero_on_the_edge(ax):
    y, llr = binormal()
    curve = Trials(y, llr).det_curve()
    DetDisplay.from_predictions(y, llr, name="A").plot(ax)

    (drawn,) = curves_drawn(ax)

    for values, rates, edge in zip(drawn.T, (curve.fpr, curve.fnr), (ax.get_xlim()[0], ax.get_ylim()[0]), strict=True):
        assert_array_equal(values[rates > 0], rates[rates > 0])
        assert ((values[rates == 0] > edge) & (values[rates == 0] < 1.2 * edge)).all()
        assert values[rates == 0].max() < rates[rates > 0].min()


def test_ticks_of_a_det_are_at_their_probits(ax):
    DetDisplay.from_predictions(*binormal(2000)).plot(ax)
    pixels(ax.figure)
    ticks = [(tick.get_loc(), tick.label1.get_text()) for tick in ax.xaxis.get_major_ticks()]
    ticks = [(rate, text) for rate, text in ticks if ax.get_xlim()[0] <= rate <= ax.get_xlim()[1]]
    rates = np.array([rate for rate, _ in ticks])

    places = ax.transData.transform(np.column_stack([rates, np.full(len(rates), 0.1)]))[:, 0]
    slope = np.diff(places) / np.diff(ndtri(rates))

    assert len(ticks) > 4
    assert_allclose(slope, slope[0])
    assert [float(text) for _, text in ticks] == pytest.approx(100 * rates)


def test_both_axes_of_a_det_have_the_same_scale(ax):
    DetDisplay.from_predictions(*binormal(2000)).plot(ax)
    pixels(ax.figure)

    places = ax.transData.transform([[0.05, 0.05], [0.2, 0.2]])

    assert np.diff(places[:, 0]) == pytest.approx(np.diff(places[:, 1]))


def test_gaussian_scores_make_a_straight_det(ax):
    rates = ndtri(np.linspace(0.001, 0.999, 999))
    y, scores = np.repeat([0, 1], 999), np.concatenate([rates, rates + 2])
    DetDisplay.from_predictions(y, scores).plot(ax)
    (drawn,) = curves_drawn(ax)
    inner = drawn[((drawn > 0.01) & (drawn < 0.99)).all(axis=1)]

    x, y = ax.transData.transform(inner).T

    assert np.corrcoef(x, y)[0, 1] < -0.9999


@pytest.mark.parametrize(
    ("display", "method", "reference"),
    [
        (BayesErrorDisplay, "bayes_error_curve", 1),
        (CostCurveDisplay, "cost_curve", "constant"),
        (CrossEntropyDisplay, "cross_entropy_curve", "neutral"),
    ],
)
def test_actual_costs_are_solid_and_minimum_ones_dashed(display, method, reference, ax):
    y, llr = binormal()
    curve = getattr(Trials(y, llr), method)()
    x = next(iter(curve.columns().values()))
    display.from_predictions(y, llr).plot(ax)

    actual, minimum, compared = ax.lines

    assert_array_equal(actual.get_xydata(), np.column_stack([x, curve.actual]))
    assert_array_equal(minimum.get_xydata(), np.column_stack([x, curve.minimum]))
    assert_array_equal(compared.get_ydata(), getattr(curve, reference) if isinstance(reference, str) else [1, 1])
    assert [line.get_linestyle() for line in (actual, minimum, compared)] == ["-", "--", ":"]


def test_a_tippett_plot_has_the_shares_of_both_classes(ax):
    y, llr = binormal()
    curve = Trials(y, llr).tippett_curve()
    TippettDisplay.from_predictions(y, llr).plot(ax)

    _, targets, nontargets = curves_drawn(ax)

    for drawn, shares in ((targets, curve.targets), (nontargets, curve.nontargets)):
        assert_array_equal(drawn[1:-1], np.column_stack([curve.llr, shares])[1:])
        assert_array_equal(drawn[[0, -1]], [[ax.get_xlim()[0], 1], [ax.get_xlim()[1], 0]])


def test_infinite_llrs_lie_on_the_edges_of_a_tippett_plot(ax):
    TippettDisplay.from_predictions([0, 0, 1, 1], [-np.inf, 0, 1, np.inf]).plot(ax)

    targets = curves_drawn(ax)[1]

    assert targets[-1].tolist() == [ax.get_xlim()[1], 0.5]
    assert targets[0].tolist() == [ax.get_xlim()[0], 1]


def test_a_reliability_curve_has_the_ends_of_the_blocks_and_their_sizes(ax):
    y, llr = binormal()
    curve = Trials(y, llr).reliability_curve()
    low, high, observed = curve.posteriors(0.2)
    ReliabilityDisplay.from_predictions(y, llr, prior=0.2).plot(ax)

    diagonal, blocks = curves_drawn(ax)

    assert_array_equal(diagonal, [[0, 0], [1, 1]])
    assert_array_equal(blocks[::2], np.column_stack([low, observed]))
    assert_array_equal(blocks[1::2], np.column_stack([high, observed]))
    sizes = ax.collections[0].get_sizes()
    assert_allclose(sizes / sizes.sum(), (curve.targets + curve.nontargets) / len(y))


def test_bars_of_a_histogram_include_all_trials_of_a_class(ax):
    y, llr = binormal()
    weight = np.arange(len(y)) % 4
    ScoreHistogramDisplay.from_predictions(y, llr, bins=7, sample_weight=weight).plot(ax)

    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, 7)

    for label in (0, 1):
        counts, _ = np.histogram(llr[y == label], np.linspace(llr.min(), llr.max(), 8), weights=weight[y == label])
        assert_allclose(heights[label], counts / counts.sum())


def test_a_histogram_counts_infinite_scores_at_its_edges_with_a_note(ax):
    display = ScoreHistogramDisplay.from_predictions([0, 0, 1, 1], [-np.inf, 0.0, 1.0, np.inf], bins=4).plot(ax)

    assert display.curves["scores"].nontargets.tolist() == [1, 0, 0, 0]
    assert display.curves["scores"].targets.tolist() == [0, 0, 0, 1]
    assert ax.get_xlabel() == "Score\n(the outer bars include infinite scores: 1 of −∞ and 1 of ∞)"


def test_a_histogram_marks_the_thresholds_of_applications(ax):
    y, llr = binormal()
    ScoreHistogramDisplay.from_predictions(y, llr, application=[0.5, Application.binary(0.1)]).plot(ax)

    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx([0, np.log(9)])


def test_a_cost_against_coverage_is_drawn_point_by_point(ax):
    y, llr = binormal()
    curve = risk_coverage_curve(y, llr, EVEN)
    RiskCoverageDisplay.from_predictions(y, llr, EVEN).plot(ax)

    assert_array_equal(curves_drawn(ax)[0], np.column_stack([curve.coverage, curve.risk]))


@every_display
def test_systems_have_different_names_and_colours(display):
    y, llr = binormal()
    shown = of_scores(display, y, {"A": llr, "B": llr / 2}).plot()
    texts = [text.get_text() for text in shown.figure_.findobj(mpl.text.Text)]

    assert list(shown.curves) == ["A", "B"]
    assert any(text.startswith("A") for text in texts)
    assert any(text.startswith("B") for text in texts)


# Operating points.


@pytest.mark.parametrize("display", [DetDisplay, RocDisplay])
def test_operating_points_have_the_cost_of_the_application(display):
    y, llr = binormal()
    trials, app = Trials(y, llr + 1), Application.binary(0.2, cost_fn=3)

    (point,) = display.from_predictions(y, llr + 1, name="A", application=app).points["A"]

    for (alarm, miss), cost in ((point.actual, trials.actual_dcf(app)), (point.minimum, trials.min_dcf(app))):
        assert app.risk(np.array([[1 - alarm, alarm], [miss, 1 - miss]])) / app.constant_cost == pytest.approx(cost)
    assert point.effective_prior == app.effective_prior


def test_operating_points_are_marked_on_the_curve(ax):
    y, llr = binormal()
    display = RocDisplay.from_predictions(y, llr, name="A", application=[0.2, 0.6]).plot(ax)
    marks = [tuple(line.get_xydata()[0]) for line in ax.lines if line.get_marker() not in ("None", None, "")]
    curve = display.curves["A"]

    assert len(marks) == 4
    assert set(marks) <= set(zip(curve.fpr.tolist(), curve.tpr.tolist(), strict=True))


def test_operating_points_off_a_det_lie_on_its_edge(ax):
    y, llr = binormal()
    DetDisplay.from_predictions(y, llr, application=1e-9).plot(ax)
    marks = [line.get_xydata()[0] for line in ax.lines if line.get_marker() not in ("None", None, "")]

    assert marks[1].tolist() == pytest.approx([ax.get_xlim()[0], ax.get_ylim()[1]], rel=0.1)
    assert marks[0][0] == marks[1][0]


def test_an_application_that_rejects_has_no_operating_point():
    with pytest.raises(InvalidParameterError, match="accepts or refuses every trial"):
        RocDisplay.from_predictions(*binormal(), application=Application.binary(0.5, reject_cost=0.1))


# Bands.


def test_bands_surround_the_curves_and_are_in_the_frame(ax):
    y, llr = binormal()
    display = BayesErrorDisplay.from_predictions(
        y, llr, name="A", prior_log_odds=[-1.0, 0.0, 1.0], n_resamples=50, groups=np.arange(len(y)) // 2
    ).plot(ax)
    frame = display.frame("pandas")

    assert_allclose(display.bands["A"]["actual"].estimate, display.curves["A"].actual)
    assert_allclose(display.bands["A"]["minimum"].estimate, display.curves["A"].minimum)
    assert (frame["actual_low"] <= frame["actual"]).all()
    assert (frame["actual"] <= frame["actual_high"]).all()
    assert len(ax.collections) == 2


def test_bands_use_the_target_and_the_weights():
    y, llr = binormal()
    options = {"prior_log_odds": [-1.0, 2.0], "pos_label": 0, "sample_weight": 1 + np.arange(len(y)) % 2}

    display = BayesErrorDisplay.from_predictions(y, -llr, name="A", n_resamples=20, **options)

    assert_allclose(display.bands["A"]["actual"].estimate, bayes_error_curve(y, -llr, **options).actual)


def test_groups_without_resamples_raise():
    with pytest.raises(InvalidParameterError, match="Request bands with n_resamples=1000"):
        BayesErrorDisplay.from_predictions(*binormal(), groups=np.zeros(200))


# Frames.


@pytest.mark.parametrize("backend", BACKENDS)
@every_display
def test_a_frame_has_all_points_of_all_systems(display, backend):
    y, llr = binormal()
    shown = of_scores(display, y, {"A": llr, "B": np.round(llr)})

    frame = nw.from_native(shown.frame(backend), eager_only=True)

    assert frame.implementation.value == backend
    assert frame.columns[0] == "system"
    for name, curve in shown.curves.items():
        rows = frame.filter(nw.col("system") == name)
        for column, values in curve.columns().items():
            assert_array_equal(rows[column].to_numpy(), values)


def test_the_default_frame_is_of_the_first_library_installed(monkeypatch):
    display = RocDisplay.from_predictions(*binormal())
    assert isinstance(display.frame(), pd.DataFrame)

    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(display.frame(), pl.DataFrame)


def test_a_frame_of_a_missing_library_raises(monkeypatch):
    display = RocDisplay.from_predictions(*binormal())
    monkeypatch.setitem(sys.modules, "polars", None)

    with pytest.raises(MissingDependencyError, match=r"needs polars, .* Run: pip install polars"):
        display.frame("polars")
    with pytest.raises(InvalidParameterError, match="backend must be one of 'pandas', 'polars', 'pyarrow'"):
        display.frame("excel")


# Estimators and names.


@every_display_of_trials
def test_estimators_are_evaluated_by_their_llr(display, detector):
    model, X, y = detector

    assert_array_equal(
        display.from_estimator(model, X, y).frame("pandas").drop(columns="system").to_numpy(),
        display.from_predictions(y, model.llr(X)).frame("pandas").drop(columns="system").to_numpy(),
    )


@pytest.mark.parametrize("target", ["yes", "no"])
def test_the_target_of_estimators_may_be_either_class(target, detector):
    model, X, y = detector
    ridge = RidgeClassifier().fit(X, y)

    display = DetDisplay.from_estimator({"ours": model, "ridge": ridge}, X, y, pos_label=target)

    sign = 1 if target == "yes" else -1
    assert display.eer["ours"] == Trials(y, sign * model.llr(X), pos_label=target).eer()
    assert display.eer["ridge"] == Trials(y, sign * ridge.decision_function(X), pos_label=target).eer()


def test_estimators_of_many_classes_show_cost_against_coverage(flowers):
    X, y = flowers
    model, app = GaussianClassifier().fit(X, y), Application([0.2, 0.3, 0.5])

    curve = RiskCoverageDisplay.from_estimator(model, X, y, app).curves["GaussianClassifier"]

    assert_array_equal(curve.risk, risk_coverage_curve(y, model.log_likelihood(X), app).risk)


def test_an_estimator_without_scores_raises(detector):
    _, X, y = detector

    with pytest.raises(IncompatiblePartsError, match="Ridge has none of the methods log_likelihood, decision_function"):
        RocDisplay.from_estimator(Ridge().fit(X, y == y[0]), X, y)


def test_an_estimator_with_only_posteriors_is_drawn(detector):
    _, X, y = detector
    display = RocDisplay.from_estimator(GaussianNB().fit(X, y), X, y)

    assert display.curves["GaussianNB"].auc() > 0.5


def test_labels_unknown_to_an_estimator_raise(detector):
    model, X, y = detector

    with pytest.raises(InvalidDataError, match="label 'maybe', which is not a class of GaussianClassifier"):
        RocDisplay.from_estimator(model, X, np.where(y == "yes", "maybe", y))
    with pytest.raises(InvalidDataError, match="pos_label='maybe' is not among the labels"):
        RocDisplay.from_estimator(model, X, y, pos_label="maybe")


def test_a_name_is_for_a_single_system(detector):
    y, llr = binormal()
    model, X, labels = detector

    assert list(RocDisplay.from_predictions(y, llr).curves) == ["scores"]
    assert list(RocDisplay.from_predictions(y, llr, name="A").curves) == ["A"]
    assert list(RocDisplay.from_estimator(model, X, labels).curves) == ["GaussianClassifier"]
    with pytest.raises(InvalidParameterError, match="name='A' names a single system, but a mapping of 2"):
        RocDisplay.from_predictions(y, {"B": llr, "C": llr}, name="A")
    with pytest.raises(InvalidParameterError, match="at least one system"):
        RocDisplay.from_predictions(y, {})


def test_options_out_of_range_raise():
    with pytest.raises(InvalidParameterError, match="bins must be a positive integer, but is 0"):
        ScoreHistogramDisplay.from_predictions(*binormal(), bins=0)
    with pytest.raises(InvalidParameterError, match=r"prior must be in the open interval \(0, 1\), but is 1"):
        ReliabilityDisplay.from_predictions(*binormal(), prior=1)


# Confusion.


def texts_in(ax):
    return [text.get_text() for text in ax.texts]


def test_a_confusion_shows_counts_rates_and_the_rejected(ax):
    display = ConfusionDisplay.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", None]).plot(ax)

    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "rejected"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert texts_in(ax) == ["1\n50.0 %", "1\n50.0 %", "0", "0", "1\n50.0 %", "1\n50.0 %"]
    frame = display.frame("polars")
    assert frame["decision"].to_list() == ["a", "b", None] * 2
    assert frame["count"].to_list() == [1, 1, 0, 0, 1, 1]


def test_a_confusion_without_rejected_rows_has_no_column_for_them(ax):
    ConfusionDisplay.from_predictions([0, 1], [0, 0], sample_weight=[0.25, 3]).plot(ax)

    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]
    assert texts_in(ax) == ["0.25\n100.0 %", "0", "3\n100.0 %", "0"]


@pytest.mark.parametrize("n_classes", [2, 12, 40])
def test_a_confusion_of_many_classes_is_drawn(n_classes):
    y = [f"class number {i}" for i in range(n_classes)]

    display = ConfusionDisplay.from_predictions(y, {"A": y, "B": y[::-1]}).plot()

    assert len(texts_in(display.ax_[0])) == (n_classes**2 if n_classes <= 20 else 0)
    assert_nothing_is_cut_off(display.figure_)


def test_a_confusion_of_an_estimator_is_that_of_its_decisions(flowers):
    X, y = flowers
    model, app = GaussianClassifier().fit(X, y), Application([1 / 3] * 3, reject_cost=0.1)

    decided = ConfusionDisplay.from_estimator(model, X, y, application=app).curves["GaussianClassifier"]
    predicted = ConfusionDisplay.from_estimator(model, X, y).curves["GaussianClassifier"]

    assert_array_equal(decided.counts, confusion(y, model.decide(X, app)).counts)
    assert decided.counts[:, -1].sum() > 0
    assert_array_equal(predicted.counts, confusion(y, model.predict(X)).counts)


# Regions.


@pytest.mark.parametrize("reject_cost", [None, 0.2])
def test_regions_are_the_estimators_decisions_on_the_grid(flowers, reject_cost):
    X, y = flowers
    model, app = GaussianClassifier().fit(X, y), Application([0.2, 0.3, 0.5], reject_cost=reject_cost)

    display = DecisionRegionsDisplay.from_estimator(model, X, y, application=app, resolution=20)

    frame = display.frame("pandas")
    decided = model.decide(frame[["first", "second"]].to_numpy(), app)
    assert [None if pd.isna(label) else label for label in frame["decision"]] == decided.tolist()
    assert (reject_cost is not None) == frame["decision"].isna().any()
    assert_array_equal(display.codes, np.repeat([0, 1, 2], 40))


def test_regions_are_drawn_with_their_colours_and_all_points(flowers, ax):
    X, y = flowers
    model = GaussianClassifier().fit(X, y)
    display = DecisionRegionsDisplay.from_estimator(model, X, y, resolution=30).plot(ax)
    regions = display.curves["GaussianClassifier"]

    image = ax.images[0].get_array()

    for code in range(3):
        assert len(np.unique(image[regions.decisions == code], axis=0)) == 1
    assert len(np.unique(image.reshape(-1, 3), axis=0)) == 3
    assert_array_equal(np.concatenate([points.get_offsets() for points in ax.collections]), X)
    left, right, bottom, top = ax.images[0].get_extent()
    assert left < X[:, 0].min() < X[:, 0].max() < right
    assert bottom < X[:, 1].min() < X[:, 1].max() < top


@pytest.mark.parametrize("kind", [pd.DataFrame, lambda X: pl.DataFrame({name: X[name] for name in X})])
def test_regions_of_a_frame_have_the_names_of_its_columns(flowers, kind):
    X, y = flowers
    frame = kind({"width": X[:, 0], "height": X[:, 1]})
    model = GaussianClassifier().fit(frame, y)

    display = DecisionRegionsDisplay.from_estimator(model, frame, y, resolution=10).plot()

    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")
    assert_nothing_is_cut_off(display.figure_)


def test_regions_that_cannot_be_drawn_raise(flowers):
    X, y = flowers
    model = GaussianClassifier().fit(X, y)
    other = GaussianClassifier().fit(X, np.char.upper(y))

    with pytest.raises(InvalidDataError, match=r"two features with finite values, but X has shape \(120, 1\)"):
        DecisionRegionsDisplay.from_estimator(model, X[:, :1], y)
    with pytest.raises(InvalidParameterError, match="resolution must be an integer of at least 2, but is 1"):
        DecisionRegionsDisplay.from_estimator(model, X, y, resolution=1)
    with pytest.raises(IncompatiblePartsError, match="need the same classes"):
        DecisionRegionsDisplay.from_estimator({"A": model, "B": other}, X, y)
    with pytest.raises(IncompatiblePartsError, match="RidgeClassifier has no method decide"):
        DecisionRegionsDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y, application=Application([1 / 3] * 3))


def test_panels_need_axes_for_each_system():
    y, llr = binormal()
    display = ScoreHistogramDisplay.from_predictions(y, {"A": llr, "B": llr})
    pair = Figure().subplots(1, 2)

    assert display.plot(pair).ax_.tolist() == pair.tolist()
    with pytest.raises(InvalidParameterError, match="ax must be a sequence of 2 axes, one for each system"):
        display.plot(pair[0])


# Long curves.


@pytest.mark.parametrize("display", [DetDisplay, RocDisplay, TippettDisplay, RiskCoverageDisplay])
def test_long_curves_are_thinned_without_a_visible_change(display, ax, monkeypatch):
    y, llr = binormal(100_000)
    shown = of_scores(display, y, llr, name="A").plot(ax)
    thin = curves_drawn(ax)
    ink = _solid_ink(ax)
    assert all(len(curve) < 12_000 for curve in thin)
    assert len(shown.frame("pyarrow")) > 90_000

    monkeypatch.setattr("likely.displays.canvas.FEW", 10**9)
    whole = Figure().subplots()
    shown.plot(whole)

    assert max(len(curve) for curve in curves_drawn(whole)) > 90_000
    inked = _solid_ink(whole)
    assert not (ink & ~binary_dilation(inked)).any()
    assert not (inked & ~binary_dilation(ink)).any()


def _solid_ink(ax):
    """Dark pixels of the image, without dashed lines, whose dashes move after tiny changes."""
    for line in ax.lines:
        line.set_visible(line.get_linestyle() == "-")
    return (pixels(ax.figure) < 128).any(axis=2)


def test_thinning_keeps_the_ends_and_the_marked_points():
    x = np.linspace(0, 1, 100_001)
    corners = np.zeros(len(x), dtype=bool)
    corners[[777, 5555]] = True

    kept = visible_points(x, np.sqrt(x), (0.0, 1.0), (0.0, 1.0), corners)

    assert kept[[0, 777, 5555, -1]].all()
    assert kept.sum() < 9000
    before = np.flatnonzero(kept)[np.cumsum(kept) - 1]
    assert np.hypot(x - x[before], np.sqrt(x) - np.sqrt(x[before])).max() < 0.001


def test_hull_corners_of_long_curves_are_all_drawn(ax):
    y, llr = binormal(50_000)
    display = RocDisplay.from_predictions(y, llr, name="A").plot(ax)
    curve, corners = display.curves["A"], display.on_hull["A"]

    drawn = {tuple(point) for point in curves_drawn(ax)[1].tolist()}

    assert set(zip(curve.fpr[corners].tolist(), curve.tpr[corners].tolist(), strict=True)) <= drawn


def test_minima_on_the_hull_are_those_of_evaluation():
    y, llr = binormal()
    curve = BayesErrorDisplay.from_predictions(y, llr, name="A", prior_log_odds=[0.0]).curves["A"]

    assert curve.minimum[0] == pytest.approx(min_dcf(y, llr, 0.5))


# Weights as images.


@pytest.fixture(scope="module")
def pictures():
    """Images of two by three pixels, far from zero, of three classes."""
    rng = np.random.default_rng(4)
    y = np.repeat(["a", "b", "c"], 30)
    return 1000 + rng.normal(size=(90, 6)) @ rng.normal(size=(6, 6)) + np.repeat(rng.normal(size=(3, 6)), 30, axis=0), y


def slopes(model, X):
    """Increase of the scores with each feature, one row for each class."""
    at = X[0]
    return np.array([_scores(model, at + step) - _scores(model, at - step) for step in np.eye(6)]).T / 2


def _scores(model, x):
    return np.atleast_1d(np.asarray(model.decision_function(x[None]))[0])


CHAINS = [
    lambda last: make_pipeline(PCA(4), last),
    lambda last: make_pipeline(Standardize(), PCA(4), last),
    lambda last: make_pipeline(Center(), Whiten(), last),
    lambda last: make_pipeline(LDA(), last),
    lambda last: peer_pipeline(StandardScaler(), decomposition.PCA(3, whiten=True), last),
    lambda last: peer_pipeline(MinMaxScaler(), "passthrough", last),
]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("classes", ["abc", "ab"])
def test_weights_are_those_of_the_input_after_any_linear_steps(chain, classes, pictures):
    X, y = pictures
    kept = np.isin(y, list(classes))
    model = chain(RidgeClassifier()).fit(X[kept], y[kept])

    (images,) = WeightsDisplay.from_estimator(model, (2, 3), name="A").curves.values()

    assert images.titles == (["a", "b", "c"] if classes == "abc" else ["b against a"])
    assert_allclose(images.images.reshape(-1, 6), slopes(model, X), rtol=1e-6, atol=1e-9)


def test_weights_of_a_single_model_are_its_coefficients(pictures):
    model = RidgeClassifier().fit(*pictures)

    images = WeightsDisplay.from_estimator(model, shape=(3, 2)).curves["RidgeClassifier"].images

    assert_array_equal(images, model.coef_.reshape(3, 3, 2))


def test_weights_of_frames_and_of_a_regression_are_accepted(pictures):
    X, y = pictures
    frame = pd.DataFrame(X, columns=list("pqrstu"))
    model = peer_pipeline(StandardScaler(), Ridge()).set_output(transform="pandas").fit(frame, y == "a")

    images = WeightsDisplay.from_estimator(model, (1, 6)).curves["Pipeline"]

    assert images.titles == ["weights"]
    assert_allclose(images.images[0, 0], model[-1].coef_ / model[0].scale_)
    several = Ridge().fit(X, np.column_stack([y == "a", y == "b"]))
    assert WeightsDisplay.from_estimator(several, (1, 6)).curves["Ridge"].titles == ["output 0", "output 1"]


def test_weights_are_drawn_in_one_scale_whose_middle_is_zero(pictures):
    model = RidgeClassifier().fit(*pictures)
    display = WeightsDisplay.from_estimator(model, (2, 3)).plot()

    (images,) = display.curves.values()
    drawn = [panel.images[0] for panel in display.ax_]

    largest = np.abs(model.coef_).max()
    assert [image.get_clim() for image in drawn] == [(-largest, largest)] * 3
    assert_array_equal([image.get_array() for image in drawn], images.images)
    assert [panel.get_title() for panel in display.ax_] == ["a", "b", "c"]
    assert len(display.figure_.axes) == 4
    assert_nothing_is_cut_off(display.figure_)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 26])
@pytest.mark.parametrize("shape", [(4, 4), (1, 16), (16, 1)])
def test_weights_of_any_number_of_classes_are_drawn(n_classes, shape, rng):
    y = np.arange(80) % n_classes
    model = RidgeClassifier().fit(rng.normal(size=(80, 16)), y)

    display = WeightsDisplay.from_estimator(model, shape).plot()

    assert len(axes_of(display)) == (1 if n_classes == 2 else n_classes)
    assert_nothing_is_cut_off(display.figure_)


def test_weights_of_several_models_have_a_row_and_a_scale_each(pictures):
    X, y = pictures
    models = {"small": RidgeClassifier(1e6).fit(X, y), "large": RidgeClassifier(1e-3).fit(X, y)}
    display = WeightsDisplay.from_estimator(models, (2, 3)).plot()

    tops = [float(panel.images[0].get_clim()[1]) for panel in display.ax_]

    assert [panel.get_ylabel() for panel in display.ax_] == ["small", "", "", "large", "", ""]
    assert tops == pytest.approx([np.abs(models[name].coef_).max() for name in ("small", "large") for _ in range(3)])
    assert len({round(panel.get_position().y0, 6) for panel in display.ax_}) == 2
    assert_nothing_is_cut_off(display.figure_)


def test_weights_that_are_all_zero_are_drawn(ax):
    model = Ridge().fit(np.ones((5, 4)), np.ones(5))

    WeightsDisplay.from_estimator(model).plot(ax)

    assert ax.images[0].get_clim() == (-1, 1)


def test_weights_are_drawn_on_given_axes_with_the_options_given(pictures):
    axes = Figure().subplots(1, 3)
    display = WeightsDisplay.from_estimator(RidgeClassifier().fit(*pictures), (2, 3))

    assert display.plot(axes, limit=0.5, colorbar=False, cmap="PiYG") is display

    assert list(display.ax_) == list(axes)
    assert display.figure_ is axes[0].figure
    assert len(display.figure_.axes) == 3
    assert axes[0].images[0].get_clim() == (-0.5, 0.5)
    assert axes[0].images[0].get_cmap().name == "PiYG"
    assert not plt.get_fignums()


def test_a_frame_of_weights_has_every_pixel_of_every_class(pictures):
    model = RidgeClassifier().fit(*pictures)

    frame = WeightsDisplay.from_estimator(model, (2, 3), name="A").frame("pandas")

    assert list(frame.columns) == ["system", "class", "row", "column", "weight"]
    assert len(frame) == 18
    pixel = frame[(frame["class"] == "b") & (frame["row"] == 1) & (frame["column"] == 2)]
    assert pixel["weight"].item() == model.coef_[1, 5]


@pytest.mark.parametrize(
    "step",
    [
        QuadraticFeatures(),
        QuantileTransformer(n_quantiles=20),
        MinMaxScaler(clip=True),
        decomposition.NMF(2, max_iter=2000),
        OneHotEncoder(),
    ],
    ids=lambda step: type(step).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_after_a_step_that_is_not_linear_raise(step, pictures):
    model = peer_pipeline(step, RidgeClassifier()).fit(*pictures)

    with pytest.raises(IncompatiblePartsError, match=f"The step {type(step).__name__} is not linear"):
        WeightsDisplay.from_estimator(model, (2, 3))


def test_weights_that_do_not_form_an_image_raise(pictures, flowers):
    X, y = pictures
    model = RidgeClassifier().fit(X, y)
    shown = WeightsDisplay.from_estimator(model, (2, 3))

    with pytest.raises(
        InvalidParameterError, match=r"6 features do not form a square image. Give shape=\(rows, columns\)"
    ):
        WeightsDisplay.from_estimator(model)
    for shape in [(2, 2), (2,), (-2, -3), (2.0, 3.0)]:
        with pytest.raises(InvalidParameterError, match="whose product is the number of features of the input, 6"):
            WeightsDisplay.from_estimator(model, shape)
    with pytest.raises(IncompatiblePartsError, match="GaussianClassifier has no coef_"):
        WeightsDisplay.from_estimator(GaussianClassifier().fit(*flowers), (1, 2))
    with pytest.raises(IncompatiblePartsError, match="has 6 weight vectors for 4 classes"):
        WeightsDisplay.from_estimator(SVC(kernel="linear").fit(X, np.arange(90) % 4), (2, 3))
    with pytest.raises(IncompatiblePartsError, match="need the same classes"):
        WeightsDisplay.from_estimator({"three": model, "two": RidgeClassifier().fit(X, y == "a")}, (2, 3))
    with pytest.raises(InvalidParameterError, match="limit must be a positive weight, but is 0"):
        shown.plot(limit=0)
    with pytest.raises(InvalidParameterError, match="a sequence of 3 axes"):
        shown.plot(Figure().subplots())


def test_weights_of_an_unfitted_model_raise():
    with pytest.raises(NotFittedError):
        WeightsDisplay.from_estimator(Perceptron())


def test_weights_without_matplotlib_are_computed_but_not_drawn(pictures, monkeypatch):
    shown = WeightsDisplay.from_estimator(RidgeClassifier().fit(*pictures), (2, 3))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure")

    assert len(shown.frame("pyarrow")) == 18
    with pytest.raises(MissingDependencyError, match=r"pip install 'likely\[plot\]'$"):
        shown.plot()
