"""Growth of cost with the rows, and rows that outgrow memory: time and peak memory, printed.

Run: python benchmarks/scale.py [SECTION ...], with ``--help`` for the sections. Everything when nothing is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

SECTIONS: dict[str, Callable[[], None]] = {}


def section(call: Callable[[], None]) -> Callable[[], None]:
    """Make a function without arguments a section that can be named on the command line."""
    SECTIONS[call.__name__] = call
    return call


def main() -> None:
    """Run the sections named, or all."""
    about = "\n".join(f"  {name:8} {call.__doc__}" for name, call in SECTIONS.items())
    parser = argparse.ArgumentParser(
        description="Sections:\n" + about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION")
    chosen = parser.parse_args().sections
    for name in chosen or SECTIONS:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}; there are {', '.join(SECTIONS)}")
        print(f"-- {name}: {SECTIONS[name].__doc__}", flush=True)
        SECTIONS[name]()


if __name__ == "__main__":
    main()
