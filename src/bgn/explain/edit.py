"""A network changed by an expert, step by step, with a receipt for every change and a way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain import edit as edits
from bgn.explain.arguments import column_of, rows_and_target, value_if_missing
from bgn.inputs.frames import rows_of
from bgn.inputs.target import codes_of
from bgn.model.layer import Layer
from bgn.model.network import Edit, Network, on_gpu
from bgn.model.numbers import EXACT, written
from bgn.model.readings import ReadTerm, as_terms, with_positive_second, is_first_positive, network_of, swap_classes
from bgn.model.step import Bools, Floats
from bgn.model.term import Coefficient, Oblique, Projection
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular

# By neuron, and by which of its columns are shown without gaps.
Answers = dict[tuple[Oblique, bytes], Bools]
# Changes up to this, relative to all that can be added up, are roundings.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Receipt(Tabular):
    """What a change did to the predictions of given rows.

    Attributes
    ----------
    edit : Edit
        The line of the log.
    changed : ndarray of int
        Numbers of the rows whose prediction changed.
    decisions : ndarray of int or None
        Numbers of the rows that the cutoff now puts on the other side.
    change : ndarray, shape (rows,)
        New predictions less old ones.
    """

    edit: Edit
    changed: NDArray[np.int64]
    decisions: NDArray[np.int64] | None
    change: Floats

    def _columns(self) -> Columns:
        edit = self.edit
        told: dict[str, Any] = {"what": [edit.what], "rows": [edit.rows], "predictions changed": [edit.changed]}
        return told | {"decisions changed": [edit.decisions], "error before": [edit.before], "after": [edit.after]}

    def __repr__(self) -> str:
        return f"Receipt({self})"

    def __str__(self) -> str:
        edit = self.edit
        error = "" if edit.before is None else f", error {edit.before:.6g} -> {edit.after:.6g}"
        side = "" if edit.decisions is None else f", {edit.decisions} decisions"
        return f"{edit.what}: {edit.changed} of {edit.rows} predictions changed{side}{error}"


@dataclass(frozen=True, eq=False, repr=False)
class Editor:
    """A network, the rows that changes are tried on, and what was done so far. Every change returns another editor.

    Attributes
    ----------
    network : Network
        As it is now.
    log : tuple of Edit
        All changes so far, those of a model that was edited before included.
    receipt : Receipt or None
        What the last change did.
    """

    network: Network
    log: tuple[Edit, ...] = ()
    receipt: Receipt | None = None
    model_before: Any = None
    rows: Floats = field(default_factory=lambda: np.empty((0, 0)))
    target: Floats | None = None
    cutoff: float | None = None
    answers: Answers = field(default_factory=dict)
    predictions: Floats = field(default_factory=lambda: np.empty(0))
    parent: Editor | None = None
    gaps: bool = False

    # -- changes ---------------------------------------------------------------------------------------------

    def threshold(self, question: int, value: float, why: str = "") -> Editor:
        """Return the editor with another threshold in a question of the equation, counted from 1."""
        return self._done(lambda: self._as_told(edits.threshold, question, value),
                          f"threshold of {self._told(question)} set to {value:g}", why)  # fmt: skip

    def amount(self, question: int, value: float, why: str = "") -> Editor:
        """Return the editor with another amount for a question; rows that answer no stay as they are."""
        return self._done(lambda: self._as_told(edits.amount, question, value),
                          f"amount of {self._told(question)} set to {value:g}", why)  # fmt: skip

    def category(self, question: int, category: Any, yes: bool, why: str = "") -> Editor:
        """Return the editor with a level of a category, or its gap (None), answered yes or no by a question."""
        return self._done(lambda: self._as_told(edits.category, question, category, yes),
                          f"{self._told(question)} answered {'yes' if yes else 'no'} for {category!r}", why)  # fmt: skip

    def drop(self, question: int, answer: bool = False, why: str = "") -> Editor:
        """Return the editor without a question, as if it were always answered no, or yes."""
        return self._done(lambda: self._as_told(edits.drop, question, answer), f"{self._told(question)} dropped", why)

    def merge(self, first: int, second: int, threshold: float | None = None, why: str = "") -> Editor:
        """Return the editor with two questions about the same sum made one, asked as the first is."""
        return self._done(lambda: self._as_told(edits.merge, first, second, threshold),
                          f"{self._told(second)} merged into {self._told(first)}", why)  # fmt: skip

    def add(self, asked: Any, relation: str, value: Any, amount: float, missing: bool = False, why: str = "") -> Editor:
        """Return the editor with one more question: ``add("age", ">=", 65, 2.5)``, ``add("city", "in", ["Nice"], 1)``.

        Coefficients by column ask of their sum; `missing` is the answer where a column has a gap.
        """
        return self._done(lambda: self._as_told(edits.add, asked, relation, value, amount, missing),
                          f"{asked} {relation} {value} added, worth {amount}", why)  # fmt: skip

    def forbid(self, column: Any, why: str = "") -> Editor:
        """Return the editor without all questions about a column; each counts as answered as it mostly is."""
        common = {
            k: bool(self.answers[key].mean() >= 0.5) for k, key in enumerate(keys(self.network)) if len(self.rows)
        }
        return self._done(lambda: edits.forbid(self.network, column, common), f"{column} forbidden", why)

    def round(self, digits: int, why: str = "") -> Editor:
        """Return the editor with amounts, start and thresholds of so many significant digits."""
        told = f"rounded to {digits} digit{'s' * (digits != 1)}"
        return self._done(lambda: self._as_told(edits.round_to, digits), told, why)

    def undo(self) -> Editor:
        """Return the editor as it was before the last change."""
        if self.parent is None:
            raise ValueError("there is nothing to undo: the network is as it was handed over.")
        return self.parent

    # -- results ---------------------------------------------------------------------------------------------

    @property
    def model(self) -> Any:
        """The model as it is now: a network, or the estimator with it; its ``edits_`` are the log."""
        if self.model_before is None or isinstance(self.model_before, Network):
            return self.network
        made = object.__new__(type(self.model_before))
        gone = ("intervals_", "validation_rows_", "out_of_fold_", "history_")
        made.__dict__ = {name: value for name, value in vars(self.model_before).items() if name not in gone}
        made.network_, made.edits_ = self.network, self.log
        return made

    def __repr__(self) -> str:
        return f"Editor({len(self.log)} edits, {self.network!r})"

    # -- inside ----------------------------------------------------------------------------------------------

    def _as_told(self, change: Callable[..., Network], *arguments: Any) -> Network:
        """Return the network after a change of its equation, which may tell of the first of two classes."""
        turned = is_first_positive(self.network)
        found = change(with_positive_second(self.network), *arguments)
        return swap_classes(found) if turned else found

    def _told(self, question: int) -> str:
        edits.line(with_positive_second(self.network), question)
        return f"question {question}"

    def _done(self, change: Callable[[], Network], what: str, why: str) -> Editor:
        """Return the editor after a change, with a receipt."""
        network = change()
        rows = shown(network, self.rows) if self.gaps else self.rows
        answers = answered(network, rows, self.answers)
        predictions = predicted(network, rows, answers)
        change_of = predictions - self.predictions
        reach = max(float(abs(each.base) + np.abs(each.output_weights).sum()) for each in (self.network, network))
        changed = np.flatnonzero(np.abs(change_of) > _ROUNDING * reach)
        sides = None
        if self.cutoff is not None:
            yes = [
                (1.0 - each if is_first_positive(network) else each) >= self.cutoff for each in (self.predictions, predictions)
            ]
            sides = np.flatnonzero(yes[0] != yes[1])
        errors = [None if self.target is None else error(network, each, self.target)
                  for each in (self.predictions, predictions)]  # fmt: skip
        edit = Edit(what, why, len(self.rows), len(changed), None if sides is None else len(sides), *errors)
        return replace(
            self, network=network, log=(*self.log, edit), receipt=Receipt(edit, changed, sides, change_of),
            answers=answers, predictions=predictions, parent=self,
        )  # fmt: skip


@through_pipelines("X", targets=("y",))
def edit(model: Any, X: Any = None, y: Any = None, *, cutoff: float | None = None) -> Editor:
    """Return an editor of a model with one hidden layer and one output, in which an expert changes questions.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, optional
        Training rows, on which every change is tried, and from which `forbid` learns what a question mostly answers.
        Whoever keeps changes because errors on some rows fall has learned from these: leave test rows for the end.
    y : array_like, optional
        The targets of the training rows, for the error: numbers, or labels of the two classes.
    cutoff : float, optional
        Predictions from here on are decisions for yes, whose changes are counted.

    Returns
    -------
    Editor

    Examples
    --------
    >>> from bgn import Layer, Network, edit, equation
    >>> network = Network.of_layers([Layer([[1.0, 0.0], [0.0, 1.0]], [-65.5, -20.0])], [0.5, -0.25], 1.0, ["income", "age"])
    >>> start = edit(network, [[70.0, 10.0], [66.0, 30.0], [20.0, 30.0]], [1.8, 1.2, 0.3])
    >>> done = start.threshold(1, 67, why="the bracket begins at 67")
    >>> done.receipt
    Receipt(threshold of question 1 set to 67: 1 of 3 predictions changed, error 0.0025 -> 0.3025)
    >>> print(equation(done.network))
    prediction = 0.25
               + 1.00 [income >= 67]
               + 0.50 [age < 20]
    >>> done.undo().network == network
    True
    """
    network = network_of(model, plain=False)
    if network.depth > 1 or network.link == "softmax":
        raise ValueError("model must have one hidden layer and one output, a number or two classes, to be edited.")
    if X is None and y is not None:
        raise ValueError("y needs the rows it belongs to; pass X too.")
    raw, rows, target = np.empty((0, network.n_inputs)), np.empty((0, network.n_inputs)), None
    if X is not None:
        if y is None or network.link != "identity":
            rows = rows_of(network, X, "X")
            target = None if y is None else codes_of(network, y, len(rows))
        else:
            rows, target = rows_and_target(network, X, y, "X", "y")
        raw = rows if on_gpu(X) else network.schema.encode(X, missing=True)
    answers = answered(network, rows, {})
    log = tuple(getattr(model, "edits_", ()))
    gaps = bool(np.isnan(raw).any())
    return Editor(
        network, log, None, model, raw, target, cutoff, answers, predicted(network, rows, answers), gaps=gaps,
    )  # fmt: skip


def shown(network: Network, rows: Floats) -> Floats:
    """Return encoded rows as a network reads them, or say which gaps it has no answer for."""
    seen = network._rows(rows, encoded=True)
    lost = [network.names[j] for j in np.flatnonzero(np.isnan(seen).any(axis=0)) if value_if_missing(network, int(j)) is None]
    if lost:
        raise ValueError(
            f"the network would have no answer for gaps of {', '.join(lost)}, which X has. Keep a question."
        )
    return seen


def keys(network: Network) -> list[tuple[Oblique, bytes]]:
    """Return by what answers are known again."""
    first, refused = network.layers[0], network.layers[0].refuses_missing
    return [(neuron, refused[list(neuron.projection.columns)].tobytes()) for neuron in first.neurons]


def answered(network: Network, rows: Floats, known: Answers) -> Answers:
    """Return the answers of all neurons to rows as the network reads them; those known are not asked again."""
    return {key: known[key] if key in known else key[0].fires(rows) for key in keys(network)}


def predicted(network: Network, rows: Floats, answers: Answers) -> Floats:
    """Return what the network predicts, from its answers: the same sums in the same order."""
    holding = (answers[key] for key in keys(network))
    return network.linked(network.scores_where(holding, len(rows), rows)[:, 0])


def error(network: Network, predictions: Floats, target: Floats) -> float:
    """Return the mean squared error, or the mean log loss of a probability."""
    if network.link == "identity":
        return float(np.mean((predictions - target) ** 2))
    chance = np.clip(np.where(target > 0, predictions, 1.0 - predictions), 1e-300, 1.0)
    return float(-np.log(chance).mean())


# -- The changes that an expert may make to a network, each a function from a network to a network.

_RELATIONS = (">=", "<")


def line(network: Network, question: Any) -> ReadTerm:
    """Return the term in one line of the equation."""
    terms = as_terms(network).rules
    if isinstance(question, bool) or not isinstance(question, int | np.integer) or not 1 <= question <= len(terms):
        raise ValueError(f"question must be a line of the equation, from 1 to {len(terms)}; got {question!r}.")
    return terms[int(question) - 1]


def _half(amount: Decimal) -> float:
    return float(EXACT.divide(amount, Decimal(2)))


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number; got {value!r}.")
    return float(value)


def with_neurons(network: Network, neurons: Iterable[Oblique], weights: Any, base: float) -> Network:
    """Return a network of one layer with other neurons."""
    return network.changed(layers=[Layer.of(neurons, network.n_inputs)], output_weights=weights, base=base)


def _replaced(network: Network, number: int, neuron: Oblique) -> Network:
    neurons = list(network.layers[0].neurons)
    neurons[number] = neuron
    return with_neurons(network, neurons, network.output_weights, network.base)


def threshold(network: Network, question: int, value: float) -> Network:
    """Return the network with another threshold in a question."""
    term, value = line(network, question), _finite(value, "threshold")
    neuron = network.layers[0].neurons[term.index]
    factors = [each for each in neuron.projection.coefficients if not isinstance(each, tuple) and each]
    if not factors:
        raise ValueError(f"question {question} asks of no number, and has no threshold. Change the side of a level.")
    printed = [each for each in term.condition.coefficients if not isinstance(each, tuple) and each]
    return _replaced(network, term.index, replace(neuron, threshold=value * (factors[0] / printed[0]) + 0.0))


def amount(network: Network, question: int, value: float) -> Network:
    """Return the network with another amount for a question; rows that answer no stay as they are."""
    term, wanted = line(network, question), written(_finite(value, "amount"))
    weights = network.output_weights.copy()
    weights[term.index] = float(np.sign(weights[term.index])) * _half(wanted)
    moved = EXACT.divide(EXACT.subtract(wanted, term.coef[0]), Decimal(2))
    base = float(EXACT.add(written(network.base), moved))
    if not wanted:
        return drop(network, question)
    return network.changed(output_weights=weights, base=base)


def drop(network: Network, question: int, answer: bool = False) -> Network:
    """Return the network without a question, as if it were always answered no, or yes."""
    term = line(network, question)
    half = EXACT.divide(term.coef[0], Decimal(2))
    base = (EXACT.add if answer else EXACT.subtract)(written(network.base), half)
    kept = [k for k in range(network.widths[0]) if k != term.index]
    neurons = [network.layers[0].neurons[k] for k in kept]
    return with_neurons(network, neurons, network.output_weights[kept], float(base))


def category(network: Network, question: int, word: Any, yes: bool) -> Network:
    """Return the network with a level, or with None the gap, of a question about one category on another side."""
    term = line(network, question)
    neuron, flipped = network.layers[0].neurons[term.index], network.output_weights[term.index] < 0
    fires = bool(yes) is not bool(flipped)
    if len(neuron.projection.columns) != 1 or (word is None and neuron.missing is None):
        raise ValueError(f"question {question} must ask of one category, or have an answer for gaps; it does not.")
    column = network.schema.columns[neuron.projection.columns[0]]
    if word is None:
        return _replaced(network, term.index, replace(neuron, missing=fires))
    values = neuron.projection.coefficients[0]
    if not isinstance(values, tuple) or column.categories is None:
        raise ValueError(f"question {question} asks of {column.name!r}, a number. Change its threshold.")
    if word not in column.categories:
        raise ValueError(f"level must be one of {', '.join(map(repr, column.categories))}; got {word!r}.")
    there = [value for value in values if (value >= neuron.threshold) == fires]
    apart = neuron.threshold if fires else neuron.threshold - 1.0
    value = there[0] if there else apart
    changed = tuple(value if each == word else old for each, old in zip(column.categories, values, strict=True))
    return _replaced(
        network, term.index, replace(neuron, projection=replace(neuron.projection, coefficients=(changed,)))
    )


def merge(network: Network, first: int, second: int, value: float | None = None) -> Network:
    """Return the network with two questions about the same sum made one: the first asks, both are worth."""
    one, other = line(network, first), line(network, second)
    if one.index == other.index:
        raise ValueError(f"questions to merge must be two; got {first} twice.")
    asked, also = (network.layers[0].neurons[each.index] for each in (one, other))
    opposite = also.projection == _turned(asked.projection)
    if also.projection != asked.projection and not opposite:
        raise ValueError(f"questions {first} and {second} must compare the same sum to be merged; they do not.")
    weights = [written(float(network.output_weights[each.index])) for each in (one, other)]
    joined = float((EXACT.subtract if opposite else EXACT.add)(*weights))
    found = network.output_weights.copy()
    found[one.index] = joined
    kept = [k for k in range(network.widths[0]) if k != other.index]
    merged = with_neurons(network, [network.layers[0].neurons[k] for k in kept], found[kept], network.base)
    if value is None or not joined:
        return merged
    place = kept.index(one.index)
    lines = [k for k, term in enumerate(as_terms(merged).rules, start=1) if term.index == place]
    return threshold(merged, lines[0], value)


def _turned(projection: Projection) -> Projection:
    """Return a projection with all signs turned."""
    coefficients: tuple[Coefficient, ...] = tuple(
        tuple(-value for value in each) if isinstance(each, tuple) else -each for each in projection.coefficients
    )
    return replace(projection, coefficients=coefficients)


def add(network: Network, asked: Any, relation: str, value: Any, amount: float, missing: bool = False) -> Network:
    """Return the network with one more question.

    `asked` is a column, or coefficients by column, whose sum stands in `relation` to the threshold `value`; or a
    category, with ``"in"`` and levels.
    """
    worth = _finite(amount, "amount")
    sums = dict(asked) if isinstance(asked, Mapping) else {asked: 1.0}
    columns = [column_of(network, name, "asked") for name in sums]
    kinds = [network.schema.columns[j] for j in columns]
    if relation == "in":
        categories = kinds[0].categories if len(kinds) == 1 else None
        wanted = [value] if isinstance(value, str) else list(value)
        if categories is None or any(each not in categories for each in wanted):
            raise ValueError(f"value must be levels of one category; got {value!r} of {list(sums)}.")
        projection, cut = Projection(tuple(columns), (tuple(float(each in wanted) for each in categories),)), 1.0
    else:
        if relation not in _RELATIONS or any(kind.categories is not None for kind in kinds):
            raise ValueError(f"relation must be '>=' or '<' for numbers, 'in' for a category; got {relation!r}.")
        factors = [_finite(each, "coefficient") for each in sums.values()]
        if not all(factors):
            raise ValueError(f"asked must have coefficients other than 0; got {sums!r}.")
        projection, cut = Projection(tuple(columns), tuple(factors)), _finite(value, "value")
    gaps = [value_if_missing(network, j) for j in columns]
    sees = any(gap is not None and gap != gap for gap in gaps)
    fires = missing if relation != "<" else not missing
    neuron = Oblique(projection, cut, fires if sees or (network.layers[0].takes_missing and None in gaps) else None)
    half = EXACT.divide(written(worth), Decimal(2))
    weights = np.append(network.output_weights, float(half) if relation != "<" else -float(half))
    base = float(EXACT.add(written(network.base), half))
    return with_neurons(network, [*network.layers[0].neurons, neuron], weights, base)


def forbid(network: Network, column: Any, answers: Mapping[int, bool] | None = None) -> Network:
    """Return the network without all questions about a column, and without its slope.

    `answers` says, by neuron, what a question counts as answered with; no unless told.
    """
    j = column_of(network, column, "column")
    kept, base = [], written(network.base)
    for k, neuron in enumerate(network.layers[0].neurons):
        if j in neuron.projection.columns:
            weight = written(float(network.output_weights[k]))
            yes = (answers or {}).get(k, network.output_weights[k] < 0)
            base = (EXACT.add if yes else EXACT.subtract)(base, weight)
        else:
            kept.append(k)
    lines = [k for k, term in enumerate(network.linear) if term.column != j]
    neurons = [network.layers[0].neurons[k] for k in kept]
    without = with_neurons(network, neurons, network.output_weights[kept], float(base))
    return without.with_linear([network.linear[k] for k in lines], network.linear_coef[lines])


def round_to(network: Network, digits: int) -> Network:
    """Return the network with amounts, start and thresholds of so many significant digits."""
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ValueError(f"digits must be a whole number from 1 to 17; got {digits!r}.")
    terms, weights, neurons = as_terms(network), network.output_weights.copy(), list(network.layers[0].neurons)
    base = written(_short(float(terms.intercept[0]), digits))
    for term in terms.rules:
        half = written(_half(written(_short(float(term.coef[0]), digits))))
        weights[term.index] = float(np.sign(weights[term.index])) * float(half)
        base = EXACT.add(base, half)
        neuron = neurons[term.index]
        if any(not isinstance(each, tuple) and each for each in neuron.projection.coefficients):
            neurons[term.index] = replace(neuron, threshold=_short(neuron.threshold, digits))
    idle = [k for k in range(network.widths[0]) if k not in {term.index for term in terms.rules}]
    kept = [k for k in range(network.widths[0]) if k not in idle]  # questions about nothing are in the base already
    return with_neurons(network, [neurons[k] for k in kept], weights[kept], float(base))


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
