"""A network as SQL: one expression, or a whole SELECT whose stages compute what several questions share once."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite, nextafter
from typing import Any

from bgn.export.plan import (
    NOT_TEXT,
    ExportPlan,
    Input,
    PlannedComparison,
    ReasonAmounts,
    SlopedInput,
    Summation,
    check_words,
    plan,
)
from bgn.export.programs.sql_dialects import DIALECTS, Dialect
from bgn.inputs.arguments import chosen
from bgn.model.schema import Category, category_name
from bgn.whole_file import write_whole

_LARGEST = sys.float_info.max
_MOST_CHAINED = 100  # additions in a row; SQLite and DuckDB refuse expressions 1,000 deep
_MOST_INLINE = 500  # additions of one expression, whose order matters
_MOST_NAMED = 1000  # columns of a stage; PostgreSQL has room for 1,600


class SqlWriter:
    """Writes the parts of a plan: those in `columns` as columns of earlier stages, others where they are used."""

    def __init__(self, planned: ExportPlan, dialect: Dialect) -> None:
        self.plan, self.dialect = planned, dialect
        self.columns: set[str] = set()

    def number(self, value: float) -> str:
        """Write a double."""
        return self.dialect.number(value)

    def column(self, name: str, written: str) -> str:
        """Return the name of a column where an earlier stage has it, else what is written."""
        return name if name in self.columns else written

    # -- inputs ------------------------------------------------------------------------------------------------

    def input(self, k: int) -> str:
        """Write an input: a number, or the number of a level; NULL for a gap that questions see."""
        return self.column(f"x{k}", self.read(k))

    def read(self, k: int) -> str:
        """Write how an input is read from the table."""
        each, dialect = self.plan.inputs[k], self.dialect
        raw = dialect.name(each.raw)
        if each.categories is not None:
            cases = " ".join(f"WHEN {self._category(each, category)} THEN {place}" for place, category in enumerate(each.categories))
            fill = "" if each.fill is None else f" ELSE {int(each.fill)}"
            return f"CASE {self._typed(each, raw)} {cases}{fill} END"
        value = raw if each.made is None else dialect.made(raw, each.made)
        value = dialect.no_nan.format(x=f"CAST({value} AS {dialect.double})")
        return value if each.fill is None else f"COALESCE({value}, {self.number(each.fill)})"

    def _typed(self, each: Input, raw: str) -> str:
        kinds = {"words": self.dialect.words, "truths": self.dialect.truth, "numbers": self.dialect.double}
        wanted = kinds[each.category_kind]
        return f"CAST({raw} AS {wanted})" if wanted else raw

    def _category(self, each: Input, category: Category) -> str:
        if each.category_kind == "truths":
            return str(int(category)) if self.dialect.truth == "INTEGER" else str(bool(category)).upper()
        return self.dialect.text(category_name(category)) if each.category_kind == "words" else self.number(float(category))

    # -- questions ---------------------------------------------------------------------------------------------

    def choice(self, layer: int, comparison: PlannedComparison, yes: str, no: str) -> str:
        """Write one of two values by a comparison. A gap makes it neither true nor false, and takes the ELSE."""
        chosen = self.plan.chosen_categories(layer, comparison)
        if chosen is None:
            summed = self.plan.layers[layer].sums[comparison.summation]
            left = self.column(f"s{layer}_{comparison.summation}", self.summed(layer, summed))
            threshold = self.number(comparison.threshold)
            if comparison.missing:
                return f"CASE WHEN {left} < {threshold} THEN {no} ELSE {yes} END"
            return f"CASE WHEN {left} >= {threshold} THEN {yes} ELSE {no} END"
        answer = bool(self.plan.gap_answer(layer, comparison))
        listed = [place for place, each in enumerate(chosen) if each is not answer]
        if not listed:
            return yes if answer else no
        inside = self._among(self.plan.layers[layer].sums[comparison.summation].inputs[0], listed)
        return f"CASE WHEN {inside} THEN {no if answer else yes} ELSE {yes if answer else no} END"

    def _among(self, k: int, places: Sequence[int]) -> str:
        each = self.plan.inputs[k]
        if f"x{k}" in self.columns or each.fill is not None:
            return f"{self.input(k)} IN ({', '.join(map(str, places))})"
        categories = [self._category(each, (each.categories or ())[place]) for place in places]
        return f"{self._typed(each, self.dialect.name(each.raw))} IN ({', '.join(categories)})"

    def summed(self, layer: int, summed: Summation) -> str:
        """Write a sum, from left to right."""
        parts = []
        for place, (k, coefficient) in enumerate(zip(summed.inputs, summed.coefficients, strict=True)):
            gap = None if summed.missing_as is None or layer else summed.missing_as[place]
            if layer:
                parts.append(self.answer(layer - 1, k, float(coefficient)))  # type: ignore[arg-type]
                continue
            if isinstance(coefficient, tuple):
                cases = " ".join(f"WHEN {code} THEN {self.number(value)}" for code, value in enumerate(coefficient))
                part = f"CASE {self.input(k)} {cases} END"
            else:
                part = self.product(coefficient, self.input(k))
            seen = gap is not None and self.plan.sees_gap(k)
            parts.append(f"COALESCE({part}, {self.number(gap)})" if seen else part)  # type: ignore[arg-type]
        return " + ".join(parts) or self.number(0.0)

    def product(self, coefficient: float, value: str) -> str:
        """Write a value times a coefficient."""
        if coefficient in (1.0, -1.0):
            return value if coefficient == 1.0 else f"(-{value})"
        product = f"{self.number(coefficient)} * {value}"
        if not (self.dialect.checks_underflow and 0.0 < abs(coefficient) <= 0.5):
            return product
        least = self.number(_underflows(abs(coefficient)))
        return f"CASE WHEN ABS({value}) <= {least} THEN {self.number(0.0)} ELSE {product} END"

    def answer(self, layer: int, place: int, amount: float) -> str:
        """Write an amount where a comparison is answered yes, its negative where no."""
        name = f"h{layer}_{place}"
        if name in self.columns:
            return name if amount == 1.0 else f"{self.number(amount)} * {name}"
        return self.choice(layer, self.plan.layers[layer].comparisons[place], self.number(amount), self.number(-amount))

    # -- totals ------------------------------------------------------------------------------------------------

    def addends(self, output: int) -> Iterator[str]:
        """Yield what is added to an output's base, in order."""
        last = len(self.plan.layers) - 1
        for sloped in self.plan.slopes:
            if sloped.slopes[output]:
                yield self.product(sloped.slopes[output], self._between(sloped))
        for addend in self.plan.addends:
            if addend.amounts[output]:
                yield self.answer(last, addend.comparison, addend.amounts[output])

    def _between(self, sloped: SlopedInput) -> str:
        """Write an input, no further than the ends of its slope, and what stands in for a gap."""
        value = self.input(sloped.input)
        ends = [(sign, self.number(end)) for sign, end in (("<", sloped.low), (">", sloped.high)) if isfinite(end)]
        cases = [f"WHEN {value} {sign} {end} THEN {end}" for sign, end in ends]
        value = f"CASE {' '.join(cases)} ELSE {value} END" if cases else value
        return value if sloped.gap is None else f"COALESCE({value}, {self.number(sloped.gap)})"

    def held(self, score: str) -> str:
        """Write what a raw score predicts within bounds; GREATEST would make a bound of what is NULL."""
        cases = [f"WHEN {score} {sign} {self.number(end)} THEN {self.number(end)}" for sign, end in self.plan.bounds]
        return f"CASE {' '.join(cases)} ELSE {score} END" if cases else score

    def refused(self, score: str) -> str:
        """Write a score that is NULL where an input that must be there is not, or a number is infinite."""
        if self.plan.over != 1.0:
            score = f"({score}) / {self.number(self.plan.over)}"
        inputs, largest = list(enumerate(self.plan.inputs)), self.number(_LARGEST)
        lacking = [f"{self.input(k)} IS NULL" for k, each in inputs if each.refuses]
        lacking += [f"ABS({self.input(k)}) > {largest}" for k, each in inputs if each.categories is None and not each.made]
        return f"CASE WHEN {' OR '.join(lacking)} THEN NULL ELSE {score} END" if lacking else score


