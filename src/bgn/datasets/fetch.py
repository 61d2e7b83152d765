"""Find a raw table: the folder named by ``BGN_DATA``, then the cache, then the archive it is published in.

Whatever the source, the bytes are hashed before anybody parses them, and a download reaches its final name only
after it has been checked.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import tarfile
import time
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from bgn.whole_file import write_whole

# The largest archive is 3.6 MB; anything near this limit is not what we asked for.
_MOST_BYTES = 64 * 2**20
_BLOCK = 2**16
_ATTEMPTS = 3


class DatasetError(OSError):
    """A raw table is missing, damaged or cannot be downloaded; the message says what to do."""


@dataclass(frozen=True)
class Source:
    """Where a raw table comes from.

    Parameters
    ----------
    file : str
        Its name in ``BGN_DATA`` and in the cache; ``file.gz`` is accepted too.
    url : str
        Address of the archive (zip or tar) that holds it.
    member : str
        Its name inside the archive, whatever the folder.
    sha256 : str
        Of the file itself, uncompressed.
    """

    file: str
    url: str
    member: str
    sha256: str


def cache_folder() -> Path:
    """Return the folder downloads are kept in: ``BGN_CACHE``, or a ``bgn`` folder in the user's cache."""
    if chosen := os.environ.get("BGN_CACHE"):
        return Path(chosen)
    variable, fallback = ("LOCALAPPDATA", "AppData/Local") if sys.platform == "win32" else ("XDG_CACHE_HOME", ".cache")
    root = os.environ.get(variable)
    return (Path(root) if root else Path.home() / fallback) / "bgn"


def find(source: Source) -> Path | None:
    """Return where `source` lies on this machine (unchecked), or None."""
    folders = [cache_folder()]
    if own := os.environ.get("BGN_DATA"):
        folders.insert(0, Path(own))
    for folder in folders:
        for name in (source.file, f"{source.file}.gz"):
            if (folder / name).is_file():
                return folder / name
    return None


def read(source: Source) -> bytes:
    """Return the checked bytes of `source`, downloading them when they are nowhere on this machine."""
    path = find(source)
    return _check(_uncompressed(path), source, path) if path is not None else download(source)


def download(source: Source) -> bytes:
    """Fetch `source` from its archive into the cache and return its checked bytes."""
    folder = cache_folder()
    content = _check(_member(_fetch(source), source), source, source.url)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / source.file, content)
    return content


def _uncompressed(path: Path) -> bytes:
    """Return the content of a plain or gzipped file, refusing one that is damaged or far too large."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DatasetError(f"{path} is damaged ({error}); delete it or put a whole copy there.") from error
    if len(content) > _MOST_BYTES:
        raise DatasetError(f"{path} holds more than {_MOST_BYTES} bytes, so it is not the table expected there.")
    return content


def _check(content: bytes, source: Source, origin: Path | str) -> bytes:
    """Return `content` if it is the very file the spec was written for."""
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise DatasetError(
            f"{origin} does not hold {source.member!r} as published: SHA-256 {found}, expected {source.sha256}. "
            f"Delete it, or put a whole copy there."
        )
    return content


def _fetch(source: Source) -> bytes:
    """Return the archive's bytes, trying a few times before giving up."""
    for attempt in range(_ATTEMPTS):
        try:
            return _stream(source)
        except (OSError, HTTPException) as error:
            final = isinstance(error, HTTPError) and error.code < 500
            if isinstance(error, DatasetError):
                raise
            if final or attempt == _ATTEMPTS - 1:
                raise DatasetError(
                    f"cannot download {source.member!r} from {source.url} ({error}). Fetch it by other means and "
                    f"save it as {source.file!r} (or {source.file + '.gz'!r}) in the folder named by the "
                    f"environment variable BGN_DATA or in {cache_folder()}."
                ) from error
            time.sleep(0.5 * 2**attempt)
    raise AssertionError("unreachable")


def _stream(source: Source) -> bytes:
    """Read the archive in blocks with a progress bar, on terminals only."""
    from tqdm import tqdm

    blocks: list[bytes] = []
    size = 0
    request = Request(source.url, headers={"User-Agent": "bgn"})
    with urlopen(request, timeout=30) as answer:
        length = int(answer.headers.get("Content-Length") or 0)
        with tqdm(total=length or None, unit="B", unit_scale=True, desc=source.file, disable=None) as bar:
            while block := answer.read(_BLOCK):
                blocks.append(block)
                bar.update(len(block))
                size += len(block)
                if size > _MOST_BYTES:
                    raise DatasetError(f"{source.url} sends more than {_MOST_BYTES} bytes, so it is not the archive.")
    content = b"".join(blocks)
    if len(content) < length:
        raise HTTPException(f"connection closed after {len(content)} of {length} bytes")
    return content


def _member(archive: bytes, source: Source) -> bytes:
    """Return the file `source` names from a zip or tar archive."""
    try:
        if zipfile.is_zipfile(io.BytesIO(archive)):
            with zipfile.ZipFile(io.BytesIO(archive)) as bundle:
                for info in bundle.infolist():
                    if PurePosixPath(info.filename).name == source.member and info.file_size <= _MOST_BYTES:
                        return bundle.read(info)
        else:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tape:
                for entry in tape:
                    file = tape.extractfile(entry) if entry.isfile() and entry.size <= _MOST_BYTES else None
                    if file is not None and PurePosixPath(entry.name).name == source.member:
                        return file.read()
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DatasetError(f"{source.url} sent a damaged archive ({error}); try again later.") from error
    raise DatasetError(f"{source.url} sent an archive without {source.member!r}; its layout may have changed.")
