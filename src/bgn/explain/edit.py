"""A network changed by an expert, step by step, with a receipt for every change and a way back.

Rules have the numbers of their lines in the equation, where a rule of negative weight is written the other way round. A
change keeps rows alone that it does not speak of, and sums of decimals are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgn.explain.arguments import column_of, rows_and_target, value_if_missing
from bgn.inputs.errors import listed
from bgn.inputs.frames import rows_of
from bgn.inputs.target import codes_of
from bgn.model.network import Edit, Network, on_gpu
from bgn.model.numbers import EXACT, sum_of, written
from bgn.model.readings import ReadTerm, as_terms, is_first_positive, network_of, swap_classes, with_positive_second
from bgn.model.schema import category_name
from bgn.model.step import Bools, Floats
from bgn.model.term import Member, Missing, Oblique, Projection, Rule, Term, Threshold, condition_of
from bgn.pipelines import through_pipelines
from bgn.tabular import Columns, Tabular

# Where rules hold, by rule and by which of its columns have missing values filled.
Holding = dict[tuple[Rule, bytes], Bools]
# Changes up to this, relative to all that can be added up, are roundings.
_ROUNDING = 1e-12


@through_pipelines("X", targets=("y",))
def edit(model: Any, X: Any = None, y: Any = None, *, cutoff: float | None = None) -> Editor:
    """Return an editor of a model with one hidden layer and one output, in which an expert changes terms.

    Parameters
    ----------
    model : Network or fitted estimator
    X : array_like or frame, optional
        Training rows, on which every change is tried, and from which `forbid` takes whether a rule mostly holds.
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
    >>> layer = Layer([[1.0, 0.0], [0.0, 1.0]], [-65.5, -20.0])
    >>> network = Network.of_layers([layer], [0.5, -0.25], 1.0, ["income", "age"])
    >>> start = edit(network, [[70.0, 10.0], [66.0, 30.0], [20.0, 30.0]], [1.8, 1.2, 0.3])
    >>> done = start.threshold(1, 67, why="the bracket begins at 67")
    >>> done.receipt
    Receipt(threshold of rule 1 set to 67: 1 of 3 predictions changed, error 0.0025 -> 0.3025)
    >>> print(equation(done.network))
    prediction = 0.25
               + 1.00 [income >= 67]
               + 0.50 [age < 20]
    >>> done.undo().network == network
    True
    """
    network = network_of(model, plain=False)
    if network.below or network.link == "softmax":
        raise ValueError("model must have one hidden layer and one output, a number or two classes, to be edited.")
    if X is None and y is not None:
        raise ValueError("y needs the rows it belongs to; pass X too.")
    encoded, target = np.empty((0, network.n_inputs)), None
    if X is not None:
        if y is None or network.link != "identity":
            rows = rows_of(network, X, "X")
            target = None if y is None else codes_of(network, y, len(rows))
        else:
            rows, target = rows_and_target(network, X, y, "X", "y")
        encoded = rows if on_gpu(X) else network.schema.encode(X, missing=True)
    start = Editor(network, tuple(getattr(model, "edits_", ())), None, model, encoded, target, cutoff)
    holding, predictions = start._evaluated(network)
    return replace(start, holding=holding, predictions=predictions)


@dataclass(frozen=True, eq=False, repr=False)
class Editor:
    """A network, the rows that changes are tried on, and what was done so far. Every change returns another editor.

    Attributes
    ----------
    network : Network
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
    holding: Holding = field(default_factory=dict)
    predictions: Floats = field(default_factory=lambda: np.empty(0))
    parent: Editor | None = None

    # -- changes ---------------------------------------------------------------------------------------------

    def threshold(self, rule: int, value: float, why: str = "", condition: int | None = None) -> Editor:
        """Return the editor with another threshold in a rule of the equation, both it and its conditions counted from
        1; of a rule with several, `condition` is the one that is meant."""
        return self._after(lambda network: _with_threshold(network, rule, value, condition),
                           lambda: f"threshold of rule {rule} set to {value:g}", why)  # fmt: skip

    def add_condition(
        self, rule: int, columns: Any, relation: str, value: Any, missing: bool = False, why: str = ""
    ) -> Editor:
        """Return the editor with a rule that must meet one more condition, written as :meth:`add` takes it."""
        shown = f"{value:g}" if isinstance(value, float) else value
        return self._after(lambda network: _with_condition(network, rule, columns, relation, value, missing),
                           lambda: f"{columns} {relation} {shown} added to rule {rule}", why)  # fmt: skip

    def drop_condition(self, rule: int, condition: int, why: str = "") -> Editor:
        """Return the editor with a rule without one of its conditions, counted from 1."""
        return self._after(lambda network: _without_condition(network, rule, condition),
                           lambda: f"condition {condition} of rule {rule} dropped", why)  # fmt: skip

    def coef(self, rule: int, value: float, why: str = "") -> Editor:
        """Return the editor with another weight for a rule; rows where it does not hold stay as they are."""
        return self._after(lambda network: _with_coef(network, rule, value),
                           lambda: f"weight of rule {rule} set to {value:g}", why)  # fmt: skip

    def category(self, rule: int, category: Any, holds: bool, why: str = "", condition: int | None = None) -> Editor:
        """Return the editor with a rule that holds, or does not, for a category, or for a missing value (None)."""
        return self._after(lambda network: _with_category(network, rule, category, holds, condition),
                           lambda: f"rule {rule} {'holds' if holds else 'does not hold'} for {category!r}",
                           why)  # fmt: skip

    def drop(self, rule: int, holds: bool = False, why: str = "") -> Editor:
        """Return the editor without a rule, as if it never held, or always."""
        return self._after(lambda network: _without(network, rule, holds), lambda: f"rule {rule} dropped", why)

    def merge(self, first: int, second: int, threshold: float | None = None, why: str = "") -> Editor:
        """Return the editor with two rules about the same sum made one, with the condition of the first."""
        return self._after(lambda network: _merged(network, first, second, threshold),
                           lambda: f"rule {second} merged into rule {first}", why)  # fmt: skip

    def add(self, columns: Any, relation: str, value: Any, coef: float, missing: bool = False, why: str = "") -> Editor:
        """Return the editor with one more rule: ``add("age", ">=", 65, 2.5)``, ``add("city", "in", ["Nice"], 1)``.

        Coefficients by column compare their sum; `missing` is whether it holds where a column is missing.
        """
        return self._after(lambda network: _with_rule(network, columns, relation, value, coef, missing),
                           lambda: f"{columns} {relation} {value} added, worth {coef}", why)  # fmt: skip

    def forbid(self, column: Any, why: str = "") -> Editor:
        """Return the editor without all terms about a column; a rule counts as holding where it mostly does."""
        common = {k: bool(self.holding[key].mean() >= 0.5) for k, key in enumerate(_keys(self.network))
                  if len(self.rows)}  # fmt: skip
        return self._after(
            lambda network: _forbidden(network, column, common), lambda: f"{column} forbidden", why, False
        )

    def round(self, digits: int, why: str = "") -> Editor:
        """Return the editor with weights, start and thresholds of so many significant digits."""
        return self._after(lambda network: _rounded(network, digits),
                           lambda: f"rounded to {digits} digit{'s' * (digits != 1)}", why)  # fmt: skip

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

    def _after(
        self, change: Callable[[Network], Network], what: Callable[[], str], why: str, as_printed: bool = True
    ) -> Editor:
        """Return the editor after a change, with a receipt; changes are of the network as it is printed, whose second
        class is "yes"."""
        back = as_printed and is_first_positive(self.network)
        network = change(with_positive_second(self.network) if back else self.network)
        network = swap_classes(network) if back else network
        holding, predictions = self._evaluated(network)
        difference = predictions - self.predictions
        reach = max(float(np.abs(one.intercept).sum() + np.abs(one.rule_coef).sum()) for one in (self.network, network))
        changed = np.flatnonzero(np.abs(difference) > _ROUNDING * reach)
        decisions = None
        if self.cutoff is not None:
            old, now = ((1.0 - values if is_first_positive(network) else values) >= self.cutoff
                        for values in (self.predictions, predictions))  # fmt: skip
            decisions = np.flatnonzero(old != now)
        errors = [None, None] if self.target is None else [
            float(np.mean((values - self.target) ** 2)) if network.link == "identity" else
            float(-np.log(np.clip(np.where(self.target > 0, values, 1.0 - values), 1e-300, 1.0)).mean())
            for values in (self.predictions, predictions)
        ]  # fmt: skip
        edit = Edit(what(), why, len(self.rows), len(changed), None if decisions is None else len(decisions), *errors)
        return replace(
            self, network=network, log=(*self.log, edit), receipt=Receipt(edit, changed, decisions, difference),
            holding=holding, predictions=predictions, parent=self,
        )  # fmt: skip

    def _evaluated(self, network: Network) -> tuple[Holding, Floats]:
        """Return where the rules of a network hold, those known not evaluated again, and what it predicts."""
        rows = network._rows(self.rows, encoded=True)
        lost = [network.names[j] for j in np.flatnonzero(np.isnan(rows).any(axis=0))
                if value_if_missing(network, int(j)) is None]  # fmt: skip
        if lost:
            raise ValueError(
                f"no rule would be left with an answer for missing values of {', '.join(lost)}, which X has. Keep one."
            )
        keys = _keys(network)
        holding = {key: self.holding[key] if key in self.holding else key[0].holds(rows) for key in keys}
        scores = network.scores_where((holding[key] for key in keys), len(rows), rows)
        return holding, network.linked(scores[:, 0])


