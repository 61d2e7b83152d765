"""A network as SQL: one expression, or a whole SELECT whose stages compute what several rules share once."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np

from bgn.export.plan import (
    NOT_TEXT,
    Absent,
    ExportPlan,
    Input,
    LinearInput,
    OneOf,
    PlannedCondition,
    Reason,
    Summation,
    check_texts,
    plan,
    write_file,
)
from bgn.export.programs.sql_dialects import DIALECTS, Dialect
from bgn.inputs.arguments import chosen
from bgn.inputs.errors import InputError
from bgn.model.network import Network
from bgn.model.step import Floats
from bgn.model.term import OPPOSITE

_LARGEST = sys.float_info.max
_MOST_CHAINED = 100  # additions in a row; SQLite and DuckDB refuse expressions 1,000 deep
_MOST_INLINE = 500  # additions of one expression, whose order matters
_MOST_NAMED = 1000  # columns of a stage; PostgreSQL has room for 1,600
_MOST_REASONS = 500
_MOST_ARGUMENTS = 100  # of a function; SQLite has room for 127
_PLUS = "\n      + "
_PLAIN = re.compile(r"[^\W\d_][\w -]{0,30}")  # a name of a column that every database takes
_OURS = re.compile(r"([hrstvx]|odds|keep_|best_|which_)\d|(one|odds|most|likeliest)$")


def to_sql(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dialect: str = "standard",
    table: str | Sequence[str] = "rows",
    keep: Iterable[str] = (),
    form: str = "select",
    reasons: Any = None,
    count: int = 3,
) -> str:
    """Write a model as SQL, to predict where the rows are.

    Parameters
    ----------
    model : Network or fitted estimator
    path : str or path-like, optional
        File to write, whole or not at all.
    dialect : {"standard", "postgresql", "sqlite", "duckdb", "bigquery", "snowflake"}, default "standard"
    table : str or sequence of str, default "rows"
        The table to read; several names for one in a schema.
    keep : iterable of str, optional
        Columns to return beside the prediction, such as a key.
    form : {"select", "expression"}, default "select"
        A whole SELECT, or one expression to put into a query of your own: the prediction, of classes the raw score.
    reasons : array_like or frame, optional
        Background rows: the SELECT also returns the rules with the largest exact SHAP values, against the mean over
        those rows, and these values; of several classes those of the likeliest.
    count : int, default 3

    Returns
    -------
    str
        With the column ``prediction``, and ``score`` where it has bounds; for classes ``score``, ``probability`` and
        ``label``. NULL is a missing value, and the prediction where the model refuses one or a number is infinite.

    Examples
    --------
    >>> import bgn, sqlite3
    >>> network = bgn.Network.of_layers([bgn.Layer([[1.0, 0.59]], [-63.56])], [0.505], 1.0, ["income", "age"], "value")
    >>> houses = sqlite3.connect(":memory:")
    >>> _ = houses.execute("CREATE TABLE houses AS SELECT 7 AS id, 60.0 AS income, 30.0 AS age")
    >>> query = bgn.export.to_sql(network, dialect="sqlite", table="houses", keep=["id"])
    >>> houses.execute(query).fetchall(), network.predict([[60.0, 30.0]])
    ([(7, 1.505)], array([1.505]))
    """
    chosen("dialect", dialect, tuple(DIALECTS))
    chosen("form", form, ("select", "expression"))
    planned, kept = plan(model), tuple(keep)
    tables = (table,) if isinstance(table, str) else tuple(table)
    if not tables or not all(tables):
        raise ValueError(f"table must be a name, or several for one in a schema; got {table!r}.")
    check_texts([*planned.texts, *kept, *tables], NOT_TEXT, "SQL")
    explained = () if reasons is None else planned.reasons(reasons)
    if DIALECTS[dialect].ignores_case:
        _check_case({given.raw for given in planned.inputs}, dialect)
    writer = SqlWriter(planned, DIALECTS[dialect])
    if form == "select":
        return write_file(_select(writer, Stages(writer.dialect, tables, kept), explained, count), path)
    if planned.outputs > 1 or explained:
        raise ValueError("form='expression' writes one raw score, without reasons; use form='select'.")
    parts = [writer.number(planned.intercept[0]), *writer.addends(0)]
    if not planned.whole and len(parts) > _MOST_INLINE:
        raise ValueError(
            f"model has {len(parts) - 1} summands whose order matters, too many for one expression; use form='select'."
        )
    return write_file(writer.held(writer.refused(_balanced(parts) if planned.whole else _PLUS.join(parts))), path)


def _check_case(names: Iterable[str], dialect: str) -> None:
    """Refuse names of columns that a database takes for one."""
    alike: dict[str, list[str]] = {}
    for name in sorted(names):
        alike.setdefault(name.casefold(), []).append(name)
    if twice := next((same for same in alike.values() if len(same) > 1), None):
        raise ValueError(
            f"model reads the columns {' and '.join(map(repr, twice))}, which {dialect} takes for one: case does not "
            "count there. Rename one of them before the fit."
        )


class SqlWriter:
    """Writes the parts of a plan: those in `columns` as columns of earlier stages, others where they are used."""

    def __init__(self, planned: ExportPlan, dialect: Dialect) -> None:
        self.plan, self.dialect, self.number = planned, dialect, dialect.number
        self.columns: set[str] = set()
        # A column of the first stage has the name of the dataset's, where that is plain and none of ours.
        self.names = [f"x{k}" for k in range(len(planned.inputs))]
        for k, given in enumerate(planned.inputs):
            name = given.name.casefold()
            if _PLAIN.fullmatch(given.name) and not _OURS.match(name) and name not in map(str.casefold, self.names):
                self.names[k] = given.name
        self.names = [name if name == f"x{k}" else dialect.name(name) for k, name in enumerate(self.names)]

    # -- inputs ------------------------------------------------------------------------------------------------

    def input(self, k: int) -> str:
        """Write an input: a number or a category; NULL for a missing value that rules see."""
        return self.names[k] if self.names[k] in self.columns else self.read(k)

    def read(self, k: int) -> str:
        """Write how an input is read from the table; a category that is none of those known is NULL."""
        given, dialect = self.plan.inputs[k], self.dialect
        raw = dialect.name(given.raw)
        if given.categories is not None:
            texts = [self.category(given, code) for code in range(len(given.categories))]
            known = f"{self._typed(k)} IN ({', '.join(texts)})" if texts else "1 = 0"
            fill = "" if given.fill is None else f" ELSE {texts[int(given.fill)]}"
            return f"CASE WHEN {known} THEN {self._typed(k)}{fill} END"
        value = raw if given.made is None else dialect.made(raw, given.made)
        value = dialect.no_nan.format(x=f"CAST({value} AS {dialect.double})")
        return value if given.fill is None else f"COALESCE({value}, {self.number(given.fill)})"

    def _typed(self, k: int) -> str:
        given, dialect = self.plan.inputs[k], self.dialect
        kind = {"texts": dialect.string, "truths": dialect.truth, "numbers": dialect.double}[given.category_kind]
        raw = dialect.name(given.raw)
        return f"CAST({raw} AS {kind})" if kind else raw

    def _compared(self, k: int) -> str:
        """Write a category to compare: where no earlier stage reads it, what is not known need not be NULL."""
        raw = self.names[k] not in self.columns and self.plan.inputs[k].fill is None
        return self._typed(k) if raw else self.input(k)

    def category(self, given: Input, code: int) -> str:
        """Write a category as its column has it."""
        category = (given.categories or ())[code]
        if given.category_kind == "truths":
            return str(int(category)) if self.dialect.truth == "INTEGER" else str(bool(category)).upper()
        return self.dialect.text(given.names[code]) if given.category_kind == "texts" else self.number(float(category))

    # -- rules -------------------------------------------------------------------------------------------------

    def rule(self, number: int) -> str:
        """Write that a rule holds, as a condition that is not true where a NULL decides."""
        if f"r{number}" in self.columns:
            return f"r{number} = 1"
        last = len(self.plan.layers) - 1
        return " AND ".join(self.condition(last, self.plan.last.conditions[k]) for k in self.plan.rules[number])

    def condition(self, layer: int, condition: PlannedCondition) -> str:
        """Write a condition."""
        if isinstance(condition, Absent):
            return f"{self.input(condition.input)} IS NULL"
        if isinstance(condition, OneOf):
            return self._among(condition)
        summed = self.plan.layers[layer].sums[condition.summation]
        left, threshold = f"s{layer}_{condition.summation}", self.number(condition.threshold)
        left = left if left in self.columns else self.summed(layer, summed)
        if not condition.missing:
            return f"{left} {condition.relation} {threshold}"
        if summed.coefficients == (1.0,) and not layer:
            return f"({left} {condition.relation} {threshold} OR {left} IS NULL)"
        return f"CASE WHEN {left} {OPPOSITE[condition.relation]} {threshold} THEN 0 ELSE 1 END = 1"

    def _among(self, condition: OneOf) -> str:
        """Write that a category is one of some, or perhaps NULL or none that is known."""
        k, given = condition.input, self.plan.inputs[condition.input]
        texts = [self.category(given, code) for code in condition.listed]
        if not texts:
            return "1 = 1" if condition.missing else "1 = 0"
        name = self._compared(k)
        if condition.missing:
            among = f"<> {texts[0]}" if len(texts) == 1 else f"NOT IN ({', '.join(texts)})"
            return f"({name} {among} OR {name} IS NULL)"
        return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} IN ({', '.join(texts)})"

    def choice(self, condition: str, yes: float, no: float) -> str:
        """Write one of two numbers by a condition. A NULL makes it neither true nor false, and takes the ELSE."""
        return f"CASE WHEN {condition} THEN {self.number(yes)} ELSE {self.number(no)} END"

    def summed(self, layer: int, summed: Summation) -> str:
        """Write a sum, from left to right."""
        parts = []
        for k, coefficient, missing_as in summed.parts(layer):
            if isinstance(coefficient, tuple):
                texts = [self.category(self.plan.inputs[k], code) for code in range(len(coefficient))]
                values = zip(texts, map(self.number, coefficient), strict=True)
                part = f"CASE {self._compared(k)} {' '.join(f'WHEN {text} THEN {value}' for text, value in values)} END"
            elif layer:
                part = self._signed(layer - 1, k, coefficient)
            else:
                part = self.product(coefficient, self.input(k))
            if missing_as is not None and self.plan.sees_missing(k):
                part = f"COALESCE({part}, {self.number(missing_as)})"
            parts.append(part)
        return " + ".join(parts) or self.number(0.0)

    def product(self, coefficient: float, value: str) -> str:
        """Write a value times a coefficient; PostgreSQL refuses what rounds to nothing."""
        if coefficient in (1.0, -1.0):
            return value if coefficient == 1.0 else f"(-{value})"
        product = f"{self.number(coefficient)} * {value}"
        if not (self.dialect.checks_underflow and 0.0 < abs(coefficient) <= 0.5):
            return product
        largest = 2.0**-1074 / (2.0 * abs(coefficient))  # that the coefficient turns to nothing
        while abs(coefficient) * largest > 0.0:
            largest = nextafter(largest, 0.0)
        while abs(coefficient) * nextafter(largest, inf) == 0.0:
            largest = nextafter(largest, inf)
        return f"CASE WHEN ABS({value}) <= {self.number(largest)} THEN {self.number(0.0)} ELSE {product} END"

    def _signed(self, layer: int, place: int, coefficient: float) -> str:
        """Write a number where a condition of a hidden layer holds, and its negative where not."""
        name = f"h{layer}_{place}"
        if name not in self.columns:
            condition = self.condition(layer, self.plan.layers[layer].conditions[place])
            return self.choice(condition, coefficient, -coefficient)
        return name if coefficient == 1.0 else f"{self.number(coefficient)} * {name}"

    # -- totals ------------------------------------------------------------------------------------------------

    def addends(self, output: int) -> Iterator[str]:
        """Yield what is added to an output's intercept, in order."""
        for term in self.plan.terms:
            if isinstance(term, LinearInput):
                if coef := term.coef[output]:
                    yield self.product(coef, self._between(term))
            elif term.coef[output]:
                yield self.choice(self.rule(term.rule), term.coef[output], term.otherwise[output])

    def _between(self, linear: LinearInput) -> str:
        """Write an input, no further than the ends of its linear term, and what a missing value counts as."""
        value = self.input(linear.input)
        ends = [(sign, self.number(end)) for sign, end in (("<", linear.low), (">", linear.high)) if isfinite(end)]
        cases = [f"WHEN {value} {sign} {end} THEN {end}" for sign, end in ends]
        value = f"CASE {' '.join(cases)} ELSE {value} END" if cases else value
        return value if linear.missing_as is None else f"COALESCE({value}, {self.number(linear.missing_as)})"

    def held(self, score: str) -> str:
        """Write what a raw score predicts within bounds; GREATEST would make a bound of what is NULL."""
        cases = [f"WHEN {score} {sign} {self.number(end)} THEN {self.number(end)}" for sign, end in self.plan.bounds]
        return f"CASE {' '.join(cases)} ELSE {score} END" if cases else score

    def refused(self, score: str) -> str:
        """Write a score that is NULL where an input that must be there is not, or a number is infinite."""
        if self.plan.over != 1.0:
            score = f"({score}) / {self.number(self.plan.over)}"
        inputs, infinity = list(enumerate(self.plan.inputs)), self.dialect.infinity
        infinite = f"= {infinity}" if infinity else f"> {self.number(_LARGEST)}"
        wrong = [f"{self.input(k)} IS NULL" for k, given in inputs if given.refuses]
        wrong += [f"ABS({self.input(k)}) {infinite}" for k, given in inputs
                  if given.categories is None and not given.made]  # fmt: skip
        return f"CASE WHEN {' OR '.join(wrong)} THEN NULL ELSE {score} END" if wrong else score


