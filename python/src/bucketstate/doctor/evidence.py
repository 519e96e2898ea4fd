"""The progress of one stateful operator, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Any

from bucketstate.doctor.terms import Lookup
from bucketstate.progress.rows import number, operators, part

Progress = Mapping[str, Any]
"""One progress as Spark's JSON has it."""

OURS = "bucketedChangelogBytes"
"""A metric that the provider always reports."""


@dataclass(frozen=True)
class Evidence:
    """Batches of an operator, in their order, without the first of each run, which is a start."""

    query: str
    operator: int
    name: str
    progresses: tuple[Progress, ...]

    @property
    def about(self) -> str:
        return f"query {self.query}, operator {self.operator} ({self.name})"

    def each(self, name: str) -> list[float]:
        """A field or a metric of the operator, of each batch; 0 where it has none."""
        return [_value(p["stateOperators"][self.operator], name) for p in self.progresses]

    def total(self, *names: str) -> float:
        """Over all batches, and all of these names."""
        return sum(sum(self.each(name)) for name in names)

    def last(self, name: str) -> float:
        return self.each(name)[-1]

    def phase(self, name: str) -> float:
        """Milliseconds over all batches."""
        return float(sum(number(part(p, "durationMs").get(name)) for p in self.progresses))

    @property
    def figures(self) -> Mapping[str, Lookup]:
        """What rules may ask of it, by their words."""
        return {
            "total": self.total,
            "last": self.last,
            "first": lambda name: self.each(name)[0],
            "phase": self.phase,
            "batches": lambda: float(len(self.progresses)),
            "batches with": lambda name: float(sum(1 for n in self.each(name) if n)),
            "rising": lambda name: float(rising(self.each(name))),
            "first quarter": lambda name, of: mean(self._quarters(name, of)[0]),
            "last quarter": lambda name, of: mean(self._quarters(name, of)[1]),
            "watermarked": lambda: float(self.watermarked),
            "operator": lambda: float(self.operator),
        }

    def _quarters(self, name: str, of: str) -> tuple[list[float], list[float]]:
        """The first and the last quarter of the batches: one for each of another."""
        each = [n / max(1.0, m) for n, m in zip(self.each(name), self.each(of), strict=True)]
        quarter = max(1, len(each) // 4)
        return each[:quarter], each[-quarter:]

    @property
    def on_bucketstate(self) -> bool:
        return any(
            OURS in part(p["stateOperators"][self.operator], "customMetrics")
            for p in self.progresses
        )

    @property
    def watermarked(self) -> bool:
        return any("watermark" in part(p, "eventTime") for p in self.progresses)


def gathered(progresses: Iterable[Progress]) -> list[Evidence]:
    """By query and operator, in the order in which the batches were.

    Triggers without a batch, and batches without state, are left out.
    """
    runs: dict[tuple[str, str], list[Progress]] = {}
    for progress in progresses:
        ran = part(progress, "durationMs").get("addBatch") is not None
        if ran and operators(progress):
            runs.setdefault((progress["id"], progress["runId"]), []).append(progress)
    queries: dict[str, list[list[Progress]]] = {}
    for (query, _), batches in runs.items():
        queries.setdefault(query, []).append(sorted(batches, key=lambda p: int(p["batchId"])))
    found = []
    for query, of_runs in queries.items():
        of_query = [p for run in _in_order(of_runs) for p in run[1:]]
        for at in range(max((len(p["stateOperators"]) for p in of_query), default=0)):
            # A query that was changed may have fewer operators in some of its runs.
            theirs = tuple(p for p in of_query if len(p["stateOperators"]) > at)
            name = theirs[-1]["stateOperators"][at].get("operatorName", "unknown")
            found.append(Evidence(theirs[-1].get("name") or query, at, name, theirs))
    return found


def _in_order(runs: list[list[Progress]]) -> list[list[Progress]]:
    """The runs of a query, the oldest first, in whatever order their files were given."""
    # A query that was taken back does batches of the same numbers again: the times come first.
    timed = all(p.get("timestamp") for run in runs for p in run)

    def begun(run: list[Progress]) -> tuple[str, int]:
        return min((str(p["timestamp"]) if timed else "", int(p["batchId"])) for p in run)

    return sorted(runs, key=begun)


def rising(values: list[float]) -> bool:
    """Whether nearly every value is above the one before."""
    steps = [later > earlier for earlier, later in pairwise(values)]
    return bool(steps) and sum(steps) >= 0.9 * len(steps)


def _value(operator: Mapping[str, Any], name: str) -> float:
    found = operator.get(name)
    return float(number(part(operator, "customMetrics").get(name) if found is None else found))