def _keys(network: Network) -> list[tuple[Rule, bytes]]:
    """Return by what it is known again where rules hold."""
    refused = network.layers[0].refuses_missing
    return [(rule, refused[list(rule.columns)].tobytes()) for rule in network.rules]


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
        changed: dict[str, Any] = {"what": [edit.what], "rows": [edit.rows], "predictions changed": [edit.changed]}
        return changed | {"decisions changed": [edit.decisions], "error before": [edit.before], "after": [edit.after]}

    def __repr__(self) -> str:
        return f"Receipt({self})"

    def __str__(self) -> str:
        edit = self.edit
        error = "" if edit.before is None else f", error {edit.before:.6g} -> {edit.after:.6g}"
        side = "" if edit.decisions is None else f", {edit.decisions} decisions"
        return f"{edit.what}: {edit.changed} of {edit.rows} predictions changed{side}{error}"


# -- The changes, each a function from a network to a network.


def _line(network: Network, number: Any) -> tuple[ReadTerm, int]:
    """Return a line of the equation, and the number of its rule among the terms."""
    lines = as_terms(network).rules
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 1 <= number <= len(lines):
        raise ValueError(f"rule must be a line of the equation, from 1 to {len(lines)}; got {number!r}.")
    line = lines[int(number) - 1]
    return line, line.place


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number; got {value!r}.")
    return float(value)


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _with_terms(network: Network, terms: Sequence[Term], coef: Any, *added: Decimal) -> Network:
    """Return a network with other terms, and its intercept with numbers added to it."""
    intercept = float(sum_of([written(network.intercept[0]), *added]))
    return network.changed(terms=terms, coef=np.asarray(coef, np.float64).reshape(-1, 1), intercept=intercept)