def _balanced(parts: Sequence[str]) -> str:
    """Write a sum whose order does not matter, as deep as its logarithm."""
    if len(parts) <= 8:
        return _PLUS.join(parts)
    middle = len(parts) // 2
    return f"({_balanced(parts[:middle])}) + ({_balanced(parts[middle:])})"


def _select(writer: SqlWriter, stages: Stages, reasons: Sequence[Reason], count: int) -> str:
    planned, number = writer.plan, writer.number
    last = len(planned.layers) - 1

    def add_named(columns: dict[str, str]) -> None:
        stages.add(columns)
        writer.columns |= columns.keys()

    add_named({name: writer.read(k) for k, name in enumerate(writer.names)})
    for layer, part in enumerate(planned.layers):
        # A column of every sum over several inputs that several conditions share, ...
        shared = Counter(getattr(condition, "summation", None) for condition in part.conditions)
        sums = [k for k, summed in enumerate(part.sums) if shared[k] > 1 and len(summed.inputs) > 1][:_MOST_NAMED]
        add_named({f"s{layer}_{k}": writer.summed(layer, part.sums[k]) for k in sums})
        if layer == last:
            break
        # ... and of every condition that is needed more than once.
        uses = Counter(k for summed in planned.layers[layer + 1].sums for k in summed.inputs)
        named = [k for k in range(len(part.conditions)) if uses[k] > 1]
        if len(named) > _MOST_NAMED:
            raise ValueError(
                f"model has {len(named)} conditions in hidden layer {layer + 1} that several others read; SQL has room "
                f"for {_MOST_NAMED} of them. Export to another format."
            )
        conditions = {k: writer.condition(layer, part.conditions[k]) for k in named}
        add_named({f"h{layer}_{k}": writer.choice(text, 1.0, -1.0) for k, text in conditions.items()})
    uses = Counter(addend.rule for addend in planned.addends for coef in addend.coef if coef)
    named = [k for k in range(len(planned.rules)) if uses[k] > 1 or k in {reason.rule for reason in reasons}]
    add_named({f"r{k}": f"CASE WHEN {writer.rule(k)} THEN 1 ELSE 0 END" for k in named[:_MOST_NAMED]})
    for output, intercept in enumerate(planned.intercept):
        parts, name = [number(intercept), *writer.addends(output)], f"t{output}"
        if planned.whole:
            stages.add({name: writer.refused(_balanced(parts))})
            continue
        first, rest = parts[: _MOST_CHAINED + 1], parts[_MOST_CHAINED + 1 :]  # over several stages: the order matters
        stages.add({name: _PLUS.join(first) if rest else writer.refused(_PLUS.join(first))})
        while rest:
            chunk, rest = rest[:_MOST_CHAINED], rest[_MOST_CHAINED:]
            total = _PLUS.join([name, *chunk])
            stages.add({name: total if rest else writer.refused(total)}, replaces=True)
    outputs = _outputs(writer, stages)
    return stages.select(outputs | (_add_reasons(stages, writer, reasons, count) if reasons else {}))


