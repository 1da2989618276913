"""Classifiers: each gives evidence, and decides when an application is brought."""

from likely.models.base import EvidenceClassifier
from likely.models.gaussian import GaussianClassifier, NearestMeanClassifier, QuadraticForm
from likely.models.pipeline import Pipeline, make_pipeline

__all__ = [
    "EvidenceClassifier",
    "GaussianClassifier",
    "NearestMeanClassifier",
    "Pipeline",
    "QuadraticForm",
    "make_pipeline",
]
