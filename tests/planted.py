"""Names, keys and numbers that stand in a dataset and must not stand in what leaves the machine."""

from __future__ import annotations

import base64
import binascii
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

_SEVEN_DIGITS = re.compile(rb"(?<![\d.,])(\d{7}|\d,\d{3},\d{3})(?!\d|,\d)")
_PACKED = re.compile(rb"[A-Za-z0-9+/]{40,}={0,2}")
_SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"]


def names(count: int = 50) -> list[str]:
    """Make up names that nothing else contains."""
    return [f"Zq{_SYLLABLES[k % 10]}{_SYLLABLES[k // 10]}{_SYLLABLES[k * 7 % 10]}x" for k in range(count)]


NAMES = names()


def numbers(chance: np.random.Generator, rows: int) -> np.ndarray:
    """Make up whole numbers of seven digits. The lowest, the median and the highest, which files and pages tell, are
    round and so frequent that any large part of the rows has the same; the others differ."""
    secrets = 1_000_003 + 9 * np.sort(chance.choice(888_000, rows, replace=False))
    secrets[: rows // 20], secrets[-rows // 20 :] = 1_000_000, 9_000_000
    secrets[rows // 3 : -rows // 3] = 5_000_000
    return chance.permutation(secrets)


def patients(rows: int = 200, seed: int = 0) -> pd.DataFrame:
    """Make a dataset with the names as index, key, text that nobody can learn from, and text that looks categorical."""
    chance = np.random.default_rng(seed)
    name = np.array(NAMES)[chance.permutation(np.arange(rows) % len(NAMES))]
    table = pd.DataFrame({
        "key": [f"{text}-{k}" for k, text in enumerate(name)],
        "mail": [f"{text}.{k}@example.org" for k, text in enumerate(name)],
        "doctor": chance.permutation(name),
        "income": numbers(chance, rows),
        "number": numbers(chance, rows),
        "age": chance.integers(20, 80, rows),
        "town": chance.choice(["Lille", "Nice", "Rome"], rows),
    }, index=pd.Index(name, name="patient"))  # fmt: skip
    table["cost"] = np.rint(table["income"] / 1e6) + 4.0 * (table["age"] > 50) + 2.0 * (table["town"] == "Rome")
    table["cost"] += chance.choice([-0.5, 0.0, 0.5], rows)
    return table


@dataclass(frozen=True)
class Secrets:
    """What must not be told: the names, in small letters, and numbers."""

    names: tuple[bytes, ...]
    numbers: frozenset[int]

    @classmethod
    def of(cls, table: pd.DataFrame) -> Secrets:
        """Return the names, and the numbers that are neither the lowest nor the median nor the highest."""
        known = {1_000_000, 5_000_000, 9_000_000}
        numbers = {int(value) for column in ("income", "number") for value in table[column]} - known
        return cls(tuple(name.lower().encode() for name in NAMES), frozenset(numbers))

    def secrets_in(self, content: bytes) -> list[str]:
        """Return which of them some bytes tell, however they are packed: as text, or as floats."""
        secrets = set[str]()
        for layer in layers(content):
            small = layer.lower()
            secrets |= {name.decode() for name in self.names if name in small}
            written = {int(digits.replace(b",", b"")) for digits in _SEVEN_DIGITS.findall(layer)}
            secrets |= {str(number) for number in self.numbers & written}
            for form in ("<d", "<f"):
                secrets |= {f"{number} as float" for number in self.numbers if struct.pack(form, number) in layer}
        return sorted(secrets)


def layers(content: bytes) -> Iterator[bytes]:
    """Yield some bytes, and all that is packed in them: members of archives, and compressed text in base64."""
    yield content
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                yield from layers(archive.read(member))
    for packed in _PACKED.findall(content):
        try:
            yield zlib.decompress(base64.b64decode(packed, validate=True))
        except (binascii.Error, zlib.error, ValueError):
            continue
