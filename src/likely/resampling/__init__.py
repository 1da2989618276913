"""Cross-validation from sums: the models of each fold are estimated from the cells outside it."""

from likely.resampling.kfold import kfold_calibrate, kfold_scores

__all__ = ["kfold_calibrate", "kfold_scores"]
