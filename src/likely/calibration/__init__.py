"""Maps on scores: they take and give the same kind of thing, so they chain."""

from likely.calibration.affine import AffineCalibrator
from likely.calibration.fusion import LogisticFusion, ProductFusion, VotingFusion
from likely.calibration.isotonic import IsotonicCalibrator
from likely.calibration.priors import estimate_priors

__all__ = [
    "AffineCalibrator",
    "IsotonicCalibrator",
    "LogisticFusion",
    "ProductFusion",
    "VotingFusion",
    "estimate_priors",
]
