"""Find a raw table: in this package, in the folder named by ``BGN_DATA``, in the cache, in the archive it comes from.

Wherever they come from, the bytes are hashed before anybody parses them, and a download reaches its final name only
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

SHIPPED = Path(__file__).parent / "files"
"""Raw tables that come with the package; NOTICE.md there says whose they are."""


class DatasetError(OSError):
    """A raw table is missing, damaged or cannot be downloaded; the message says what to do."""


@dataclass(frozen=True)
class RawFile:
    """A raw table as it was published.

    Parameters
    ----------
    file : str
        Its name in ``BGN_DATA`` and in the cache; ``file.gz`` is accepted too.
    url : str or None
        Address of the archive (zip or tar) that holds it; None if the file is in this package alone.
    member : str
        Its name inside the archive, whatever the folder.
    sha256 : str
        Of the file itself, uncompressed.
    """

    file: str
    url: str | None
    member: str
    sha256: str


def cache_folder() -> Path:
    """Return the folder downloads are kept in: ``BGN_CACHE``, or a ``bgn`` folder in the user's cache."""
    if chosen := os.environ.get("BGN_CACHE"):
        return Path(chosen)
    variable, fallback = ("LOCALAPPDATA", "AppData/Local") if sys.platform == "win32" else ("XDG_CACHE_HOME", ".cache")
    root = os.environ.get(variable)
    return (Path(root) if root else Path.home() / fallback) / "bgn"


def shipped(raw: RawFile) -> bool:
    return (SHIPPED / f"{raw.file}.gz").is_file()


def find(raw: RawFile) -> Path | None:
    """Return where a raw file lies on this machine (unchecked), or None."""
    own = os.environ.get("BGN_DATA")
    folders = [SHIPPED, *([Path(own)] if own else []), cache_folder()]
    places = (folder / name for folder in folders for name in (raw.file, f"{raw.file}.gz"))
    return next((place for place in places if place.is_file()), None)


def read(raw: RawFile) -> bytes:
    """Return the checked bytes of a raw file; one that is nowhere on this machine is downloaded into the cache."""
    path = find(raw)
    if path is not None:
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DatasetError(f"{path} is damaged ({error}); delete it or put a whole copy there.") from error
        if len(content) > _MOST_BYTES:
            raise DatasetError(f"{path} holds more than {_MOST_BYTES} bytes, so it is not the table expected there.")
        return _check(content, raw, path)
    if raw.url is None:
        raise DatasetError(f"{raw.file} should be in {SHIPPED} and is not: install bgn again.")
    content = _check(_member(_archive(raw), raw), raw, raw.url)
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / raw.file, content)
    return content


def _check(content: bytes, raw: RawFile, origin: Path | str) -> bytes:
    """Return `content` if it is the very file the spec was written for."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != raw.sha256:
        raise DatasetError(
            f"{origin} does not hold {raw.member!r} as published: SHA-256 {digest}, expected {raw.sha256}. "
            "Delete it, or put a whole copy there."
        )
    return content


def _archive(raw: RawFile) -> bytes:
    """Return the archive's bytes, trying a few times before giving up."""
    for wait in (0.5, 1.0, None):
        try:
            return _stream(raw)
        except DatasetError:
            raise
        except (OSError, HTTPException) as error:
            if wait is None or (isinstance(error, HTTPError) and error.code < 500):
                raise DatasetError(
                    f"cannot download {raw.member!r} from {raw.url} ({error}). Fetch it by other means and save it as "
                    f"{raw.file!r} (or {raw.file + '.gz'!r}) in the folder named by the environment variable BGN_DATA "
                    f"or in {cache_folder()}."
                ) from error
            time.sleep(wait)
    raise AssertionError("unreachable")


def _stream(raw: RawFile) -> bytes:
    """Read the archive in blocks with a progress bar, on terminals only."""
    from tqdm import tqdm

    assert raw.url is not None
    content = bytearray()
    request = Request(raw.url, headers={"User-Agent": "bgn"})
    with urlopen(request, timeout=30) as answer:
        length = int(answer.headers.get("Content-Length") or 0)
        with tqdm(total=length or None, unit="B", unit_scale=True, desc=raw.file, disable=None) as bar:
            while block := answer.read(_BLOCK):
                content += block
                bar.update(len(block))
                if len(content) > _MOST_BYTES:
                    raise DatasetError(f"{raw.url} sends more than {_MOST_BYTES} bytes, so it is not the archive.")
    if len(content) < length:
        raise HTTPException(f"connection closed after {len(content)} of {length} bytes")
    return bytes(content)


def _member(archive: bytes, raw: RawFile) -> bytes:
    try:
        if zipfile.is_zipfile(io.BytesIO(archive)):
            with zipfile.ZipFile(io.BytesIO(archive)) as bundle:
                for info in bundle.infolist():
                    if PurePosixPath(info.filename).name == raw.member and info.file_size <= _MOST_BYTES:
                        return bundle.read(info)
        else:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tape:
                for entry in tape:
                    file = tape.extractfile(entry) if entry.isfile() and entry.size <= _MOST_BYTES else None
                    if file is not None and PurePosixPath(entry.name).name == raw.member:
                        return file.read()
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DatasetError(f"{raw.url} sent a damaged archive ({error}); try again later.") from error
    raise DatasetError(f"{raw.url} sent an archive without {raw.member!r}; its layout may have changed.")
