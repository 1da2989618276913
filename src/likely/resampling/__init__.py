"""Cross-validation from sums: every fold's models are estimated from the cells it needs."""

from likely.resampling.kfold import kfold_scores

__all__ = ["kfold_scores"]
