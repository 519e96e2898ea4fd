"""How old the state is: when its keys expire, and which versions wrote what is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from bucketstate.checkpoint import Expiry
from bucketstate.checkpoint.overview import OperatorOverview
from bucketstate.report.charts import Axis, Series, bars, in_a_row, unit_of_bytes
from bucketstate.report.content import Chart, Part, Section, Untold
from bucketstate.report.material import Material
from bucketstate.report.state_charts import titled
from bucketstate.units import count, size


def section(material: Material) -> Section:
    return Section(
        "Age",
        "Which times keys are of, where records have times, and which versions wrote the files "
        "that the state is read from.",
        [part for operator in material.overview.operators for part in _of(material, operator)],
    )


def _of(material: Material, operator: OperatorOverview) -> Iterator[Part]:
    yield _times(titled(material, operator, "Keys by their time"), operator)
    yield _written(material, operator, titled(material, operator, "Bytes by age of their file"))


def _times(title: str, operator: OperatorOverview) -> Part:
    expiries = [f.expiry for s in operator.stores for f in s.families if f.expiry is not None]
    if not expiries:
        return Untold(
            title,
            "Its records have no times of their own, so a checkpoint does not tell when keys were "
            "written or when they expire. The setting timeBucket.expireAfter gives them times.",
        )
    counts: Counter[datetime | None] = Counter()
    for expiry in expiries:
        for bucket in expiry.time_buckets:
            counts[bucket.start] += bucket.keys
    never = counts.pop(None, 0)
    at = sorted(start for start in counts if start is not None)
    expired = _expired(expiries)
    lasting = f"; {never:,} keys never expire" if never else ""
    if not at:
        return Untold(title, f"No key has a time that ends: {expired}{lasting}.")
    groups = in_a_row(at)
    numbers = [sum(counts[start] for start in group) for group in groups]
    finding = f"Keys are of {_time(at[0])} to {_time(at[-1])}; {expired}{lasting}."
    if len(groups) < len(at):
        finding += f" Shown are the sums of each {len(groups[0])} time buckets in a row."
    axis = Axis(
        "start of the time bucket, UTC",
        [f"{g[0]:%Y-%m-%d %H:%M:%S}" for g in groups],
        "%{x}",
        "date",
    )
    series = Series("keys", numbers, [count(number) for number in numbers])
    return Chart(title, finding, bars(axis, [series], "keys"))


def _expired(expiries: Sequence[Expiry]) -> str:
    """Each partition goes by what it saw itself, so that one may be behind another."""
    horizons = [e.horizon for e in expiries if e.horizon is not None]
    if not horizons:
        return "nothing has expired yet"
    least, most = _time(min(horizons)), _time(max(horizons))
    if len(horizons) < len(expiries):
        return f"nothing has expired yet in some partitions, and in others what is before {most}"
    if least == most:
        return f"what is before {most} has expired"
    return f"what is before {least} has expired, and in some partitions what is before {most}"


def _written(material: Material, operator: OperatorOverview, title: str) -> Part:
    """Each run and each changelog has the changes of its versions: it is as old as the last."""
    version = material.overview.version
    runs: Counter[int] = Counter()
    changes: Counter[int] = Counter()
    for (number, _, _), plan in material.plans.items():
        if number == operator.id:
            for run in plan.base.runs if plan.base else ():
                runs[version - run.last_version] += run.size
            for changelog in plan.changelogs:
                changes[version - changelog.header.version] += changelog.size
    # Of a run whose keys have all expired nothing may be left.
    both = runs + changes
    ages = sorted(both)
    if not ages:
        return Untold(title, "No file of it can be read, or none is needed: no batch wrote state.")
    groups = in_a_row(ages)
    unit = unit_of_bytes(max(sum(both[age] for age in group) for group in groups))
    series = []
    for name, sizes in (("data files", runs), ("changelogs", changes)):
        numbers = [sum(sizes[age] for age in group) for group in groups]
        series.append(Series(name, unit.of(numbers), [size(number) for number in numbers]))
    half = _half(both)
    finding = (
        f"At least half of the {size(sum(both.values()))} were written at version "
        f"{version - half:,} or before, {half:,} versions ago{_since(material, version - half)}."
    )
    if len(groups) < len(ages):
        finding += f" Shown are sums of {len(groups[0])} ages in a row."
    axis = Axis(
        "versions ago",
        [str(group[0]) for group in groups] if len(groups) <= 40 else [g[0] for g in groups],
        "%{x} versions ago",
        "category" if len(groups) <= 40 else "linear",
    )
    return Chart(title, finding, bars(axis, series, unit.name))


def _half(sizes: Counter[int]) -> int:
    """The age of which, or of more, half of the bytes are."""
    left = sum(sizes.values()) / 2
    for age in sorted(sizes, reverse=True):
        left -= sizes[age]
        if left <= 0:
            return age
    return 0


def _since(material: Material, version: int) -> str:
    at = material.times.get(version - 1)
    return "" if at is None else f" (its batch was planned {_time(at)})"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"