def _outputs(writer: SqlWriter, stages: Stages) -> dict[str, str]:
    """Return the columns of predictions, by name."""
    planned, number = writer.plan, writer.number
    if planned.link == "identity":
        return {"prediction": writer.held("t0")} | ({"score": "t0"} if planned.bounds else {})
    labels = [writer.dialect.text(name) for name in planned.class_names]
    near = "CASE WHEN {x} < {most} THEN EXP(-{x}) ELSE {none} END"  # PostgreSQL refuses what rounds to nothing
    if planned.link == "logistic":
        stages.add({"odds": near.format(x="ABS(t0)", most=number(700.0), none=number(0.0))})
        yes = f"CASE WHEN t0 >= {number(0.0)} THEN {number(1.0)} ELSE odds END"
        label = f"CASE WHEN t0 > {number(0.0)} THEN {labels[1]} WHEN t0 IS NOT NULL THEN {labels[0]} END"
        return {"score": "t0", "probability": f"({yes}) / ({number(1.0)} + odds)", "label": label}
    totals = [f"t{k}" for k in range(planned.outputs)]
    stages.add({"most": stages.greatest(totals)})
    stages.add(
        {f"odds{k}": near.format(x=f"(most - {t})", most=number(700.0), none=number(0.0)) for k, t in enumerate(totals)}
    )
    stages.add({"odds": " + ".join(f"odds{k}" for k in range(planned.outputs))})
    shown = {f"score of {name}": totals[k] for k, name in enumerate(planned.class_names)}
    shown |= {f"probability of {name}": f"odds{k} / odds" for k, name in enumerate(planned.class_names)}
    cases = " ".join(f"WHEN {t} = most THEN {label}" for t, label in zip(totals, labels, strict=True))
    return shown | {"label": f"CASE {cases} END"}