def _underflows(coefficient: float) -> float:
    """Return the largest number that a coefficient turns to nothing."""
    largest = 2.0**-1074 / (2.0 * coefficient)
    while coefficient * largest > 0.0:
        largest = nextafter(largest, 0.0)
    while coefficient * nextafter(largest, inf) == 0.0:
        largest = nextafter(largest, inf)
    return largest


def balanced(parts: Sequence[str]) -> str:
    """Write a sum whose order does not matter, as deep as its logarithm."""
    if len(parts) <= 8:
        return " + ".join(parts)
    middle = len(parts) // 2
    return f"({balanced(parts[:middle])}) + ({balanced(parts[middle:])})"


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
        Background rows: the SELECT also returns the questions with the largest exact SHAP values, against the mean
        answers over those rows, and these values; of several classes those of the likeliest.
    count : int, default 3

    Returns
    -------
    str
        With the column ``prediction``, and ``score`` where it has bounds; for classes ``score``, ``probability`` and
        ``label``. NULL is a gap, and the prediction where the model refuses one or a number is infinite.

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
    planned, spelling, kept = plan(model), DIALECTS[dialect], tuple(keep)
    tables = (table,) if isinstance(table, str) else tuple(table)
    check_words([*planned.words, *kept, *tables], NOT_TEXT, "SQL")
    amounts = () if reasons is None else planned.reasons(reasons)
    writer = SqlWriter(planned, spelling)
    text = _expression(writer, amounts) if form == "expression" else _select(writer, table, kept, amounts, count)
    if path is not None:
        write_whole(path, text.encode())
    return text


