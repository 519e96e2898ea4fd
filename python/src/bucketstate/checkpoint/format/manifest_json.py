"""Reads manifests, format versions 1 and 2 (`docs/format.md`)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from bucketstate.checkpoint.format.damage import damaged, decoding
from bucketstate.checkpoint.format.family import Family, KeysAt
from bucketstate.checkpoint.format.manifest import Manifest, Run, RunFile, Span, TimeSpan
from bucketstate.checkpoint.format.names import Attempt, ManifestName, RunName, parse
from bucketstate.checkpoint.format.sealed import unsealed
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.format.times import NEVER, TIMED, TimeBuckets

FORMAT = 2
_KIND = "bucketstate-manifest"


def read_manifest(folder: Folder, name: ManifestName) -> Manifest:
    """The manifest of that name, verified, with everything checked that must be true of it."""
    path = folder.path_of(str(name))
    data = folder.read(str(name))
    raw = unsealed(data, path, _KIND, FORMAT)
    with decoding(path, "manifest"):
        manifest = _manifest(raw, name, path, len(data))
    named = Attempt(manifest.version, manifest.checkpoint_id)
    if named != name.attempt:
        raise damaged(
            path,
            f"expected the content of {name}, found that of {named.name('manifest')}: the file "
            "was renamed or copied",
        )
    if rule := broken(manifest):
        raise damaged(path, f"it must be true that {rule}, which is not so")
    return manifest


def _manifest(raw: dict[str, Any], name: ManifestName, path: str, size: int) -> Manifest:
    # Version 1 has no times: what it has under these names is of no meaning.
    timed = raw["formatVersion"] > 1
    families = tuple(_family(f, timed=timed) for f in raw["families"])
    return Manifest(
        name=name,
        path=path,
        size=size,
        store_id=_text(raw, "storeId"),
        version=_number(raw, "version"),
        checkpoint_id=_text(raw, "checkpointId", optional=True) or None,
        base_checkpoint_id=_text(raw, "baseCheckpointId", optional=True) or None,
        commit_id=_text(raw, "commitId", optional=True) or None,
        num_buckets=_number(raw, "numBuckets"),
        hash_function=_text(raw, "hashFunction"),
        families=families,
        runs=tuple(_run(r, timed=timed) for r in raw["runs"]),
        next_family=_number(raw, "nextFamily")
        if "nextFamily" in raw
        else max((f.id for f in families), default=-1) + 1,
    )


def _family(raw: dict[str, Any], *, timed: bool) -> Family:
    return Family(
        id=_number(raw, "id"),
        name=_text(raw, "name"),
        key_encoding=_text(raw, "keyEncoding"),
        value_encoding=_text(raw, "valueEncoding"),
        keys=_number(raw, "keyCount") if "keyCount" in raw else None,
        key_schema=_text(raw, "keySchema", optional=True) or None,
        value_schema=_text(raw, "valueSchema", optional=True) or None,
        internal=raw.get("internal") is True,
        times=_times(raw["timeBuckets"]) if timed and "timeBuckets" in raw else None,
        last_count=_count(raw["lastCount"]) if "lastCount" in raw else None,
    )


def _count(raw: dict[str, Any]) -> KeysAt:
    return KeysAt(_number(raw, "version"), _number(raw, "keys"))


def _times(raw: dict[str, Any]) -> TimeBuckets:
    return TimeBuckets(
        newest=_time(raw, "newest") if "newest" in raw else None,
        horizon=_time(raw, "horizon"),
        untimed=_time(raw, "untimed") if "untimed" in raw else None,
        untimed_keys=_number(raw, "untimedKeys"),
        keys=tuple((_time(b, "start"), _number(b, "keys")) for b in raw["keys"]),
    )


def _run(raw: dict[str, Any], *, timed: bool) -> Run:
    files = tuple(
        RunFile(
            name=_text(f, "name"),
            size=_number(f, "bytes"),
            entries=_number(f, "entries"),
            tombstones=_number(f, "tombstones"),
            checksum=_checksum(_text(f, "checksum")),
            buckets=tuple(
                Span(_number(b, "family"), _number(b, "first"), _number(b, "last"))
                for b in f["buckets"]
            ),
            times=_span(f) if timed else None,
        )
        for f in raw["files"]
    )
    return Run(_number(raw, "firstVersion"), _number(raw, "lastVersion"), files)


def _span(raw: dict[str, Any]) -> TimeSpan | None:
    if "firstTimeBucket" not in raw and "lastTimeBucket" not in raw:
        return None
    return TimeSpan(_time(raw, "firstTimeBucket"), _time(raw, "lastTimeBucket"))


def _checksum(text: str) -> int:
    if not re.fullmatch("crc32c:[0-9a-f]{8}", text):
        raise ValueError(f"the checksum '{text}' is not one")
    return int(text[-8:], 16)


def _number(raw: dict[str, Any], member: str) -> int:
    value = raw[member]
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise ValueError(f"'{member}' is {value!r}, not an integer below 2^63")
    return value


def _time(raw: dict[str, Any], member: str) -> int:
    value = _number(raw, member)
    if not 0 <= value <= NEVER:
        raise ValueError(f"'{member}' is {value}, not a time of 4 bytes")
    return value


def _text(raw: dict[str, Any], member: str, *, optional: bool = False) -> str:
    value = raw.get(member, "") if optional else raw[member]
    if not isinstance(value, str):
        raise ValueError(f"'{member}' is {value!r}, not a string")
    return value


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
