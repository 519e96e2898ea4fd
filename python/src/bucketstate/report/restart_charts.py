"""What a restart would read, and hold in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bucketstate.checkpoint.overview import OperatorOverview, StoreOverview
from bucketstate.report.charts import Series, bars, partitions, share, unit_of_bytes
from bucketstate.report.content import Chart, Part, Section, Untold
from bucketstate.report.material import Material
from bucketstate.report.state_charts import by_partition, by_store, shown, titled
from bucketstate.units import size


def section(material: Material) -> Section:
    version = material.overview.version
    return Section(
        "Restart",
        f"What each partition reads to open version {version:,}: the data files of its newest "
        "snapshot, and the changelogs since then.",
        [part for operator in material.overview.operators for part in _of(material, operator)],
    )


def _of(material: Material, operator: OperatorOverview) -> Iterator[Part]:
    failing = [store for store in operator.stores if store.problem]
    stores = [store for store in operator.stores if not store.problem]
    if failing:
        names = ", ".join(sorted({str(store.partition) for store in failing}, key=int))
        yield Untold(
            titled(material, operator, "What a restart would do"),
            f"It fails: {len(failing):,} of {len(operator.stores):,} stores cannot be read, in the "
            f"partitions {names}.",
        )
    if not stores:
        return
    remarks = [r for store in stores for r in (*store.skipped, *store.replaced)]
    if remarks:
        yield Untold(titled(material, operator, "Passed over"), " ".join(dict.fromkeys(remarks)))
    yield _read(titled(material, operator, "Bytes that a restart reads"), stores)
    yield _lag(titled(material, operator, "Snapshot lag"), stores)
    yield _held(titled(material, operator, "Keys that a restart must hold in memory"), stores)


def _read(title: str, stores: Sequence[StoreOverview]) -> Chart:
    at, not_all = shown(stores)
    total = by_partition(stores, lambda s: s.read_bytes, at)
    cold = by_partition(stores, lambda s: s.residency.cold_bytes if s.residency else 0, at)
    rest = [all_ - part for all_, part in zip(total, cold, strict=True)]
    unit = unit_of_bytes(max(total, default=0))
    series = [
        Series("data files", unit.of(cold), [size(number) for number in cold]),
        Series("changelogs and manifest", unit.of(rest), [size(number) for number in rest]),
    ]
    reads, replayed = sum(s.read_bytes for s in stores), sum(rest)
    finding = (
        f"{size(reads)} in all, {size(replayed)} of it changelogs and manifests, which are read at "
        f"once; data files are read where a key is asked for.{not_all}"
    )
    return Chart(title, finding, bars(partitions(at), series, unit.name))


def _lag(title: str, stores: Sequence[StoreOverview]) -> Chart:
    at, not_all = shown(stores)
    series = by_store(stores, lambda s: s.changelogs, at, "changelogs")
    worst = max(stores, key=lambda store: store.changelogs)
    if worst.changelogs == 0:
        finding = "Every partition has a snapshot of this very version: nothing is replayed."
    else:
        newest = (
            "has no snapshot yet"
            if worst.manifest_version is None
            else f"has its newest usable snapshot at version {worst.manifest_version:,}"
        )
        finding = (
            f"Partition {worst.partition} is the farthest behind: it {newest}, and replays "
            f"{worst.changelogs:,} changelogs."
        )
    return Chart(title, finding + not_all, bars(partitions(at), series, "changelogs to replay"))


def _held(title: str, stores: Sequence[StoreOverview]) -> Chart:
    at, not_all = shown(stores)
    held = by_partition(stores, lambda s: s.residency.resident_keys if s.residency else 0, at)
    keys = by_partition(stores, lambda s: s.keys or 0, at)
    rest = [max(0, all_ - part) for all_, part in zip(keys, held, strict=True)]
    series = [
        Series("must be held, at most", held, [f"{number:,} keys" for number in held]),
        Series("may stay in files", rest, [f"{number:,} keys" for number in rest]),
    ]
    of, all_ = sum(held), sum(keys)
    counted = all(store.keys is not None for store in stores)
    part = f", {share(of, all_)} of all" if all_ and counted else ""
    finding = (
        f"At most {of:,} keys{part}: what changed since the newest snapshot stays in memory until "
        f"the next one.{not_all}"
    )
    return Chart(title, finding, bars(partitions(at), series, "keys"))
