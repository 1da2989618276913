"""Version of the installed library."""

from importlib.metadata import PackageNotFoundError, version


def library_version() -> str:
    """Return the installed version, or "0" if the library is run from source without installation."""
    try:
        return version("likely")
    except PackageNotFoundError:
        return "0"