def _expression(writer: SqlWriter, reasons: Sequence[Any]) -> str:
    planned = writer.plan
    if planned.outputs > 1 or reasons:
        raise ValueError("form='expression' writes one raw score, without reasons; use form='select'.")
    parts = [writer.number(planned.base[0]), *writer.addends(0)]
    if not planned.whole and len(parts) > _MOST_INLINE:
        raise ValueError(
            f"model has {len(parts) - 1} summands whose order matters, too many for one expression; use form='select'."
        )
    return writer.held(writer.refused(balanced(parts) if planned.whole else " + ".join(parts)))


def _select(
    writer: SqlWriter, table: str | Sequence[str], keep: tuple[str, ...], amounts: Sequence[Any], count: int
) -> str:
    planned, dialect = writer.plan, writer.dialect
    stages = Stages(dialect, (table,) if isinstance(table, str) else tuple(table), keep)
    stages.add({f"x{k}": writer.read(k) for k in range(len(planned.inputs))})
    writer.columns |= {f"x{k}" for k in range(len(planned.inputs))}
    last = len(planned.layers) - 1
    for number in range(len(planned.layers)):
        _named_sums(writer, stages, number)
        _named_answers(writer, stages, number, {each.comparison for each in amounts} if number == last else set())
    for output in range(planned.outputs):
        _total(writer, stages, output)
    outputs = _outputs(writer, stages)
    return stages.select(outputs | (reason_stages(stages, writer, amounts, count) if amounts else {}))


def _named_sums(writer: SqlWriter, stages: Stages, layer: int) -> None:
    """Make a column of every sum over several inputs that several comparisons share."""
    planned = writer.plan.layers[layer]
    shared = Counter(each.summation for each in planned.comparisons)
    chosen = [k for k, each in enumerate(planned.sums) if shared[k] > 1 and len(each.inputs) > 1][:_MOST_NAMED]
    stages.add({f"s{layer}_{k}": writer.summed(layer, planned.sums[k]) for k in chosen})
    writer.columns |= {f"s{layer}_{k}" for k in chosen}