def _replaced(network: Network, number: int, old: Any, new: Any) -> Network:
    """Return a network with another condition in a rule."""
    terms: list[Any] = list(network.terms)
    conditions = tuple(new if condition is old else condition for condition in terms[number].conditions)
    terms[number] = Rule(conditions, terms[number].otherwise)
    return network.changed(terms=terms)


def _part(network: Network, number: int, holds: bool, coef: float | None = None) -> Decimal:
    """Return what a rule adds where it holds, or does not hold, as the equation writes it."""
    rule: Any = network.terms[number]
    own = network.coef[number, 0].item()
    value = written(own if coef is None else coef)
    return value if holds is (own > 0) else EXACT.multiply(value, Decimal(int(rule.otherwise)))


def _coef_of(rule: Any, gain: Decimal) -> float:
    """Return the weight with which a rule adds so much more where it holds."""
    return float(EXACT.divide(gain, Decimal(1 - int(rule.otherwise))))


def _condition(network: Network, number: int, line: int, which: int | None = None) -> Any:
    """Return a condition of a rule, the one alone or that which is meant."""
    conditions = network.terms[number].conditions  # type: ignore[union-attr]
    if which is None and len(conditions) > 1:
        raise ValueError(f"rule {line} has {len(conditions)} conditions; pass condition=1 to mean the first.")
    chosen = 1 if which is None else which
    if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer) or not 1 <= chosen <= len(conditions):
        raise ValueError(f"condition must be from 1 to {len(conditions)}; got {which!r}.")
    return conditions[chosen - 1]


