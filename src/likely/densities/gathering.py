"""Old spelling of :mod:`likely.blocks.gathering`."""

from likely.blocks.gathering import check_classes, checked_total, class_moments, joint_moments, moments

__all__ = ["check_classes", "checked_total", "class_moments", "joint_moments", "moments"]
