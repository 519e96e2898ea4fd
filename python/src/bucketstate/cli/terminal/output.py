"""Standard output and standard error of a command, which does its work also where nobody reads it.

A pipe whose reader has gone fails whatever is written to it next. No command has to know that: here
what is written then is lost, and the command goes on to what it does, and to its exit code.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

_Row = TypeVar("_Row")


@contextmanager
def unhindered() -> Iterator[None]:
    """While the block runs, neither stream of the process is an error where nobody reads it.

    Standard output that fails otherwise, as on a full disk, is an OSError as ever; what cannot be
    told on standard error is no reason to leave off in the middle, whatever keeps it from being
    told.
    """
    before = sys.stdout, sys.stderr
    out = _over_its_descriptor(sys.stdout, BrokenPipeError)
    err = _over_its_descriptor(sys.stderr, OSError)
    sys.stdout, sys.stderr = out, err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in (out, err):
            # The shell may have closed it. What fails has been told of.
            if stream is not None:
                with suppress(OSError):
                    stream.flush()
        raw = _raw_of(out)
        if isinstance(raw, _Descriptor):
            # What could not be written is not tried again when the stream is given up.
            raw.is_taken = False


def while_read(rows: Iterable[_Row]) -> Iterator[_Row]:
    """The rows, which end once the reader of standard output has gone.

    It is for rows that are had in order to be printed, and for nothing else.
    """
    for row in rows:
        yield row
        raw = _raw_of(sys.stdout)
        if isinstance(raw, _Descriptor) and not raw.is_taken:
            return


class _Descriptor(io.FileIO):
    """A descriptor that others have opened, and close.

    After the first error of the kind `lost` what is written goes nowhere.
    """

    def __init__(self, descriptor: int, lost: type[OSError]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._lost = lost
        self.is_taken = True
        """Whether what is written goes to the descriptor."""

    def write(self, data: Any, /) -> int:
        if self.is_taken:
            try:
                return super().write(data)
            except self._lost:
                self.is_taken = False
        return memoryview(data).nbytes


def _over_its_descriptor(stream: Any, lost: type[OSError]) -> Any:
    """A stream like the given one.

    It is that one itself where there is none, and where a program has put another thing than a file
    in its place.
    """
    raw = _raw_of(stream)
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(raw, io.FileIO):
        return stream
    # What the program has written itself comes first.
    with suppress(OSError):
        stream.flush()
    own: Any = _Descriptor(raw.fileno(), lost)
    return io.TextIOWrapper(
        # Where Python was told to hold nothing back, there is no buffer.
        own if raw is stream.buffer else io.BufferedWriter(own),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _raw_of(stream: Any) -> Any:
    """What a stream writes to in the end."""
    buffer = getattr(stream, "buffer", None)
    return getattr(buffer, "raw", buffer)
