"""Keeps what Spark reports of queries while they run."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow.parquet as pq

from bucketstate.errors import BucketstateError, InvalidArgumentError
from bucketstate.optional import pandas as pd
from bucketstate.progress.live import NotebookPanel, in_notebook
from bucketstate.progress.panel import BATCHES, Drawn, Panel, html_of
from bucketstate.progress.plot import figure
from bucketstate.progress.rows import Progress, batch_row, operators, state_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

try:
    from pyspark.sql.streaming.listener import StreamingQueryListener
except ModuleNotFoundError:
    # Without Spark there is nothing to listen to; what was reported can be read all the same.
    StreamingQueryListener = object  # type: ignore[assignment,misc]


_log = logging.getLogger("bucketstate.progress")

_NEEDED = ("id", "runId", "batchId", "timestamp")
_GIVE = "give Spark's own objects, their JSON, or that as dicts."


class Recorder(StreamingQueryListener):
    """Keeps every progress of a session's streaming queries.

        recorder = Recorder()
        spark.streams.addListener(recorder)
        ...
        recorder.to_pandas()

    Thread-safe: Spark calls it from a thread of its own, anybody may read at any time.

    Args:
        name: only the query of that name; all of them without.
        limit: how many progresses to keep, the newest; all of them without.

    Raises:
        InvalidArgumentError: the limit is no number from 1 on.
    """

    def __init__(self, name: str | None = None, *, limit: int | None = None) -> None:
        if limit is not None and (type(limit) is not int or not 1 <= limit <= sys.maxsize):
            raise InvalidArgumentError(
                f"limit={limit!r}: give the number of progresses to keep, from 1 on."
            )
        self._name = name
        self._lock = threading.Lock()
        self._kept: deque[Progress] = deque(maxlen=limit)
        self._panels: list[Drawn] = []

    def __repr__(self) -> str:
        name = "" if self._name is None else f" of {self._name!r}"
        return f"<Recorder{name}: {len(self.progress)} progresses>"

    @classmethod
    def of(cls, progress: Iterable[Any]) -> Self:
        """A recorder of progresses that are there already, such as `query.recentProgress`.

        Raises:
            InvalidArgumentError: what is given is none, or has something else among it.
        """
        if isinstance(progress, str | bytes) or not isinstance(progress, Iterable):
            raise InvalidArgumentError(f"{progress!r} is not several progresses: {_GIVE}")
        recorder = cls()
        for one in progress:
            recorder.add(one)
        return recorder

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """What `save` wrote.

        Raises:
            InvalidArgumentError: it is no path.
            BucketstateError: the file does not hold that, or cannot be read.
        """
        path = _path_of(path)
        try:
            texts = pq.read_table(path, columns=["progress"]).column("progress").to_pylist()
            return cls.of(texts)
        except FileNotFoundError:
            raise BucketstateError(
                f"{path} is not there. Give a file that Recorder.save wrote."
            ) from None
        except (OSError, ValueError, KeyError) as error:
            raise BucketstateError(
                f"{path} does not hold a recorder's progress ({error}). Give a file that "
                "Recorder.save wrote."
            ) from error

    def add(self, progress: Any) -> None:
        """Keeps one progress: Spark's own object, its JSON, or that as a dict.

        Raises:
            InvalidArgumentError: what is given is none.
        """
        found = _json_of(progress)
        if self._name is not None and found.get("name") != self._name:
            return
        with self._lock:
            self._kept.append(found)
            panels = list(self._panels)
        for panel in panels:
            panel.update()

    @property
    def progress(self) -> list[Progress]:
        """Every progress that is kept, in the order in which they came."""
        with self._lock:
            return list(self._kept)

    def to_pandas(self) -> pd.DataFrame:
        """One row for each progress.

        Batch, rows and watermark, which is missing beyond the times of pandas; `batch_ms` and, as
        `phase_<name>`, the milliseconds of the batch's phases; of the state, added up over the
        operators, rows, bytes of memory, milliseconds and, as `state_stores`, how many stores there
        are; and each metric that the state store reports, under its own name.
        """
        return _rows(self.progress)

    def newest(self) -> pd.DataFrame:
        """The rows of `to_pandas` that a panel shows: the newest few of each run of a query."""
        shown: defaultdict[str, deque[Progress]] = defaultdict(lambda: deque(maxlen=BATCHES))
        # Before rows are made: a panel asks with each progress, however many are kept.
        for one in self.progress:
            shown[str(one["runId"])].append(one)
        return _rows([one for of_run in shown.values() for one in of_run])

    def operators_to_pandas(self) -> pd.DataFrame:
        """One row for each progress and stateful operator: its state and its store's metrics."""
        rows = []
        for progress in self.progress:
            for number, operator in enumerate(operators(progress)):
                head = {"batch": progress["batchId"], "run_id": progress["runId"]}
                about = {"operator": number, "name": operator.get("operatorName")}
                rows.append(head | about | state_cells([operator]))
        return pd.DataFrame(rows)

    def save(self, path: str | Path) -> None:
        """Writes the rows of `to_pandas` as Parquet, with each whole progress as JSON beside it.

        A query may run meanwhile: the file has what came before the call.

        Args:
            path: ends in `.parquet`; a file that is there is replaced once the new one is whole.

        Raises:
            InvalidArgumentError: it is no path, or one that ends otherwise.
            BucketstateError: the file cannot be written.
        """
        path = _path_of(path)
        if path.suffix != ".parquet":
            raise InvalidArgumentError(
                f"{path} would be Parquet: give it the ending .parquet, by which it is known, or "
                "write to_pandas() as what you want."
            )
        # Once for both: a query that runs adds to them at any time.
        kept = self.progress
        try:
            frame = _rows(kept)
            frame["progress"] = [json.dumps(p) for p in kept]
            # A link stays one. Who is stopped here keeps the file that was there before.
            target = Path(os.path.realpath(path))
            temporary = target.with_name(f".{uuid.uuid4()}.tmp")
            try:
                frame.to_parquet(temporary, index=False)
                temporary.replace(target)
            except BaseException:
                with suppress(OSError):
                    temporary.unlink()
                raise
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise BucketstateError(f"{path} cannot be written: {error}.") from error
        _log.info("saved %d progresses in %s", len(kept), path)

    def plot(self) -> Figure:
        """A picture of what the queries did, batch by batch.

        Batch time by phase, commit time, bytes written, memory beside its limit, keys looked up in
        files, and how far snapshots are behind. `plot().savefig("batches.png")` keeps it.

        Raises:
            MissingLibraryError: matplotlib is not installed.
            BucketstateError: no progress came yet.
        """
        return figure(self.to_pandas())

    def live(self) -> Panel | NotebookPanel:
        """A panel that follows the queries, for a `with` block: on the terminal, or in a notebook.

        Raises:
            MissingLibraryError: rich is not installed (`bucketstate[cli]`).
        """
        return NotebookPanel(self) if in_notebook() else Panel(self)

    def _repr_html_(self) -> str:
        return html_of(self.newest())

    def attach(self, panel: Drawn) -> None:
        """From now on, the panel is updated with each progress."""
        with self._lock:
            self._panels.append(panel)

    def detach(self, panel: Drawn) -> None:
        """From now on, the panel is left alone."""
        with self._lock:
            self._panels.remove(panel)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Nothing to keep: each progress names its query."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Keeps the progress. Called by Spark.

        Raises:
            InvalidArgumentError: the event has none.
        """
        heard = _json_of(event.progress)
        _log.debug("heard of batch %s of query %s", heard["batchId"], heard["id"])
        self.add(heard)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing happened, so there is nothing to keep."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """What it did is kept; whoever wants to know why it ended asks the query."""


def _rows(progress: Iterable[Progress]) -> pd.DataFrame:
    return pd.DataFrame([batch_row(p) for p in progress])


def _path_of(path: object) -> Path:
    if isinstance(path, str | os.PathLike):
        return Path(path)
    raise InvalidArgumentError(f"path is a {type(path).__name__}: give a path as text.")


def _json_of(progress: Any) -> Progress:
    # Spark's own is a dict too, but of other types than its JSON has.
    text = progress if isinstance(progress, str) else getattr(progress, "json", None)
    try:
        found = dict(progress) if text is None else json.loads(text)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{progress!r} is no progress ({error}): {_GIVE}") from error
    known = found if isinstance(found, dict) else {}
    if missing := [name for name in _NEEDED if name not in known]:
        raise InvalidArgumentError(
            f"{progress!r} is no progress, it is without {', '.join(missing)}: {_GIVE}"
        )
    return known