def _add_reasons(stages: Stages, writer: SqlWriter, reasons: Sequence[Reason], count: int) -> dict[str, str]:
    """Add the stages that find the largest SHAP values, one after the other; return the columns that show them."""
    planned, number, text = writer.plan, writer.number, writer.dialect.text
    if len(reasons) > _MOST_REASONS:
        raise ValueError(
            f"reasons in SQL are for up to {_MOST_REASONS} rules; the model has {len(reasons)}. Use to_python."
        )
    rules, none = [f"r{reason.rule}" for reason in reasons], number(-1.0)
    if planned.outputs > 1:  # the reasons of the class that is predicted
        cases = " ".join(f"WHEN t{k} = most THEN {k}" for k in range(planned.outputs))
        stages.add({"likeliest": f"CASE {cases} END"})

    def of_likeliest(values: tuple[float, ...]) -> str:
        cases = " ".join(f"WHEN {k} THEN {number(value)}" for k, value in enumerate(values))
        return f"CASE likeliest {cases} END" if len(values) > 1 else number(values[0])

    stages.add({
        f"v{k}": f"CASE WHEN {rule} = 1 THEN {of_likeliest(reason.yes)} ELSE {of_likeliest(reason.no)} END"
        for k, (rule, reason) in enumerate(zip(rules, reasons, strict=True))
    })  # fmt: skip
    shown: dict[str, str] = {}
    for rank in range(1, min(count, len(reasons)) + 1):
        sizes = []
        for k in range(len(reasons)):  # less than any where it was the largest before
            before = " OR ".join(f"which_{earlier} = {k}" for earlier in range(1, rank))
            sizes.append(f"CASE WHEN {before} THEN {none} ELSE ABS(v{k}) END" if before else f"ABS(v{k})")
        stages.add({f"best_{rank}": stages.greatest(sizes)})
        cases = " ".join(f"WHEN {size} = best_{rank} THEN {k}" for k, size in enumerate(sizes))
        stages.add({f"which_{rank}": f"CASE {cases} END"})
        texts = " ".join(f"WHEN {k} THEN {text(reason.text)}" for k, reason in enumerate(reasons))
        values = " ".join(f"WHEN {k} THEN v{k}" for k in range(len(reasons)))
        holds = " ".join(f"WHEN {k} THEN {rule}" for k, rule in enumerate(rules))
        shown |= {
            f"reason {rank}": f"CASE which_{rank} {texts} END",
            f"answer {rank}": f"CASE WHEN (CASE which_{rank} {holds} END) = 1 THEN 'yes' ELSE 'no' END",
            f"amount {rank}": f"CASE which_{rank} {values} END",
        }
    return shown


