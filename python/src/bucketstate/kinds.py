"""What values a setting takes: a class for each `type` that `settings.json` has.

A kind that is new in the Scala registry (`ConfigType`) needs a class here and its case in
`kind_of`: `Conf`, its checks and the documentation follow from it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

Value = int | str | tuple[tuple[str, str], ...]

# Python makes no number of more than 4,300 digits, and no setting takes one of a hundred.
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
_DIGITS = re.compile(r"[0-9]{1,100}")
_BYTES = re.compile(r"([0-9]{1,100})([kmgt]?)b?", re.IGNORECASE)
_SHARE = re.compile(r"([0-9]{1,100}) ?%")
_MOST_PERCENT = 90
_LEAST_MEMORY = 1 << 20
_MOST_MEMORY = (1 << 63) - 1  # a Long of the JVM
_TIME = re.compile(r"([0-9]{1,100}) ?(s|min|h|d)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
_MOST_SECONDS = 0xFFFFFFFF  # what the checkpoint's files have room for


class Kind(Protocol):
    """One kind of values."""

    @property
    def annotation(self) -> str:
        """The type of the field of `Conf`, as Python source."""

    @property
    def allowed(self) -> str:
        """Completes the sentence "it must be ..."."""

    def parse(self, text: str) -> Value:
        """What a configuration file or a Spark session means by a text.

        The text itself if that means nothing, which `allows` then refuses.
        """

    def allows(self, value: object) -> bool:
        """Whether a field of `Conf` may be this."""


@dataclass(frozen=True)
class WholeNumber:
    """Between two bounds, both included."""

    min: int
    max: int

    @property
    def annotation(self) -> str:
        return "int"

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.min} to {self.max}"

    def parse(self, text: str) -> Value:
        return int(text) if _WHOLE.fullmatch(text) else text

    def allows(self, value: object) -> bool:
        return _between(self.min, value, self.max)


@dataclass(frozen=True)
class Millis(WholeNumber):
    """A number of milliseconds. Python may give it as a `timedelta`."""

    @property
    def annotation(self) -> str:
        return "int | timedelta"

    @property
    def allowed(self) -> str:
        return f"a whole number of milliseconds from {self.min} to {self.max}"


@dataclass(frozen=True)
class Bytes:
    """A number of bytes, or a text as Spark writes them: its suffixes are powers of 1024."""

    min: int
    max: int

    @property
    def annotation(self) -> str:
        return "int | str"

    @property
    def allowed(self) -> str:
        return f"a whole number of bytes, or a text such as '64m', from {self.min} to {self.max}"

    def parse(self, text: str) -> Value:
        return int(text) if _WHOLE.fullmatch(text) else text

    def allows(self, value: object) -> bool:
        return _between(self.min, _bytes(value) if isinstance(value, str) else value, self.max)


@dataclass(frozen=True)
class Memory:
    """A part of the heap: a share, a number of bytes, or what the provider takes by itself."""

    @property
    def annotation(self) -> str:
        return "int | str"

    @property
    def allowed(self) -> str:
        return (
            "'auto', a share of the heap from 1% to 90%, such as 40%, or a number of bytes of at "
            "least 1m, such as 512m"
        )

    def parse(self, text: str) -> Value:
        # A sign is for numbers that can be negative: Scala's bytes have none.
        return int(text) if _DIGITS.fullmatch(text) else text

    def allows(self, value: object) -> bool:
        if not isinstance(value, str):
            return _between(_LEAST_MEMORY, value, _MOST_MEMORY)
        text = value.strip()
        share = _SHARE.fullmatch(text)
        if share is not None:
            return _between(1, int(share[1]), _MOST_PERCENT)
        return text == "auto" or _between(_LEAST_MEMORY, _bytes(text), _MOST_MEMORY)


@dataclass(frozen=True)
class Duration:
    """A whole number of seconds, minutes, hours or days, or a word. `min` is in seconds."""

    min: int
    word: str

    @property
    def annotation(self) -> str:
        return "timedelta | str"

    @property
    def allowed(self) -> str:
        return f"a time such as 90s, 30min, 12h or 7d of at least {self.min}s, or '{self.word}'"

    def parse(self, text: str) -> Value:
        return text

    def allows(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        text = value.strip()
        time = _TIME.fullmatch(text)
        if time is None:
            return text == self.word
        return _between(self.min, int(time[1]) * _SECONDS[time[2]], _MOST_SECONDS)

    @staticmethod
    def seconds(text: object) -> int | None:
        """The seconds of a time that is allowed; None for a word."""
        time = _TIME.fullmatch(str(text).strip())
        return None if time is None else int(time[1]) * _SECONDS[time[2]]


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    values: tuple[str, ...]

    @property
    def annotation(self) -> str:
        words = f"Literal[{', '.join(json.dumps(v) for v in self.values)}]"
        return f"bool | {words}" if self.is_truth else words

    @property
    def is_truth(self) -> bool:
        """Whether the words are those of Spark's truth values."""
        return set(self.values) == {"true", "false"}

    @property
    def allowed(self) -> str:
        return ("one of " if len(self.values) > 1 else "") + ", ".join(map(repr, self.values))

    def parse(self, text: str) -> Value:
        return text

    def allows(self, value: object) -> bool:
        return value in self.values


