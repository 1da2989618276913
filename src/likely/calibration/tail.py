"""Calibration of scores with heavy tails: compressed scores, a scale and an offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely._constraints import Constraints, check_parameters, count, flag, number, priors
from likely._fitted import all_or_nothing
from likely._typing import Floats
from likely.blocks import ArraySource
from likely.calibration.affine import check_n_columns, keep_rising
from likely.calibration.logistic_map import OFFSET, LogisticMap, MapFit, TrainingRows, objective_of
from likely.calibration.scores import Systems
from likely.objectives import Goal, newton
from likely.objectives.separation import soften_targets

CRITICAL_VALUE = 10.83
"""Likelihood-ratio statistic above which compression is used: the 99.9 % quantile of χ² with one degree of freedom."""

_LARGEST, _SMALLEST, _FACTOR = 16.0**2, 16.0**-6, 16.0
"""Range and ratio of the grid of τ, in units of the typical size of a score. A τ above the range compresses only scores
of several hundred times that size; a τ below it hardly differs from 0, where only the order of the scores and the
logarithms of their differences matter."""

_REFINEMENTS = 3
"""Steps of parabolic interpolation between points of the grid."""

_SEARCH_ROWS, _LARGEST_ROWS = 2**12, 2**6
"""Number of rows with which the search for τ works if there are more than twice as many, and rows of each class with
the largest scores that are always among them. The maps that are compared use all rows."""


@dataclass(frozen=True, eq=False)
class TailState:
    """Fitted compression, scale and offset."""

    scale_: Annotated[float, number()]
    offset_: Annotated[Any, OFFSET]
    tail_: Annotated[float, number(above=0, finite=False)]
    center_: Annotated[float, number()]
    objective_: Annotated[float, number(finite=False)]
    n_iter_: Annotated[int, count()]


class TailCalibrator(LogisticMap, BaseEstimator):  # type: ignore[misc]
    """Calibration of scores with heavy tails to log-likelihood ratios: tails are compressed before an affine map.

    A few scores of enormous size force the scale of :class:`AffineCalibrator` to almost 0, and all other scores then
    lose their information. This calibrator first compresses scores logarithmically beyond a size τ, which it learns.
    A likelihood-ratio test decides whether compression is used. Otherwise the result is exactly that of
    :class:`AffineCalibrator`. If the scores separate the classes, both maps are fitted by Laplace's rule, with a
    warning.

    Parameters
    ----------
    training_prior : float, sequence in class order, or mapping {label: prior}, optional
        Priors at which the cross-entropy is minimised, as for :class:`AffineCalibrator`.
    rising : bool, default False
        Whether the scale must not be negative, as for :class:`AffineCalibrator`.

    Attributes
    ----------
    classes_ : array of labels
    scale_ : float
    offset_ : float, or array of shape (n_classes,) that sums to 0
        llr = scale · compressed score + offset for two classes; log-likelihood of class k = scale · compressed score_k
        + offset_k for more.
    tail_ : float
        τ, in the units of the scores; inf without compression.
    center_ : float
        Score around which those of two classes are compressed; 0 for more classes.
    objective_ : float
        Cross-entropy on the training scores at ``training_prior``, in nats.
    n_iter_ : int
        Number of Newton steps of the final map.

    Notes
    -----
    For two classes a score x becomes sign(x − c) τ log(1 + abs(x − c) / τ). The centre c is the median of the scores,
    where both classes have the same weight. For more classes the scores of a row become −τ log(1 − u / τ), where u is
    the score minus the largest score of the row. Both are the identity for τ → ∞, up to constants without effect, and
    keep the order of the scores. A positive factor common to all scores does not change the calibrated scores, nor does
    a shift of all scores of a row.

    The search for τ goes down a geometric grid, refined by parabolic interpolation, in units of the median of
    abs(x − c), or of the difference between the two largest scores of a row. Compression is used if

        2 n (C(∞) − C(τ)) > 10.83,   1 / n = Σ_k π_k² / N_k,

    the 0.1 % point of χ² with one degree of freedom, where C is the minimum of the cross-entropy at the priors π, N_k
    is the number of rows of class k, and n is the effective number of rows of a weighted sum.

    References
    ----------
    S. S. Wilks, The large-sample distribution of the likelihood ratio for testing composite hypotheses, Annals of
    Mathematical Statistics 9 (1938). L. Kish, Survey sampling (1965), section 11.7, for the effective number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from likely import AffineCalibrator, cross_entropy
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 200)
    >>> scores = rng.normal(size=(600, 3)) + 2 * np.eye(3)[y]
    >>> TailCalibrator().fit(scores, y).tail_
    inf
    >>> scores[::50] *= 1e6  # a few rows of enormous scores
    >>> affine, tail = AffineCalibrator().fit_transform(scores, y), TailCalibrator().fit_transform(scores, y)
    >>> round(cross_entropy(y, affine), 2), round(cross_entropy(y, tail), 2)
    (1.08, 0.46)
    """

    _State = TailState
    _constraints: ClassVar[Constraints] = {"training_prior": priors(scalar=True), "rising": flag}
    scale_: float
    offset_: Any
    tail_: float
    center_: float

    def __init__(self, *, training_prior: Any = None, rising: bool = False) -> None:
        self.training_prior = training_prior
        self.rising = rising

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, near: TailCalibrator | None = None) -> Self:
        """Fit the compression, the scale and the offset.

        Parameters
        ----------
        scores : array of shape (n,) or (n, 1) for two classes, or (n, n_classes)
            Finite scores, with columns in the order of the sorted labels.
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies.
        near : TailCalibrator, optional
            Calibrator fitted to similar scores, for a warm start. The solution is the same and is found faster.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            rows = self._rows(Systems.of_one(scores, "TailCalibrator"), y, sample_weight)
            start = None if near is None or np.isfinite(near.tail_) else (np.array([near.scale_]), near.offset_)
            affine = self._fit(rows, start)
            chosen, tail, center = self._compress_if_it_pays(rows, affine)
            self._warn(chosen)
            self._state = TailState(
                float(chosen.weights[0]), chosen.offset, tail, center, chosen.objective, chosen.n_iter
            )
            self.classes_ = rows.classes
        return self

    def _compress_if_it_pays(self, rows: TrainingRows, affine: MapFit) -> tuple[MapFit, float, float]:
        """Return the map, τ and the centre: of compressed scores if the likelihood-ratio test rejects τ = ∞."""
        limit = CRITICAL_VALUE / 2 * float((rows.priors**2 / rows.totals).sum())
        plain = self._restrict(affine, rows)
        units = _find_units(rows)
        if units is None:
            return plain, np.inf, 0.0
        search = _Search(rows, units, limit, affine.is_softened, self.rising)
        start = search.run(np.append(affine.weights * units.size, affine.offset + affine.weights * units.center))
        if start is None:
            return plain, np.inf, 0.0
        # Fit the compressed scores of all rows, and compare the two maps at the same targets.
        tail, center = start.ratio * units.size, units.center
        compressed = rows._replace(x=compress(rows.x, tail, center))
        near = start.parameters[:1] / units.size, _offset_of(start.parameters)
        found = self._fit(compressed, near, affine.is_softened)
        reference = self._fit(rows, soften=True) if found.is_softened and not affine.is_softened else affine
        found, reference = self._restrict(found, rows), self._restrict(reference, rows)
        if not found.objective < reference.objective - limit:
            return plain, np.inf, 0.0
        return found._replace(problem=found.problem or affine.problem * affine.is_softened), tail, center

    def _restrict(self, found: MapFit, rows: TrainingRows) -> MapFit:
        return keep_rising(found, rows.priors) if self.rising else found

    def transform(self, scores: Any) -> Floats:
        """Return calibrated scores of the same shape: llrs, or log-likelihoods up to a constant per row."""
        check_is_fitted(self, "scale_")
        systems = Systems.of_one(scores, "TailCalibrator")
        check_n_columns(systems, self.classes_)
        x = systems.x if np.isinf(self.tail_) else compress(systems.x, self.tail_, self.center_)
        mapped = self._map(x, np.array([self.scale_]), self.offset_)
        return systems.restore_columns(mapped).reshape(np.shape(scores))

    def fit_transform(self, scores: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Fit the calibrator to scores, and return them calibrated."""
        return self.fit(scores, y, sample_weight).transform(scores)


def compress(x: Floats, tail: float, center: float = 0.0) -> Floats:
    """Compress scores beyond the size ``tail`` logarithmically.

    Parameters
    ----------
    x : array of shape (n, 1) for two classes, or (n, 1, n_classes)
    tail : float
    center : float, default 0
        Score of two classes that stays in its place. For more classes it is the largest score of each row, which
        becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> compress(np.array([[-np.expm1(3.0)], [0.0], [1.0]]), 1.0).round(3).tolist()
    [[-3.0], [0.0], [0.693]]
    """
    if x.ndim == 2:
        distance = x - center
        return np.asarray(np.sign(distance) * _shorten(np.abs(distance), tail))
    return -_shorten(_below_largest(x), tail)


def _shorten(size: Floats, tail: float) -> Floats:
    """Return τ log(1 + size / τ)."""
    with np.errstate(over="ignore"):
        return np.asarray(tail * np.log1p(size / tail))


def _below_largest(x: Floats) -> Floats:
    """Return the largest score of each row minus each score; equal scores differ by 0 even if they are infinite."""
    largest = x.max(axis=-1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(x == largest, 0.0, largest - x)


class _Units(NamedTuple):
    """Centre of the scores of two classes, and typical size of a score."""

    center: float
    size: float


def _find_units(rows: TrainingRows) -> _Units | None:
    """Return the centre and the typical size of the scores, or None if all scores of each row are equal.

    They are medians in which all classes have the same weight, so that they do not depend on outliers.
    """
    weight = (1 / rows.totals)[rows.codes] * (1.0 if rows.weight is None else rows.weight)
    if rows.x.ndim == 2:
        center = _weighted_median(rows.x[:, 0], weight)
        sizes = np.abs(rows.x[:, 0] - center)
    else:
        # Difference between the two largest scores of a row.
        center, largest = 0.0, np.partition(rows.x[:, 0], -2, axis=1)[:, -2:]
        sizes = largest[:, 1] - largest[:, 0]
    kept = sizes > 0
    if not kept.any():
        return None
    size = _weighted_median(sizes[kept], weight[kept])
    # Compression needs differences and quotients that neither overflow nor underflow.
    return _Units(center, size) if size > 1e-100 and np.abs(rows.x).max() < 1e100 else None


def _weighted_median(values: Floats, weight: Floats) -> float:
    """Return the middle between the lower and the upper median; weights equal repetition.

    Examples
    --------
    >>> import numpy as np
    >>> _weighted_median(np.array([5.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    2.0
    >>> _weighted_median(np.arange(4.0), np.ones(4))
    1.5
    """
    order = np.argsort(values)
    shares = np.cumsum(weight[order])
    shares /= shares[-1]
    # A share of one half up to rounding is one half, so that repeated rows and weighted rows agree.
    low, high = np.searchsorted(shares, [0.5 - 1e-9, 0.5 + 1e-9])
    return float((values[order[low]] + values[order[high]]) / 2)


class _Point(NamedTuple):
    """Compression at τ = ``ratio`` times the typical size, with the parameters that minimise the objective there."""

    ratio: float
    parameters: Floats
    value: float


class _Search:
    """Search for the τ with the smallest objective, on a sample of the rows if there are many.

    Parameters
    ----------
    rows : TrainingRows
    units : _Units
    limit : float
        Decrease of the objective that the likelihood-ratio test requires.
    soften : bool
        Whether the targets are those of Laplace's rule.
    rising : bool
        Whether a negative scale is replaced by 0.
    """

    def __init__(self, rows: TrainingRows, units: _Units, limit: float, soften: bool, rising: bool) -> None:
        signed = (rows.x[:, 0] - units.center if rows.x.ndim == 2 else -_below_largest(rows.x[:, 0])) / units.size
        kept, self.weight = _take_rows(np.abs(signed if rows.x.ndim == 2 else signed.min(axis=1)), rows)
        signed, self.codes = signed[kept], rows.codes[kept]
        self.x, self.sign, self.size = signed.reshape(len(signed), -1), np.sign(signed), np.abs(signed)
        self.classes, self.limit, self.rising, self.of = rows.classes, limit, rising, objective_of(rows.x)
        targets = soften_targets(rows.totals) if soften else np.eye(len(rows.classes))
        self.args = rows.priors / np.bincount(self.codes, self.weight, len(rows.classes)), rows.priors, targets

    def run(self, start: Floats) -> _Point | None:
        """Return the best point, or None if no point of the grid decreases the objective by a third of the limit.

        Points between those of the grid cannot be much better. ``start`` holds the affine parameters.
        """
        affine = self._minimize(np.inf, start)
        grid = self._descend_grid(affine)
        best = min(range(len(grid)), key=lambda i: grid[i].value)
        if grid[best].value >= affine.value - self.limit / 3:
            return None
        # Neighbours on both sides; the affine point stands for the one above the grid.
        above = grid[best - 1] if best else affine._replace(ratio=_LARGEST * _FACTOR)
        return self._refine(grid[best + 1], grid[best], above) if best + 1 < len(grid) else grid[best]

    def _descend_grid(self, affine: _Point) -> list[_Point]:
        """Go from weak to strong compression until two points in turn are clearly worse than the best."""
        grid, best, failures = [self._minimize(_LARGEST, affine.parameters)], affine.value, 0
        while failures < 2 and grid[-1].ratio > 1.5 * _SMALLEST:
            best = min(best, grid[-1].value)
            grid.append(self._minimize(grid[-1].ratio / _FACTOR, grid[-1].parameters))
            failures = failures + 1 if grid[-1].value > best + self.limit / 3 else 0
        return grid

    def _refine(self, low: _Point, best: _Point, high: _Point) -> _Point:
        """Search between two neighbours of the best point, by successive parabolic interpolation in log τ."""
        for _ in range(_REFINEMENTS):
            at = _vertex(*((float(np.log(point.ratio)), point.value) for point in (low, best, high)))
            new = self._minimize(float(np.exp(at)), best.parameters)
            inner, outer = (new, best) if new.value < best.value else (best, new)
            low, high = (low, outer) if outer.ratio > inner.ratio else (outer, high)
            best = inner
        return best

    def _minimize(self, ratio: float, start: Floats) -> _Point:
        """Minimise the objective at one τ, to the digits that the test needs."""
        x = self.x if np.isinf(ratio) else (self.sign * _shorten(self.size, ratio)).reshape(self.x.shape)
        source = ArraySource(x, self.codes, self.weight, self.classes)
        goal = Goal(min(1e-3, self.limit / 100), max_iter=20, lower_bound=1e-9)
        found = newton(lambda theta: source.reduce(self.of, theta, *self.args), start, goal)
        falls = self.rising and found.parameters[0] < 0
        return _Point(ratio, found.parameters, float(entr(self.args[1]).sum()) if falls else found.objective.value)


def _vertex(low: tuple[float, float], middle: tuple[float, float], high: tuple[float, float]) -> float:
    """Return the minimum of the parabola through three points (x, y), kept away from the three x.

    Examples
    --------
    >>> round(_vertex((0.0, 4.0), (1.0, 1.0), (4.0, 4.0)), 9)
    2.0
    """
    left, right = middle[0] - low[0], high[0] - middle[0]
    rise, fall = (high[1] - middle[1]) / right, (middle[1] - low[1]) / left
    at = middle[0] + (fall * right + rise * left) / (2 * (fall - rise)) if rise > fall else middle[0]
    # At least a tenth of the interval from its ends and from the middle, so that the interval shrinks.
    margin = 0.1 * (left if at < middle[0] else right)
    at = min(max(at, low[0] + 0.1 * left), high[0] - 0.1 * right)
    if abs(at - middle[0]) >= margin:
        return at
    return middle[0] + margin if right > left else middle[0] - margin


def _take_rows(sizes: Floats, rows: TrainingRows) -> tuple[Any, Floats | None]:
    """Return the positions and weights of rows that represent all rows.

    They are the rows of each class with the largest scores, which determine the tails, and every m-th other row with m
    times its weight.
    """
    counts = np.bincount(rows.codes)
    wanted = max(_SEARCH_ROWS // len(counts), 4 * _LARGEST_ROWS)
    if counts.max() <= 2 * wanted:
        return slice(None), rows.weight
    kept, factors = [], []
    for code in range(len(counts)):
        positions = np.flatnonzero(rows.codes == code)
        stride = max(1, len(positions) // wanted)
        split = max(0, len(positions) - _LARGEST_ROWS)
        order = np.argpartition(sizes[positions], min(split, len(positions) - 1))
        others = np.sort(order[:split])[::stride]
        kept += [positions[order[split:]], positions[others]]
        factors += [np.ones(len(order) - split), np.full(len(others), split / max(1, len(others)))]
    found, factor = np.concatenate(kept), np.concatenate(factors)
    return found, factor if rows.weight is None else factor * rows.weight[found]


def _offset_of(parameters: Floats) -> Any:
    return float(parameters[1]) if len(parameters) == 2 else parameters[1:]