def _with_threshold(network: Network, line: int, value: float, which: int | None = None) -> Network:
    (printed, number), value = _line(network, line), _finite(value, "threshold")
    condition = _condition(network, number, line, which)
    if isinstance(condition, Threshold):
        return _replaced(network, number, condition, replace(condition, threshold=value))
    factors = [] if isinstance(condition, Member | Missing) else _numeric(condition.projection.coefficients)
    if not factors:
        raise ValueError(f"rule {line} compares no number, and has no threshold. Change its categories.")
    scale = factors[0] / _numeric(printed.conditions[(which or 1) - 1].coefficients)[0]
    return _replaced(network, number, condition, replace(condition, threshold=value * scale + 0.0))


def _with_condition(network: Network, line: int, given: Any, relation: str, value: Any, missing: bool) -> Network:
    """Return the network with one more condition in a rule, as it is printed: what it adds holds for fewer rows."""
    printed, number = _line(network, line)
    rule: Any = network.terms[number]
    if printed.any_holds:
        raise ValueError(f"rule {line} holds where any of its conditions does. Drop it and add another.")
    conditions, coef, turned = rule.conditions, network.coef[:, 0].copy(), bool(network.coef[number, 0] < 0)
    if turned:  # printed the other way round
        conditions = (_opposite(conditions[0]),)
    changed = Rule((*conditions, _read_condition(network, given, relation, value, missing)), rule.otherwise)
    gain = EXACT.subtract(_part(network, number, True), _part(network, number, False))
    terms = [changed if k == number else term for k, term in enumerate(network.terms)]
    coef[number] = _coef_of(rule, gain)
    new_else = EXACT.multiply(written(coef[number].item()), Decimal(int(rule.otherwise)))
    return _with_terms(network, terms, coef, EXACT.subtract(_part(network, number, False), new_else))


def _without_condition(network: Network, line: int, which: int) -> Network:
    _, number = _line(network, line)
    rule: Any = network.terms[number]
    condition = _condition(network, number, line, which)
    rest = [other for other in rule.conditions if other is not condition]
    if not rest:
        raise ValueError(f"rule {line} has no other condition. Drop it as a whole.")
    terms = list(network.terms)
    terms[number] = Rule(tuple(rest), rule.otherwise)
    return network.changed(terms=terms)


def _opposite(condition: Any) -> Any:
    """Return the condition that holds where another one does not."""
    missing = None if condition.missing is None else not condition.missing
    if isinstance(condition, Threshold):
        relation = {">=": "<", "<": ">=", ">": "<=", "<=": ">"}[condition.relation]
        return replace(condition, relation=relation, missing=missing)
    if isinstance(condition, Member):
        others = tuple(code for code in range(condition.n_categories or 0) if code not in condition.categories)
        return replace(condition, categories=others, missing=missing)
    oblique = condition.as_oblique()
    factors = tuple(tuple(-value for value in factor) if isinstance(factor, tuple) else -factor
                    for factor in oblique.projection.coefficients)  # fmt: skip
    threshold = float(np.nextafter(-oblique.threshold, np.inf))
    return replace(oblique, projection=replace(oblique.projection, coefficients=factors), threshold=threshold,
                   missing=missing)  # fmt: skip


def _numeric(coefficients: Sequence[Any]) -> list[float]:
    return [factor for factor in coefficients if not isinstance(factor, tuple) and factor]


