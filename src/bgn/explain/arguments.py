"""What is explained: the rows of a table and its columns by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bgn.inputs.errors import did_you_mean
from bgn.inputs.frames import rows_of
from bgn.inputs.target import numbers_per_row
from bgn.model.network import Network
from bgn.model.readings import network_of, outputs_of, swap_classes
from bgn.model.schema import Category, Column, Schema, category_name
from bgn.model.step import Floats
from bgn.text import Quoted, quote_category, quote_name


def clipped_network(model: Any) -> Network:
    """Return a model's network if all its linear terms have ends: without, a prediction may be anything."""
    network = network_of(model, plain=False)
    if any(not np.isfinite([term.low, term.high]).all() for term in network.linear):
        raise ValueError(
            "model must predict by rules, and by linear terms between two ends; this one has linear terms without "
            "ends, whose predictions may be anything. Pass ranges to bgn.Network."
        )
    return network


def linear_values(network: Network, rows: Floats, per_unit: bool = False) -> Floats:
    """Return what linear terms add to each row, or add per unit there, column by column; of several outputs, one last
    axis for them."""
    added = np.zeros((len(rows), network.n_inputs, *np.shape(network.base)))
    for term, weights in zip(network.linear, network.linear_coef, strict=True):
        values = rows[:, term.column]
        added_values = (
            np.where((values >= term.low) & (values <= term.high), 1.0, 0.0) if per_unit else term.values(rows)
        )
        added[:, term.column] += np.multiply.outer(added_values, weights if added.ndim > 2 else weights[0])
    return added


def read_codes(network: Network) -> Network:
    """Return the network that reads rows as they are encoded, categories as numbers of their levels."""
    if network.plain:
        return network
    columns = (Column(kind.name, typical=kind.typical or 0.0) for kind in network.schema.columns)
    return network.changed(schema=replace(network.schema, columns=tuple(columns), named=True))


def decode_rows(network: Network, rows: Any) -> Any:
    """Return encoded rows, categories as numbers of their levels, as the table has them; other rows as they are."""
    if network.schema.all_numbers or getattr(rows, "dtype", None) != np.float64:
        return rows
    decoded = np.asarray(rows).astype(object)
    for j, kind in enumerate(network.schema.columns):
        if kind.categories is not None:  # a column that was not read has zeros, and perhaps no categories
            decoded[:, j] = [
                None if code != code or not kind.categories else kind.categories[int(code)] for code in rows[:, j]
            ]
    return decoded


def table_row(network: Network, row: Floats) -> Any:
    """Return one encoded row as the dataset has it: floats where all columns are numbers, else categories and None."""
    if network.schema.all_numbers:
        return row
    decoded = decode_rows(network, row[np.newaxis])[0]
    decoded[[value != value for value in decoded]] = None
    return decoded


def to_plain_row(row: Any) -> list[Any]:
    """Return a row of the dataset in plain types, None for a missing value: what JSON can hold."""
    return [None if value is None or value != value else value for value in row.tolist()]


def value_if_missing(network: Network, column: int) -> float | None:
    """Return what conditions see where a column is missing: NaN, what it counts as, or None where it is refused."""
    typical = network.schema.columns[column].typical
    if network.layers[0].refuses_missing[column] and not network._never_read[column]:
        return typical
    return None if typical is None and network.refuses_missing[column] else float("nan")


def rows_and_target(network: Network, X: Any, y: Any, x_name: str, y_name: str) -> tuple[Floats, Floats]:
    """Return rows and target as arrays that fit each other, or say what is wrong."""
    rows, target = rows_of(network, X, x_name), np.reshape(y, -1)
    if len(rows) != len(target):
        raise ValueError(
            f"{x_name} and {y_name} must have equally many rows, at least one; got {len(rows)} and {len(target)}."
        )
    return rows, numbers_per_row(target, y_name, len(rows))


def background_of(model: Any, network: Network, background: Any) -> Floats:
    """Return the background's rows: those passed, else those stored on the model as ``background_``."""
    if background is None:
        background = getattr(model, "background_", None)
    if background is None:
        raise ValueError("background must be a table of rows to compare with, such as the training rows; got None.")
    return rows_of(network, background, "background")


def column_of(network: Network, feature: Any, argument: str) -> int:
    """Return the column that `feature`, a name or a position, stands for."""
    if isinstance(feature, str):
        if feature in network.names:
            return network.names.index(feature)
        made = [j for j, column in enumerate(network.schema.columns) if column.raw == feature]
        if len(made) == 1:  # the hours of a time of day, which an equation calls by the name of the raw column
            return made[0]
    elif not isinstance(feature, bool) and isinstance(feature, int | np.integer) and 0 <= feature < network.n_inputs:
        return int(feature)
    names = ", ".join(map(quote_name, network.names))
    raise ValueError(
        f"{argument} must name a column, one of {names}, or give its position from 0 to "
        f"{network.n_inputs - 1}; got {feature!r}.{did_you_mean(str(feature), network.names)}"
    )


