"""Classifiers: each gives evidence, and decides when an application is brought."""

from likely.models.base import EvidenceClassifier
from likely.models.calibrated import CalibratedClassifier, FusedClassifier
from likely.models.gaussian import GaussianClassifier, NearestMeanClassifier, QuadraticForm
from likely.models.pipeline import Pipeline, make_pipeline

__all__ = [
    "CalibratedClassifier",
    "EvidenceClassifier",
    "FusedClassifier",
    "GaussianClassifier",
    "NearestMeanClassifier",
    "Pipeline",
    "QuadraticForm",
    "make_pipeline",
]
