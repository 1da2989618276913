"""Former names of functions of ``_formatting``."""

from likely._formatting import escape_controls as printable
from likely._formatting import format_count as counted
from likely._formatting import format_number as number
from likely._formatting import shorten as shortened

__all__ = ["counted", "number", "printable", "shortened"]
