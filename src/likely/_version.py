"""Which version this is."""

from importlib.metadata import PackageNotFoundError, version


def library_version() -> str:
    """The version that is installed; "0" where the source is run without being installed."""
    try:
        return version("likely")
    except PackageNotFoundError:
        return "0"
