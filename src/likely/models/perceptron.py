"""Perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from likely._constraints import Constraints, check_parameters, count, flag, floats, instance_of, one_of, random_state
from likely._fitted import all_or_nothing
from likely._typing import Floats, Integers, KeptWeights, Labels, Rows
from likely._validation import check_labels, check_n_classes, encode_labels
from likely.blocks import Block, Source, SourceLearner
from likely.exceptions import (
    IncompatiblePartsError,
    InvalidDataError,
    warn_of_no_convergence,
)
from likely.models.base import ScoreClassifier
from likely.models.linear_scores import linear_scores
from likely.objectives.perceptron import PerceptronWeights, count_block_mistakes

MAX_BLOCK_ROWS, MAX_BLOCK_VALUES = 2**14, 2**20
"""Maximum rows and values of a block of dense rows, which is converted to double precision as a whole."""

_ANNOUNCE = "Announce all classes in the first partial_fit if some of them come later."

MAX_WEIGHT = 1e9
"""Maximum weight of a row: the number of its presentations in one pass."""

CANDIDATES = 8
"""Number of weight vectors that the pocket evaluates per epoch: those with the longest correct runs. The last weight
vector is evaluated too."""


@dataclass(frozen=True, eq=False)
class PerceptronState:
    """Kept weights, current weights from which learning continues, and the history of the epochs."""

    coef_: Annotated[Floats, floats("r", "d")]
    intercept_: Annotated[Floats, floats("r")]
    _weights: Annotated[PerceptronWeights, instance_of(PerceptronWeights, r="r", d="d")]
    n_updates_: Annotated[int, count()]
    n_iter_: Annotated[int, count(1)]
    mistakes_: Annotated[Floats, floats("epochs", low=0)]
    converged_: Annotated[bool, flag]


class Perceptron(ScoreClassifier, SourceLearner):
    """Perceptron: a linear classifier trained online, with an update after each mistake.

    The perceptron assumes that a hyperplane separates the classes. It then converges after finitely many updates to
    weights without mistakes, which are not unique and not optimal. If the classes overlap, it never converges: it stops
    at ``max_iter`` and warns, and ``keep`` determines the weights that are kept. The score has no probabilistic
    meaning; :class:`likely.CalibratedClassifier` converts it to log-likelihood ratios. The result depends on the order
    of the rows and on the scale of the columns. The perceptron changes neither, so put :class:`likely.Standardize`
    before it if the scales differ. Missing values raise an error.

    Parameters
    ----------
    keep : {"average", "pocket", "last"}, default "average"
        Weights to keep. "average" keeps the average over all presentations of rows, which generalises best if the
        classes overlap. The average may misclassify a few training rows even if the last weights misclassify none, so
        ``fit`` keeps the last weights if it converges. "pocket" keeps the weights with the fewest mistakes on all
        training rows, among the candidates of every epoch. "last" keeps the last weights, to which the convergence
        theorem applies. A model whose ``fit`` converged thus classifies all training rows correctly.
    max_iter : int, default 100
        Maximum number of passes over the rows.
    shuffle : bool, default False
        Whether to visit the rows in a new random order in every pass, which helps if they are sorted. Rows in memory
        are shuffled together. For other sources the blocks are shuffled, and the rows within each block.
    random_state : int, RandomState or None
        Random state of the shuffling.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights that are kept. Two classes have one weight vector; it points to the second class.
    intercept_ : array of shape (n_classes,), or (1,)
        Weight of a constant feature 1.
    n_updates_ : int
        Number of updates so far.
    n_iter_ : int
        Number of passes so far.
    mistakes_ : array of shape (n_iter_,)
        Total weight of the rows misclassified during each pass.
    converged_ : bool
        Whether the last pass made no mistake.

    Notes
    -----
    Let x hold the features and a 1 for the bias. Let t be +1 for the second class and −1 for the first. The weights
    start at w = 0. A row is a mistake if t w'x ≤ 0; equality counts because otherwise w = 0 would never change. The
    update is w ← w + t x. With K > 2 classes each class has a vector w_k. A row of class y is a mistake if
    w_y'x ≤ w_r'x, where r is the class with the highest score among the others. The update is w_y ← w_y + x and
    w_r ← w_r − x (Kesler's construction). For K = 2 this rule would keep w_1 = −w_0 and make the same mistakes, so only
    w = w_1 is stored.

    If some w* separates two classes with t w*'x ≥ γ > 0 in all rows, there are at most max‖x‖² ‖w*‖² / γ² updates for
    any order of the rows (Novikoff). For more classes the bound is twice that, where γ is the minimum of
    w*_y'x − w*_r'x and ‖w*‖² is summed over the classes. Norms include the 1 for the bias.

    A row of weight c is presented c times in succession. A fractional remainder is one presentation with a
    proportionally shorter update. Without shuffling, integer weights therefore give the same bits as repeated rows. If
    all weights are at most 1, scaling them down does not change a decision.

    The pocket has nine candidates in every epoch: the last weights, and the eight with the longest correct runs before
    their first mistake. All candidates are evaluated on all rows. The best one replaces the stored weights if it makes
    fewer mistakes, so the number of mistakes never increases (Gallant's ratchet). The pocket chooses only among weights
    that occur. With few rows in a fixed order the same weights may recur; shuffling gives others.

    Sparse rows stay sparse, in memory and in every step.

    References
    ----------
    Rosenblatt, The perceptron, Psychological Review 65 (1958). Novikoff, On convergence proofs on perceptrons (1962).
    Gallant, Perceptron-based learning algorithms, IEEE Trans. Neural Networks 1 (1990). Freund and Schapire, Large
    margin classification using the perceptron algorithm, Machine Learning 37 (1999).

    Examples
    --------
    >>> model = Perceptron(keep="last").fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    >>> model.converged_, model.n_updates_, model.coef_, model.intercept_
    (True, 18, array([[3., 2.]]), array([-4.]))
    >>> model.decision_function([[1, 1], [0, 1]])
    array([ 1., -2.])
    """

    by_class = True

    _State = PerceptronState
    _constraints: ClassVar[Constraints] = {
        "keep": one_of("average", "pocket", "last"),
        "max_iter": count(1, 10**9),
        "shuffle": flag,
        "random_state": random_state,
    }
    coef_: Floats
    intercept_: Floats

    def __init__(
        self, *, keep: KeptWeights = "average", max_iter: int = 100, shuffle: bool = False, random_state: Any = None
    ) -> None:
        self.keep = keep
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows in memory, in their order. An error leaves the model unchanged.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n_features)
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Frequencies.

        Returns
        -------
        self
        """
        super().fit(X, y, sample_weight)
        self._warn_unless_converged()
        return self

    def fit_source(self, source: Source) -> Self:
        """Fit the model to the rows of a source, block by block in order. An error leaves the model unchanged."""
        super().fit_source(source)
        self._warn_unless_converged()
        return self

    @available_if(lambda self: self.keep != "pocket")  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over a batch of rows, starting from the current weights. An error leaves the model unchanged.

        Without shuffling, one pass over successive batches equals one pass over all their rows. With ``keep="pocket"``
        this method does not exist, because the pocket is evaluated on all rows.

        Parameters
        ----------
        classes : array of labels, optional
            All classes that will occur, by default those of the first batch.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            first = "_state" not in vars(self)
            source = self._source(X, y, sample_weight, first, lambda labels: self._encode(labels, classes, first))
            weights = PerceptronWeights.zero(len(self.classes_), source.n_features) if first else self._weights.copy()
            missed = weights.run_pass(source.iter_blocks(self._order_state()))
            kept = weights.average if self.keep == "average" else weights.last
            self._set_state(weights, [missed] if first else [*self.mistakes_, missed], kept)
        return self

    def _block_rows(self, X: Rows) -> int:
        """Return the number of rows per block; sparse rows, which are not converted to dense, form one block."""
        n, d = X.shape
        return int(n if issparse(X) else max(1, min(MAX_BLOCK_ROWS, MAX_BLOCK_VALUES // max(d, 1))))

    def _learn(self, source: Source) -> None:
        assert source.classes is not None
        check_n_classes("Perceptron", source.classes, _ANNOUNCE)
        self.classes_ = source.classes
        source.reduce(_check_presentations)
        n_candidates = CANDIDATES if self.keep == "pocket" else 0
        weights = PerceptronWeights.zero(len(source.classes), source.n_features, n_candidates)
        random, missed = self._order_state(), list[float]()
        fewest, pocket = np.inf, None
        while len(missed) < self.max_iter and (not missed or missed[-1] > 0):
            # One epoch of updates; then Gallant's ratchet: keep the best candidate so far on all rows.
            missed.append(weights.run_pass(source.iter_blocks(random)))
            if self.keep == "pocket":
                counts = source.reduce(count_block_mistakes, weights.candidates, weights.n_passes)
                if counts.min() < fewest:
                    fewest, pocket = counts.min(), weights.candidates[counts.argmin()]
        # After a pass without mistakes the last weights are right in all rows; the average need not be.
        has_average = self.keep == "average" and missed[-1] > 0
        self._set_state(weights, missed, weights.average if has_average else weights.last if pocket is None else pocket)

    def _set_state(self, weights: PerceptronWeights, missed: list[float], kept: Floats) -> None:
        """Set the fitted state from the weights of the last pass, the mistakes of all passes, and the kept weights."""
        self._state = PerceptronState(
            coef_=kept[:, :-1].copy(),
            intercept_=kept[:, -1].copy(),
            _weights=weights,
            n_updates_=weights.n_updates,
            n_iter_=weights.n_passes,
            mistakes_=np.array(missed),
            converged_=missed[-1] == 0,
        )

    def _order_state(self) -> Any:
        return check_random_state(self.random_state) if self.shuffle else None

    def _warn_unless_converged(self) -> None:
        if self.converged_:
            return
        remedy = {
            "last": "If so, set keep='average' or keep='pocket'. Alternatively, use LogisticRegression",
            "average": "The average of the weights is kept, which does not need convergence",
            "pocket": "The weights with the fewest mistakes are kept",
        }[self.keep]
        warn_of_no_convergence(
            f"Perceptron did not converge in {self.n_iter_} epochs and {self.n_updates_} updates: the last epoch had "
            f"{self.mistakes_[-1]:g} mistakes. The classes may overlap. {remedy}. If the classes are separable, "
            "raise max_iter and give the columns similar scales."
        )

    def _encode(self, labels: Labels, classes: Any, first: bool) -> tuple[Labels, Integers]:
        """Return ``classes_``, which the first batch determines, and the code of each label."""
        found, codes = encode_labels(labels)
        if first:
            named = found if classes is None else check_labels("classes", list(classes))
            self.classes_ = np.unique(named)
            check_n_classes("Perceptron", self.classes_, _ANNOUNCE)
        elif classes is not None and np.unique(classes).tolist() != self.classes_.tolist():
            raise IncompatiblePartsError(
                f"Perceptron has the classes {self.classes_.tolist()}, but this partial_fit announces {list(classes)}."
            )
        unknown = [label for label in found.tolist() if label not in self.classes_.tolist()]
        if unknown:
            raise InvalidDataError(
                f"The label {unknown[0]!r} is not among the announced classes {self.classes_.tolist()}. "
                "Announce all classes in the first partial_fit."
            )
        return self.classes_, np.searchsorted(self.classes_, found)[codes]

    def _scores(self, X: Rows) -> Floats:
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def __getattr__(self, name: str) -> Any:
        if name == "partial_fit":
            raise AttributeError(
                "Perceptron(keep='pocket') has no partial_fit, because the pocket algorithm evaluates weights on all "
                "rows, and earlier batches are not stored. Fit all rows at once. Alternatively, set keep='average' or "
                "keep='last'."
            )
        return super().__getattr__(name)


def _check_presentations(block: Block) -> int:
    """Raise if a weight exceeds the maximum number of presentations of a row."""
    if block.weight is not None and len(block) and block.weight.max() > MAX_WEIGHT:
        raise InvalidDataError(
            "Perceptron presents every row as many times as its weight says, so weights must be at most "
            f"{MAX_WEIGHT:.0e}, but a row has the weight {block.weight.max():.3g}. Scale the weights down."
        )
    return len(block)
