"""What the page says: its heading, its numbers, what to act on, and its sections."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bucketstate.checkpoint.overview import StoreOverview
from bucketstate.doctor import Advice, of_checkpoint, of_progress
from bucketstate.progress.rows import operators, part
from bucketstate.report import (
    age_charts,
    batch_charts,
    file_charts,
    restart_charts,
    state_charts,
)
from bucketstate.report.content import Figure, Page, Remark
from bucketstate.report.material import Material
from bucketstate.units import count, size

_SECTIONS = (state_charts, age_charts, restart_charts, file_charts, batch_charts)


def page_of(material: Material) -> Page:
    """The page about what was read: a function of its argument."""
    location = material.overview.location
    return Page(
        name=location.rpartition("/")[2] or location,
        location=location,
        facts=_facts(material),
        figures=_figures(material),
        remarks=_remarks(material),
        sections=[of.section(material) for of in _SECTIONS],
    )


def _facts(material: Material) -> list[str]:
    found = material.overview
    last = "no batch is committed" if found.last_batch is None else f"batch {found.last_batch:,}"
    facts = [f"Version {found.version:,}, what a restart opens; last committed: {last}"]
    if found.open_batch is not None:
        facts.append(f"Batch {found.open_batch:,} was planned and not committed")
    at = material.times.get(-1 if found.last_batch is None else found.last_batch)
    if at is not None:
        facts.append(f"Its last batch was planned {at:%Y-%m-%d %H:%M:%S} UTC")
    names = [f"{o.id} ({o.name or 'unknown'})" for o in found.operators]
    facts.append(f"Operators: {', '.join(names) or 'there is no stateful operator yet'}")
    facts.append(f"Engine: {_engine(material)}")
    facts.append(f"Query {material.query or 'unknown: the checkpoint has no readable metadata'}")
    facts.append(f"Report of {material.now:%Y-%m-%d %H:%M:%S} UTC")
    return facts


def _engine(material: Material) -> str:
    """A checkpoint is the same for both: only metrics tell, of the last run, as it may change."""
    progresses = material.batches.progress
    last = max(progresses, key=lambda p: str(p["timestamp"]), default={"runId": None})
    metrics = [
        part(operator, "customMetrics")
        for progress in progresses
        if progress["runId"] == last["runId"]
        for operator in operators(progress)
    ]
    if not any("bucketedChangelogBytes" in of for of in metrics):
        return "not told by a checkpoint, which is the same for all; a query's progress tells"
    return "rocksdb" if any(of.get("bucketedDbMemoryBytes") for of in metrics) else "heap"


def _figures(material: Material) -> list[Figure]:
    stores = _stores(material)
    readable = [s for s in stores if not s.problem]
    about = (
        "" if len(readable) == len(stores) else f", without {len(stores) - len(readable)} stores"
    )
    buckets = sorted({s.num_buckets for s in readable})
    of_each = [len({s.partition for s in o.stores}) for o in material.overview.operators]
    partitions = max(of_each, default=0)
    lags = [s.changelogs for s in readable]
    changelogs = sum(lags)
    found = [
        Figure("Keys", _keys(readable), f"of all column families{about}"),
        Figure(
            "State files",
            size(sum(s.bytes for s in stores)),
            f"in {sum(s.files for s in stores):,} files",
        ),
        Figure("Partitions", count(partitions), f"{len(stores):,} stores"),
        Figure("Buckets", ", ".join(map(count, buckets)) or "-", "in each partition"),
        Figure("Snapshot lag", count(max(lags, default=None)), "versions, the farthest behind"),
        Figure(
            "A restart reads",
            size(sum(s.read_bytes for s in readable)),
            f"with {changelogs:,} changelogs{about}",
        ),
    ]
    times = [p["durationMs"]["triggerExecution"] for p in material.batches.progress]
    if times:
        note = f"median of {len(times):,}; the longest {max(times):,} ms"
        found.append(Figure("A batch takes", f"{median(times):,.0f} ms", note))
    return found


def _keys(stores: Sequence[StoreOverview]) -> str:
    found = [s.keys for s in stores if s.keys is not None]
    return count(sum(found)) if len(found) == len(stores) else "not counted"


def _stores(material: Material) -> list[StoreOverview]:
    return [store for operator in material.overview.operators for store in operator.stores]


def _remarks(material: Material) -> list[Remark]:
    """Damage before advice before what is only to be known."""
    found = []
    if material.report is not None:
        found += [Remark(f.severity, f.path, f.what) for f in material.report.findings]
    else:
        found.append(
            Remark("note", "Files", "They were not verified: only their indexes were read.")
        )
    said = [of_checkpoint(material.overview), of_progress(material.batches.progress)]
    if not material.batches.progress:
        said.pop()
    found += [_advice(advice) for diagnosis in said for advice in diagnosis.advice]
    notes = [note for diagnosis in said for note in diagnosis.notes] + [*material.batches.left_out]
    found += [Remark("note", "Progress", note) for note in notes]
    order = ("error", "warning", "advice", "note")
    return sorted(found, key=lambda remark: order.index(remark.grade))


def _advice(advice: Advice) -> Remark:
    return Remark(
        "advice",
        advice.about,
        advice.what,
        advice.figures_text,
        advice.help,
        advice.settings,
    )
