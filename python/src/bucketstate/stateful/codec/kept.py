"""What is kept per key beside the parts: the state's text, its version, a timeout and timers.

Both operators keep it as one row of the same three columns; a timer lies in the document, in front
of the fields, so that those columns never change.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from bucketstate.stateful.codec.json_text import encode

SCHEMA = StructType(
    [
        StructField("version", IntegerType(), True),
        StructField("timeout", LongType(), True),
        StructField("state", StringType(), True),
    ]
)
"""What Spark stores per key: the state class's version, the timeout in force in milliseconds since
the epoch or -1, and the document; no document where only a timeout is left. Version 0 beside a
document says that the document holds timers and no state."""

NO_TIMEOUT = -1

Row = tuple[int, int, str | None]
Due = tuple[int, str | None]
"""A timer: when it is reached, in milliseconds since the epoch, and its name, if it has one."""

_TIMERS = '{"$timers":'
_decoder = json.JSONDecoder()


class Kept(NamedTuple):
    """One key's row. `text` is None where there is no state; `timers` are sorted."""

    version: int = 0
    timeout: int = NO_TIMEOUT
    timers: tuple[Due, ...] = ()
    text: str | None = None

    @staticmethod
    def of(row: Row | None) -> Kept:
        if row is None:
            return NOTHING_KEPT
        version, timeout, text = row
        if text is None or not text.startswith(_TIMERS):
            return Kept(version, timeout, (), text)
        found, end = _decoder.raw_decode(text, len(_TIMERS))
        rest = text[end:]
        state = None if version == 0 else "{}" if rest == "}" else "{" + rest[1:]
        return Kept(version, timeout, tuple((at, name) for at, name in found), state)

    @property
    def row(self) -> Row:
        if not self.timers:
            return self.version, self.timeout, self.text
        timers = f"{_TIMERS}{encode(self.timers)}"
        if self.text is None:
            return 0, self.timeout, timers + "}"
        rest = "}" if self.text == "{}" else "," + self.text[1:]
        return self.version, self.timeout, timers + rest

    @property
    def empty(self) -> bool:
        """Whether nothing is left that would have to be stored."""
        return self.text is None and self.timeout == NO_TIMEOUT and not self.timers

    @property
    def moments(self) -> set[int]:
        """When the key wants to be called, in milliseconds since the epoch."""
        found = {at for at, _ in self.timers}
        return found if self.timeout == NO_TIMEOUT else found | {self.timeout}

    def due(self, threshold: int | None) -> Due | None:
        """The earliest timer, or the timeout, that lies before the threshold."""
        if threshold is None:
            return None
        found = [t for t in self.timers if t[0] < threshold]
        if NO_TIMEOUT < self.timeout < threshold:
            found.append((self.timeout, None))
        return min(found, key=order, default=None)

    def due_at(self, at: int) -> Due | None:
        """A timer, or the timeout, of exactly that moment."""
        found = [t for t in self.timers if t[0] == at]
        if self.timeout == at:
            found.append((at, None))
        return min(found, key=order, default=None)

    def without(self, due: Due) -> Kept:
        """What is left once `due` has fired. The timeout stays for the call to see and end."""
        if due == (self.timeout, None):
            # A timer without a name, of the same moment, fires after it.
            return self
        return self._replace(timers=tuple(t for t in self.timers if t != due))

    def same(self, other: Kept) -> bool:
        """Whether both say the same; where there is no text the version says nothing."""
        return (self.timeout, self.timers, self.text) == (
            other.timeout,
            other.timers,
            other.text,
        ) and (self.version == other.version or self.text is None)


NOTHING_KEPT = Kept()


def order(due: Due) -> tuple[int, str]:
    """Timers fire by time; of the same moment, those without a name first, then by name."""
    return due[0], due[1] or ""
