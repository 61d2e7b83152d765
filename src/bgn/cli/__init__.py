"""The ``bgn`` command: from a file to a model, its equation and its predictions, without writing Python."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        try:
            from bgn.cli.app import bgn
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "bgn":
                raise
            sys.exit(f"bgn: the command line needs the package {error.name!r}. Install bgn with its extra 'cli'.")
        bgn(prog_name="bgn")
    except KeyboardInterrupt:  # while it loads; later it says so
        sys.exit(130)
