"""The door: keys of a running query's state, by the files of its checkpoint alone."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bucketstate.checkpoint import Checkpoint, Scan
from bucketstate.checkpoint.filtering import Filter
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.selection import STATE, Selection
from bucketstate.checkpoint.spark.query import DEFAULT_STORE
from bucketstate.checkpoint.store.catalog import whole_number
from bucketstate.checkpoint.store.state import MEMORY
from bucketstate.errors import DamagedFileError, InvalidArgumentError, MissingFileError
from bucketstate.live.answers import Answer, Answers, Looked, Values, as_rows
from bucketstate.live.following import Follower
from bucketstate.live.running import checkpoint_of
from bucketstate.live.view import View

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")

_TRIES = 3
"""How often a call asks, if files are not there, or are not what they were."""
_SETTLED = 1.0
"""Seconds after which a call that failed is followed by one that tries so often again."""


class Live:
    """The state of a query as its newest committed batch left it, looked up while the query runs.

    It reads the files of the checkpoint, asks nothing of the query, and writes nothing there. Each
    answer is of one version and says which. What it reads of files is kept from one version to the
    next: data files of a local checkpoint as copies in the temporary folder, as far as partitions
    are asked for. Thread-safe: calls are answered one after the other. Use it with `with`, or close
    it.

    Args:
        checkpoint: a path or a URI as `Checkpoint` takes it, a `Checkpoint`, or a query that was
            started in this process and is not one of Spark Connect.
        filesystem: a file system of pyarrow or of fsspec, on which `checkpoint` is a path of its
            own.
        operator: the id of the stateful operator.
        store: for stream-stream joins, which have several.
        column_family: for operators that have several.
        state_var: a state variable of transformWithState.
        times: adds the column of when rows expire, as `Checkpoint.scan` has it.
        flatten: a row for each element of a list or entry of a map; without, one for each key.
        decode: the class of the states that a function of `bucketstate.stateful` keeps, as
            `Checkpoint.scan` takes it.
        max_age: seconds for which the newest version is taken for the newest, before a call looks
            whether there is another; 0 looks with each call. A look asks for two files by name.
        memory: bytes of keys and values that are kept for look-ups, about.

    Raises:
        InvalidArgumentError: an argument is of a wrong type, or at odds with another.
        DefinitionError: what is given to decode states as cannot be a state.
        MissingLibraryError: states are decoded, and pyspark is not installed; or fsspec is needed.
        NotACheckpointError: the folder is not the checkpoint of a stateful query.
        OtherProviderError: another state store provider wrote its state.
        NoSuchStateError: what is asked for is not there; the message lists what is.
        CheckpointError: a file that is needed cannot be read.
        StorageError: the file system failed.
    """

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | Checkpoint | StreamingQuery,
        filesystem: Any | None = None,
        *,
        operator: int = 0,
        store: str = DEFAULT_STORE,
        column_family: str | None = None,
        state_var: str | None = None,
        times: bool = False,
        flatten: bool = True,
        decode: Any = None,
        max_age: float = 0.5,
        memory: int = MEMORY,
    ) -> None:
        if whole_number("memory", memory) < 1:
            raise InvalidArgumentError(f"memory={memory}: give a number of bytes from 1 on.")
        selection = Selection(
            STATE,
            operator=whole_number("operator", operator),
            store=store,
            column_family=column_family,
            state_var=state_var,
            times=times,
            flatten=flatten,
            decode=decode,
        )
        if isinstance(checkpoint, Checkpoint):
            folder = checkpoint.query.folder
        else:
            folder = Folder.at(checkpoint_of(checkpoint), filesystem)
        self._location = folder.location
        self._closed = False
        self._failed = -math.inf
        self._follower = Follower(folder, selection, memory, _seconds(max_age))
        self._lock = self._follower.lock
        # What is asked for is there, or that is said now.
        self._asked(lambda view: view.columns)

    def __repr__(self) -> str:
        known = self._follower.known
        at = "closed" if self._closed or known is None else f"version={known.version}"
        return f"Live({self._location!r}, {at})"

    @property
    def version(self) -> int:
        """The newest committed version: batch n makes version n + 1, 0 is empty.

        Raises:
            CheckpointError: as for `get`.
            StorageError: the file system failed.
            InvalidArgumentError: it was closed.
        """
        return self._asked(lambda view: view.version)

    @property
    def batch(self) -> int | None:
        """The batch that made it; None before the first one was committed.

        Raises:
            CheckpointError: as for `get`.
            StorageError: the file system failed.
            InvalidArgumentError: it was closed.
        """
        return self._asked(lambda view: view.batch)

    def get(self, key: Any, user_key: Any = None) -> Answer:
        """One key: its rows, its value, and the version that they are of.

        Args:
            key: as `Checkpoint.scan` takes it: the value of the key's column, of several columns a
                tuple or a dict of them. None is a key that is null. Of a state variable it is the
                grouping key. The first columns are enough where keys are scanned by them.
            user_key: this key of a map variable alone.

        Raises:
            InvalidArgumentError: the key is of a wrong type, or it was closed.
            NotACheckpointError: the checkpoint was deleted, or moved.
            NoSuchStateError: the checkpoint was taken back to an earlier batch: see `refresh`; or
                what is asked for is not there any more.
            MigrationError: a document cannot be read as the class.
            NewerFormatError: a newer release wrote a file that is needed.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there.
            StorageError: the file system failed; the next call tries again.
            CheckpointError: Spark's schema has a type that this release does not read.
        """
        return self._asked(lambda view: self._answers(view, [key], user_key)[0])

    def get_many(self, keys: Iterable[Any]) -> Answers:
        """Many keys, looked up together, all at one version: a fraction of the time of each alone.

        Args:
            keys: each as for `get`, in any order; one may be there twice.

        Raises:
            InvalidArgumentError: that is no list of keys, or one is of a wrong type.
            CheckpointError: errors of files are as for `get`.
            StorageError: the file system failed.
            BucketstateError: states that are decoded are as for `get`.
        """
        if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable):
            raise InvalidArgumentError(f"keys={keys!r} is a {type(keys).__name__}: give a list.")
        listed = list(keys)
        return self._asked(lambda view: self._answers(view, listed))

    def scan(
        self,
        prefix: Any = None,
        *,
        filters: Sequence[Filter] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Scan:
        """The rows of all keys, or of those that begin so, at the newest version, as a `Scan`.

        `Scan.version` says which version that is. It stays at it, and is read when its rows are
        asked for: one that waits until many newer versions are there may find files gone. Then
        MissingFileError is raised, and another scan is to be asked for.

        Args:
            prefix: the first columns of keys, where keys are scanned by them, as for `get`.
            filters: as `Checkpoint.scan` takes them.
            columns: as `Checkpoint.scan` takes them.

        Raises:
            InvalidArgumentError: an argument is of a wrong type, or it was closed.
            CheckpointError: errors of files are as for `get`.
            StorageError: the file system failed.
        """

        def made(view: View) -> Scan:
            return Scan(view.source.of(key=prefix, filters=filters, columns=columns))

        return self._asked(made)

    def refresh(self) -> int:
        """Looks now for the newest version, whatever `max_age` is, and says which it is.

        Takes what is there, also where that is an older version than before: a checkpoint that was
        taken back to an earlier batch is followed from here on.

        Raises:
            InvalidArgumentError: it was closed.
            CheckpointError: errors of files are as for `get`.
            StorageError: the file system failed.
        """
        with self._lock:
            self._check_open()
            return self._follower.refreshed().version

    def close(self) -> None:
        """Removes what it has copied, and closes what it has open. Answers stay as they are.

        A scan of it looks keys up no more.
        """
        with self._lock:
            self._closed = True
            self._follower.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _asked(self, ask: Callable[[View], T]) -> T:
        """What is asked of the newest view; again of another one if a file went in between."""
        with self._lock:
            self._check_open()
            view = self._follower.view()
            # What is damaged stays so: then others that ask have not to wait for more tries.
            tries = 1 if time.monotonic() - self._failed < _SETTLED else _TRIES
            while True:
                tries -= 1
                try:
                    return ask(view)
                except (MissingFileError, DamagedFileError):
                    if not tries:
                        self._failed = time.monotonic()
                        raise
                    view = self._follower.anew()

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgumentError(f"{self!r} was closed: make another one.")

    def _answers(self, view: View, keys: Sequence[Any], user_key: Any = None) -> Answers:
        # A key that is null is (None,) from here on, since None stands for no key.
        asked = [((None,) if key is None else key, user_key) for key in keys]
        found = view.asked.find(asked)
        table, states = found.table, view.states
        if states is None:
            values = Values.over(table.schema, one=user_key is not None)
            rows: Callable[[], Any] = partial(as_rows, table)
            columns: Callable[[], Any] = lambda: table  # noqa: E731
        else:
            values = Values("state", of_map=False, several=False)
            # Parts are looked up in other variables, at this version.
            decoded = states.rows_in(table)
            rows, columns = (lambda: decoded), partial(states.columns_of, table, decoded)
        at = view.version, view.batch
        return Answers(Looked(keys, found.owners, at, values, rows, columns))


def _seconds(max_age: object) -> float:
    if isinstance(max_age, int | float) and not isinstance(max_age, bool) and max_age >= 0:
        return float(max_age)
    raise InvalidArgumentError(f"max_age={max_age!r}: give a number of seconds, from 0 on.")
