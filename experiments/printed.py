"""What the paper prints: its Table 1 (test MSE, width, hidden layers) and its Table 4 (minutes)."""

from __future__ import annotations

TABLE_1: dict[str, dict[str, tuple[float, int, int]]] = {
    "bike": {
        "bgn": (3573.67, 259, 2), "binaryconnect": (21881.79, 1000, 3), "bnn": (1948.73, 1000, 3),
        "bnn_plus": (1712.45, 1000, 2), "bireal": (1818.36, 1000, 3), "quantization": (2008.47, 1000, 2),
    },
    "diabetes": {
        "bgn": (3755.93, 6, 1), "binaryconnect": (9134.43, 500, 1), "bnn": (8919.54, 1000, 1),
        "bnn_plus": (8999.32, 500, 2), "bireal": (8816.83, 100, 1), "quantization": (8811.23, 500, 2),
    },
    "housing": {
        "bgn": (0.32, 158, 1), "binaryconnect": (1.65, 100, 2), "bnn": (2.19, 500, 1),
        "bnn_plus": (2.09, 1000, 1), "bireal": (2.36, 500, 1), "quantization": (2.16, 500, 1),
    },
    "chickenpox": {
        "bgn": (223.76, 3, 1), "binaryconnect": (235.75, 100, 2), "bnn": (250.07, 100, 2),
        "bnn_plus": (229.83, 100, 3), "bireal": (242.55, 100, 3), "quantization": (214.27, 500, 3),
    },
    "istanbul": {
        "bgn": (2.27, 5, 1), "binaryconnect": (22787.86, 100, 1), "bnn": (2.98, 1000, 3),
        "bnn_plus": (1.95, 1000, 1), "bireal": (2.42, 1000, 2), "quantization": (1.94, 1000, 1),
    },
    "parking": {
        "bgn": (6954.87, 1000, 1), "binaryconnect": (176286.81, 1000, 1), "bnn": (32705.94, 500, 3),
        "bnn_plus": (11684.12, 1000, 3), "bireal": (16543.25, 1000, 2), "quantization": (107347.98, 1000, 2),
    },
    "power_plant": {
        "bgn": (17.18, 187, 2), "binaryconnect": (13527.9, 500, 2), "bnn": (18.34, 1000, 1),
        "bnn_plus": (16.66, 1000, 2), "bireal": (16.77, 1000, 2), "quantization": (17.14, 1000, 2),
    },
}  # fmt: skip

TABLE_4: dict[str, tuple[float, float]] = {
    "chickenpox": (0.03, 0.01),
    "housing": (156.47, 25.89),
    "bike": (628.31, 45.19),
}
"""Minutes and their standard deviation."""