def _with_coef(network: Network, line: int, value: float) -> Network:
    (_, number), wanted = _line(network, line), written(_finite(value, "value"))
    if not wanted:
        return _without(network, line)
    coef = network.coef[:, 0].copy()
    coef[number] = np.sign(coef[number]) * _coef_of(network.terms[number], wanted)
    moved = EXACT.subtract(_part(network, number, False), _part(network, number, False, coef[number].item()))
    return _with_terms(network, network.terms, coef, moved)


def _without(network: Network, line: int, holds: bool = False) -> Network:
    _, number = _line(network, line)
    return _only(network, [k for k in range(len(network.terms)) if k != number], _part(network, number, holds))


def _only(network: Network, kept: list[int], *added: Decimal) -> Network:
    return _with_terms(network, [network.terms[k] for k in kept], network.coef[kept], *added)


def _with_category(network: Network, line: int, category: Any, holds: bool, which: int | None = None) -> Network:
    _, number = _line(network, line)
    condition = _condition(network, number, line, which)
    columns, holds = condition.columns, bool(holds) is bool(network.coef[number, 0] > 0)
    if len(columns) != 1 or (category is None and condition.missing is None):
        raise ValueError(f"rule {line} must name categories, or have an answer for missing values; it does not.")
    column = network.schema.columns[columns[0]]
    if category is None:
        oblique = replace(condition.as_oblique(), missing=holds)
        return _replaced(network, number, condition, condition_of(oblique))
    if not isinstance(condition, Member) or column.categories is None:
        raise ValueError(f"rule {line} compares {column.name!r}, a number. Change its threshold.")
    if category not in column.categories:
        raise ValueError(f"category must be one of {', '.join(map(repr, column.categories))}; got {category!r}.")
    code = column.categories.index(category)
    codes = {*condition.categories, code} if holds else {*condition.categories} - {code}
    return _replaced(network, number, condition, replace(condition, categories=tuple(sorted(codes))))


def _merged(network: Network, first: int, second: int, threshold: float | None) -> Network:
    one, other = _line(network, first)[1], _line(network, second)[1]
    if one == other:
        raise ValueError(f"rules to merge must be two; got {first} twice.")
    own, also = (_condition(network, number, line).as_oblique().projection
                 for number, line in ((one, first), (other, second)))  # fmt: skip
    turned = tuple(tuple(-value for value in factor) if isinstance(factor, tuple) else -factor
                   for factor in own.coefficients)  # fmt: skip
    opposite = also == replace(own, coefficients=turned)
    if also != own and not opposite:
        raise ValueError(f"rules {first} and {second} must compare the same sum to be merged; they do not.")
    rule, rest = network.terms[one], network.terms[other]
    a, b = (written(network.coef[number, 0].item()) for number in (one, other))
    a_else, b_else = (EXACT.multiply(value, Decimal(int(term.otherwise)))  # type: ignore[union-attr]
                      for value, term in ((a, rule), (b, rest)))  # fmt: skip
    # What both add where the first holds, and where it does not.
    holding, elsewhere = EXACT.add(a, b_else if opposite else b), EXACT.add(a_else, b if opposite else b_else)
    coef = network.coef[:, 0].copy()
    coef[one] = _coef_of(rule, EXACT.subtract(holding, elsewhere))
    own_else = EXACT.multiply(written(coef[one].item()), Decimal(int(rule.otherwise)))  # type: ignore[union-attr]
    kept = [k for k in range(len(network.terms)) if k != other]
    merged = _with_terms(network, [network.terms[k] for k in kept], coef[kept], EXACT.subtract(elsewhere, own_else))
    if threshold is None or not coef[one]:
        return merged
    lines = [line.place for line in as_terms(merged).rules]
    return _with_threshold(merged, lines.index(kept.index(one)) + 1, threshold)


