"""Java's properties files, which Spark keeps settings in: lines out, settings in."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT = re.compile(r"[ \t\f]*(?:[#!].*)?")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_BETWEEN = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LETTERS = {value: letter for letter, value in _NAMED.items()}
_UNSAFE_IN_KEY = re.compile(r"[\\=: \t\n\r\f]|^[#!]")
_UNSAFE_IN_VALUE = re.compile(r"[\\\t\n\r\f]|^ ")


def line(key: str, value: str) -> str:
    """One setting as a line, without its end, that `parsed` and Java read as that setting."""
    return f"{_UNSAFE_IN_KEY.sub(_escaped, key)}={_UNSAFE_IN_VALUE.sub(_escaped, value)}"


def parsed(text: str) -> dict[str, str]:
    """The settings of a file, as `java.util.Properties` reads them; of one key the last."""
    found = {}
    for each in _logical(text):
        key = _KEY.match(each)
        assert key is not None  # it matches nothing, too
        between = _BETWEEN.match(each, key.end())
        assert between is not None
        found[_ESCAPE.sub(_meant, key[0])] = _ESCAPE.sub(_meant, each[between.end() :])
    return found


def _logical(text: str) -> Iterator[str]:
    """Lines that say something, joined where the end of one is escaped."""
    begun: str | None = None
    for natural in re.split(r"\r\n|\r|\n", text):
        if begun is None and _COMMENT.fullmatch(natural):
            continue
        joined = (begun or "") + natural.lstrip(" \t\f")
        backslashes = len(joined) - len(joined.rstrip("\\"))
        if backslashes % 2:
            begun = joined[:-1]
        else:
            yield joined
            begun = None
    if begun:
        yield begun


def _escaped(found: re.Match[str]) -> str:
    return "\\" + _LETTERS.get(found[0], found[0])


def _meant(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else _NAMED.get(letter or "", letter or "")
