"""The problem of one margin among all classes: bounds of its least value at any point, and steps towards it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likely._typing import Floats
from likely.blocks import Source
from likely.objectives.svm.joint_sums import (
    DualSums,
    JointRepair,
    JointSums,
    dual_sums,
    joint_loss,
    joint_margin,
    joint_product,
    joint_sums,
)
from likely.objectives.svm.points import Point
from likely.objectives.svm.rows import Setting
from likely.objectives.svm.systems import System, by_hessian, by_products

__all__ = ["JointProblem"]

PRECISION, MOST_PRODUCTS = 0.03, 1500
"""Relative residual of steps found by products with the Hessian, and most products for one step. Steps are less precise
than for two sides, which saves more products than the few more steps take."""


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Minimise ½ Σ ‖w_k‖² + Σ C max_k t_k, with ½ Σ (b_k − w_k'origin)² / K² beside it if biases are regularised.

    Parameters
    ----------
    source : Source
    setting : Setting
    bias_scale : float, optional
        K.
    origin : array of shape (d,)
        The centre of the rows, in whose coordinates the w are.
    """

    source: Source
    setting: Setting
    bias_scale: float | None
    origin: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and parameters of each."""
        return len(self.setting.costs), len(self.origin) + 1

    @property
    def stiff(self) -> Floats:
        """a, where the penalty of a class's bias is ½ (a'θ_k)²; 0 for a free one."""
        if self.bias_scale is None:
            return np.zeros(self.shape[1])
        return np.append(-self.origin, 1.0) / self.bias_scale

    def pressed(self, theta: Floats) -> Floats:
        """The gradient of the penalties."""
        lines = theta.reshape(self.shape)
        pressed = np.outer(lines @ self.stiff, self.stiff)
        pressed[:, :-1] += lines[:, :-1]
        return pressed.reshape(-1)

    def primal(self, theta: Floats) -> float:
        """The objective."""
        return float(theta @ self.pressed(theta)) / 2 + self.source.reduce(joint_loss, theta, self.setting)

    def at(self, theta: Floats, mu: float) -> Point:
        """Look at a point: a pass over the rows for the sums there, and one for the dual value."""
        sums = self.source.reduce(joint_sums, theta, mu, self.setting)
        pressed = self.pressed(theta)
        penalty = float(theta @ pressed) / 2
        dual, repair = -np.inf, JointRepair(np.zeros(self.shape[0]), np.zeros(self.shape[0]))
        if np.isfinite(sums.value):
            repair = self.repair(sums, theta)
            dual, share = self.dual(self.source.reduce(dual_sums, theta, mu, repair, self.setting))
            repair = replace(repair, shares=share * repair.shares)
        return Point(theta, mu, sums, pressed + sums.gradient, penalty, dual, repair)

    def repair(self, sums: JointSums, theta: Floats) -> JointRepair:
        """What balances multipliers: free biases demand Σ η_k = 0 of each class; with others −b_k / K² is aimed at.

        Multipliers are shifted as moved biases would do it. If that is too much, those of regularised biases go as far
        as they may; for free ones the multipliers of each class are multiplied by the share of time that is spent in
        the class where ``flows`` are the rates of moving from class to class: all that moves in moves out again.
        """
        K, still = self.shape[0], np.zeros(self.shape[0])
        wanted = still if self.bias_scale is None else -theta.reshape(self.shape) @ self.stiff / self.bias_scale
        rates = sums.spread + np.trace(sums.spread) / K**2
        try:  # classes that hardly any row moves to make it ill-conditioned, but residuals are small for small shifts
            shift = np.linalg.solve(rates, wanted - sums.flows.sum(axis=0))
        except np.linalg.LinAlgError:
            shift = np.full(K, np.inf)
        width = np.ptp(shift) if np.isfinite(shift).all() else np.inf
        if width <= 0.5:
            return JointRepair(shift, np.ones(K))
        if self.bias_scale is None:
            return JointRepair(still, _stationary(sums.flows))
        return JointRepair(shift / (2 * width) if np.isfinite(width) else still, np.ones(K))

    def dual(self, sums: DualSums) -> tuple[float, float]:
        """The value of the best multiple, up to 1, of multipliers that keep the constraints; and which multiple."""
        pull, total = sums.pulls[:, :-1], sums.pulls[:, -1]
        square = float(np.square(pull).sum())
        if self.bias_scale is not None:
            square = float(
                np.square(pull + np.outer(total, self.origin)).sum() + np.square(self.bias_scale * total).sum()
            )
        share = min(1.0, sums.total / square) if square > 0 else 1.0
        return share * sums.total - share**2 * square / 2, share

    def system(self, point: Point) -> System:
        """The Newton step at a point: by the Hessian, or by products with it."""
        if not np.isfinite(point.value):
            return System(point, np.zeros_like)
        if self.setting.forms:
            return System(point, by_hessian(self._penalised(point.sums.curvature)))
        place = point.theta, point.mu
        rows = self.source.reduce(joint_margin, *place, self.setting)

        def times(direction: Floats) -> Floats:
            if rows.parts is not None:
                return self.pressed(direction) + rows.product(direction)
            return np.asarray(
                self.pressed(direction) + self.source.reduce(joint_product, *place, direction, self.setting)
            )

        penalties = np.append(np.ones(len(self.origin)), 0.0) + np.square(self.stiff)
        return System(
            point,
            by_products(times, point.sums.curvature + np.tile(penalties, self.shape[0]), PRECISION, MOST_PRODUCTS),
        )

    def _penalised(self, curvature: Floats) -> Floats:
        """The Hessian with penalties; the sum of free biases, which nothing depends on, is given some curvature."""
        (K, q), hessian = self.shape, curvature.copy()
        one = np.diag(np.append(np.ones(q - 1), 0.0)) + np.outer(self.stiff, self.stiff)
        for k in range(K):
            hessian[k * q : (k + 1) * q, k * q : (k + 1) * q] += one
        biases = slice(q - 1, None, q)
        hessian[biases, biases] += np.trace(hessian[biases, biases]) / K**2
        return hessian


def _stationary(flows: Floats) -> Floats:
    """Shares a ≥ 0, at most 1, with Σ_y a_y flows[y] = 0, for lines that sum to 0 and are < 0 on the diagonal only.

    Classes are taken out one after another, what flows through them being led past, and put back in turn: sums of what
    is not negative, so nothing cancels (Grassmann, Taksar and Heyman, 1985).
    """
    K, rates = len(flows), flows.copy()
    np.fill_diagonal(rates, 0.0)
    for k in range(K - 1, 0, -1):
        out = rates[k, :k].sum()
        if not out > 0:
            return np.zeros(K)
        rates[:k, k] /= out
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    shares = np.ones(K)
    for k in range(1, K):
        shares[k] = shares[:k] @ rates[:k, k]
    return np.asarray(shares / shares.max())
