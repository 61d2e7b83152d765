"""What an author calls things on a page: a title, and labels, units and descriptions of columns, levels and the target.

They are told as a mapping, or in a TOML or JSON file of the same keys::

    title = "Which customers leave"
    description = "Customers of one quarter, asked in spring."

    [target]
    label = "customer"
    description = "Whether the customer left within a month."
    levels = { Yes = "leaves", No = "stays" }

    [columns.tenure]
    label = "months with us"
    unit = "months"
    description = "Counted from the first bill."

    [columns.Contract]
    levels = { Month-to-month = "monthly", "One year" = "yearly" }
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bgn.inputs.errors import did_you_mean, listed
from bgn.model.schema import Category, Column, Schema, category_name
from bgn.text import clean

_PARTS = ("title", "description", "target", "columns")
_OF_ONE = ("label", "unit", "description", "levels")


@dataclass(frozen=True)
class PageLabels:
    """The columns and the target in an author's words, and what else the author says of them.

    Attributes
    ----------
    schema : Schema
        As the page names columns, levels, classes and units.
    title, description : str
        Of the page; empty where nothing is told.
    target : str
        The description of the target.
    columns : tuple of str
        The description of every column.
    """

    schema: Schema
    title: str = ""
    description: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Schema, told: Any, units: Mapping[str, str] | None) -> PageLabels:
        """Read what an author tells; units of `units` count where there are no others."""
        parts = _parts(told)
        columns, target = _by_name(parts.get("columns", {})), _one(parts.get("target", {}), "target")
        _check_names(schema, columns)
        units = units or {}
        shown = [_labelled(column, columns, units) for column in schema.columns]
        classes = None if schema.classes is None else _categories(schema.classes, target, "target")
        _distinct([column.name for column in shown])
        labelled = replace(
            schema, columns=tuple(shown), classes=classes, target=target.get("label") or schema.target,
            target_unit=target.get("unit") or units.get(schema.target or "") or schema.target_unit,
        )  # fmt: skip
        described = (_of(column, columns).get("description", "") for column in schema.columns)
        texts = {name: clean(parts[name]) if parts.get(name) else "" for name in ("title", "description")}
        return cls(labelled, **texts, target=target.get("description", ""), columns=tuple(described))


def _parts(told: Any) -> Mapping[str, Any]:
    """Return the parts of what is told, read from a file where a file is named."""
    if told is None:
        return {}
    if isinstance(told, str | os.PathLike):
        told = _read(Path(told))
    if not isinstance(told, Mapping):
        raise ValueError(f"labels must be a mapping, or a TOML or JSON file; got {type(told).__name__}.")
    if unknown := [str(name) for name in told if name not in _PARTS]:
        hint = did_you_mean(unknown[0], _PARTS)
        raise ValueError(f"labels has {listed(unknown)}; it may have {', '.join(_PARTS)}.{hint}")
    for name in ("title", "description"):
        if not isinstance(told.get(name, ""), str):
            raise ValueError(f"labels: {name} must be a text; got {told[name]!r}.")
    return told


def _read(path: Path) -> Any:
    """Read a file of labels."""
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise ValueError(f"labels: {path} cannot be read as {kind}: {error}.") from None


def _one(told: Any, where: str) -> dict[str, Any]:
    """Return what is told of a column or the target; a text alone is its label."""
    if isinstance(told, str):
        told = {"label": told}
    if not isinstance(told, Mapping):
        raise ValueError(f"labels: {where} must be a text, or have {', '.join(_OF_ONE)}; got {told!r}.")
    found = dict(told)
    if unknown := [str(name) for name in found if name not in _OF_ONE]:
        hint = did_you_mean(unknown[0], _OF_ONE)
        raise ValueError(f"labels: {where} has {listed(unknown)}; it may have {', '.join(_OF_ONE)}.{hint}")
    for name, value in found.items():
        if name != "levels" and not isinstance(value, str):
            raise ValueError(f"labels: {name} of {where} must be a text; got {value!r}.")
    words = found.get("levels", {})
    if not isinstance(words, Mapping) or not all(isinstance(word, str) for word in words.values()):
        raise ValueError(f"labels: levels of {where} must have a text per level; got {words!r}.")
    return {name: value if name == "levels" else clean(value) if value.strip() else "" for name, value in found.items()}


def _by_name(told: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(told, Mapping):
        raise ValueError(f"labels: columns must have an entry per column; got {told!r}.")
    return {str(name): _one(value, f"column {name!r}") for name, value in told.items()}


def _keys(column: Column) -> list[str]:
    """By what a column may be named: itself, or the date or the category that it is made of."""
    made_of = [] if column.category_of is None else [column.category_of[0]]
    return [*dict.fromkeys([column.name, column.raw, *made_of])]


def _of(column: Column, told: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return next((told[key] for key in _keys(column) if key in told), {})


def _check_names(schema: Schema, told: Mapping[str, Any]) -> None:
    """Refuse labels of columns that are not there."""
    known = [*dict.fromkeys(key for column in schema.columns for key in _keys(column))]
    if unknown := [name for name in told if name not in known]:
        hint = did_you_mean(unknown[0], known)
        raise ValueError(f"labels: there is no column {unknown[0]!r}; there are {listed(known)}.{hint}")


def _labelled(column: Column, told: Mapping[str, dict[str, Any]], units: Mapping[str, str]) -> Column:
    """Return a column in the author's words."""
    words = _of(column, told)
    label, unit = words.get("label", ""), words.get("unit") or units.get(column.name) or column.unit
    if column.category_of is not None:
        of, category = column.category_of
        (word,) = _categories((category,), words, column.name, every=False)
        return replace(column, category_of=(label or of, word), name=f"{label or of} = {category_name(word)}" if words else
                       column.name, unit=unit)  # fmt: skip
    if column.part_of is not None and label and column.name not in told:
        part = replace(column.part_of, raw=label)
        return replace(column, part_of=part, name=part.name, unit=unit)
    categories = None if column.categories is None else _categories(column.categories, words, column.name)
    if words.get("levels") and categories is None:
        raise ValueError(f"labels: {column.name!r} holds numbers and has no levels; leave its levels out.")
    return replace(column, name=label or column.name, categories=categories, unit=unit)


def _categories(categories: Sequence[Category], words: Mapping[str, Any], where: str, every: bool = True) -> tuple[Category, ...]:
    """Return levels in the author's words; those that are not told stay as they are."""
    told = words.get("levels", {})
    known = [category_name(category) for category in categories]
    if every and (unknown := [str(each) for each in told if each not in known]):
        hint = did_you_mean(unknown[0], known)
        raise ValueError(f"labels: {where} has no level {unknown[0]!r}; it has {listed(known)}.{hint}")
    found = tuple(clean(told[word]) if word in told else category for word, category in zip(known, categories, strict=True))
    _distinct([category_name(each) for each in found])
    return found


def _distinct(names: Sequence[str]) -> None:
    """Refuse two things of one name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"labels: two things would be called {twice!r}; give one of them another label.")
