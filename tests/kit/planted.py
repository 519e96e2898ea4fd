"""A store's folder planted file by file, and what a reader must conclude of it.

The cases of `tests.kit.plans` are made of this.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql.types import BinaryType, LongType, StringType, StructType

from bucketstate.checkpoint.format.names import Attempt
from tests.kit.checkpoints import (
    PUT,
    REMOVE,
    Row,
    bucket_of,
    changelog,
    manifest,
    manifest_members,
    run_file,
)
from tests.kit.rows import compact_row

KEY = StructType().add("k1", LongType()).add("k2", StringType())
VALUE = StructType().add("v1", LongType()).add("v2", BinaryType())
BUCKETS = 4

Expected = dict[str, Any]
"""What `expected.json` says; its members are described in the README beside the cases."""


@dataclass(frozen=True)
class Commit:
    """One write of one version, and the state that it led to."""

    attempt: Attempt
    id: uuid.UUID | None = None
    rows: Mapping[Row, Row] = field(default_factory=dict)

    @property
    def changelog(self) -> str:
        return self.attempt.name("changelog")

    @property
    def manifest(self) -> str:
        return self.attempt.name("manifest")


EMPTY = Commit(Attempt(0))

History = list[Commit]
"""The commit of each version, from the empty store on: version n is at place n."""


class Planted:
    """A store's folder, to which files are added one by one: histories may part and meet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written = 0
        folder.mkdir(parents=True)

    def write(
        self, base: Commit, *, checkpoint_id: str = "", names_base: bool = True, **other: Any
    ) -> Commit:
        """The changelog of one more version; replaces what has its name."""
        version = base.attempt.version + 1
        self._written += 1
        commit = uuid.uuid5(uuid.NAMESPACE_OID, f"commit {self._written}")
        changes = changes_of(version)
        rows = {k: v for k, v in {**base.rows, **changes}.items() if v is not None}
        own = Commit(Attempt(version, checkpoint_id or None), commit, rows)
        if checkpoint_id:
            base_id = base.attempt.checkpoint_id or ""
        else:
            base_id = str(base.id) if base.id and names_base else ""
        records = [
            (REMOVE, _key(key), b"") if value is None else (PUT, _key(key), _value(value))
            for key, value in changes.items()
        ]
        settings = {"codec": "none", "checkpoint_id": checkpoint_id, "base_id": base_id} | other
        data = changelog(version, records, len(rows), buckets=BUCKETS, commit=commit, **settings)
        (self.folder / own.changelog).write_bytes(data)
        return own

    def grow(self, versions: int, on: Sequence[Commit] = (EMPTY,), *, ids: str = "") -> History:
        """So many versions more; with checkpoint ids if these are to start with a letter."""
        history = list(on)
        for _ in range(versions):
            named = checkpoint_id(ids, len(history))
            history.append(self.write(history[-1], checkpoint_id=named))
        return history

    def snapshot(self, *ends: Commit, commit_id: bool = True, format_version: int = 1) -> None:
        """The manifest of the last of these, with a run up to each."""
        newest = ends[-1]
        runs = []
        for number, (old, new) in enumerate(zip([EMPTY, *ends], ends, strict=False)):
            first, last = old.attempt.version + 1, new.attempt.version
            entries = {
                (bucket_of(_key(key), BUCKETS), _key(key)): _value(new.rows[key])
                if key in new.rows
                else None
                for key in sorted(old.rows.keys() | new.rows.keys())
                if old.rows.get(key) != new.rows.get(key)
            }
            file = run_file(self.folder, newest.attempt.version, number, entries)
            runs.append({"firstVersion": first, "lastVersion": last, "files": [file]})
        members = manifest_members(
            newest.attempt.version, len(newest.rows), list(reversed(runs)), BUCKETS
        )
        members["formatVersion"] = format_version
        if commit_id:
            members["commitId"] = str(newest.id)
        if newest.attempt.checkpoint_id:
            members["checkpointId"] = newest.attempt.checkpoint_id
        (self.folder / newest.manifest).write_bytes(manifest(members))

    def alone(self, base: Commit, rows: Mapping[Row, Row], *, checkpoint_id: str = "") -> Commit:
        """One more version that is a manifest alone: what was before it is of no matter."""
        self._written += 1
        commit = uuid.uuid5(uuid.NAMESPACE_OID, f"commit {self._written}")
        own = Commit(Attempt(base.attempt.version + 1, checkpoint_id or None), commit, rows)
        self.snapshot(own)
        return own

    def remove(self, *names: str) -> None:
        for name in names:
            (self.folder / name).unlink()

    def damage(self, name: str, at: int) -> None:
        """Changes one byte; a negative place is counted from the end."""
        path = self.folder / name
        data = bytearray(path.read_bytes())
        data[at] ^= 0x40
        path.write_bytes(bytes(data))

    def runs(self) -> list[str]:
        return sorted(f"runs/{path.name}" for path in (self.folder / "runs").iterdir())


def changes_of(version: int) -> dict[Row, Row | None]:
    """What each version does: a new key, a new value for an old one, and a removal."""
    changes: dict[Row, Row | None] = {
        (version, f"key-{version}"): (10 * version, bytes([version, 255])),
        (0, "every version"): (version, b""),
    }
    if version > 2:
        changes[version - 2, f"key-{version - 2}"] = None
    return changes


def checkpoint_id(letter: str, version: int) -> str:
    return f"{letter * 8}-0000-4000-8000-{version:012d}" if letter else ""


def opens(
    target: Commit,
    *,
    base: Commit = EMPTY,
    replay: Sequence[Commit] = (),
    passed: Sequence[tuple[Commit, str]] = (),
    replaced: Sequence[int] = (),
) -> Expected:
    return _target(target) | {
        "base": base.attempt.version,
        "changelogs": [commit.changelog for commit in replay],
        "passed": [{"manifest": of.manifest, "reason": reason} for of, reason in passed],
        "replaced": list(replaced),
        "rows": [[*key, value[0], value[1].hex()] for key, value in sorted(target.rows.items())],
    }


def fails(target: Commit, error: str, file: str) -> Expected:
    return _target(target) | {"error": error, "file": file}


def _target(target: Commit) -> Expected:
    own = target.attempt.checkpoint_id
    return {"version": target.attempt.version} | ({"checkpointId": own} if own else {})


def _key(key: Row) -> bytes:
    return compact_row(KEY, key)


def _value(value: Row) -> bytes:
    return compact_row(VALUE, value)
