"""A run's file where it lies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from bucketstate.checkpoint.format.sst.reader import SstReader
from bucketstate.checkpoint.format.storage import OpenFile
from bucketstate.errors import MissingFileError


class Original:
    """A file that is opened when it is asked for. Not thread-safe.

    Whoever deletes it takes it from nobody who has it open; what was shut by then is gone.

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
        self._was_open = False

    @property
    def file(self) -> OpenFile:
        if self._file is None:
            try:
                self._file = self._opened.enter_context(self._opening())
            except MissingFileError as error:
                if not self._was_open:
                    raise
                raise self._taken() from error
            self._was_open = True
        return self._file

    @property
    def reader(self) -> SstReader:
        if self._reader is None:
            self._reader = SstReader(self.file, self._path)
        return self._reader

    def _taken(self) -> MissingFileError:
        problem = f"{self._path} was there, and was deleted while it was shut."
        return MissingFileError(
            f"{problem} Retention takes what newer versions do not need: open the checkpoint again "
            "to read one of them. More files stay open where the process may have more (ulimit -n)."
        ).about(self._path, problem)

    def shut(self) -> None:
        """Closes it; it is opened again when it is asked for."""
        self._file = self._reader = None
        self._opened.close()

    def give_up(self) -> None:
        """Closes it, and leaves it where it lies."""
        self.shut()
