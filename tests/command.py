"""Runs the installed ``bgn`` command, as a user would."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tests.declared import EXTRAS

COMMAND = Path(sys.executable).parent / "bgn"


def exact_csv(source: Any) -> Any:
    """Return a text file as a frame, with every number the float nearest to what is written."""
    from pyarrow import csv

    return csv.read_csv(source).to_pandas()


class Done(NamedTuple):
    """What a run left behind; `err` is one line where an input was refused."""

    out: str
    err: str


def run(*arguments: object, code: int = 0, stdin: bytes | str = b"", env: dict[str, str] | None = None) -> Done:
    """Run the command and check its exit code, and that an error is a line per problem without a traceback."""
    for package in EXTRAS["cli"]:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"the command needs {package}", name=package)
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run([COMMAND, *map(str, arguments)], input=data, capture_output=True, env=env, check=False)
    return _checked(done.returncode, done.stdout.decode(), done.stderr.decode(), code)


def call(*arguments: object, code: int = 0, stdin: bytes | str = b"") -> Done:
    """Do the same in this process, which is quicker; an exception that the command lets pass is raised."""
    from click.testing import CliRunner

    from bgn.cli.app import bgn

    done = CliRunner().invoke(bgn, [*map(str, arguments)], input=stdin, prog_name="bgn")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return _checked(done.exit_code, done.stdout, done.stderr, code)


def _checked(status: int, out: str, err: str, code: int) -> Done:
    assert status == code, (status, out, err)
    assert "Traceback" not in err
    if code == 1:
        lines = [line for line in err.splitlines() if not line.startswith("note: ")]
        assert lines[0].startswith("bgn: "), err
        assert all(line.startswith("  - ") for line in lines[1:]), err
        err = "\n".join(lines)
    return Done(out, err)