def _named_answers(writer: SqlWriter, stages: Stages, layer: int, reasons: set[int]) -> None:
    """Make a column of every answer that is needed more than once."""
    plan, planned = writer.plan, writer.plan.layers[layer]
    if layer < len(plan.layers) - 1:
        uses = Counter(k for each in plan.layers[layer + 1].sums for k in each.inputs)
    else:
        uses = Counter(each.comparison for each in plan.addends for amount in each.amounts if amount)
    chosen = [k for k in range(len(planned.comparisons)) if uses[k] > 1 or k in reasons]
    if len(chosen) > _MOST_NAMED and layer < len(plan.layers) - 1:
        raise ValueError(
            f"model has {len(chosen)} answers in hidden layer {layer + 1} that several neurons read; SQL has room for "
            f"{_MOST_NAMED} of them. Export to another format."
        )
    chosen = chosen[:_MOST_NAMED]
    one, other = writer.number(1.0), writer.number(-1.0)
    stages.add({f"h{layer}_{k}": writer.choice(layer, planned.comparisons[k], one, other) for k in chosen})
    writer.columns |= {f"h{layer}_{k}" for k in chosen}


def _total(writer: SqlWriter, stages: Stages, output: int) -> None:
    """Add up an output, over as many stages as it takes where the order matters."""
    start, parts = writer.number(writer.plan.base[output]), [*writer.addends(output)]
    if writer.plan.whole:
        stages.add({f"t{output}": writer.refused(balanced([start, *parts]))})
        return
    first = True
    while first or parts:
        chunk, parts, name = parts[:_MOST_CHAINED], parts[_MOST_CHAINED:], f"t{output}"
        total = " + ".join([start if first else name, *chunk])
        stages.add({name: total if parts else writer.refused(total)}, replaces=not first)
        first = False


def _outputs(writer: SqlWriter, stages: Stages) -> dict[str, str]:
    """Return the columns of predictions, by name."""
    planned, number = writer.plan, writer.number
    if planned.link == "identity":
        return {"prediction": writer.held("t0")} | ({"score": "t0"} if planned.bounds else {})
    words = [writer.dialect.text(word) for word in planned.class_words]
    near = "CASE WHEN {x} < {most} THEN EXP(-{x}) ELSE {none} END"  # PostgreSQL refuses what rounds to nothing
    if planned.link == "logistic":
        stages.add({"odds": near.format(x="ABS(t0)", most=number(700.0), none=number(0.0))})
        yes = f"CASE WHEN t0 >= {number(0.0)} THEN {number(1.0)} ELSE odds END"
        label = f"CASE WHEN t0 > {number(0.0)} THEN {words[1]} WHEN t0 IS NOT NULL THEN {words[0]} END"
        return {"score": "t0", "probability": f"({yes}) / ({number(1.0)} + odds)", "label": label}
    totals = [f"t{k}" for k in range(planned.outputs)]
    stages.add({"most": stages.greatest(totals)})
    stages.add(
        {f"odds{k}": near.format(x=f"(most - {t})", most=number(700.0), none=number(0.0)) for k, t in enumerate(totals)}
    )
    stages.add({"odds": " + ".join(f"odds{k}" for k in range(planned.outputs))})
    shown = {f"score of {word}": totals[k] for k, word in enumerate(planned.class_words)}
    shown |= {f"probability of {word}": f"odds{k} / odds" for k, word in enumerate(planned.class_words)}
    cases = " ".join(f"WHEN {t} = most THEN {word}" for t, word in zip(totals, words, strict=True))
    return shown | {"label": f"CASE {cases} END"}


# -- Reason codes in SQL: the largest amount, the question that has it, then the largest of the others.

_MOST = 500


