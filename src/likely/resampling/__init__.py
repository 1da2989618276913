"""Cross-validation from sums: the models of each fold are estimated from sums over the rows of the other folds."""

from likely.resampling.kfold import kfold_calibrate, kfold_scores

__all__ = ["kfold_calibrate", "kfold_scores"]
