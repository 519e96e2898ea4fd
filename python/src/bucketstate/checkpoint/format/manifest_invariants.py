"""What is true of every manifest, by name."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bucketstate.checkpoint.format.manifest import Manifest, Run, RunFile, Span
from bucketstate.checkpoint.format.names import RunName, parse
from bucketstate.checkpoint.format.timed_values import TIMED

_MAX_BUCKETS = 32768


def broken(m: Manifest) -> str | None:
    """The first thing that must be true of every manifest and is not of this one."""
    files = m.files
    spans = [b for f in files for b in f.buckets]
    known = [f.id for f in m.families]
    live = sum(f.entries - f.tombstones for f in files)
    timed = [(f.keys, f.times) for f in m.families if f.times is not None]
    counts = [f.keys for f in m.families if f.keys is not None]
    most = sum(counts)
    for _, times in timed:
        counts += [times.untimed_keys, *(keys for _, keys in times.keys)]
    rules = {
        "the version is 1 or above": m.version >= 1,
        "there is a run": bool(m.runs),
        "the newest run ends at the version": all(r.last_version == m.version for r in m.runs[:1]),
        "the oldest run starts at version 1": all(r.first_version == 1 for r in m.runs[-1:]),
        "no run ends before it starts": all(r.first_version <= r.last_version for r in m.runs),
        "each run starts where the next older one ends": all(
            a.first_version == b.last_version + 1 for a, b in pairwise(m.runs)
        ),
        "the oldest run has no tombstones": not any(
            f.tombstones for r in m.runs[-1:] for f in r.files
        ),
        "the number of buckets fits a run's keys": 1 <= m.num_buckets <= _MAX_BUCKETS,
        "every bucket is one of the store's": all(
            0 <= b.first <= b.last < m.num_buckets for b in spans
        ),
        "every file says which buckets it has, each family once": all(
            f.buckets and _distinct([b.family for b in f.buckets]) for f in files
        ),
        "no file's time buckets end before they start": all(
            f.times is None or f.times.first <= f.times.last for f in files
        ),
        "the files of a run share no bucket of a family, unless their time buckets are apart": all(
            _apart(r) for r in m.runs
        ),
        "every bucket's family is or was one of the store's": all(
            b.family < m.next_family for b in spans
        ),
        "every family has a number that was given out": all(n < m.next_family for n in known),
        "every family is described once": _distinct(known),
        "no file has fewer entries than tombstones, or none": all(
            f.entries >= 1 and 0 <= f.tombstones <= f.entries for f in files
        ),
        "no key count is negative or more than the runs can hold": (
            min(counts, default=0) >= 0 and most <= live
        ),
        "an older count is of an older version, and stands where there is none of this one": all(
            f.last_count is None
            or (f.keys is None and f.last_count.version < m.version and f.last_count.keys >= 0)
            for f in m.families
        ),
        "a family has time buckets if its values have times, and only then": all(
            (f.times is not None) == (f.value_encoding == TIMED) for f in m.families
        ),
        "a family's time buckets are in ascending order, each once": all(
            times.ascending for _, times in timed
        ),
        "a family's time buckets hold as many keys as it has": all(
            times.key_count == keys for keys, times in timed
        ),
        "no time bucket that holds keys has expired": all(times.living for _, times in timed),
        "no file is named twice": _distinct([f.name for f in files]),
        "every file has the name of a run's file of a version up to this one": all(
            isinstance(n := parse(f.name), RunName) and n.version <= m.version for f in files
        ),
    }
    return next((rule for rule, holds in rules.items() if not holds), None)


def _distinct(items: list[Any]) -> bool:
    return len(set(items)) == len(items)


def _apart(run: Run) -> bool:
    of_files = [(b, f) for f in run.files for b in f.buckets]
    open_spans: list[tuple[Span, RunFile]] = []
    for span, file in sorted(of_files, key=lambda s: (s[0].family, s[0].first)):
        # Those before it that reach into it.
        open_spans = [
            (other, f)
            for other, f in open_spans
            if other.family == span.family and other.last >= span.first
        ]
        if not all(file.apart(other) for _, other in open_spans):
            return False
        open_spans.append((span, file))
    return True
