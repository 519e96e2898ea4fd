"""Figures of a form on a contender, and what contenders come to beside each other."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bucketstate_nexmark.queries import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bucketstate_nexmark.results.report import Report
    from bucketstate_nexmark.runs.figures import Batch, Run

OURS = ("bucketed", "bucketed-rocksdb")
OTHERS = ("hdfs", "rocksdb", "rocksdb-tuned")

STATELESS = frozenset(name for name, form in FORMS.items() if not form.keeps_state)
"""Forms that are beside nothing: no state store has a part in them."""

WARM_UP = 2
"""Batches at the start that do not count; of fewer than eight it is the first alone."""


@dataclass(frozen=True)
class Figures:
    """The medians over the rounds of one form on one contender."""

    form: str
    contender: str
    events: int
    events_per_core: float
    """Per second of batches, and core."""
    events_per_cpu_second: float
    """NaN where nobody has looked at the processes, as in a cluster; so is `peak_bytes`."""
    p50_ms: float
    p99_ms: float
    commit_ms: float
    """Median over batches; tasks added up."""
    update_ms: float
    removal_ms: float
    state_rows: float
    state_bytes: float
    checkpoint_bytes_per_event: float
    peak_bytes: float
    restart_ms: float
    correct: bool | None


@dataclass(frozen=True)
class Beside:
    """One contender of ours beside another: ratios over all forms that both have run."""

    ours: str
    other: str
    forms: int
    throughput: float
    """Geometric mean of ours by the other's: more is better for us."""
    cpu: float
    """Events for each second of processors: ours by the other's; NaN where nobody has looked."""
    restart: float
    """Geometric mean of the other's time by ours."""
    bytes: float
    """Geometric mean of ours by the other's: less is better for us."""
    least: float
    """The least ratio of throughput."""
    least_form: str


@dataclass(frozen=True)
class Loss:
    """A form in which a contender of ours is slower, and by how much each part of a batch is."""

    ours: str
    other: str
    form: str
    ratio: float
    batch_ms: float
    """By how much the median batch takes longer; the parts are of one core."""
    commit_ms: float
    update_ms: float
    removal_ms: float

    @property
    def rest_ms(self) -> float:
        return self.batch_ms - self.commit_ms - self.update_ms - self.removal_ms

    @property
    def cause(self) -> str:
        """The part that has grown most."""
        parts = {
            "commits": self.commit_ms,
            "updates of the state": self.update_ms,
            "what leaves the state": self.removal_ms,
            "all else of a batch": self.rest_ms,
        }
        return max(parts, key=lambda part: parts[part])


@dataclass(frozen=True)
class Share:
    """How much of a contender's time is Spark's own: that of a form without state by the others'.

    Of forms with as many events in a batch; NaN where there is no form without state.
    """

    contender: str
    batches: float
    """Of their median batches, added up."""
    restarts: float
    """Of their restarts, added up."""


def figures(report: Report) -> dict[tuple[str, str], Figures]:
    """By form and contender, of runs that have ended well, in their order.

    A run without a batch that counts has no figures.
    """
    by_case: dict[tuple[str, str], list[Run]] = {}
    for run in report.runs:
        if run.failure is None and counted(run):
            by_case.setdefault((run.form, run.contender), []).append(run)
    return {case: _median(runs, report.cores) for case, runs in by_case.items()}


def beside(found: Mapping[tuple[str, str], Figures]) -> list[Beside]:
    """Each contender of ours beside each other one, where both have run something."""
    made = []
    for ours in OURS:
        for other in OTHERS:
            pairs = _pairs(found, ours, other)
            if pairs:
                ratios = {a.form: a.events_per_core / b.events_per_core for a, b in pairs}
                least = min(ratios, key=lambda form: ratios[form])
                made.append(
                    Beside(
                        ours,
                        other,
                        len(pairs),
                        geometric_mean(ratios.values()),
                        _mean_of(pairs, lambda f: f.events_per_cpu_second),
                        1 / _mean_of(pairs, lambda f: f.restart_ms),
                        _mean_of(pairs, lambda f: f.checkpoint_bytes_per_event),
                        ratios[least],
                        least,
                    )
                )
    return made


