"""What a notebook shows for a model: its card, and for a network its drawing."""

from __future__ import annotations

from html import escape
from typing import Any

from bgn.export.equation import equation
from bgn.model.terms import network_of, outputs_of
from bgn.model.told import as_told
from bgn.report.svg import drawing
from bgn.show.drawing import draw

_MOST = 100  # questions that a card shows


def picture(model: Any) -> str:
    """Return the drawing of a network, or of a fitted estimator's, as HTML, for ``Network._repr_html_``."""
    drawings = "".join(drawing(draw(each), repr(each)) for each in outputs_of(as_told(network_of(model, plain=False))))
    return f'<div style="overflow-x:auto">{drawings}</div>'


def card(model: Any) -> str:
    """Return the card of a fitted model as HTML, for its ``_repr_html_``: what it is and its equation."""
    network = network_of(model, plain=False)
    width, used = network.widths[-1], len(network.features_used)
    line = (
        f"{type(model).__name__}: {width} yes/no question{'' if width == 1 else 's'} about {used} of "
        f"{network.n_inputs} columns, {network.n_parameters} non-zero parameters"
    )
    return f"<div><p>{escape(line)}</p>{equation(network, format='html', most=_MOST)}</div>"
