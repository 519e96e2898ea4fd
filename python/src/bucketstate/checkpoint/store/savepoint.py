"""Savepoints: files at the root of a checkpoint, each of which holds what one batch made."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from bucketstate.checkpoint.format.damage import decoding
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.sealed import sealed, unsealed
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.errors import DamagedFileError, MissingFileError

FOLDER = "_bucketstate/savepoints"
"""Below a query's checkpoint."""

_KIND, _FORMAT = "bucketstate-savepoint", 1
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_FILE = re.compile(rf"({_NAME})\.[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\.json")
_REMEDY = (
    "It may hold versions of the state that cannot be told, so the query deletes nothing of what "
    "is old. Drop it with `bucketstate savepoint drop`, or restore the file."
)

StoreOf = tuple[int, int, str]
"""A store by operator, partition and name."""


@dataclass(frozen=True)
class Savepoint:
    """What a batch made, held so that one can go back to it. Immutable."""

    name: str
    """The name that it was given."""

    batch: int
    """The batch whose result is held."""

    created: datetime
    """When it was created, in UTC, by the clock of whoever did."""

    tool: str
    """What created it, with its release."""

    attempts: Mapping[StoreOf, Attempt] = field(repr=False)
    """What it holds of each store, by operator, partition and name."""

    files: Mapping[str, bytes] = field(repr=False)
    """What Spark needs to start at that batch and may have deleted since, by path below the
    checkpoint: entries of `offsets` and `commits`, metadata of operators, and schemas."""

    path: str
    """Where its file is."""

    @property
    def version(self) -> int:
        """The version of the state that it holds: batch n makes version n + 1."""
        return self.batch + 1

    def attempt(self, operator: int, partition: int, store: str) -> Attempt:
        """What it holds of a store.

        Args:
            operator: the id of the stateful operator.
            partition: from 0.
            store: `default`, or that of a side of a join.
        """
        return self.attempts.get((operator, partition, store), Attempt(self.version))

    def knows(self, operator: int, partition: int, store: str) -> bool:
        """Whether that store was there: with other partitions since, some are not of its batch.

        Where it lists no store of an operator, all of them are taken to have been there.

        Args:
            operator: the id of the stateful operator.
            partition: from 0.
            store: `default`, or that of a side of a join.
        """
        listed = (operator, partition, store) in self.attempts
        return listed or all(of != operator for of, _, _ in self.attempts)


def is_name(text: str) -> bool:
    """Whether a savepoint can be called so."""
    return re.fullmatch(_NAME, text) is not None


def new_file(name: str) -> str:
    """The name of a new file for a savepoint of that name; nobody else ever gets the same."""
    return f"{name}.{uuid4()}.json"


def savepoint_files(folder: Folder, name: str | None = None) -> list[str]:
    """The files of the savepoints of a checkpoint's folder; with a name, those that have it.

    What ends as one counts as one, so that none is passed over. A file has its own name, too, by
    which one can be had that is none.

    Raises:
        StorageError: the folder cannot be listed.
    """
    found = [f.name for f in (folder / FOLDER).files()]
    ours = [f for f in found if f.endswith(".json") and not f.startswith(".")]
    return [f for f in ours if name is None or name in (f, name_of(f))]


def read_savepoints(folder: Folder) -> tuple[Savepoint, ...]:
    """All savepoints of a checkpoint's folder, the oldest batch first.

    Raises:
        DamagedFileError: a file is none.
        NewerFormatError: a newer release wrote one.
        StorageError: the folder or a file cannot be read.
    """
    found = []
    for name in savepoint_files(folder):
        try:
            found.append(read_savepoint(folder, name))
        except MissingFileError:
            # Dropped since it was listed.
            continue
    return tuple(sorted(found, key=lambda s: (s.batch, s.name)))


def read_savepoint(folder: Folder, file: str) -> Savepoint:
    """The savepoint of one file of a checkpoint's folder.

    Raises:
        DamagedFileError: it is none.
        NewerFormatError: a newer release wrote it.
        MissingFileError: it is not there.
        StorageError: it cannot be read.
    """
    own = folder / FOLDER
    path = own.path_of(file)
    data = own.read(file)
    try:
        raw = unsealed(data, path, _KIND, _FORMAT)
        with decoding(path, "savepoint"):
            found = _savepoint(raw, path)
            if found.name != name_of(file):
                raise ValueError(f"its name is '{found.name}', which is not that of its file")
            return found
    except DamagedFileError as error:
        problem = error.problem or str(error)
        raise DamagedFileError(f"{problem} {_REMEDY}").about(path, problem) from error


def encoded(savepoint: Savepoint) -> bytes:
    """The bytes of a savepoint's file."""
    texts, others = {}, {}
    for path, data in savepoint.files.items():
        try:
            texts[path] = data.decode("utf-8")
        except UnicodeDecodeError:
            others[path] = base64.b64encode(data).decode("ascii")
    stores = [
        {"operator": operator, "partition": partition, "store": store}
        | ({"checkpointId": of.checkpoint_id} if of.checkpoint_id else {})
        for (operator, partition, store), of in sorted(savepoint.attempts.items())
    ]
    members = {
        "name": savepoint.name,
        "batch": savepoint.batch,
        "createdMs": round(savepoint.created.timestamp() * 1000),
        "tool": savepoint.tool,
        "stores": stores,
        "texts": texts,
        "base64": others,
    }
    return sealed(_KIND, _FORMAT, members)


def name_of(file: str) -> str | None:
    """The savepoint's name in that of its file; None if that is no savepoint's."""
    found = _FILE.fullmatch(file)
    return found[1] if found else None


def _savepoint(raw: dict[str, Any], path: str) -> Savepoint:
    batch = raw["batch"]
    if not isinstance(batch, int) or batch < 0:
        raise ValueError(f"there is no batch {batch}")
    files = {name: text.encode("utf-8") for name, text in raw["texts"].items()}
    files |= {name: base64.b64decode(text) for name, text in raw["base64"].items()}
    return Savepoint(
        name=str(raw["name"]),
        batch=batch,
        created=datetime.fromtimestamp(raw["createdMs"] / 1000, UTC),
        tool=str(raw["tool"]),
        attempts={
            (int(s["operator"]), int(s["partition"]), str(s["store"])): Attempt(
                batch + 1, s.get("checkpointId")
            )
            for s in raw["stores"]
        },
        files=files,
        path=path,
    )
