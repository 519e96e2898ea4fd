"""How a damaged file is reported: always by its path, with what was expected and found."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bucketstate.errors import DamagedFileError, NewerFormatError

REMEDY = (
    "Restore the file from a backup of the checkpoint; if there is none, restart the query with a "
    "new checkpoint location."
)

MADE_UP_FOR = (
    "Nothing is lost by it: every version that Spark could ask for is read from other files."
)


def damaged(path: str, problem: str) -> DamagedFileError:
    what = f"{path} is damaged: {problem}."
    return DamagedFileError(f"{what} {REMEDY}").about(path, what)


def newer(
    path: str, what: str, known: int, found: int, by: str = "bucketstate"
) -> NewerFormatError:
    """`by` is what wrote the file."""
    problem = f"{path}: expected {what} of format version {known} or older, found {found}."
    return NewerFormatError(
        f"{problem} It was written by a newer {by}: upgrade this package."
    ).about(path, problem)


@contextmanager
def decoding(path: str, part: str) -> Iterator[None]:
    """Whatever a decoder stumbles over inside is damage of that part."""
    try:
        yield
    except (struct.error, IndexError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise damaged(path, f"the {part} cannot be decoded ({error})") from error


def json_object(text: str) -> dict[str, Any]:
    """What a text holds as JSON; ValueError if that is no object."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object, found {text.strip()[:40]}")
    return found


def format_of(line: str, path: str, what: str, known: int) -> int:
    """The number of a format as Spark's files name it: `v1`."""
    if not line.startswith("v") or not line[1:].isdecimal() or line == "v0":
        raise damaged(path, f"expected its format, such as 'v1', found '{line[:40]}'")
    if int(line[1:]) > known:
        raise newer(path, what, known, int(line[1:]), "Spark")
    return int(line[1:])
