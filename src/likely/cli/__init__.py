"""The command line: one file for each command.

``app`` holds the command group and error handling, ``options`` the options that commands share, ``scores`` files of
scores and maps on them, and ``rendering`` and ``leaderboards`` the output. ``import likely`` imports none of them.
"""

__all__ = ["main"]


def main() -> None:
    """Run the command ``likely``."""
    from likely.cli.app import run

    run()
