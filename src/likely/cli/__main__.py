"""Entry point of ``python -m likely.cli``."""

from likely.cli import main

if __name__ == "__main__":
    main()