def _read_condition(network: Network, given: Any, relation: str, value: Any, missing: bool) -> Any:
    """Return a condition on a column, or coefficients by column, whose sum stands in `relation` to the threshold
    `value`; or on a categorical column, with ``"in"`` and categories; `missing` is whether missing values meet it."""
    sums = dict(given) if isinstance(given, Mapping) else {given: 1.0}
    columns = [column_of(network, name, "columns") for name in sums]
    kinds = [network.schema.columns[j] for j in columns]
    if relation == "in":
        categories = kinds[0].categories if len(kinds) == 1 else None
        wanted = [value] if isinstance(value, str) else list(value)
        if categories is None:
            raise ValueError(f"relation 'in' is for one categorical column; got {list(sums)}. Use '>=' or '<'.")
        if odd := [category for category in wanted if category not in categories]:
            known = listed([category_name(category) for category in categories])
            raise ValueError(f"value must be categories of {kinds[0].name!r} (it has {known}); got {odd[0]!r}.")
        coefficients: Any = (tuple(float(category in wanted) for category in categories),)
        cut = 1.0
    else:
        if relation not in (">=", "<"):
            raise ValueError(f"relation must be '>=' or '<' for numbers, 'in' for a category; got {relation!r}.")
        if categorical := [kind.name for kind in kinds if kind.categories is not None]:
            raise ValueError(f"relation of the categorical column {categorical[0]!r} must be 'in'; got {relation!r}.")
        coefficients, cut = tuple(_finite(factor, "coefficient") for factor in sums.values()), _finite(value, "value")
        if not all(coefficients):
            raise ValueError(f"columns must have coefficients other than 0; got {sums!r}.")
    missing_as = [value_if_missing(network, j) for j in columns]
    seen = any(value is not None and value != value for value in missing_as)
    has_answer = seen or (network.layers[0].takes_missing and None in missing_as)
    holds = missing is (relation != "<")
    condition = condition_of(Oblique(Projection(tuple(columns), coefficients), cut, holds if has_answer else None))
    return _opposite(condition) if relation == "<" else condition


def _with_rule(network: Network, given: Any, relation: str, value: Any, coef: float, missing: bool) -> Network:
    """Return the network with one more rule of one condition; one with "<" is stored the other way round."""
    worth, turned = written(_finite(coef, "coef")), relation == "<"
    condition = _read_condition(network, given, relation, value, missing)
    otherwise = 0.0 if network.rules and all(rule.otherwise == 0.0 for rule in network.rules) else -1.0
    rule = Rule((_opposite(condition) if turned else condition,), otherwise)
    own = _coef_of(rule, worth) * (-1.0 if turned else 1.0)
    elsewhere = written(own if turned else otherwise * own)
    return _with_terms(network, [*network.terms, rule], [*network.coef[:, 0], own], -elsewhere)


def _forbidden(network: Network, column: Any, common: Mapping[int, bool]) -> Network:
    """Return the network without all terms about a column; `common` says, by rule, whether it counts as holding."""
    j, added, rules = column_of(network, column, "column"), list[Decimal](), iter(range(len(network.rules)))
    kept = []
    for k, (term, coef) in enumerate(zip(network.terms, network.coef[:, 0].tolist(), strict=True)):
        rule = next(rules) if isinstance(term, Rule) else None
        if j not in term.columns:
            kept.append(k)
        elif isinstance(term, Rule) and rule is not None:
            added.append(written(coef if common.get(rule, coef < 0) else term.otherwise * coef))
    return _only(network, kept, *added)


def _rounded(network: Network, digits: int) -> Network:
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ValueError(f"digits must be a whole number from 1 to 17; got {digits!r}.")
    terms, coef, lines = list(network.terms), network.coef[:, 0].copy(), as_terms(network)
    added = [written(_short(float(lines.intercept[0]), digits)), -written(network.intercept[0])]
    shown = set()
    for line in lines.rules:
        number = line.place
        rule: Any = terms[number]
        coef[number] = np.sign(coef[number]) * _coef_of(rule, written(_short(float(line.coef[0]), digits)))
        added.append(-_part(network, number, False, coef[number].item()))
        shown.add(number)
        terms[number] = replace(rule, conditions=tuple(
            condition if isinstance(condition, Member | Missing) or
            (isinstance(condition, Oblique) and not _numeric(condition.projection.coefficients))
            else replace(condition, threshold=_short(condition.threshold, digits)) for condition in rule.conditions
        ))  # fmt: skip
    # Rules about nothing are in the start already.
    kept = [k for k, term in enumerate(terms) if k in shown or not isinstance(term, Rule)]
    return _with_terms(network, [terms[k] for k in kept], coef[kept], *added)