def columns_of(network: Network, features: Iterable[Any], argument: str) -> list[int]:
    """Return the columns that `features` stand for, in the order given, each once."""
    if isinstance(features, str):
        raise ValueError(f"{argument} must be a list of columns; got the text {features!r}. Write [{features!r}].")
    return list(dict.fromkeys(column_of(network, feature, argument) for feature in features))


def positive_numbers(
    network: Network, values: Any, argument: str, hint: str = "", default: Floats | float = 1.0
) -> Floats:
    """Return one positive number per column: those passed, the default ones for names left out of a mapping."""
    numbers = np.full(network.n_inputs, default)
    if isinstance(values, Mapping):
        for name, value in values.items():
            numbers[column_of(network, name, argument)] = value
    elif values is not None:
        numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (network.n_inputs,) or not ((numbers > 0) & np.isfinite(numbers)).all():
        raise ValueError(
            f"{argument} must be a positive number for each of the {network.n_inputs} columns; got {values!r}.{hint}"
        )
    return numbers


# -- Classes as explanations speak of them: their labels, the score of each, and their probabilities.

# Rows that are evaluated at a time.
_BLOCK = 1 << 16


def class_labels(network: Network) -> tuple[Category, ...]:
    """Return the labels of the classes that a network tells apart: their numbers where it does not name them."""
    return network.schema.classes or tuple(range(max(2, np.size(network.base))))


def class_number(network: Network, label: Any, argument: str) -> int:
    """Return the number of the class that a label names."""
    labels = class_labels(network)
    for number, known in enumerate(labels):
        if known == label and isinstance(known, str) == isinstance(label, str):
            return number
    names = list(map(category_name, labels))
    if isinstance(label, str) and names.count(label) == 1:
        return names.index(label)
    raise ValueError(
        f"{argument} must be one of the classes {', '.join(map(repr, labels[:10]))}; got {label!r}."
        f"{did_you_mean(str(label), names)}"
    )


def score_of(network: Network, label: Any, argument: str = "of") -> Network:
    """Return the network whose prediction is the score of one class; of two, the log-odds of that class.

    Of two classes the second where `label` is None.
    """
    outputs = outputs_of(network)
    if network.link == "identity":
        if label is not None:
            raise ValueError(f"{argument} names a class; the model predicts a number. Leave it out.")
        return outputs[0]
    if label is None and len(outputs) > 1:
        known = ", ".join(map(repr, class_labels(network)[:10]))
        raise ValueError(f"{argument} must name one of the classes, {known}; got None.")
    number = len(outputs) if label is None else class_number(network, label, argument)
    if len(outputs) > 1:
        return outputs[number]
    return outputs_of(network if number == 1 else swap_classes(network))[0]


def probabilities_of(network: Network, scores: Floats) -> Floats:
    """Return the probabilities of all classes, one column per class, from raw scores."""
    chances = network.linked(scores)
    return chances if chances.ndim == 2 else np.stack([1.0 - chances, chances], axis=1)


def predicted_of(network: Network, number: int, scores: Floats) -> Floats:
    """Return the probability of the class `number` from raw scores; of a number, the prediction within its bounds."""
    return network.linked(scores) if network.link == "identity" else probabilities_of(network, scores)[:, number]


def mean_predictions(network: Network, number: int, columns: list[int], values: Floats, background: Floats) -> Floats:
    """Return the mean over the background of what `predicted_of` says when columns have each row of `values`."""
    means = np.empty(len(values))
    at_once = max(1, _BLOCK // len(background))
    for start in range(0, len(values), at_once):
        block = values[start : start + at_once]
        mixed = np.tile(background, (len(block), 1))
        mixed[:, columns] = np.repeat(block, len(background), axis=0)
        predictions = predicted_of(network, number, network._raw_score(mixed))
        means[start : start + at_once] = predictions.reshape(len(block), -1).mean(axis=1)
    return means


def prediction_title(network: Network, number: int) -> str | None:
    """Return what the probability of a class is called, such as "probability of Churn = Yes"; a number by its name."""
    if network.link == "identity":
        return network.target_name
    name = quote_category(category_name(class_labels(network)[number]))
    return Quoted(f"probability of {quote_name(network.target_name or 'class')} = {name}")


def one_hot_limits(schema: Schema, row: Floats, immutable: Collection[str]) -> tuple[list[str], list[list[str]]]:
    """Return the columns of an encoded row that must not change, and the 0/1 columns of each category, of which one
    must stay 1: parts of dates do not change, nor does a category that was not there at fit."""
    still = [name for name in immutable if name not in schema.category_columns and name not in schema.raws]
    groups = []
    for name, places in schema.category_columns.items():
        members = [schema.names[j] for j in places]
        if name not in immutable and not set(members).intersection(immutable) and row[places].sum() == 1:
            groups.append(members)
        else:
            still += members
    still += [column.name for column in schema.columns
              if column.category_of is None and (column.part_of is not None or column.raw in immutable)]  # fmt: skip
    return [*dict.fromkeys(still)], groups
