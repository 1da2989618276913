"""Calibration and fusion of scores. Each map takes and returns the same type of scores, so maps can be composed."""

from likely.calibration.affine import AffineCalibrator
from likely.calibration.fusion import LogisticFusion, ProductFusion, VotingFusion
from likely.calibration.isotonic import IsotonicCalibrator
from likely.calibration.priors import estimate_priors
from likely.calibration.tail import TailCalibrator

__all__ = [
    "AffineCalibrator",
    "IsotonicCalibrator",
    "LogisticFusion",
    "ProductFusion",
    "TailCalibrator",
    "VotingFusion",
    "estimate_priors",
]