# -- A SELECT built up in stages, each a named query over the one before it.


class Stages:
    """Queries ``stage_0``, ``stage_1``, ..., each with all columns of the one before and some more.

    Columns of the table are kept under names of their own, which collide with none of ours; so does the table's.
    """

    def __init__(self, dialect: Dialect, table: tuple[str, ...], keep: tuple[str, ...]) -> None:
        self.dialect, self.keep = dialect, keep
        self._source = ".".join(map(dialect.name, table))
        self._stage = "stage"
        while table[-1].casefold().startswith(self._stage):
            self._stage = f"bgn_{self._stage}"
        self._known: list[str] = []
        self._queries: list[str] = []

    def add(self, columns: Mapping[str, str], replaces: bool = False) -> None:
        """Add a stage with some more columns; with `replaces` they take the place of those of the same names."""
        if not columns and self._queries:
            return
        kept = [name for name in self._known if name not in columns]
        if not self._queries:
            kept = [f"{self.dialect.name(name)} AS keep_{k}" for k, name in enumerate(self.keep)]
        made = [f"{text} AS {name}" for name, text in columns.items()]
        listed = ",\n    ".join(filter(None, [", ".join(kept), *made])) or "1 AS one"
        source = f"{self._stage}_{len(self._queries) - 1}" if self._queries else self._source
        self._queries.append(f"SELECT\n    {listed}\n  FROM {source}")
        own = [] if replaces else list(columns)
        first = [f"keep_{k}" for k in range(len(self.keep))] if not self._known and len(self._queries) == 1 else []
        self._known += [*first, *own]

    def greatest(self, values: Sequence[str]) -> str:
        """Write the largest of some values."""
        parts = list(values)
        while len(parts) > 1:
            groups = [parts[k : k + _MOST_ARGUMENTS] for k in range(0, len(parts), _MOST_ARGUMENTS)]
            parts = [own[0] if len(own) == 1 else f"{self.dialect.greatest}({', '.join(own)})" for own in groups]
        return parts[0]

    def select(self, outputs: Mapping[str, str]) -> str:
        """Write the whole: what was kept, and the outputs by name."""
        name = self.dialect.name
        taken, listed = set(self.keep), [f"keep_{k} AS {name(title)}" for k, title in enumerate(self.keep)]
        for title, text in outputs.items():
            while title in taken:
                title += " of bgn"
            taken.add(title)
            listed.append(f"{text} AS {name(title)}")
        stages = ",\n".join(
            f"{self._stage}_{k} {self.dialect.staged} (\n  {query}\n)" for k, query in enumerate(self._queries)
        )
        columns = ",\n  ".join(listed)
        return f"WITH {stages}\nSELECT\n  {columns}\nFROM {self._stage}_{len(self._queries) - 1}"


