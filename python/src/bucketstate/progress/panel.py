"""A live panel of streaming queries on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Protocol, Self

from bucketstate.notebook import table
from bucketstate.optional import needed
from bucketstate.optional import pandas as pd
from bucketstate.progress.rows import LAG, mean_lag

BATCHES = 8
"""Rows of a query's run that are shown, the newest."""

_TITLE = "streaming queries"
_FIGURES = (
    "batch",
    "rows",
    "ms",
    "state rows",
    "changed",
    "commit ms",
    "changelog",
    "lag",
    "memory",
    "cold reads",
)
_NOTHING_YET = "waiting for the first batch"


class Drawn(Protocol):
    """What shows the newest batches somewhere."""

    def update(self) -> None: ...


class Source(Protocol):
    """Where a panel's batches come from: a `Recorder`."""

    def newest(self) -> pd.DataFrame:
        """The rows of `Recorder.to_pandas`, of the newest `BATCHES` of each run alone."""

    def attach(self, panel: Drawn) -> None:
        """From now on, the panel is updated with each progress."""

    def detach(self, panel: Drawn) -> None: ...


class Panel:
    """Shows the newest batches of each query, and is drawn anew with each progress.

    For a `with` block: it is there from the start to the end of it, and its last state stays. It is
    drawn from the thread that Spark reports progress in; use one panel in one thread otherwise.

    Args:
        source: where its batches come from: a `Recorder`.
        console: a console of rich's; the terminal without.

    Raises:
        MissingLibraryError: rich is not installed.
    """

    def __init__(self, source: Source, console: Any | None = None) -> None:
        self._source = source
        live = needed("rich.live", extra="cli", what="A live panel")
        self._live = live.Live(self.table(), console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        self._source.attach(self)
        self.update()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._source.detach(self)
        self._live.stop()

    def update(self) -> None:
        """Draws what the source has now.

        Raises:
            MissingLibraryError: rich is not installed.
        """
        self._live.update(self.table(), refresh=True)

    def table(self) -> Any:
        """The panel as a table of rich's.

        Raises:
            MissingLibraryError: rich is not installed.
        """
        rich = needed("rich.table", extra="cli", what="A live panel")
        text = needed("rich.text", extra="cli", what="A live panel")
        # With room beside the figures they would be cut where a terminal has 80 columns.
        found = rich.Table(title=_TITLE, title_justify="left", padding=0)
        found.add_column("query")
        for name in _FIGURES:
            found.add_column(name, justify="right")
        runs = list(_runs(self._source.newest()))
        if not runs:
            found.caption = _NOTHING_YET
        for rows in runs:
            for row in rows:
                # As text: the name of a query may look like markup.
                found.add_row(*map(text.Text, row))
            found.add_section()
        return found


def html_of(frame: pd.DataFrame) -> str:
    """The rows of a source as the panel has them, for a notebook."""
    rows = [row for run in _runs(frame) for row in run]
    note = "" if rows else _NOTHING_YET
    return table(_TITLE, ["query", *_FIGURES], rows, note, right=_FIGURES)


def _runs(frame: pd.DataFrame) -> Iterator[list[list[str]]]:
    """The batches of each run of a query, as cells."""
    if frame.empty:
        return
    if LAG in frame:
        frame = frame.assign(**{LAG: mean_lag(frame)})
    for _, batches in frame.groupby("run_id", sort=False):
        yield [_cells(row) for _, row in batches.iterrows()]


def _cells(row: pd.Series[Any]) -> list[str]:
    name = row["name"] if isinstance(row["name"], str) else str(row["query_id"])[:8]
    names = ("batch", "input_rows", "batch_ms", "state_rows", "state_rows_updated")
    metrics = ("state_commit_ms", "bucketedChangelogBytes")
    figures = [_number(row.get(n)) for n in (*names, *metrics)]
    lag = row.get(LAG)
    figures.append("-" if _is_missing(lag) else f"{lag:,.1f}")
    memory = _share(row.get("state_memory_bytes"), row.get("bucketedMemoryLimitBytes"))
    return [name, *figures, memory, _number(row.get("bucketedColdReads"))]


def _number(value: Any) -> str:
    return "-" if _is_missing(value) else f"{int(value):,}"


def _share(part: Any, limit: Any) -> str:
    return "-" if _is_missing(part) or _is_missing(limit) or not limit else f"{part / limit:.0%}"


def _is_missing(value: Any) -> bool:
    return value is None or bool(pd.isna(value))
