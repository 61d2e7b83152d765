"""SHAP values of a network: for features, neurons and connections, against the whole of a background.

With ``v(Q)`` the mean prediction when the columns Q come from the row and the others from the background, a feature's
value is its Shapley share of ``f(x) - v(nothing)``. For one hidden layer it is exact and costs a few sorts per neuron
(:mod:`bgn.explain.shap.coalitions`). Of classes the scores are explained, which add up: log-odds, or one per class.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from bgn.engines.memory import ThreadPool
from bgn.explain.classes import class_labels, probabilities_of
from bgn.explain.shap.coalitions import Game, Slots, SortedColumns, add_shares, averages, games
from bgn.explain.shap.explanation import Explanation as Explanation
from bgn.explain.shap.sampling import sampled_shares
from bgn.explain.subject import background_of, rows_of, straight_values
from bgn.model.network import Network, on_gpu
from bgn.model.step import Floats, any_output
from bgn.model.terms import network_of, outputs_of
from bgn.model.told import as_told
from bgn.pipelines import through_pipelines

MAX_PLAYERS = 10
"""Most inputs whose coalitions are enumerated: of a neuron with one hidden layer, of the network with more."""

_MUCH = 1 << 20  # rows of all neurons' games, for threads to share


@through_pipelines("X", "background")
def shap_values(
    model: Any, X: Any, background: Any = None, *, method: str = "auto", n_samples: int = 512,
    random_state: int | np.random.Generator | None = None,
) -> Explanation:  # fmt: skip
    """Return the SHAP values of every row, against the whole background.

    With one hidden layer the values are exact, and cost a few sorts of the background for every neuron. A deeper
    network is exact, by enumeration, while it uses at most ten features (so is a single layer while no neuron reads
    more than ten). Beyond that permutations are sampled, with a standard error and a warning.

    Parameters
    ----------
    model : Network or fitted estimator
        With classes the scores are explained, since they add up: the log-odds of the second of two classes, or one
        score per class. `Explanation.probabilities` stands beside them.
    X : array_like, sparse matrix or frame, shape (rows, features), or one row
        The rows to explain; a single one may be a series, a mapping by name, or a sequence. Of a CUDA tensor, the exact
        values of one hidden layer are found on its GPU; the result holds arrays, with the same bits.
    background : array_like or frame, shape (any number of rows, features)
        What a feature is compared with when it is unknown; all rows are used. May be left out when the model has
        ``background_``.
    method : {"auto", "exact", "sampled"}, default "auto"
        "exact" and "sampled" force one or the other.
    n_samples : int, default 512
        Number of sampled permutations, each walked both ways.
    random_state : int, Generator or None
        For the sampled permutations.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from bgn import Layer, Network, shap_values
    >>> network = Network([Layer([[1.0, 0.0], [1.0, 1.0]], [-2.0, -5.0])], [1.0, 0.5], 3.0, ["rooms", "age"])
    >>> explanation = shap_values(network, [[2.0, 4.0]], background=[[1.0, 1.0], [3.0, 1.0], [0.0, 9.0]])
    >>> explanation.values.round(3)
    array([[1.5, 0.5]])
    >>> float(explanation.base_value + explanation.values.sum()), float(network.predict([[2.0, 4.0]])[0])
    (4.5, 4.5)
    """
    network = as_told(network_of(model, plain=False))
    rows, drawn = rows_of(network, X, "X"), background_of(model, network, background)
    if method not in ("auto", "exact", "sampled"):
        raise ValueError(f"method must be 'auto', 'exact' or 'sampled'; got {method!r}.")
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}.")
    rng, on_device = np.random.default_rng(random_state), X if on_gpu(X) else None
    return _explained(network, rows, drawn, method, n_samples, rng, on_device)


def _explained(
    network: Network, rows: Floats, drawn: Floats, method: str, n_samples: int, rng: np.random.Generator, on_device: Any
) -> Explanation:
    """Return the SHAP values of a number, or of the scores of classes."""
    scores = outputs_of(network)
    on_device = on_device if scores[0].plain and network.depth == 1 else None
    if len(scores) == 1:
        found = explain_rows(scores[0], rows, drawn, method, n_samples, rng, on_device)
    elif not _sampling(games(_unweighted(network)), method):
        unit = explain_rows(_unweighted(network), rows, drawn, method, on_device=on_device)
        found = _with_lines(_weighted(unit, scores), network)
    else:
        seed = int(rng.integers(1 << 32))  # the same permutations for all classes
        each = (explain_rows(one, rows, drawn, method, n_samples, np.random.default_rng(seed)) for one in scores)
        found = _stacked(list(each))
    if network.link == "identity":
        held = network.bounds is not None
        return replace(found, network=network, predictions=network.predict_encoded(rows)) if held else found
    probabilities = probabilities_of(network, network._raw_score(rows))
    return replace(found, network=network, classes=class_labels(network), probabilities=probabilities)


def explain_rows(
    network: Network,
    rows: Floats,
    background: Floats,
    method: str = "auto",
    n_samples: int = 512,
    rng: np.random.Generator | None = None,
    on_device: Any = None,
) -> Explanation:
    """Return the SHAP values of rows as the network reads them; `on_device` may hold the same rows on a GPU."""
    parts, connections = games(network), _connections(network)
    slots = {pair: slot for slot, pair in enumerate(map(tuple, connections.tolist()))}
    error = None
    if _sampling(parts, method):
        expected, neuron_values = _linear(network, rows, background)
        rng = np.random.default_rng() if rng is None else rng
        shares, error = sampled_shares(network, rows, background, n_samples, rng, neuron_values, slots)
    elif on_device is not None:
        exact_shares = importlib.import_module("bgn.explain.shap.gpu").exact_shares
        expected, neuron_values, shares = exact_shares(network, parts, on_device, background, slots)
    else:
        expected, neuron_values = _linear(network, rows, background)
        shares = _exact(network, parts, rows, background, slots)
    if error is not None and method == "auto":
        warnings.warn(
            f"SHAP values are sampled: {_most_players(parts)} inputs have too many coalitions (the most is "
            f"{MAX_PLAYERS}). Their standard error is at most {error.max():.3g}; raise n_samples for less, or pass "
            "method='exact'.",
            stacklevel=4,
        )
    totals = np.zeros((network.n_inputs, len(rows)))
    for feature, share in zip(connections[:, 0], shares, strict=True):
        totals[feature] += share
    found = Explanation(
        values=totals.T,
        base_value=float(network.base + expected @ network.output_weights),
        neuron_values=neuron_values,
        connections=connections,
        connection_values=shares.T,
        data=rows,
        feature_names=network.names,
        method="exact" if error is None else "sampled",
        standard_error=error,
        network=network,
        background=background,
    )
    return _with_lines(found, network)


def _with_lines(found: Explanation, network: Network) -> Explanation:
    """Return an explanation of questions with what slopes add: one column each, so all of it is that column's."""
    if network.slopes is None:
        return found
    mean = straight_values(network, found.background).mean(axis=0)
    straight = straight_values(network, found.data) - mean
    return replace(
        found, network=network, values=found.values + straight, linear_values=straight,
        base_value=found.base_value + mean.sum(axis=0),
    )  # fmt: skip


