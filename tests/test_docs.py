"""Every block of code in the README and the documentation runs as it stands, in the order of its page.

A block is Python, a session (``>>>``) or lines for a shell. What a page takes as given, files and names, is made here,
out of the reader's sight; what is too large for a test is made smaller by `SMALLER`. A block in the language ``text``
is what the block before it prints, with ``...`` for what differs from run to run. There are no exceptions: a block that
is none of these fails until somebody says here what it is.
"""

from __future__ import annotations

import doctest
import io
import pydoc
import re
import shlex
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import bgn
from tests.command import run as run_command
from tests.declared import EXTRAS
from tests.every_engine import local_cluster
from tests.optional import torch

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.rst")), *sorted(ROOT.glob("docs/results/*.rst"))]
PAGES = [page for page in PAGES if page.name != "sg_execution_times.rst"]  # which building them leaves behind

# Text that is no code: equations, as a reader may meet them, and their grammar; tests/test_readme.py compares one with
# what is printed.
TEXT = r"value = 1\.00 \+ |equation +="
SMALLER = {
    "scale.rst": [
        ("tcp://10.0.0.1:8786", "{scheduler}"),
        ("s3://bucket/houses/", "houses/"),
        ("max_terms=20", "max_terms=3"),
        ("100_000_000", "10_000"),
        ("100_000]", "1_000]"),
    ],
    "baselines.rst": [
        ("(100,)", "(4,), max_epochs=2"),
    ],
}
# Commands for a shell that no test can run to their end: what is checked of them instead.
UNRUN = {
    "pip": "it changes the environment; its extras are there",
    "make": "it makes an environment; its target is there",
    "export": "the variable is one that bgn reads",
    "python": "a benchmark takes minutes to hours; the script has the options",
}


# What runs programs in other languages.
TOOLS = {"c": "gcc", "javascript": "node"}


class Block(NamedTuple):
    """Lines of code, what they are said to be in, and the line of the page before them."""

    language: str
    code: str
    line: int


def indented(lines: list[str], start: int) -> list[str]:
    """Return the lines from `start` on that are indented or empty."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith("   ")):
        end += 1
    return lines[start:end]


def blocks(page: Path) -> Iterator[Block]:
    """Yield every block of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    markdown, k = page.suffix == ".md", 0
    while k < len(lines):
        line, body, language, end = lines[k], [], "", k + 1
        if markdown and line.startswith("```"):
            end = lines.index("```", k + 1)
            body, language = lines[k + 1 : end], line[3:]
            end += 1
        elif (markdown and line.startswith("    ")) or line.startswith(">>>"):
            if line.startswith(">>>"):
                end = next((n for n in range(k, len(lines)) if not lines[n].strip()), len(lines))
                body, language = lines[k:end], "doctest"
            else:
                body = indented(lines, k)
                end = k + len(body)
            k -= 1
        elif directive := re.match(r"\.\. ([\w-]+)::(?:\s+(\w+))?$", line):
            assert directive[1] not in ("testcode", "literalinclude", "parsed-literal", "prompt", "ipython"), line
            body = indented(lines, k + 1)
            end, language = k + 1 + len(body), directive[2] or ""
            body = body if directive[1] in ("code-block", "code", "sourcecode") else []
        elif not markdown and line.endswith("::") and not line.startswith(".."):
            body = indented(lines, k + 1)
            end = k + 1 + len(body)
        if body:
            margin = min(len(text) - len(text.lstrip()) for text in body if text.strip())
            yield Block(language, "\n".join(text[margin:] for text in body).rstrip() + "\n", k + 1)
        k = end


def kind(block: Block) -> str:
    """Return what a block is: python, doctest, c, javascript, shell, output or text."""
    first = block.code.lstrip().partition("\n")[0]
    if block.language in ("python", "doctest", "c", "javascript"):
        return block.language
    if block.language in ("shell", "console", "bash") or re.match(r"(bgn|cat|pip|make|python|export) ", first):
        return "shell"
    if block.language == "text":
        return "output"
    if block.language in ("json", "toml", "none") or re.match(TEXT, first):
        return "text"
    compile(block.code, "a block that is neither Python nor for a shell; say in this test what it is", "exec")
    return "python"


# -- what pages take as given ------------------------------------------------------------------------------------


def houses() -> dict[str, Any]:
    """Columns of a small table."""
    random = np.random.default_rng(0)
    rows = {"id": np.arange(120.0), "income": random.uniform(10, 90, 120), "age": random.uniform(1, 50, 120)}
    rows |= {"area": random.uniform(40, 200, 120), "rooms": random.integers(1, 7, 120).astype(float)}
    return rows | {"price": 2.0 * rows["income"] + rows["area"] * (rows["income"] > 40) + rows["rooms"]}


def make_tables(folder: Path) -> None:
    """Write the files that the pages read."""
    rows = houses()
    lines = [",".join(rows), *(",".join(f"{value:g}" for value in row) for row in zip(*rows.values(), strict=True))]
    for name in ("houses.csv", "new_houses.csv", "new.csv"):
        (folder / name).write_text("\n".join(lines) + "\n")
    groups = [f"{line},{'mf'[number % 2] if number else 'sex'}" for number, line in enumerate(lines)]
    (folder / "people.csv").write_text("\n".join(groups) + "\n")
    leaving = rows["income"] + rows["age"] > 70  # of customers
    leaving[16:19] = True
    cells = zip(rows["income"], rows["age"], np.where(leaving, "Yes", "No"), strict=True)
    lines = ["charges,tenure,Churn", *(f"{charges:g},{tenure:g},{churn}" for charges, tenure, churn in cells)]
    (folder / "customers.csv").write_text("\n".join(lines) + "\n")
    (folder / "labels.toml").write_text('title = "Houses"\n[columns.income]\nlabel = "income of the block"\n')
    X = np.column_stack(list(rows.values()))
    for name, array in {"X": X[:, :-1], "y": X[:, -1], "rows": X}.items():
        np.save(folder / f"{name}.npy", array)


def make_parquet(folder: Path) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    table = pa.table(houses())
    (folder / "houses").mkdir()
    for name in ("houses.parquet", "new.parquet"):
        write_table(table, folder / name)
    for k in range(3):
        write_table(table[40 * k : 40 * k + 40], folder / "houses" / f"{k}.parquet")


def given(page: Path) -> dict[str, Any]:
    """Return the names that a page takes as given."""
    rows = houses()
    y = rows.pop("price")
    X = np.column_stack(list(rows.values()))
    if page.name == "scale.rst":
        return {"np": np, "bgn": bgn, "y": y, "background": X[:20]}
    if page.name == "baselines.rst":
        return {"X": X[:, 1:], "y": y, "X_new": X[:5, 1:]}
    if page.name == "show.rst":
        X = X[:, 1:3]
        return {"X_train": X[:80], "y_train": y[:80], "X_test": X[80:], "y_test": y[80:]}
    return {}


# -- running them ------------------------------------------------------------------------------------------------


def command(line: str) -> None:
    """Do a line for a shell here, and print what it prints, or check it where it cannot be run."""
    parts = shlex.split(line, comments=True)
    if parts and parts[0] == "cat":
        (_, name, bar, *parts) = parts
        assert bar == "|"
    else:
        name = None
    if not parts:
        return
    program, *arguments = parts
    if program == "bgn" and name is not None:
        assert run_command(*arguments, stdin=Path(name).read_bytes()).out
        return
    if program == "bgn":
        from click.testing import CliRunner

        from bgn.cli.app import bgn as shell

        if arguments[0] == "serve":  # which ends when it is told to: that its options are understood is checked
            assert shell.commands["serve"].make_context("serve", arguments[1:])
            return
        done = CliRunner().invoke(shell, arguments, catch_exceptions=False)
        assert done.exit_code == 0, f"{line}\n{done.output}"
        print(done.stdout, end="")
        return
    if parts[:3] == ["python", "-m", "experiments"]:
        assert experiments(arguments[2:]) == 0, line
        return
    assert program in UNRUN, f"say in this test how to run {line!r}"
    if program == "pip":
        extras = [extra for names in re.findall(r"\[(.*)\]", line) for extra in names.split(",")]
        assert arguments[0] == "install"
        assert set(extras) <= set(EXTRAS), line
    elif program == "export":
        assert arguments[0].partition("=")[0] in ("BGN_DATA",), line
    elif program == "make":
        assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), line
    else:
        script = (ROOT / arguments[0]).read_text()
        for option in (argument for argument in arguments[1:] if argument.startswith("--")):
            assert f'"{option}"' in script, f"{arguments[0]} has no option {option}"


def experiments(arguments: list[str]) -> int:
    """Do what takes no time of the studies' command line; of the rest check that it is understood."""
    from experiments.__main__ import main, parser

    if arguments == ["--help"]:
        assert all(name in parser().format_help() for name in ("accuracy", "--jobs"))
        return 0
    wanted = parser().parse_args(arguments)
    return main(arguments) if wanted.status else 0


def sessions() -> list[Any]:
    """Return every page with its blocks; blocks that need a GPU or Dask are sessions of their own."""
    parameters = []
    for page in PAGES:
        runnable = [block for block in blocks(page) if kind(block) != "text"]
        separate = [block for block in runnable if re.search(r"cuda|import dask", block.code)]
        rest = [block for block in runnable if block not in separate]
        groups = ([rest] if rest else []) + [[block] for block in separate]
        parameters += [pytest.param(page, group, id=f"{page.name}:{group[0].line}") for group in groups]
    return parameters


@pytest.mark.parametrize("page", ["api.rst", "api_baselines.rst"])
def test_every_name_of_the_reference_is_there(page):
    module = ""
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        module = line.partition("currentmodule:: ")[2] or module
        if re.fullmatch(r"   [A-Za-z][\w.]+", line) and line.strip() != "api_baselines":
            assert pydoc.locate(f"{module}.{line.strip()}") is not None, line


@pytest.mark.parametrize(("page", "session"), sessions())
def test_blocks_run(page: Path, session: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any("cuda" in block.code and kind(block) == "python" for block in session) and not torch.cuda.is_available():
        pytest.skip("there is no CUDA GPU")
    monkeypatch.chdir(tmp_path)
    make_tables(tmp_path)
    if any(re.search(r"parquet|houses/", block.code) for block in session):
        make_parquet(tmp_path)
    names, printed = given(page), ""
    cluster = None
    lacking = {tool for block in session if (tool := TOOLS.get(kind(block))) and not shutil.which(tool)}
    for block in session:
        if kind(block) == "output":
            assert printed_as(block.code, printed), f"{page.name}:{block.line} prints\n{printed}"
            continue
        if TOOLS.get(kind(block)) in lacking:
            continue
        code = block.code
        if "{scheduler}" in smaller(page, code):
            cluster = local_cluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
            warnings.simplefilter("ignore", DeprecationWarning)  # of what Dask does with pandas
        code = smaller(page, code).replace("{scheduler}", cluster.scheduler_address if cluster else "")
        out = io.StringIO()
        try:
            with redirect_stdout(out):
                run(page, block, code, names)
            printed = out.getvalue()
        finally:
            if cluster is not None:
                if "client" in names:
                    names["client"].close()
                cluster.close()
    if lacking:
        pytest.skip(f"{' and '.join(sorted(lacking))} is not installed: all other blocks of the page ran")


def printed_as(shown: str, printed: str) -> bool:
    """Tell whether a page shows what is printed; ``...`` stands for anything."""
    lines = ("\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n" for text in (shown, printed))
    return doctest.OutputChecker().check_output(*lines, doctest.ELLIPSIS)


def smaller(page: Path, code: str) -> str:
    """Return code that takes seconds, on the decimals of the diabetes table, which older versions read less well."""
    for old, new in [*SMALLER.get(page.name, []), ("scaled=False)", "scaled=False); X = X.round(4)")]:
        code = code.replace(old, new)
    return code


def run(page: Path, block: Block, code: str, names: dict[str, Any]) -> None:
    """Run a block; `names` are those of its page, which it adds to."""
    if kind(block) == "doctest":
        test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), block.line)
        test.globs = names  # not a copy: blocks further down go on from here
        doctest.DebugRunner().run(test, clear_globs=False)
    elif kind(block) in ("c", "javascript"):
        program(block)
    elif kind(block) == "shell":
        for line in code.splitlines():
            command(line)
    else:
        exec(compile("\n" * block.line + code, str(page), "exec"), names)


def program(block: Block) -> None:
    """Run a program in another language; what it prints is in the comment of its last call."""
    if block.language == "c":
        Path("main.c").write_text(block.code)
        subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", "main.c", "-o", "main", "-lm"], check=True)
        printed = subprocess.run(["./main"], capture_output=True, text=True, check=True).stdout
    else:
        Path("main.mjs").write_text(block.code)
        printed = subprocess.run(["node", "main.mjs"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"/[/*] (.*?)(?: \*/)?$", block.code, flags=re.MULTILINE)[1] == printed.strip()  # type: ignore[index]


def test_what_is_made_smaller_is_there() -> None:
    for page, pairs in SMALLER.items():
        for old, _ in pairs:
            assert any(old in block.code for block in blocks(ROOT / "docs" / page)), f"{page} no longer says {old!r}"


def test_blocks_of_all_kinds_are_read(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text("Text::\n\n    a = 1\n\n    b = 2\n\n>>> 1 + 1\n2\n\n.. code-block:: shell\n\n    bgn fit\n\nEnd\n")
    assert [(kind(block), block.code) for block in blocks(page)] == [
        ("python", "\na = 1\n\nb = 2\n"),
        ("doctest", ">>> 1 + 1\n2\n"),
        ("shell", "\nbgn fit\n"),
    ]
    page.write_text("Text::\n\n    Neither this nor that\n")
    with pytest.raises(SyntaxError, match="invalid syntax"):
        kind(next(blocks(page)))
