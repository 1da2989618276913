"""Cross-validation from sums: every fold's models are estimated from the cells it needs."""

from likely.resampling.kfold import kfold_calibrate, kfold_scores

__all__ = ["kfold_calibrate", "kfold_scores"]
