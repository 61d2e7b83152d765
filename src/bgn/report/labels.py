"""What an author calls things on a page: a title, and labels, units and descriptions of columns and the target.

They are given as a mapping, or in a TOML or JSON file of the same keys::

    title = "Which customers leave"
    description = "Customers of one quarter, asked in spring."

    [target]
    label = "customer"
    description = "Whether the customer left within a month."
    categories = { Yes = "leaves", No = "stays" }

    [columns.tenure]
    label = "months with us"
    unit = "months"
    description = "Counted from the first bill."

    [columns.Contract]
    categories = { Month-to-month = "monthly", "One year" = "yearly" }
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
_OF_COLUMN = ("label", "unit", "description", "categories")


@dataclass(frozen=True)
class PageLabels:
    """The schema in an author's words, the page's title and description, those of the target and of every column."""

    schema: Schema
    title: str = ""
    description: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Schema, labels: Any, units: Mapping[str, str] | None) -> PageLabels:
        """Read what an author says; units of `units` count where there are no others."""
        parts, units = _read_parts(labels), units or {}
        columns, target = parts.get("columns", {}), _read_column(parts.get("target", {}), "target")
        if not isinstance(columns, Mapping):
            raise ValueError(f"labels: columns must have an entry per column; got {columns!r}.")
        by_name = {str(name): _read_column(value, f"column {name!r}") for name, value in columns.items()}
        known = [*dict.fromkeys(key for column in schema.columns for key in _keys(column))]
        if unknown := [name for name in by_name if name not in known]:
            hint = did_you_mean(unknown[0], known)
            raise ValueError(f"labels: there is no column {unknown[0]!r}; there are {listed(known)}.{hint}")
        of_columns = [next((by_name[key] for key in _keys(column) if key in by_name), dict[str, Any]())
                      for column in schema.columns]  # fmt: skip
        shown = [
            _with_labels(column, own, column.name in by_name, units)
            for column, own in zip(schema.columns, of_columns, strict=True)
        ]
        _check_distinct([column.name for column in shown])
        classes = None if schema.classes is None else _rename(schema.classes, target, "target")
        labelled = replace(
            schema, columns=tuple(shown), classes=classes, target=target.get("label") or schema.target,
            target_unit=target.get("unit") or units.get(schema.target or "") or schema.target_unit,
        )  # fmt: skip
        texts = {name: clean(parts[name]) if parts.get(name) else "" for name in ("title", "description")}
        described = tuple(own.get("description", "") for own in of_columns)
        return cls(labelled, **texts, target=target.get("description", ""), columns=described)


def _read_parts(labels: Any) -> Mapping[str, Any]:
    """Return the parts of some labels, read from a file where a file is named."""
    if labels is None:
        return {}
    if isinstance(labels, str | os.PathLike):
        path = Path(labels)
        text, is_json = path.read_text(encoding="utf-8"), path.suffix.lower() == ".json"
        try:
            labels = json.loads(text) if is_json else tomllib.loads(text)
        except ValueError as error:
            kind = "JSON" if is_json else "TOML"
            raise ValueError(f"labels: {path} cannot be read as {kind}: {error}.") from None
    if not isinstance(labels, Mapping):
        raise ValueError(f"labels must be a mapping, or a TOML or JSON file; got {type(labels).__name__}.")
    _check_known(labels, _PARTS, "labels")
    for name in ("title", "description"):
        if not isinstance(labels.get(name, ""), str):
            raise ValueError(f"labels: {name} must be a text; got {labels[name]!r}.")
    return labels


def _check_known(given: Mapping[Any, Any], known: Sequence[str], where: str) -> None:
    """Refuse keys that mean nothing."""
    if unknown := [str(name) for name in given if name not in known]:
        hint = did_you_mean(unknown[0], known)
        raise ValueError(f"{where} has {listed(unknown)}; it may have {', '.join(known)}.{hint}")


def _read_column(labels: Any, where: str) -> dict[str, Any]:
    """Return the labels of a column or the target; a text alone is its label."""
    if isinstance(labels, str):
        labels = {"label": labels}
    if not isinstance(labels, Mapping):
        raise ValueError(f"labels: {where} must be a text, or have {', '.join(_OF_COLUMN)}; got {labels!r}.")
    _check_known(labels, _OF_COLUMN, f"labels: {where}")
    for name, value in labels.items():
        if name != "categories" and not isinstance(value, str):
            raise ValueError(f"labels: {name} of {where} must be a text; got {value!r}.")
    names = labels.get("categories", {})
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError(f"labels: categories of {where} must have a text per category; got {names!r}.")
    texts = {name: clean(value) if value.strip() else "" for name, value in labels.items() if name != "categories"}
    return texts | {"categories": names} if "categories" in labels else texts


def _keys(column: Column) -> list[str]:
    """By what a column may be named: itself, or the date or the category that it is made of."""
    made_of = [] if column.category_of is None else [column.category_of[0]]
    return [*dict.fromkeys([column.name, column.raw, *made_of])]


def _with_labels(column: Column, labels: Mapping[str, Any], own: bool, units: Mapping[str, str]) -> Column:
    """Return a column in the author's words, which are its `own`, or those of what it is made of."""
    label, unit = labels.get("label", ""), labels.get("unit") or units.get(column.name) or column.unit
    if column.category_of is not None:
        of, category = column.category_of
        (category,) = _rename((category,), labels, column.name, every=False)
        name = f"{label or of} = {category_name(category)}" if labels else column.name
        return replace(column, category_of=(label or of, category), name=name, unit=unit)
    if column.part_of is not None and label and not own:
        part = replace(column.part_of, raw=label)
        return replace(column, part_of=part, name=part.name, unit=unit)
    categories = None if column.categories is None else _rename(column.categories, labels, column.name)
    if labels.get("categories") and categories is None:
        raise ValueError(f"labels: {column.name!r} holds numbers and has no categories; leave its categories out.")
    return replace(column, name=label or column.name, categories=categories, unit=unit)


def _rename(
    categories: Sequence[Category], labels: Mapping[str, Any], where: str, every: bool = True
) -> tuple[Category, ...]:  # fmt: skip
    """Return categories in the author's words; those without any stay as they are."""
    names, known = labels.get("categories", {}), [category_name(category) for category in categories]
    if every and (unknown := [str(name) for name in names if name not in known]):
        hint = did_you_mean(unknown[0], known)
        raise ValueError(f"labels: {where} has no category {unknown[0]!r}; it has {listed(known)}.{hint}")
    renamed = tuple(clean(names[name]) if name in names else category
                    for name, category in zip(known, categories, strict=True))  # fmt: skip
    _check_distinct([category_name(category) for category in renamed])
    return renamed


def _check_distinct(names: Sequence[str]) -> None:
    """Refuse two things of one name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"labels: two things would be called {twice!r}; give one of them another label.")