def reason_stages(stages: Stages, writer: SqlWriter, amounts: Sequence[ReasonAmounts], count: int) -> dict[str, str]:
    """Add the stages that find the top reasons; return the columns that show them."""
    planned, number, text = writer.plan, writer.number, writer.dialect.text
    if len(amounts) > _MOST:
        raise ValueError(
            f"reasons in SQL are for up to {_MOST} questions; the model has {len(amounts)}. Use to_python."
        )
    last, none = len(planned.layers) - 1, number(-1.0)
    zero = number(0.0)
    answers = [f"h{last}_{each.comparison} > {zero}" for each in amounts]
    if planned.outputs > 1:  # the reasons of the class that is predicted
        cases = " ".join(f"WHEN t{k} = most THEN {k}" for k in range(planned.outputs))
        stages.add({"likeliest": f"CASE {cases} END"})
    values = [(_of_likeliest(each.yes, number), _of_likeliest(each.no, number)) for each in amounts]
    pairs = zip(answers, values, strict=True)
    stages.add({f"r{k}": f"CASE WHEN {yes} THEN {a} ELSE {b} END" for k, (yes, (a, b)) in enumerate(pairs)})
    shown: dict[str, str] = {}
    for rank in range(1, min(count, len(amounts)) + 1):
        left = [_left(k, rank, none) for k in range(len(amounts))]
        stages.add({f"best_{rank}": stages.greatest(left)})
        cases = " ".join(f"WHEN {size} = best_{rank} THEN {k}" for k, size in enumerate(left))
        stages.add({f"which_{rank}": f"CASE {cases} END"})
        words = " ".join(f"WHEN {k} THEN {text(each.words)}" for k, each in enumerate(amounts))
        found = " ".join(f"WHEN {k} THEN r{k}" for k in range(len(amounts)))
        said = " ".join(f"WHEN {k} THEN h{last}_{each.comparison}" for k, each in enumerate(amounts))
        shown |= {
            f"reason {rank}": f"CASE which_{rank} {words} END",
            f"answer {rank}": f"CASE WHEN (CASE which_{rank} {said} END) > {zero} THEN 'yes' ELSE 'no' END",
            f"amount {rank}": f"CASE which_{rank} {found} END",
        }
    return shown


def _of_likeliest(amounts: tuple[float, ...], number: Callable[[float], str]) -> str:
    """Write the amount of the likeliest class, which is known; the one there is where there are no classes."""
    if len(amounts) == 1:
        return number(amounts[0])
    cases = " ".join(f"WHEN {k} THEN {number(amount)}" for k, amount in enumerate(amounts))
    return f"CASE likeliest {cases} END"


def _left(k: int, rank: int, none: str) -> str:
    """Write the size of an amount, or less than any where it was found before."""
    found = " OR ".join(f"which_{earlier} = {k}" for earlier in range(1, rank))
    return f"CASE WHEN {found} THEN {none} ELSE ABS(r{k}) END" if found else f"ABS(r{k})"


# -- A SELECT built up in stages, each a named query over the one before it.

_MOST_ARGUMENTS = 100  # of a function; SQLite has room for 127


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
        made = [f"{written} AS {name}" for name, written in columns.items()]
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
            parts = [each[0] if len(each) == 1 else f"{self.dialect.greatest}({', '.join(each)})" for each in groups]
        return parts[0]

    def select(self, outputs: Mapping[str, str]) -> str:
        """Write the whole: what was kept, and the outputs by name."""
        name = self.dialect.name
        taken, listed = set(self.keep), [f"keep_{k} AS {name(each)}" for k, each in enumerate(self.keep)]
        for title, written in outputs.items():
            while title in taken:
                title += " of bgn"
            taken.add(title)
            listed.append(f"{written} AS {name(title)}")
        stages = ",\n".join(
            f"{self._stage}_{k} {self.dialect.staged} (\n  {query}\n)" for k, query in enumerate(self._queries)
        )
        columns = ",\n  ".join(listed)
        return f"WITH {stages}\nSELECT\n  {columns}\nFROM {self._stage}_{len(self._queries) - 1}"
