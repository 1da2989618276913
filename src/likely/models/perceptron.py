"""The perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from likely._constraints import Constraints, check_parameters, count, flag, floats, instance_of, one_of, random_state
from likely._fitted import all_or_nothing
from likely._typing import Floats, Integers, Labels, Rows
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

ROWS, VALUES = 2**14, 2**20
"""Most rows and most values of a block of dense rows, which is widened to double precision at a time."""

_ANNOUNCE = "Announce all classes in the first partial_fit if the others are still to come."

MOST_WEIGHT = 1e9
"""Of a row, in one pass."""

CANDIDATES = 8
"""Weights of an epoch that a pocket judges besides the last ones: those right the longest."""


@dataclass(frozen=True, eq=False)
class PerceptronState:
    """Kept weights, those that learning continues with, and how the epochs went."""

    coef_: Annotated[Floats, floats("r", "d")]
    intercept_: Annotated[Floats, floats("r")]
    _weights: Annotated[PerceptronWeights, instance_of(PerceptronWeights, r="r", d="d")]
    n_updates_: Annotated[int, count()]
    n_epochs_: Annotated[int, count(1)]
    mistakes_: Annotated[Floats, floats("epochs", low=0)]
    converged_: Annotated[bool, flag]


class Perceptron(ScoreClassifier, SourceLearner):
    """A linear boundary found by going through the rows, in order, and learning from each mistake.

    It assumes only that the classes can be separated by a line (a plane, …); if so it ends after finitely many updates
    on weights that make no mistake, though not on the best ones. If not it goes round for ever: it then stops at
    ``max_iter``, warns, and what is kept depends on ``keep``. Its score ranks and decides but has no probabilistic
    meaning; :class:`likely.CalibratedClassifier` gives it one. The result depends on the order of the rows and on the
    scale of the columns, none of which is changed: put :class:`likely.Standardize` before it where scales differ.
    Missing values are refused.

    Parameters
    ----------
    keep : {"average", "pocket", "last"}, default "average"
        Which of the many weights it goes through are kept: their average over all presentations of rows, which
        generalises best where classes overlap but may mistake a few training rows even where the last weights mistake
        none; those with the fewest mistakes over all training rows among the candidates of every epoch ("pocket"); or
        the last ones, about which the convergence theorem speaks.
    max_iter : int, default 100
        Most passes over the rows.
    shuffle : bool, default False
        Whether to go through the rows in a new random order in every pass, which helps where they are sorted. Rows in
        memory are shuffled all together; of other sources the blocks, and the rows of each.
    random_state : int, RandomState or None
        Where the orders come from.

    Attributes
    ----------
    classes_ : array of labels of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features), or (1, n_features) for two classes
        The weights kept. Of two classes there is one vector, which points to the second.
    intercept_ : array of shape (n_classes,), or (1,)
        The weight of a feature that is always 1.
    n_updates_ : int
        Updates made so far.
    n_epochs_ : int
        Passes made so far.
    mistakes_ : array of shape (n_epochs_,)
        Weight of the rows mistaken during each pass.
    converged_ : bool
        Whether the last pass made no mistake.

    Notes
    -----
    Let x hold the features and a 1 for the bias, and t be +1 for the second class and −1 for the first. Weights start
    at w = 0. A row is a mistake when t w'x ≤ 0 (0 too, or it would never start), and then w ← w + t x. With K > 2
    classes each has its w_k; a row of class y is a mistake when w_y'x ≤ w_r'x, where r is the highest of the others,
    and then w_y ← w_y + x and w_r ← w_r − x (Kesler's construction). For K = 2 that would keep w_1 = −w_0 and make the
    same mistakes, so one vector w = w_1 is kept.

    If some w* separates two classes, t w*'x ≥ γ > 0 in all rows, there are at most max‖x‖² ‖w*‖² / γ² updates, however
    the rows are ordered (Novikoff); for more classes at most twice that, γ being the least of w*_y'x − w*_r'x and ‖w*‖²
    summed over the classes. Norms count the 1 for the bias.

    A row of weight c is presented c times in succession, a fraction left over as one presentation whose update is that
    much shorter. So whole weights give, to the bit, what rows repeated in place give, if there is no shuffling; and
    weights that are all at most 1 may be scaled down without changing a decision.

    The pocket has nine candidates in every epoch: the weights it ended with, and the eight that were right the longest
    before their first mistake. All are judged on all rows, and the best replaces the one held if it makes fewer
    mistakes, so that they never increase (Gallant's ratchet). It chooses among weights that occur: in a fixed order of
    few rows these may come round again and again, and shuffling brings others.

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
        self, *, keep: str = "average", max_iter: int = 100, shuffle: bool = False, random_state: Any = None
    ) -> None:
        self.keep = keep
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in memory, in their order; an error leaves the model as it was.

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
        """Learn from the rows of a source, block by block in order; an error leaves the model as it was."""
        super().fit_source(source)
        self._warn_unless_converged()
        return self

    @available_if(lambda self: self.keep != "pocket")  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one more pass, over an instalment of rows; an error leaves the model as it was.

        One pass over instalments is one pass over all their rows, if there is no shuffling. With ``keep="pocket"``
        there is no such method, since a pocket is judged on all rows.

        Parameters
        ----------
        classes : array of labels, optional
            All classes to expect; by default those of the first instalment.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            first = "_state" not in vars(self)
            source = self._source(X, y, sample_weight, first, lambda labels: self._encoded(labels, classes, first))
            weights = PerceptronWeights.zero(len(self.classes_), source.n_features) if first else self._weights.copy()
            missed = weights.learn(source.iter_blocks(self._random()))
            self._settle(weights, [missed] if first else [*self.mistakes_, missed])
        return self

    def _block_rows(self, X: Rows) -> int:
        """Blocks that keep the order of the rows; sparse ones, which are never widened, in one."""
        n, d = X.shape
        return int(n if issparse(X) else max(1, min(ROWS, VALUES // max(d, 1))))

    def _learn(self, source: Source) -> None:
        assert source.classes is not None
        check_n_classes("Perceptron", source.classes, _ANNOUNCE)
        self.classes_ = source.classes
        source.reduce(_check_presentations)
        n_candidates = CANDIDATES if self.keep == "pocket" else 0
        weights = PerceptronWeights.zero(len(source.classes), source.n_features, n_candidates)
        random, missed = self._random(), list[float]()
        fewest, pocket = np.inf, None
        while len(missed) < self.max_iter and (not missed or missed[-1] > 0):
            missed.append(weights.learn(source.iter_blocks(random)))
            if self.keep == "pocket":
                counts = source.reduce(count_block_mistakes, weights.candidates, weights.n_passes)
                if counts.min() < fewest:
                    fewest, pocket = counts.min(), weights.candidates[counts.argmin()]
        self._settle(weights, missed, pocket)

    def _settle(self, weights: PerceptronWeights, missed: list[float], pocket: Floats | None = None) -> None:
        """Set the state from the weights of the last pass, or those in the pocket."""
        kept = pocket if pocket is not None else weights.average if self.keep == "average" else weights.last
        self._state = PerceptronState(
            coef_=kept[:, :-1].copy(),
            intercept_=kept[:, -1].copy(),
            _weights=weights,
            n_updates_=weights.n_updates,
            n_epochs_=weights.n_passes,
            mistakes_=np.array(missed),
            converged_=missed[-1] == 0,
        )

    def _random(self) -> Any:
        return check_random_state(self.random_state) if self.shuffle else None

    def _warn_unless_converged(self) -> None:
        if self.converged_:
            return
        remedy = {
            "last": "use keep='average' or 'pocket', or LogisticRegression",
            "average": "the average of the weights is kept, which that does not spoil",
            "pocket": "the weights with the fewest mistakes are kept",
        }[self.keep]
        warn_of_no_convergence(
            f"Perceptron did not converge in {self.n_epochs_} epochs and {self.n_updates_} updates: the last epoch had "
            f"{self.mistakes_[-1]:g} mistakes. The classes may overlap: {remedy}. If they can be separated, raise "
            "max_epochs, and see that columns are of like scale."
        )

    def _encoded(self, labels: Labels, classes: Any, first: bool) -> tuple[Labels, Integers]:
        """``classes_``, which the first instalment settles, and the positions of the labels among them."""
        found, codes = encode_labels(labels)
        if first:
            named = found if classes is None else check_labels("classes", list(classes))
            self.classes_ = np.unique(named)
            check_n_classes("Perceptron", self.classes_, _ANNOUNCE)
        elif classes is not None and np.unique(classes).tolist() != self.classes_.tolist():
            raise IncompatiblePartsError(
                f"Perceptron learns the classes {self.classes_.tolist()}, but {list(classes)} were announced now."
            )
        strangers = [label for label in found.tolist() if label not in self.classes_.tolist()]
        if strangers:
            raise InvalidDataError(
                f"The label {strangers[0]!r} is not among the announced classes {self.classes_.tolist()}. "
                "Announce all classes in the first partial_fit."
            )
        return self.classes_, np.searchsorted(self.classes_, found)[codes]

    def _scores(self, X: Rows) -> Floats:
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def __getattr__(self, name: str) -> Any:
        if name == "partial_fit":
            raise AttributeError(
                "Perceptron(keep='pocket') has no partial_fit, because it judges weights on all rows, which "
                "instalments do not keep. Use keep='average' or 'last', or fit all rows at once."
            )
        return super().__getattr__(name)


def _check_presentations(block: Block) -> int:
    """Refuse weights by which a row would be presented without end."""
    if block.weight is not None and len(block) and block.weight.max() > MOST_WEIGHT:
        raise InvalidDataError(
            f"Perceptron presents a row as often as its weight says, at most {MOST_WEIGHT:.0e} times, but a row weighs "
            f"{block.weight.max():.3g}. Scale the weights down."
        )
    return len(block)
