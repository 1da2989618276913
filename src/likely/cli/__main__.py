"""The command ``likely`` as ``python -m likely.cli``."""

from likely.cli import main

if __name__ == "__main__":
    main()
