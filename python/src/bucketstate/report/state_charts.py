"""How the state lies in partitions and buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bucketstate.checkpoint.overview import OperatorOverview, StoreOverview
from bucketstate.report.charts import (
    POINTS,
    Series,
    Unit,
    bars,
    heat,
    label,
    partitions,
    unit_of_bytes,
)
from bucketstate.report.content import Chart, Part, Section, Table, Untold
from bucketstate.report.material import Material
from bucketstate.units import count, size

_EVEN = 1.5
_ROWS, _COLUMNS = 200, 128
"""Rows and columns that a heat map has at most."""

Numbers = npt.NDArray[np.int64]


def section(material: Material) -> Section:
    return Section(
        "State",
        "How keys and bytes lie in partitions, which Spark's grouping key decides, and in the "
        "buckets of each.",
        [part for operator in material.overview.operators for part in _of(material, operator)],
    )


def titled(material: Material, operator: OperatorOverview, title: str) -> str:
    """With the operator's name, if there are several."""
    if len(material.overview.operators) == 1:
        return title
    return f"Operator {operator.id} ({operator.name or 'unknown'}): {title[0].lower()}{title[1:]}"


def shown(stores: Sequence[StoreOverview]) -> tuple[list[int], str]:
    """Partitions that a chart shows, and a sentence if these are not all: those with most bytes."""
    sizes: dict[int, int] = {}
    for store in stores:
        sizes[store.partition] = sizes.get(store.partition, 0) + store.bytes
    if len(sizes) <= POINTS:
        return sorted(sizes), ""
    most = sorted(sizes, key=lambda partition: -sizes[partition])[:POINTS]
    return sorted(most), f" Shown are the {POINTS:,} largest of {len(sizes):,} partitions."


def by_partition(
    stores: Sequence[StoreOverview], of: Callable[[StoreOverview], int], at: Sequence[int]
) -> list[int]:
    """A number of each store, added up by partition, in the order of `at`."""
    sums = dict.fromkeys(at, 0)
    for store in stores:
        if store.partition in sums:
            sums[store.partition] += of(store)
    return [sums[partition] for partition in at]


def by_store(
    stores: Sequence[StoreOverview],
    of: Callable[[StoreOverview], int],
    at: Sequence[int],
    what: str,
) -> list[Series]:
    """A series by partition for each of an operator's stores: a join has several in a partition."""
    made = []
    for name in dict.fromkeys(store.store for store in stores):
        numbers = by_partition([store for store in stores if store.store == name], of, at)
        made.append(Series(name, numbers, [f"{number:,} {what}" for number in numbers]))
    return made


def _of(material: Material, operator: OperatorOverview) -> Iterator[Part]:
    yield from _unreadable(material, operator)
    readable = [store for store in operator.stores if not store.problem]
    if operator.state_variables:
        yield _variables(material, operator)
    if readable:
        yield _keys(titled(material, operator, "Keys per partition"), readable)
        yield _bytes(titled(material, operator, "Bytes per partition"), readable)
    for name in dict.fromkeys(store.store for store in readable):
        yield from _buckets(material, operator, name)


def _unreadable(material: Material, operator: OperatorOverview) -> Iterator[Untold]:
    for store in operator.stores:
        if store.problem:
            title = f"Partition {store.partition}, {store.store}, cannot be read"
            yield Untold(titled(material, operator, title), store.problem)


def _variables(material: Material, operator: OperatorOverview) -> Table:
    without = "not counted" if operator.is_whole else "unknown"
    return Table(
        titled(material, operator, "State variables"),
        ("name", "kind", "time to live", "keys", "value"),
        [
            (
                variable.name,
                variable.kind,
                "yes" if variable.ttl else "no",
                without if variable.keys is None else count(variable.keys),
                variable.value or "Spark's schema of it cannot be read",
            )
            for variable in operator.state_variables
        ],
    )


def _keys(title: str, stores: Sequence[StoreOverview]) -> Chart:
    at, not_all = shown(stores)
    series = by_store(stores, lambda s: s.keys or 0, at, "keys")
    sums = dict(zip(at, by_partition(stores, lambda s: s.keys or 0, at), strict=True))
    uncounted = len({store.partition for store in stores if store.keys is None})
    about = f" {uncounted} were not counted (exactKeyCount) and show none." if uncounted else ""
    return Chart(
        title, _skew(sums, "keys", count) + about + not_all, bars(partitions(at), series, "keys")
    )


def _bytes(title: str, stores: Sequence[StoreOverview]) -> Chart:
    at, not_all = shown(stores)
    cold = by_partition(stores, lambda s: s.residency.cold_bytes if s.residency else 0, at)
    warm = by_partition(stores, lambda s: s.residency.warm_bytes if s.residency else 0, at)
    total = by_partition(stores, lambda s: s.bytes, at)
    rest = [max(0, all_ - c - w) for all_, c, w in zip(total, cold, warm, strict=True)]
    unit = unit_of_bytes(max(total, default=0))
    series = [
        Series(name, unit.of(numbers), [size(number) for number in numbers])
        for name, numbers in (
            ("data files of the newest snapshot", cold),
            ("changes since then", warm),
            ("kept for older versions", rest),
        )
    ]
    kept = f" {size(sum(rest))} are kept for older versions, manifests and indexes."
    finding = _skew(dict(zip(at, total, strict=True)), "in files", size) + kept + not_all
    return Chart(title, finding, bars(partitions(at), series, unit.name))


