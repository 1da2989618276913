"""Classifiers, linear regression and pipelines.

A classifier returns log-likelihoods. Decisions follow from them and an :class:`likely.Application`.
"""

from likely.models.base import EvidenceClassifier
from likely.models.calibrated import CalibratedClassifier, FusedClassifier
from likely.models.fisher import FisherClassifier
from likely.models.gaussian import GaussianClassifier, NearestMeanClassifier, QuadraticForm
from likely.models.generative import GenerativeClassifier
from likely.models.kernel_logistic import KernelLogisticRegression
from likely.models.least_squares import LeastSquaresClassifier
from likely.models.linear_regression import LinearRegression
from likely.models.logistic import LogisticRegression
from likely.models.mixture import MixtureClassifier
from likely.models.open_set import OpenSetClassifier
from likely.models.perceptron import Perceptron
from likely.models.pipeline import Pipeline, make_pipeline
from likely.models.svm import SVM

__all__ = [
    "SVM",
    "CalibratedClassifier",
    "EvidenceClassifier",
    "FisherClassifier",
    "FusedClassifier",
    "GaussianClassifier",
    "GenerativeClassifier",
    "KernelLogisticRegression",
    "LeastSquaresClassifier",
    "LinearRegression",
    "LogisticRegression",
    "MixtureClassifier",
    "NearestMeanClassifier",
    "OpenSetClassifier",
    "Perceptron",
    "Pipeline",
    "QuadraticForm",
    "make_pipeline",
]
