"""What a checkpoint says of where it came from: `_bucketstate/move.json` (`docs/format.md`).

What makes a checkpoint of another writes it first, and completes it last. A rewind and a rewrite in
place, which change a checkpoint itself, have files of their own as long as they are under way.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from bucketstate.checkpoint.format.damage import damaged, decoding, json_object, newer
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.errors import CheckpointError

FOLDER = "_bucketstate"
MOVE = "move.json"
REWIND = "rewind.json"
IN_PLACE = "in-place.json"
FORMAT = 1
_LATEST = 253_402_300_799_999
"""The end of the years of Python."""

Status = Literal["begun", "finished"]

_KINDS = {
    "clone": "a clone",
    "fork": "a fork",
    "import": "an import",
    "export": "an export",
    "rewrite": "a rewrite",
    "handover": "a handover",
    "upsert": "an upsert",
}


@dataclass(frozen=True)
class Origin:
    """How a checkpoint was made of another one. Immutable."""

    kind: str
    """`clone`, `fork`, `import`, `export`, `rewrite`, `handover` or `upsert`."""

    status: Status
    """`begun` until all of it is there."""

    source: str
    """Path or URI of the checkpoint that it was made of."""

    batch: int
    """The batch after which it has the state."""

    tool: str
    """The version of bucketstate that made it."""

    started_ms: int
    """When it was begun, in milliseconds since 1970."""

    finished_ms: int | None = None
    """When it was finished, in milliseconds since 1970; None as long as it is not."""

    stores: int | None = None
    """How many stores it has, of all partitions."""

    keys: int | None = None
    """How many keys they held then, of all column families; None if they were not counted."""

    bytes: int | None = None
    """Length of the files that have them, in bytes."""

    token: str = field(default="", repr=False)
    """A new one for each move: it tells which of two moves into one folder came last."""

    @property
    def finished(self) -> bool:
        """Whether all of it is there."""
        return self.status == "finished"

    @property
    def summary(self) -> str:
        """What it is, and what to do if it is not finished: a sentence or more."""
        what = f"{_KINDS.get(self.kind, self.kind)} of {self.source} after batch {self.batch}"
        if not self.finished:
            return (
                f"This was begun as {what}, and not finished: run the same command again, which "
                "begins anew. It is not to be started before."
            )
        at = "" if self.finished_ms is None else f" on {_shown(self.finished_ms)}"
        return f"This is {what}, made{at} by bucketstate {self.tool}."

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the fields, without the token."""
        return {name: value for name, value in asdict(self).items() if name != "token"}


@dataclass(frozen=True)
class Rewinding:
    """A rewind that is under way, or was stopped. Immutable."""

    batch: int
    """The last batch that is to be left."""

    tool: str
    """The version of bucketstate that began it."""

    started_ms: int
    """When it was begun, in milliseconds since 1970."""

    @property
    def summary(self) -> str:
        """What happened and what to do, as a sentence or more."""
        return (
            f"A rewind to batch {self.batch} was begun on {_shown(self.started_ms)}, and not "
            "finished: run the same command again, which finishes it. The query is not to be "
            "started before."
        )

    def encoded(self) -> bytes:
        """What stands in the file."""
        members = {
            "format": FORMAT,
            "kind": "rewind",
            "status": "begun",
            "batch": self.batch,
            "tool": self.tool,
            "startedMs": self.started_ms,
        }
        return json.dumps(members, indent=2).encode() + b"\n"


@dataclass(frozen=True)
class InPlace:
    """A rewrite in place that is under way, or its undoing, or was stopped. Immutable."""

    batch: int
    """The batch that the rewrite is."""

    partitions: int
    """How many partitions the state gets."""

    tool: str
    """The version of bucketstate that began it."""

    started_ms: int
    """When it was begun, in milliseconds since 1970."""

    @property
    def summary(self) -> str:
        """What happened and what to do, as a sentence or more."""
        return (
            f"A rewrite in place to {self.partitions} partitions was begun as batch {self.batch} "
            f"on {_shown(self.started_ms)}, and is not finished: run `bucketstate move rewrite` "
            "with --in-place again, which finishes it, or with --in-place --undo. The query does "
            "not start before."
        )