def _unweighted(network: Network) -> Network:
    """Return the score whose every question that reaches any output counts for 1: those of all classes follow."""
    alike = any_output(network.output_weights).astype(np.float64)
    return outputs_of(network)[0].changed(output_weights=alike, base=0.0, slopes=None)


def _weighted(unit: Explanation, scores: Sequence[Network]) -> Explanation:
    """Return the exact explanation of several scores from that of the one in which all questions count alike."""
    weights = np.stack([score.output_weights for score in scores], axis=1)
    shares = unit.connection_values[:, :, np.newaxis] * weights[unit.connections[:, 1]]
    totals = np.zeros((len(unit.feature_names), len(unit.data), len(scores)))
    for place, feature in enumerate(unit.connections[:, 0]):
        totals[feature] += shares[:, place]
    expected, bases = unit.network._hidden(unit.background).mean(axis=0), np.array([each.base for each in scores])
    return replace(
        unit, values=totals.transpose(1, 0, 2), base_value=bases + expected @ weights,
        neuron_values=unit.neuron_values[:, :, np.newaxis] * weights, connection_values=shares,
    )  # fmt: skip


def _stacked(each: Sequence[Explanation]) -> Explanation:
    """Return the explanations of several scores as one, with a last axis of classes."""
    parts = ["values", "neuron_values", "connection_values", "standard_error"]
    parts += ["linear_values"] * (each[0].linear_values is not None)
    joined: dict[str, Any] = {name: np.stack([getattr(one, name) for one in each], axis=-1) for name in parts}
    return replace(each[0], base_value=np.array([one.base_value for one in each]), **joined)


def _most_players(parts: Sequence[Game]) -> int:
    return max((len(game.players) for game in parts), default=0)


def _sampling(parts: Sequence[Game], method: str) -> bool:
    """Whether permutations are sampled: where told, or where coalitions are too many."""
    return method == "sampled" or (method == "auto" and _most_players(parts) > MAX_PLAYERS)


def _connections(network: Network) -> NDArray[np.int64]:
    """Return the (feature, last-layer neuron) pairs that non-zero weights join, neuron by neuron."""
    reach = network.layers[0].reads
    for layer in network.layers[1:]:
        reach = layer.reads @ reach
    neurons, features = np.nonzero(reach)
    return np.column_stack([features, neurons])


def _linear(network: Network, rows: Floats, background: Floats) -> tuple[Floats, Floats]:
    """Return the mean answers of the last layer over the background, and what each neuron adds for every row."""
    expected = network._hidden(background).mean(axis=0)
    return expected, (network._hidden(rows) - expected) * network.output_weights


def _exact(network: Network, parts: list[Game], rows: Floats, background: Floats, slots: Slots) -> Floats:
    """Return the shares of the connections, one row of `slots` each: every coalition's part added up."""
    shares, table, drawn = np.zeros((len(slots), len(rows))), SortedColumns(rows), SortedColumns(background)

    def share(game: Game) -> None:
        for coalition, means in averages(network, game, table, drawn):
            add_shares(network, game, coalition, means, shares, slots)

    # One neuron's shares are its own, so that threads need not wait for each other.
    threads = cpu_count() if len(parts) * (len(rows) + len(background)) >= _MUCH else 1
    if threads > 1:
        ThreadPool(threads).each(share, parts)
    else:
        for game in parts:
            share(game)
    return shares
