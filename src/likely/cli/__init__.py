"""The command line: one file for each verb.

Nothing here is loaded by ``import likely``, and nothing of the library by ``likely --help``: a verb is imported when it
is run, and what it needs of the library inside its functions.
"""

__all__ = ["main"]


def main() -> None:
    """Run the command ``likely``."""
    from likely.cli.app import run

    run()