def shares(found: Mapping[tuple[str, str], Figures]) -> list[Share]:
    """What is Spark's own on each contender that has run a form without state, and others."""
    made = []
    for name in (*OTHERS, *OURS):
        of_it = {form: f for (form, contender), f in found.items() if contender == name}
        plain = [f for form, f in of_it.items() if form in STATELESS]
        others = [f for form, f in of_it.items() if form not in STATELESS and _is_whole(form)]
        if plain and others:
            made.append(
                Share(
                    name,
                    _share(plain[0], others, lambda f: f.p50_ms),
                    _share(plain[0], others, lambda f: f.restart_ms),
                )
            )
    return made


def losses(found: Mapping[tuple[str, str], Figures], cores: int) -> list[Loss]:
    """Every form in which a contender of ours has less throughput than another, the worst first."""
    made = []
    for ours in OURS:
        for other in OTHERS:
            for a, b in _pairs(found, ours, other):
                ratio = a.events_per_core / b.events_per_core
                if ratio < 1:
                    made.append(
                        Loss(
                            ours,
                            other,
                            a.form,
                            ratio,
                            a.p50_ms - b.p50_ms,
                            (a.commit_ms - b.commit_ms) / cores,
                            (a.update_ms - b.update_ms) / cores,
                            (a.removal_ms - b.removal_ms) / cores,
                        )
                    )
    return sorted(made, key=lambda loss: loss.ratio)


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean of all ratios above zero; NaN if there are none."""
    logs = [math.log(ratio) for ratio in ratios if ratio > 0]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def counted(run: Run) -> list[Batch]:
    """The batches with events behind the warm-up."""
    with_events = -(-run.events // run.per_batch)
    # The first batch is cold however few there are.
    warm_up = min(WARM_UP, max(1, with_events // 4))
    return [batch for batch in run.batches if warm_up <= batch.batch < with_events]


def percentile(values: Iterable[float], share: float) -> float:
    """The value that so large a share of them is not above."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def _median(runs: list[Run], cores: int) -> Figures:
    def over(figure: Callable[[Run], float]) -> float:
        return statistics.median(figure(run) for run in runs)

    first = runs[0]
    verdicts = {run.correct for run in runs}
    return Figures(
        first.form,
        first.contender,
        first.events,
        over(lambda run: _events_per_second(run) / cores),
        over(_events_per_cpu_second),
        over(lambda run: statistics.median(b.ms for b in counted(run))),
        over(lambda run: percentile((b.ms for b in counted(run)), 0.99)),
        over(lambda run: statistics.median(b.commit_ms for b in counted(run))),
        over(lambda run: statistics.median(b.update_ms for b in counted(run))),
        over(lambda run: statistics.median(b.removal_ms for b in counted(run))),
        over(lambda run: counted(run)[-1].state_rows),
        over(lambda run: counted(run)[-1].state_bytes),
        over(lambda run: run.checkpoint_bytes / run.events),
        over(lambda run: math.nan if run.peak_bytes is None else run.peak_bytes),
        over(lambda run: run.restart.since_start_ms if run.restart else math.nan),
        False if False in verdicts else None if None in verdicts else True,
    )


def _events_per_cpu_second(run: Run) -> float:
    return math.nan if run.cpu_seconds is None else run.events / max(run.cpu_seconds, 1e-9)


def _events_per_second(run: Run) -> float:
    """Events by the time of batches that count, and of those without rows, which end windows."""
    batches = counted(run)
    with_events = -(-run.events // run.per_batch)
    behind = [batch for batch in run.batches if batch.batch >= with_events]
    events = min(len(batches) * run.per_batch, run.events)
    return events / max(sum(batch.ms for batch in (*batches, *behind)) / 1000, 1e-9)


def _pairs(
    found: Mapping[tuple[str, str], Figures], ours: str, other: str
) -> list[tuple[Figures, Figures]]:
    return [
        (one, found[form, other])
        for (form, name), one in found.items()
        if name == ours and form not in STATELESS and (form, other) in found
    ]


def _mean_of(pairs: list[tuple[Figures, Figures]], figure: Callable[[Figures], float]) -> float:
    """The geometric mean of ours by the other's."""
    both = [(figure(a), figure(b)) for a, b in pairs]
    return geometric_mean(a / b for a, b in both if b > 0)


def _is_whole(form: str) -> bool:
    """Whether a form is given all events, so that its batches are as large as those of others."""
    return form not in FORMS or FORMS[form].portion == 1


def _share(plain: Figures, others: list[Figures], figure: Callable[[Figures], float]) -> float:
    return figure(plain) * len(others) / sum(figure(other) for other in others)
