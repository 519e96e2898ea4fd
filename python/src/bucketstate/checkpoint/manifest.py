"""Manifests, format version 1: which runs hold the state at a version (`docs/format.md`)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bucketstate.checkpoint.changelog import Family, Header
from bucketstate.checkpoint.compression import crc32c
from bucketstate.checkpoint.damage import damaged, decoding, newer
from bucketstate.checkpoint.names import Attempt, ManifestName, RunName, parse
from bucketstate.checkpoint.storage import Folder

FORMAT = 1
_KIND = "bucketstate-manifest"
_END = re.compile(rb',\n  "checksum" : "crc32c:([0-9a-f]{8})"\n}\n')
_MAX_BUCKETS = 32768


@dataclass(frozen=True)
class Span:
    """Buckets of a column family, both included."""

    family: int
    first: int
    last: int


@dataclass(frozen=True)
class RunFile:
    """One file of a run. `entries` are keys, tombstones included; `size` its length in bytes."""

    name: str
    size: int
    entries: int
    tombstones: int
    checksum: int
    buckets: tuple[Span, ...]

    def holds(self, family: int, first: int, last: int) -> bool:
        """Whether it may have keys of these buckets."""
        return any(b.family == family and b.first <= last and first <= b.last for b in self.buckets)


@dataclass(frozen=True)
class Run:
    """The merged changes of a span of versions, both included."""

    first_version: int
    last_version: int
    files: tuple[RunFile, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(f.size for f in self.files)


@dataclass(frozen=True)
class Manifest:
    """The state at `version` is these runs, newest first.

    `commit_id` is of the changelog of that version, if the writer knew it.
    """

    name: ManifestName
    path: str
    size: int
    store_id: str
    version: int
    checkpoint_id: str | None
    base_checkpoint_id: str | None
    commit_id: str | None
    num_buckets: int
    hash_function: str
    families: tuple[Family, ...]
    runs: tuple[Run, ...]
    next_family: int

    def covers(self, own: Header) -> bool:
        """Whether it holds what the changelog of its version leads to.

        Without checkpoint ids a retry may have replaced the version since; with them the retry's
        files have other names.
        """
        return own.checkpoint_id is not None or self.commit_id in (None, own.commit_id)

    def is_base_of(self, following: Header) -> bool:
        """Whether the changelog of the next version was made on top of it."""
        return following.fits(self.commit_id)

    @property
    def files(self) -> list[RunFile]:
        return [f for run in self.runs for f in run.files]


def read_manifest(folder: Folder, name: ManifestName) -> Manifest:
    """The manifest of that name, verified, with everything checked that must be true of it."""
    path = folder.path_of(str(name))
    data = folder.read(str(name))
    raw = _verified(data, path)
    with decoding(path, "manifest"):
        manifest = _manifest(raw, name, path, len(data))
    named = Attempt(manifest.version, manifest.checkpoint_id)
    if named != name.attempt:
        raise damaged(
            path,
            f"expected the content of {name}, found that of {named.name('manifest')}: the file "
            "was renamed or copied",
        )
    if broken := _broken(manifest):
        raise damaged(path, f"it must be true that {broken}, which is not so")
    return manifest


def _verified(data: bytes, path: str) -> dict[str, Any]:
    try:
        raw = json.loads(data)
    except ValueError:
        raw = None
    if isinstance(raw, dict) and raw.get("format") == _KIND:
        version = raw.get("formatVersion")
        # Before the checksum: a newer format may have another one.
        if isinstance(version, int) and version > FORMAT:
            raise newer(path, "a manifest", FORMAT, version)
    end = _END.search(data, max(0, len(data) - 64))
    if end is None or end.end() != len(data):
        raise damaged(path, "its last member is not its checksum: it was cut off, or written over")
    expected, found = int(end[1], 16), crc32c(data[: end.start()])
    if found != expected:
        raise damaged(path, f"expected checksum {expected:08x}, found {found:08x}")
    if not isinstance(raw, dict) or raw.get("format") != _KIND:
        raise damaged(path, "it is not the JSON of a manifest")
    if raw.get("formatVersion") != FORMAT:
        raise damaged(path, f"it has the format version {raw.get('formatVersion')}")
    return raw


def _manifest(raw: dict[str, Any], name: ManifestName, path: str, size: int) -> Manifest:
    families = tuple(_family(f) for f in raw["families"])
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
        runs=tuple(_run(r) for r in raw["runs"]),
        next_family=_number(raw, "nextFamily")
        if "nextFamily" in raw
        else max((f.id for f in families), default=-1) + 1,
    )


def _family(raw: dict[str, Any]) -> Family:
    return Family(
        id=_number(raw, "id"),
        name=_text(raw, "name"),
        key_encoding=_text(raw, "keyEncoding"),
        value_encoding=_text(raw, "valueEncoding"),
        keys=_number(raw, "keyCount"),
        key_schema=_text(raw, "keySchema", optional=True) or None,
        value_schema=_text(raw, "valueSchema", optional=True) or None,
        internal=raw.get("internal") is True,
    )


def _run(raw: dict[str, Any]) -> Run:
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
        )
        for f in raw["files"]
    )
    return Run(_number(raw, "firstVersion"), _number(raw, "lastVersion"), files)


def _checksum(text: str) -> int:
    if not re.fullmatch("crc32c:[0-9a-f]{8}", text):
        raise ValueError(f"the checksum '{text}' is not one")
    return int(text[-8:], 16)


def _number(raw: dict[str, Any], member: str) -> int:
    value = raw[member]
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise ValueError(f"'{member}' is {value!r}, not an integer below 2^63")
    return value


def _text(raw: dict[str, Any], member: str, *, optional: bool = False) -> str:
    value = raw.get(member, "") if optional else raw[member]
    if not isinstance(value, str):
        raise ValueError(f"'{member}' is {value!r}, not a string")
    return value


def _broken(m: Manifest) -> str | None:
    """The first thing that must be true of every manifest and is not of this one."""
    files = m.files
    spans = [b for f in files for b in f.buckets]
    known = [f.id for f in m.families]
    live = sum(f.entries - f.tombstones for f in files)
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
        "the files of a run share no bucket of a family": all(_apart(r) for r in m.runs),
        "every bucket's family is or was one of the store's": all(
            b.family < m.next_family for b in spans
        ),
        "every family has a number that was given out": all(n < m.next_family for n in known),
        "every family is described once": _distinct(known),
        "no file has fewer entries than tombstones, or none": all(
            f.entries >= 1 and 0 <= f.tombstones <= f.entries for f in files
        ),
        "no key count is negative or more than the runs can hold": all(
            f.keys >= 0 for f in m.families
        )
        and sum(f.keys for f in m.families) <= live,
        "no file is named twice": _distinct([f.name for f in files]),
        "every file has the name of a run's file of a version up to this one": all(
            isinstance(n := parse(f.name), RunName) and n.version <= m.version for f in files
        ),
    }
    return next((rule for rule, holds in rules.items() if not holds), None)


def _distinct(items: list[Any]) -> bool:
    return len(set(items)) == len(items)


def _apart(run: Run) -> bool:
    spans = sorted((b.family, b.first, b.last) for f in run.files for b in f.buckets)
    return all(a[0] != b[0] or a[2] < b[1] for a, b in pairwise(spans))
