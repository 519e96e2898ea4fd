"""A run's file where it lies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from bucketstate.checkpoint.format.sst.reader import SstReader
from bucketstate.checkpoint.format.storage import OpenFile


class Original:
    """A file that is opened when it is asked for. Not thread-safe.

    Whoever deletes it takes it from nobody who has it open.

    Args:
        opening: opens it.
        path: what errors name.
    """

    is_in_memory = False

    def __init__(self, opening: Callable[[], AbstractContextManager[OpenFile]], path: str) -> None:
        self._opening = opening
        self._path = path
        self._opened = ExitStack()
        self._file: OpenFile | None = None
        self._reader: SstReader | None = None

    @property
    def file(self) -> OpenFile:
        if self._file is None:
            self._file = self._opened.enter_context(self._opening())
        return self._file

    @property
    def reader(self) -> SstReader:
        if self._reader is None:
            self._reader = SstReader(self.file, self._path)
        return self._reader

    def shut(self) -> None:
        """Closes it; it is opened again when it is asked for."""
        self._file = self._reader = None
        self._opened.close()

    def give_up(self) -> None:
        """Closes it, and leaves it where it lies."""
        self.shut()