@dataclass(frozen=True)
class Marks:
    """What a checkpoint says of moves: where it came from, and what is under way. Immutable.

    `half_done` is a sentence or more on what was begun and not finished; None if nothing was. Of a
    rewrite in place Spark's logs have to be asked how far it came.
    """

    origin: Origin | None
    half_done: str | None
    in_place: InPlace | None = None


def encoded(origin: Origin) -> bytes:
    """What stands in the file."""
    members = {
        "format": FORMAT,
        "kind": origin.kind,
        "status": origin.status,
        "source": origin.source,
        "batch": origin.batch,
        "token": origin.token,
        "tool": origin.tool,
        "startedMs": origin.started_ms,
        "finishedMs": origin.finished_ms,
        "stores": origin.stores,
        "keys": origin.keys,
        "bytes": origin.bytes,
    }
    return json.dumps(members, indent=2).encode() + b"\n"


def read_origin(checkpoint: Folder) -> Origin | None:
    """Where a checkpoint came from; None if it was begun by a query.

    Raises DamagedFileError, NewerFormatError or StorageError.
    """
    found = _read(checkpoint, MOVE)
    if found is None:
        return None
    path = (checkpoint / FOLDER).path_of(MOVE)
    with decoding(path, "marker of a move"):
        if found["status"] not in ("begun", "finished"):
            raise ValueError(f"the status is {found['status']!r}")
        return Origin(
            str(found["kind"]),
            found["status"],
            str(found["source"]),
            int(found["batch"]),
            str(found["tool"]),
            _time(found["startedMs"]),
            None if found.get("finishedMs") is None else _time(found["finishedMs"]),
            _number(found, "stores"),
            _number(found, "keys"),
            _number(found, "bytes"),
            str(found.get("token", "")),
        )


def read_rewinding(checkpoint: Folder) -> Rewinding | None:
    """The rewind that was begun and not finished; None if there is none.

    Raises DamagedFileError, NewerFormatError or StorageError.
    """
    found = _read(checkpoint, REWIND)
    if found is None:
        return None
    with decoding((checkpoint / FOLDER).path_of(REWIND), "marker of a rewind"):
        return Rewinding(int(found["batch"]), str(found["tool"]), _time(found["startedMs"]))


def read_in_place(checkpoint: Folder) -> InPlace | None:
    """The rewrite in place whose mark is there; None if there is none.

    Raises DamagedFileError, NewerFormatError or StorageError.
    """
    found = _read(checkpoint, IN_PLACE)
    if found is None:
        return None
    with decoding((checkpoint / FOLDER).path_of(IN_PLACE), "mark of a rewrite in place"):
        return InPlace(
            int(found["batch"]),
            int(found["partitions"]),
            str(found["tool"]),
            _time(found["startedMs"]),
        )


def read_marks(checkpoint: Folder) -> Marks:
    """All these files, by one listing where there is none.

    Raises StorageError.
    """
    there = {f.name for f in (checkpoint / FOLDER).files()}
    try:
        origin = read_origin(checkpoint) if MOVE in there else None
        rewinding = read_rewinding(checkpoint) if REWIND in there else None
        in_place = read_in_place(checkpoint) if IN_PLACE in there else None
    except CheckpointError as error:
        return Marks(None, str(error))
    if origin is not None and not origin.finished:
        return Marks(origin, origin.summary, in_place)
    return Marks(origin, rewinding.summary if rewinding else None, in_place)


def _read(checkpoint: Folder, name: str) -> dict[str, Any] | None:
    folder = checkpoint / FOLDER
    if not folder.exists(name):
        return None
    path = folder.path_of(name)
    data = folder.read(name)
    with decoding(path, "marker"):
        found = json_object(data.decode("utf-8"))
    version = found.get("format")
    if not isinstance(version, int) or version < 1:
        raise damaged(path, f"expected its format, such as 1, found {version!r}")
    if version > FORMAT:
        raise newer(path, "a marker", FORMAT, version)
    return found


def _number(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    return None if value is None else int(value)


def _time(value: Any) -> int:
    found = int(value)
    if not 0 <= found <= _LATEST:
        raise ValueError(f"{found} is no time in milliseconds since 1970")
    return found


def _shown(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
