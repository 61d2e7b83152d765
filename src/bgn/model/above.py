"""What a network is asked that only rooms above the model can answer.

Nothing below knows them: the package fills in who answers, by name, when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ANSWERS: dict[str, Callable[..., Any]] = {}
"""``"picture"`` of a network as HTML; ``"hidden"``, ``"predict"`` and ``"table_of"`` for tensors on a GPU;
``"card"``, ``"write_report"`` and ``"save"`` of a fitted model;
``"network_within"`` a pipeline; ``"plain_content"`` of a network's file."""
