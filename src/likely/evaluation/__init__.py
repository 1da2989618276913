"""What anybody's scores are worth: rates, costs, curves and their intervals, from labels and scores alone."""

from likely.evaluation.confusion import Confusion, confusion
from likely.evaluation.costs import (
    bayes_risk,
    bayes_risk_after_affine,
    cross_entropy,
    cross_entropy_after_affine,
    risk_coverage,
)
from likely.evaluation.curves import (
    BayesErrorCurve,
    CostCurve,
    CrossEntropyCurve,
    Curve,
    DetCurve,
    ReliabilityCurve,
    RiskCoverageCurve,
    RocCurve,
    TippettCurve,
)
from likely.evaluation.intervals import Interval, PairedDifference, interval, intervals, paired_difference
from likely.evaluation.metrics import (
    actual_dcf,
    auc,
    calibration_loss,
    cllr,
    eer,
    eer_threshold,
    min_cllr,
    min_dcf,
    min_dcf_threshold,
)
from likely.evaluation.open_set import open_set_cost
from likely.evaluation.tracing import (
    bayes_error,
    cost_curve,
    det,
    empirical_cross_entropy,
    reliability,
    roc,
    roc_hull,
    tippett,
)
from likely.evaluation.trials import Trials

__all__ = [
    "BayesErrorCurve",
    "Confusion",
    "CostCurve",
    "CrossEntropyCurve",
    "Curve",
    "DetCurve",
    "Interval",
    "PairedDifference",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "RocCurve",
    "TippettCurve",
    "Trials",
    "actual_dcf",
    "auc",
    "bayes_error",
    "bayes_risk",
    "bayes_risk_after_affine",
    "calibration_loss",
    "cllr",
    "confusion",
    "cost_curve",
    "cross_entropy",
    "cross_entropy_after_affine",
    "det",
    "eer",
    "eer_threshold",
    "empirical_cross_entropy",
    "interval",
    "intervals",
    "min_cllr",
    "min_dcf",
    "min_dcf_threshold",
    "open_set_cost",
    "paired_difference",
    "reliability",
    "risk_coverage",
    "roc",
    "roc_hull",
    "tippett",
]