@dataclass(frozen=True)
class Text:
    """Any text but none."""

    @property
    def annotation(self) -> str:
        return "str"

    @property
    def allowed(self) -> str:
        return "a text that is not empty"

    def parse(self, text: str) -> Value:
        return text

    def allows(self, value: object) -> bool:
        return isinstance(value, str) and bool(value)


@dataclass(frozen=True)
class Folder(Text):
    """A path, or a word that stands for one. Python may give it as a path object."""

    @property
    def annotation(self) -> str:
        return "str | PathLike[str]"

    @property
    def allowed(self) -> str:
        return "a path that is not empty"


@dataclass(frozen=True)
class Named:
    """Any number of texts by names such as `db.max_open_files`, each behind the key of the setting.

    They are kept as pairs in the order of their names, so that settings stay values.
    """

    groups: tuple[str, ...]

    @property
    def annotation(self) -> str:
        return "Mapping[str, str | int] | tuple[tuple[str, str], ...]"

    @property
    def allowed(self) -> str:
        names = " or ".join(f"{group}.<name>" for group in self.groups)
        return f"texts that are not empty by their names, {names}"

    def parse(self, text: str) -> Value:
        # Only the default comes as one text: the others have keys of their own.
        return text or ()

    def allows(self, value: object) -> bool:
        return isinstance(value, tuple) and all(map(self._allows_pair, value))

    def _allows_pair(self, pair: object) -> bool:
        match pair:
            case (str(name), str(text)):
                group, _, rest = name.partition(".")
                return group in self.groups and bool(rest) and bool(text.strip())
        return False


def kind_of(raw: Mapping[str, Any]) -> Kind:
    """The kind of a setting as `settings.json` has it. ValueError if there is no such kind."""
    match raw["type"]:
        case "int":
            return WholeNumber(raw["min"], raw["max"])
        case "millis":
            return Millis(raw["min"], raw["max"])
        case "bytes":
            return Bytes(raw["min"], raw["max"])
        case "memory":
            return Memory()
        case "duration":
            return Duration(raw["min"], raw["word"])
        case "enum":
            return OneOf(tuple(raw["values"]))
        case "string":
            return Text()
        case "folder":
            return Folder()
        case "named":
            return Named(tuple(raw["groups"]))
        case other:
            raise ValueError(
                f"settings.json: {raw['name']} has the type {other}, which bucketstate.kinds does "
                "not know: give it a class there."
            )


def plain(value: object, kind: Kind) -> object:
    """A value of Python's own as a setting of that kind holds it.

    A `timedelta` is a number of milliseconds or the text of a number of seconds; a mapping is pairs
    of texts in the order of their names; a truth value and a path are their texts.
    """
    if isinstance(value, Mapping):
        return pairs_of(value)
    if isinstance(value, bool) and isinstance(kind, OneOf) and kind.is_truth:
        return _text(value)
    if isinstance(value, os.PathLike) and isinstance(kind, Folder):
        return os.fspath(value)
    if not isinstance(value, timedelta):
        return value
    if isinstance(kind, Millis):
        millis, rest = divmod(value, timedelta(milliseconds=1))
        return value if rest else millis
    seconds, rest = divmod(value, timedelta(seconds=1))
    # Less than a second has no text that a setting takes.
    return value if rest else f"{seconds}s"


def pairs_of(texts: Mapping[object, object]) -> tuple[tuple[str, str], ...]:
    """What names map to as texts, in the order of the names."""
    return tuple(sorted((str(name), _text(each)) for name, each in texts.items()))


def _text(value: object) -> str:
    """As native code writes it, which says true where Python says True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _between(low: int, value: object, high: int) -> bool:
    # True and False are whole numbers to Python, and a mistake here.
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _bytes(text: str) -> int | None:
    found = _BYTES.fullmatch(text.strip())
    if found is None:
        return None
    return int(found[1]) << (10 * " kmgt".index(found[2].lower() or " "))
