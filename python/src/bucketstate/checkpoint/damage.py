"""How a damaged file is reported: always by its path, with what was expected and found."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from bucketstate.errors import DamagedFileError, NewerFormatError

REMEDY = (
    "Restore the file from a backup of the checkpoint; if there is none, restart the query with a "
    "new checkpoint location."
)


def damaged(path: str, problem: str) -> DamagedFileError:
    return DamagedFileError(f"{path} is damaged: {problem}. {REMEDY}")


def newer(path: str, what: str, known: int, found: int) -> NewerFormatError:
    return NewerFormatError(
        f"{path}: expected {what} of format version {known} or older, found {found}. It was "
        "written by a newer bucketstate: upgrade this package."
    )


@contextmanager
def decoding(path: str, part: str) -> Iterator[None]:
    """Whatever a decoder stumbles over inside is damage of that part."""
    try:
        yield
    except (struct.error, IndexError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise damaged(path, f"the {part} cannot be decoded ({error})") from error


def format_of(line: str, path: str, what: str, known: int) -> int:
    """The number of a format as Spark's files name it: `v1`."""
    if not line.startswith("v") or not line[1:].isdecimal() or line == "v0":
        raise damaged(path, f"expected its format, such as 'v1', found '{line[:40]}'")
    if int(line[1:]) > known:
        raise newer(path, what, known, int(line[1:]))
    return int(line[1:])
