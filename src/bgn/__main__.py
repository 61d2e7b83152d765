"""``python -m bgn`` is the command ``bgn``."""

from bgn.cli import main

if __name__ == "__main__":
    main()
