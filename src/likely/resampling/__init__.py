"""Cross-validation of many models.

Where possible, the model that is tested on a fold is estimated from sums over the rows of the other folds.
"""

from likely.resampling.kfold import kfold_calibrate, kfold_scores

__all__ = ["kfold_calibrate", "kfold_scores"]
