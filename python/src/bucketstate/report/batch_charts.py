"""How the query's batches went, by the progress that Spark reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bucketstate.optional import pandas as pd
from bucketstate.progress import PHASE
from bucketstate.progress.rows import LAG, mean_lag
from bucketstate.report.charts import (
    POINTS,
    Axis,
    Series,
    Unit,
    areas,
    duration,
    lines,
    share,
    unit_of_bytes,
    unit_of_time,
)
from bucketstate.report.content import Chart, Part, Section, Untold
from bucketstate.report.material import Batches, Material
from bucketstate.units import count, size

_TITLE = "Batches"
_LIMIT = "bucketedMemoryLimitBytes"
_COLD = "bucketedColdReads"


def section(material: Material) -> Section:
    batches = material.batches
    if not batches.progress:
        return Section(_TITLE, "What the query reported.", [Untold("Batches", batches.why)])
    drawn = _Drawn(batches)
    about = (
        f"What Spark reported of {len(batches.progress):,} batches, over time; figures of the "
        "state are of all operators and tasks together."
    )
    return Section(_TITLE, about + drawn.said, list(drawn.parts()))


class _Drawn:
    """The charts of some batches: all share the time axis, and what is left out."""

    def __init__(self, batches: Batches) -> None:
        frame = batches.recorder.to_pandas()
        frame = frame.sort_values("at", kind="stable").reset_index(drop=True)
        self.all = frame
        # Before batches are left out, with which a short run may go as a whole.
        self.restarts = _places(frame.loc[_begins(frame)])
        self.said = ""
        each = -(-len(frame) // POINTS)
        if each > 1:
            slowest = frame.groupby(frame.index // each)["batch_ms"].idxmax()
            frame = frame.loc[slowest].reset_index(drop=True)
            self.said = f" Shown is the slowest batch of each {each} in a row."
        if self.restarts:
            several = "s" if len(self.restarts) > 1 else ""
            self.said += f" Dotted: {len(self.restarts):,} restart{several} of the query."
        self.shown = frame = _parted(frame, _begins(frame))
        self.axis = Axis("time, UTC", _places(frame), "%{x|%Y-%m-%d %H:%M:%S}", "date")

    def parts(self) -> Iterator[Part]:
        yield self._phases()
        yield self._lines(
            "State operations and commit",
            {
                "updates": "state_updates_ms",
                "removals": "state_removals_ms",
                "commit": "state_commit_ms",
                "encoding": "bucketedEncodeTimeMs",
                "writing": "bucketedWriteTimeMs",
            },
            "ms",
            self._commit_finding,
        )
        yield self._lines(
            "Rows",
            {"input": "input_rows", "state rows": "state_rows"},
            "rows",
            lambda f: (
                f"{count(int(f['input_rows'].sum()))} rows came in; the state holds "
                f"{count(int(f['state_rows'].iloc[-1]))} rows after the last batch."
            ),
        )
        yield self._lines(
            "Bytes written",
            {
                "changelogs": "bucketedChangelogBytes",
                "snapshots": "bucketedRunBytes",
                "of them merged again": "bucketedCompactionBytes",
            },
            "bytes",
            lambda f: (
                f"{size(int(f['bucketedChangelogBytes'].sum()))} of changelogs"
                f"{_and(f, 'bucketedRunBytes', ' of snapshots')}."
            ),
            needs="bucketedChangelogBytes",
        )
        yield self._lines(
            "Memory",
            {"state": "state_memory_bytes", "limit": _LIMIT},
            "bytes",
            _memory_finding,
            dashed="limit",
        )
        yield self._lag()
        yield self._cold()

    def _phases(self) -> Part:
        names = [
            name
            for name in map(str, self.all.columns)
            if name.startswith(PHASE) and self.all[name].fillna(0).any()
        ]
        totals = {name: float(self.all[name].sum()) for name in names}
        names.sort(key=lambda name: -totals[name])
        times = self.all["batch_ms"]
        finding = (
            f"A batch takes {duration(times.median())} (median), the slowest took "
            f"{duration(times.max())}."
        )
        if names:
            most = share(totals[names[0]], max(1.0, float(times.sum())))
            finding += f" {names[0].removeprefix(PHASE)} takes {most} of the time."
        unit = unit_of_time(float(self.shown["batch_ms"].max()))
        series = [
            Series(
                name.removeprefix(PHASE),
                unit.of(self.shown[name].fillna(0).tolist()),
                [duration(value) for value in self.shown[name].fillna(0)],
            )
            for name in names
        ]
        spec = areas(self.axis, series, unit.name, self.restarts)
        return Chart("Batch time by phase", finding, spec, height=340)

    def _commit_finding(self, frame: pd.DataFrame) -> str:
        commit = float(frame["state_commit_ms"].sum())
        names = ("state_updates_ms", "state_removals_ms", "state_commit_ms")
        whole = sum(float(frame[name].sum()) for name in names)
        part = f", {share(commit, whole)} of the time spent on state" if whole else ""
        return f"Commits took {duration(commit)} over all tasks{part}."

    def _lag(self) -> Part:
        """A sum over all stores says nothing: what it is in each does."""
        title = "Snapshot lag of a store"
        if LAG not in self.all:
            return _lacks(title, LAG)
        values = _values(mean_lag(self.shown))
        texts = ["not known" if v is None else f"{v:,.1f} versions" for v in values]
        mean = mean_lag(self.all).dropna()
        if mean.empty:
            return _lacks(title, "numStateStoreInstances")
        finding = (
            f"On average a store's newest snapshot is {mean.iloc[-1]:,.1f} versions behind the "
            f"last batch; it was {mean.max():,.1f} at most."
        )
        series = [Series("behind", values, texts)]
        return Chart(title, finding, lines(self.axis, series, "versions", self.restarts))

    def _cold(self) -> Part:
        title = "Keys looked up in files"
        if _COLD in self.all and not self.all[_COLD].fillna(0).any():
            return Untold(
                title, "No batch looked a key up in files: what it touched was in memory."
            )
        names = {
            "all": _COLD,
            "answered by filters": "bucketedColdReadsByFilter",
            "from the cache": "bucketedColdReadsFromCache",
            "from files": "bucketedColdReadsFromFiles",
        }
        return self._lines(
            title,
            names,
            "keys",
            lambda f: f"{count(int(f[_COLD].sum()))} keys that were not in memory.",
            needs=_COLD,
        )

    def _lines(
        self,
        title: str,
        names: dict[str, str],
        what: str,
        finding: Callable[[pd.DataFrame], str],
        *,
        needs: str | None = None,
        dashed: str | None = None,
    ) -> Part:
        if needs is not None and needs not in self.all:
            return _lacks(title, needs)
        there = {name: column for name, column in names.items() if column in self.all}
        most = max(float(self.shown[column].max()) for column in there.values())
        unit, text = _measured(what, most)
        series = []
        for name, column in there.items():
            values = _values(self.shown[column])
            texts = ["not reported" if v is None else text(v) for v in values]
            series.append(Series(name, unit.of(values), texts, dashed=name == dashed))
        spec = lines(self.axis, series, unit.name, self.restarts)
        return Chart(title, finding(self.all), spec)


def _measured(what: str, most: float) -> tuple[Unit, Callable[[float], str]]:
    """What an axis counts in, and a number of it as text."""
    if what == "bytes":
        return unit_of_bytes(most), lambda value: size(int(value))
    if what == "ms":
        return unit_of_time(most), duration
    return Unit(what, 1), lambda value: f"{value:,.0f} {what}"


def _values(numbers: pd.Series[Any]) -> list[float | None]:
    """None where a batch did not report it."""
    return [None if pd.isna(number) else float(number) for number in numbers]


def _places(frame: pd.DataFrame) -> list[str]:
    return [f"{at:%Y-%m-%d %H:%M:%S.%f}"[:-3] for at in frame["at"].dt.tz_convert("UTC")]


def _begins(frame: pd.DataFrame) -> pd.Series[bool]:
    """Whether a batch is the first of a run that is not the first one."""
    return frame["run_id"].ne(frame["run_id"].shift()) & (frame.index > 0)


def _parted(frame: pd.DataFrame, new: pd.Series[bool]) -> pd.DataFrame:
    """With rows of nothing where the query did not run, so that no line leads across."""
    instant = pd.Timedelta(milliseconds=1)
    starts = np.flatnonzero(new)
    if not starts.size:
        return frame
    ends, begins = frame["at"].iloc[starts - 1] + instant, frame["at"].iloc[starts] - instant
    gaps = pd.DataFrame({"at": pd.concat([ends, begins])})
    return pd.concat([frame, gaps]).sort_values("at", kind="stable").reset_index(drop=True)


def _lacks(title: str, metric: str) -> Untold:
    return Untold(
        title,
        f"The progress has no metric {metric}: the query's state is not in bucketstate, or was "
        "reported by a release without it.",
    )


def _and(frame: pd.DataFrame, column: str, what: str) -> str:
    return f" and {size(int(frame[column].sum()))}{what}" if column in frame else ""


def _memory_finding(frame: pd.DataFrame) -> str:
    used, most = frame["state_memory_bytes"].iloc[-1], frame["state_memory_bytes"].max()
    found = f"{size(int(used))} after the last batch, {size(int(most))} at most"
    if _LIMIT in frame and frame[_LIMIT].max() > 0:
        found += f": {share((frame['state_memory_bytes'] / frame[_LIMIT]).max(), 1)} of the limit"
    return found + "."