# -- Whether a SELECT computes what the model does, tried on rows in SQLite, which every Python has.

_KEY = "row of the check"


def count_differing_rows(network: Network, rows: Sequence[Sequence[Any]], scores: Floats) -> int:
    """Return the number of rows of which SQLite computes another score than the model, to the last bit.

    `rows` are values of its columns, None or NaN where one is missing; `scores` what the network computes of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bgn import Layer, Network
    >>> from bgn.export.programs.sql import count_differing_rows
    >>> network = Network.of_layers([Layer([[1.0]], [-65.5])], [0.5], 1.0, ["income"])
    >>> count_differing_rows(network, [[70.0], [20.0]], np.array([1.5, 0.5]))
    0
    """
    used = network.features_used  # others may have names that SQLite cannot tell apart
    columns, types = [network.schema.columns[j] for j in used], ["INTEGER"]
    if any(column.part_of is not None for column in columns):
        raise InputError("--check: the model reads parts of dates, which SQLite has no type for; leave it out.")
    for column in columns:
        first = (*(column.categories or (0.0,)), "")[0]
        types.append("REAL" if isinstance(first, float) else "INTEGER" if isinstance(first, bool) else "TEXT")
    names = ['"' + name.replace('"', '""') + '"' for name in (_KEY, *(column.name for column in columns))]
    table = [[k, *(None if row[j] is None or row[j] != row[j] else row[j] for j in used)] for k, row in enumerate(rows)]
    outputs = ["score" if network.link == "logistic" or network.bounds else "prediction"]
    if network.link == "softmax":
        outputs = [f"score of {label}" for label in plan(network).class_names]
    query = to_sql(network, dialect="sqlite", table="rows", keep=[_KEY])
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE rows ({', '.join(map(' '.join, zip(names, types, strict=True)))})")
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", table)
        answer = database.execute(query)
        places = [[title[0] for title in answer.description].index(name) for name in outputs]
        ordered = sorted(answer.fetchall())
    database.close()
    computed = np.array([[np.nan if row[k] is None else row[k] for k in places] for row in ordered], np.float64)
    own = scores.reshape(len(computed), -1)
    return int(np.count_nonzero(~((computed == own) | (np.isnan(computed) & np.isnan(own))).all(axis=1)))
