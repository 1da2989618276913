"""Pattern recognition whose outputs you can act on."""

from likely.blocks import ArraySource, Block, Source
from likely.decisions import Application
from likely.densities import Diagonal, Full, Gaussian, Spherical
from likely.exceptions import (
    DegenerateDataError,
    DegenerateDataWarning,
    IncompatiblePartsError,
    InvalidDataError,
    InvalidParameterError,
    LikelyError,
    MissingValuesError,
    NotEnoughDataError,
    SourceError,
)
from likely.features import LDA, PCA, Center, Standardize, Whiten
from likely.models import GaussianClassifier, NearestMeanClassifier, Pipeline, QuadraticForm, make_pipeline
from likely.resampling import kfold_scores

__all__ = [
    "LDA",
    "PCA",
    "Application",
    "ArraySource",
    "Block",
    "Center",
    "DegenerateDataError",
    "DegenerateDataWarning",
    "Diagonal",
    "Full",
    "Gaussian",
    "GaussianClassifier",
    "IncompatiblePartsError",
    "InvalidDataError",
    "InvalidParameterError",
    "LikelyError",
    "MissingValuesError",
    "NearestMeanClassifier",
    "NotEnoughDataError",
    "Pipeline",
    "QuadraticForm",
    "Source",
    "SourceError",
    "Spherical",
    "Standardize",
    "Whiten",
    "kfold_scores",
    "make_pipeline",
]
