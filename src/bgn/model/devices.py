"""Where a table is: in memory, or on a GPU."""

from __future__ import annotations

import sys
from typing import Any


def on_gpu(table: Any) -> bool:
    """Whether a table is a torch tensor on a CUDA GPU; torch is not loaded to find out."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(table, torch.Tensor) or table.device.type == "cpu":
        return False
    if table.device.type != "cuda":
        raise ValueError(
            f"X is a tensor on the device {str(table.device)!r}; tensors may be on a CUDA GPU or the CPU, because "
            "64-bit numbers are needed. Move it: X.cuda() or X.cpu()."
        )
    return True
