"""What every mixture is asked for once it is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely._typing import Floats, Integers
from likely._validation import check_rows, check_weight
from likely.blocks import SourceLearner
from likely.densities.base import DensityMethods
from likely.densities.mixtures.em import MOST_PASSES, Climb
from likely.densities.mixtures.mixed import Mixed
from likely.exceptions import warn_of_no_convergence

__all__ = ["MixtureBase"]


class MixtureBase(DensityMethods, SourceLearner):
    """Densities, responsibilities and criteria of a fitted mixture, whatever its components."""

    n_parameters_: int
    mixed_: Mixed
    history_: Floats
    restarts_: list[int]
    converged_: bool

    @property
    def weights_(self) -> Floats:
        return self._mixed().weights

    @property
    def n_iter_(self) -> int:
        self._mixed()
        return len(self.history_)

    def log_density(self, X: Any) -> Floats:
        """Natural log of the density at each row, of shape (n,)."""
        mixed = self._mixed()
        return mixed.log_density(check_rows(self, X))

    def responsibilities(self, X: Any) -> Floats:
        """Posterior probability of each component for each row, of shape (n, n_components)."""
        mixed = self._mixed()
        return mixed.responsibilities(check_rows(self, X))

    def predict(self, X: Any) -> Integers:
        """The likeliest component of each row, the first of equals."""
        mixed = self._mixed()
        return mixed.nearest(check_rows(self, X))

    def _draw(self, n_samples: int, random: np.random.RandomState) -> Floats:
        return self._mixed().sample(n_samples, random)[0]

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayes' information criterion, −2 log-likelihood + parameters · log rows: of two mixtures take the lower."""
        log_likelihood, n = self._log_likelihood(X, sample_weight)
        return -2 * log_likelihood + self.n_parameters_ * float(np.log(n))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, −2 log-likelihood + 2 parameters: of two mixtures take the lower."""
        return -2 * self._log_likelihood(X, sample_weight)[0] + 2 * self.n_parameters_

    def _log_likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        mixed, rows = self._mixed(), check_rows(self, X)
        weight = check_weight(sample_weight, rows.shape[0])
        if weight is None:
            return float(mixed.log_density(rows).sum()), rows.shape[0]
        kept = np.flatnonzero(weight)
        return float(weight[kept] @ mixed.log_density(rows[kept])), float(weight.sum())

    def _mixed(self) -> Mixed:
        check_is_fitted(self, "mixed_")
        return self.mixed_

    def _hold(self, found: Climb) -> None:
        self.mixed_, self.history_ = found.mixed, np.array(found.history)
        self.restarts_, self.converged_ = found.restarts, found.converged

    def _tell(self) -> None:
        """Say what did not go well."""
        if not self.converged_:
            warn_of_no_convergence(
                f"{self._name()} stopped after {MOST_PASSES} passes, before the likelihood came to rest. Use a larger "
                "tolerance, or go on from here by giving what was found as init."
            )
