"""Moves of stopped queries' checkpoints, by Spark jobs: planned first, then run.

The work is done by `io.bucketstate.Checkpoints`, on the cluster of the session that is given; this
asks for it and tells what became of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bucketstate.checkpoint.store.catalog import whole_number
from bucketstate.errors import InvalidArgumentError, RefusedMoveError
from bucketstate.move.calls import door, first_line, told, waited

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Kind = Literal["import", "export", "rewrite", "handover", "upsert"]
Provider = Literal["bucketstate", "rocksdb", "hdfs"]
KINDS: tuple[Kind, ...] = ("import", "export", "rewrite", "handover", "upsert")


@dataclass(frozen=True)
class Finding:
    """Something about a move that is good to know before it is made. Immutable."""

    severity: str
    """`info`, `warning`, or `error`: then the move is refused."""

    text: str
    """A sentence or more, for people."""


@dataclass(frozen=True)
class Progress:
    """About how far a move has come: tasks that are tried again count twice. Immutable."""

    step: str
    """What is being done, in a word or two."""

    read: int
    """Keys that were read."""

    written: int
    """Keys that were written."""

    checked: int
    """Keys that were read back."""

    bytes: int
    """Raw bytes that were written."""


@dataclass(frozen=True)
class Report:
    """What a move has done. Immutable."""

    kind: str
    """`import`, `export`, `rewrite`, `handover` or `upsert`."""

    source: str
    """Where the checkpoint is that was read."""

    target: str
    """Where the new one is; the source itself after a rewrite in place."""

    batch: int
    """The batch whose state was moved."""

    last_batch: int
    """The last batch of the target: one more in place, the rewrite's own."""

    published: bool
    """Whether a query can go on with the target; not after `Plan.read`."""

    verified: str
    """`full`, or `counts`."""

    keys: int
    """Keys of all stores and column families that are in the target."""

    deleted_keys: int
    """Those that were left out because a condition asked for it."""

    given_keys: int
    """Those that came as rows."""

    replaced_keys: int
    """Those of them that the state had before."""

    bytes: int
    """Length of the files of state, where they are of this provider or of HDFS's."""

    seconds: float
    """How long it took."""

    stores: tuple[Mapping[str, Any], ...]
    """For each store its operator, name, keys, values, bytes, and the sum of its rows: stores with
    equal sums hold equal rows."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }


@dataclass(frozen=True)
class Plan:
    """What a move would do; prints as a table. Made by `plan`. Immutable."""

    kind: str
    """`import`, `export`, `rewrite`, `handover` or `upsert`."""

    source: str
    """Where the checkpoint is that is read."""

    target: str
    """Where the new one is to be; the source itself for a rewrite in place."""

    in_place: bool
    """Whether the checkpoint itself gets other partitions, as a batch of its own."""

    batch: int
    """The batch whose state is moved: committed, and not necessarily the last."""

    why_batch: str
    """Why it is that one, in a few words."""

    version: int
    """The version of the state, one more."""

    source_provider: str
    """`bucketstate`, `rocksdb` or `hdfs`."""

    target_provider: str
    """Whose files the target gets, in the same words."""

    partitions: int
    """Partitions of operators with keys, afterwards."""

    checkpoint_format: int
    """1 or 2, afterwards."""

    operators: tuple[Mapping[str, Any], ...]
    """For each stateful operator its number, name, bytes, stores and their column families; for
    each store its partitions and buckets before and after, and its keys where files count them."""

    space: int
    """Bytes that the source's files of state have: the target takes about as much, or less if they
    have older versions. Spark's local disks take the state once, uncompressed, while it is sorted.
    """

    session: Mapping[str, str]
    """Settings that the query's session must have afterwards."""

    findings: tuple[Finding, ...]
    """What is good to know, the gravest first."""

    _spark: Any = field(repr=False, compare=False)
    _plan: Any = field(repr=False, compare=False)

    @property
    def is_possible(self) -> bool:
        """Whether no finding is an error."""
        return all(found.severity != "error" for found in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        found: dict[str, Any] = json.loads(self._plan.json())
        return found

    def __str__(self) -> str:
        return str(self._plan.toString())

    def read(self, progress: Callable[[Progress], None] | None = None) -> Report:
        """Reads all state, holds each key against its partition, and writes nothing.

        Blocks as long as that takes. Raises what `run` raises.
        """
        return self._waited(self._plan.read, progress)

    def run(self, progress: Callable[[Progress], None] | None = None) -> Report:
        """Makes the move; blocks as long as that takes.

        The target is published when all of it is there and was verified. When this raises, or is
        killed, no query starts on what there is of the target, and the same move begins again. A
        checkpoint that was to be rewritten in place is as it was when this raises; if it is killed
        from the moment on at which that is not so any more, no query starts on it either.

        An interrupt, or what `progress` raises, gives the move up, with the jobs of this move
        alone. It is raised when the move has ended, and its note says how: one that comes when the
        move is being committed is too late, and the move is made all the same.

        Args:
            progress: is told every now and then how far the move has come, by this thread.

        Raises:
            RefusedMoveError: it cannot be made so, or the source or the target has changed.
            DamagedFileError: a file of the source is damaged, or the target is not what was read.
            MissingFileError: a file of the source is not there.
            StorageError: a file system failed, or the job, or the session's JVM has ended.
        """
        return self._waited(self._plan.run, progress)

    def _waited(
        self, call: Callable[[], Any], progress: Callable[[Progress], None] | None
    ) -> Report:
        def tell() -> None:
            if progress is not None:
                with told():
                    found = json.loads(self._plan.progressJson())
                progress(Progress(**found))

        made = waited(call, tell, self._plan.cancel)
        with told():
            return _report(json.loads(made.json()))


@dataclass(frozen=True)
class Undone:
    """What undoing a rewrite in place has left. Immutable."""

    checkpoint: str
    """Where it is."""

    batch: int
    """The last batch."""

    partitions: int
    """The number of partitions of operators with keys."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return dict(vars(self))


def plan(
    spark: SparkSession,
    source: str,
    target: str | None,
    kind: Kind,
    *,
    batch: int | None = None,
    to: Provider = "bucketstate",
    partitions: int | None = None,
    buckets: int | None = None,
    checkpoint_format: int | None = None,
    delete_keys: str | None = None,
    operator: int | None = None,
    offsets: Literal["options"] | Sequence[str] | None = None,
    rows: DataFrame | str | os.PathLike[str] | None = None,
    state: Any = None,
    source_provider: Provider | None = None,
    verify: Literal["full", "counts"] = "full",
    in_place: bool = False,
) -> Plan:
    """What a move of a stopped query's checkpoint would do. Writes nothing.

    All changes may be combined in one move.

    Args:
        spark: a classic session with the provider's jar (see `configure`), which reaches both.
        source: the checkpoint to read, a path or URI. It is never written to, but in place.
        target: a folder that is empty or does not exist; None in place.
        kind: `import` from Spark's own providers, `export` to one of them, `rewrite` of a
            checkpoint of this one, `handover` of the state to sources that begin anew, `upsert` of
            rows into a state.
        batch: a committed batch to take; the last one without.
        to: whose files the target gets.
        partitions: of all operators with keys.
        buckets: in each store of this provider.
        checkpoint_format: 1 or 2.
        delete_keys: a SQL condition on the columns of a grouping key; keys that it is true for are
            left out, with all that the operator keeps of them.
        operator: whose keys are left out or given, where the query has several.
        offsets: where sources begin: "options" for where their own options say (Kafka's for a
            stream is the latest, unless startingOffsets is set), or a line of Spark's offset log
            for each.
        rows: of an upsert, a DataFrame or the path of Parquet files, with a row for each key that
            is to have another state, or one at all. Its columns are those of the key and of the
            value, by their names; `key` and `value` may be structs of them, as in a scan.
        state: of an upsert into a function of `bucketstate.stateful`: its state class, whose
            instances a column `state` has as structs or documents, or whose fields are columns.
        source_provider: whose files the source has, where the recorded class is not known.
        verify: `full` reads the target back before it is published.
        in_place: the checkpoint itself gets other partitions, as a batch of its own. A rewrite with
            `partitions` alone can be made so, from Spark 4.2 on; see `undo`.

    Raises:
        InvalidArgumentError: an argument is of a wrong type.
        RefusedMoveError: there is no such checkpoint or batch, or what is asked for can never work,
            such as a column that is missing or of another type.
        DefinitionError: what is given as a state class is none.
        DamagedFileError: a log or a file of metadata is damaged.
        MissingFileError: one of them is not there.
        StorageError: a file system failed, or the session's JVM has ended.
        SessionError: the session is not a classic one, or has no jar.
    """
    texts = {"kind": kind, "to": to, "delete_keys": delete_keys, "verify": verify}
    for name, text in (texts | {"source_provider": source_provider}).items():
        if not isinstance(text, str | None):
            raise InvalidArgumentError(f"{name}={text!r}: give a text.")
    numbers = {"batch": batch, "partitions": partitions, "buckets": buckets, "operator": operator}
    numbers["checkpoint_format"] = checkpoint_format
    whole = {n: None if given is None else whole_number(n, given) for n, given in numbers.items()}
    if offsets is not None and offsets != "options" and not _lines(offsets):
        raise InvalidArgumentError(f"offsets={offsets!r}: give 'options', or a list of lines.")
    if not isinstance(rows, str | os.PathLike | None) and not hasattr(rows, "_jdf"):
        raise InvalidArgumentError(f"rows={rows!r}: give a DataFrame, or a path of Parquet files.")
    request = {
        "kind": kind,
        "source": str(source),
        "target": None if target is None else str(target),
        "batch": whole["batch"],
        "to": to,
        "partitions": whole["partitions"],
        "buckets": whole["buckets"],
        "format": whole["checkpoint_format"],
        "deleteKeys": delete_keys,
        "operator": whole["operator"],
        "offsets": list(offsets) if offsets is not None and offsets != "options" else offsets,
        "sourceProvider": source_provider,
        "verify": verify,
        "inPlace": bool(in_place) or None,
    }
    given = {name: value for name, value in request.items() if value is not None}
    with told():
        door(spark)
    frame = _rows(spark, rows, state, json.dumps(given))
    if frame is None and rows is not None:
        given["rows"] = str(rows)
    with told():
        more = () if frame is None else (frame._jdf,)
        made = door(spark).plan(spark._jsparkSession, json.dumps(given), *more)
        found = json.loads(made.json())
    return Plan(
        kind=found["kind"],
        source=found["source"],
        target=found["target"],
        in_place=found["inPlace"],
        batch=found["batch"],
        why_batch=found["whyBatch"],
        version=found["version"],
        source_provider=found["sourceProvider"],
        target_provider=found["targetProvider"],
        partitions=found["partitions"],
        checkpoint_format=found["checkpointFormat"],
        operators=tuple(found["operators"]),
        space=found["spaceBytes"],
        session=found["session"],
        findings=tuple(Finding(**one) for one in found["findings"]),
        _spark=spark,
        _plan=made,
    )


def undo(spark: SparkSession, checkpoint: str) -> Undone:
    """Undoes a rewrite in place, finished or not, as long as no query has gone on with it.

    Everything is as it was before. What was stopped half-way is finished by the same call.

    Args:
        spark: a classic session with the provider's jar (see `configure`), which reaches it.
        checkpoint: the checkpoint, a path or URI.

    Raises:
        RefusedMoveError: there is no rewrite to undo, or a query has gone on since.
        DamagedFileError: what the query is to go on with is damaged.
        MissingFileError: a file of it is not there.
        StorageError: a file system failed, or the session's JVM has ended.
        SessionError: the session is not a classic one, or has no jar.
    """
    with told():
        found = json.loads(door(spark).undo(spark._jsparkSession, str(checkpoint)).json())
    return Undone(found["checkpoint"], found["batch"], found["partitions"])


def _lines(offsets: Any) -> bool:
    return isinstance(offsets, list | tuple) and all(isinstance(line, str) for line in offsets)


def _rows(spark: SparkSession, rows: Any, state: Any, request: str) -> DataFrame | None:
    """The frame of an upsert; None where the JVM reads one by itself, or there is none."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if rows is None:
        return None
    if isinstance(rows, str | os.PathLike):
        if state is None:
            return None
        path = str(rows)
        with told():
            try:
                rows = spark.read.parquet(path)
            except (Py4JJavaError, PySparkException) as error:
                raise _unreadable(path, first_line(error)) from None
    if state is None:
        frame: DataFrame = rows
        return frame
    # States are made by what keeps them, which takes pyspark.
    from bucketstate.move.given import with_documents

    def key_columns() -> list[str]:
        with told():
            found: list[str] = json.loads(door(spark).keyColumns(spark._jsparkSession, request))
        return found

    return with_documents(rows, state, key_columns)


def _unreadable(path: str, said: str) -> RefusedMoveError:
    return RefusedMoveError(
        f"{path} cannot be read as Parquet files: {said.rstrip('.')}. Give a file or a folder with "
        "a row for each key."
    )


def _report(found: Mapping[str, Any]) -> Report:
    return Report(
        kind=found["kind"],
        source=found["source"],
        target=found["target"],
        batch=found["batch"],
        last_batch=found["lastBatch"],
        published=found["published"],
        verified=found["verified"],
        keys=found["keys"],
        deleted_keys=found["deletedKeys"],
        given_keys=found["givenKeys"],
        replaced_keys=found["replacedKeys"],
        bytes=found["bytes"],
        seconds=(found["finishedMs"] - found["startedMs"]) / 1000,
        stores=tuple(found["stores"]),
    )