def _skew(numbers: Mapping[int, int], of: str, text: Callable[[int], str]) -> str:
    """The finding about numbers by partition."""
    most = max(numbers, key=lambda partition: numbers[partition])
    if len(numbers) == 1:
        return f"Its one partition has {text(numbers[most])} {of}."
    middle = median(numbers.values())
    if not middle:
        full = sum(1 for number in numbers.values() if number)
        if not full:
            return f"No partition has any {of}."
        return (
            f"{full:,} of {len(numbers):,} partitions have any {of}; partition {most} has "
            f"{text(numbers[most])}."
        )
    times, about = numbers[most] / middle, text(round(middle))
    if times >= _EVEN:
        return f"Partition {most} holds {times:,.1f} times the median of {about} {of}."
    return (
        f"Partitions are even: partition {most}, the fullest, holds {text(numbers[most])} {of}, "
        f"{times:.2f} times the median."
    )


def _buckets(material: Material, operator: OperatorOverview, store: str) -> Iterator[Part]:
    several = len({s.store for s in operator.stores}) > 1
    suffix = f", {store}" if several else ""
    keys_title = titled(material, operator, f"Keys per bucket{suffix}")
    if material.buckets is None:
        yield Untold(
            keys_title, "The state was not read for this report, only the indexes of its files."
        )
        return
    for (number, partition, name), why in material.unread.items():
        if (number, name) == (operator.id, store):
            yield Untold(f"{keys_title}: partition {partition}", why)
    found = {
        partition: table
        for (number, partition, name), table in material.buckets.items()
        if (number, name) == (operator.id, store)
    }
    if not any(table.num_rows for table in found.values()):
        yield Untold(keys_title, "There are no buckets yet: no batch wrote any state.")
        return
    at = sorted(partition for partition, table in found.items() if table.num_rows)
    yield _grid(
        keys_title,
        at,
        np.stack([_sums(found[partition], "keys") for partition in at]),
        "keys",
        Unit("keys", 1),
        lambda number: f"{number:,} keys",
    )
    stored = np.stack([_sums(found[p], "cold_bytes", "warm_bytes") for p in at])
    yield _grid(
        titled(material, operator, f"Bytes per bucket{suffix}"),
        at,
        stored,
        "in files",
        unit_of_bytes(float(stored.max())),
        size,
    )


def _sums(table: pa.Table, *names: str) -> Numbers:
    """By bucket, over all column families."""
    buckets = table["bucket"].to_numpy()
    found = np.zeros(int(buckets.max()) + 1, np.int64)
    for name in names:
        np.add.at(found, buckets, table[name].to_numpy())
    return found


def _grid(
    title: str,
    at: Sequence[int],
    numbers: Numbers,
    of: str,
    unit: Unit,
    text: Callable[[int], str],
) -> Chart:
    """Partitions by buckets; of a single partition, bars."""
    finding = _fullest(at, numbers, of, text)
    spread = f" of each {-(-numbers.shape[1] // _COLUMNS):,} buckets in a row"
    cells, columns = _joined(numbers)
    if len(columns) < numbers.shape[1]:
        finding += f" Shown are the sums{spread}."
    rows = list(range(len(at)))
    if len(rows) > _ROWS:
        rows = sorted(np.argsort(-cells.sum(axis=1), kind="stable")[:_ROWS].tolist())
        finding += f" Shown are the {_ROWS} largest of {len(at):,} partitions."
    shown_cells = cells[rows]
    texts = [
        [
            label(f"partition {at[row]}, bucket {column}: {text(int(number))}")
            for column, number in zip(columns, cells[row], strict=True)
        ]
        for row in rows
    ]
    values = (shown_cells / unit.size).tolist()
    spec = heat(
        columns,
        [str(at[row]) for row in rows],
        values,
        texts,
        x="bucket",
        y="partition",
        unit=unit.name,
    )
    return Chart(title, finding, spec, height=min(620, max(240, 130 + 14 * len(rows))))


def _fullest(at: Sequence[int], numbers: Numbers, of: str, text: Callable[[int], str]) -> str:
    row, bucket = divmod(int(numbers.argmax()), numbers.shape[1])
    most, mean = int(numbers[row, bucket]), float(numbers.mean())
    if not most:
        return f"No bucket has any {of}."
    empty = int((numbers == 0).sum())
    nothing = f" {empty:,} of {numbers.size:,} buckets are empty." if empty else ""
    return (
        f"Bucket {bucket} of partition {at[row]} is the fullest: {text(most)}"
        f"{'' if of == 'keys' else ' ' + of}, {most / mean:,.1f} times the mean.{nothing}"
    )


def _joined(numbers: Numbers) -> tuple[Numbers, list[str]]:
    """Buckets beside each other added up, if there are too many columns."""
    count_ = numbers.shape[1]
    each = -(-count_ // _COLUMNS)
    starts = list(range(0, count_, each))
    if each == 1:
        return numbers, [str(start) for start in starts]
    names = [f"{start} to {min(count_, start + each) - 1}" for start in starts]
    return np.add.reduceat(numbers, starts, axis=1), names
