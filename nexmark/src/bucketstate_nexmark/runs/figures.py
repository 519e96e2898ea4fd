"""What a run says of itself, as it is written into a report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Batch:
    """What Spark said of one batch; times in milliseconds, those of state with tasks added up."""

    batch: int
    ms: int
    update_ms: int
    removal_ms: int
    commit_ms: int
    state_rows: int
    state_bytes: int


@dataclass(frozen=True)
class Restart:
    """The first batch of a process that knows only what the checkpoint has; in milliseconds."""

    batch_ms: int
    since_start_ms: int
    """From the start of the query to the end of that batch."""


@dataclass(frozen=True)
class Run:
    """One form on one contender: a process for all batches but the last, another for that one."""

    form: str
    contender: str
    round: int
    events: int
    """In the batches of the first process."""
    per_batch: int
    batches: tuple[Batch, ...] = ()
    cpu_seconds: float | None = None
    """What the JVM and Python's workers took, from the start of the query; None where executors
    are processes of their own, that nobody has looked at."""
    peak_bytes: int | None = None
    """The most that the JVM of the first process had in memory; None likewise."""
    checkpoint_bytes: int = 0
    """All that is in the checkpoint's folder of state, when the first process has ended."""
    restart: Restart | None = None
    answer_rows: int | None = None
    """None if the answer was not checked."""
    missing: int = 0
    unexpected: int = 0
    examples: tuple[str, ...] = ()
    failure: str | None = None
    """Why there are no figures, if the run has not ended well."""

    @property
    def correct(self) -> bool | None:
        """Whether the answer is that of DuckDB; None if nobody has looked."""
        if self.failure is not None or self.answer_rows is None:
            return None
        return self.missing == self.unexpected == 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(told: dict[str, Any]) -> Run:
    """The run that `to_json` wrote."""
    restart = told["restart"]
    return Run(
        **{
            **told,
            "batches": tuple(Batch(**batch) for batch in told["batches"]),
            "restart": None if restart is None else Restart(**restart),
            "examples": tuple(told["examples"]),
        }
    )
