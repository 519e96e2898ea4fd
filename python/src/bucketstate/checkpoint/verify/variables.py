"""Whether the state variables of an operator, their indexes and their schemas belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.checkpoint.spark.query import OperatorInfo, StoreInfo
from bucketstate.checkpoint.spark.variables import (
    COUNT,
    LEAST_EXPIRY,
    TTL_COUNT,
    TTL_FIELD,
    TTL_INDEX,
    TransformWithState,
    VariableInfo,
)
from bucketstate.checkpoint.store.catalog import Catalog
from bucketstate.checkpoint.verify.report import Findings, Severity
from bucketstate.errors import CheckpointError, MissingFileError

Pick = Callable[[pa.StructArray, pa.Array], list[pa.Array]]
"""Picks from a family's keys and values what another family has, too."""


def check_schemas(
    catalog: Catalog, operator: OperatorInfo, store: StoreInfo, found: Findings
) -> None:
    """Whether the schema files are there and have all state variables that the metadata name."""
    try:
        schemas = catalog.query.schemas(operator.id, store)
    except MissingFileError as error:
        # Of one that the operator's metadata do not name Spark makes another.
        severity: Severity = "error" if store.schema_files else "warning"
        found.add(severity, error.path or catalog.location, str(error))
        return
    except CheckpointError as error:
        found.add("error", error.path or catalog.location, str(error))
        return
    if not store.schema_files:
        return
    *older, (folder, newest) = catalog.query.schema_places(operator.id, store)
    for of, name in older:
        if not of.exists(name):
            path = of.path_of(name)
            found.add(
                "warning",
                path,
                f"{path} is not there, which the operator's metadata name: values that were "
                "written with its schemas cannot be read, if there are any left.",
            )
    for variable in operator.state_variables:
        if variable.name not in schemas:
            path = folder.path_of(newest)
            found.add(
                "error",
                path,
                f"{path} has no schema of the state variable '{variable.name}', which the "
                "operator's metadata name.",
            )


_BETWEEN = b"\x1f"


class Tally:
    """How many rows there are, and a sum over their hashes: the same for the same rows.

    In any order, and without holding them.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sum = 0

    def add(self, columns: list[pa.Array]) -> None:
        digest = xxhash.xxh3_64_intdigest
        self._sum = (self._sum + sum(map(digest, _bytes_of(columns)))) & (2**64 - 1)
        self.count += len(columns[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (self.count, self._sum) == (other.count, other._sum)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class _Pair:
    """Two column families that hold the same rows, each in its own form."""

    first: str
    second: str
    of_first: Pick
    of_second: Pick
    what: str
    """What the second has of the first."""

    leaves: bool = False
    """Whether the second rightly has rows of what is in the first no more."""


class Indexes:
    """Compares the column families that an operator keeps the same things in, as they are read."""

    def __init__(self, operator: TransformWithState | None) -> None:
        self._pairs = list(_pairs(operator)) if operator else []
        self._tallies = [(Tally(), Tally()) for _ in self._pairs]

    def add(self, family: str, keys: pa.StructArray, values: pa.Array) -> None:
        for pair, (first, second) in zip(self._pairs, self._tallies, strict=True):
            if family == pair.first:
                first.add(pair.of_first(keys, values))
            if family == pair.second:
                second.add(pair.of_second(keys, values))

    def leave_out(self, family: str) -> None:
        """Compares nothing with a family that was not read whole."""
        compared = [family not in (pair.first, pair.second) for pair in self._pairs]
        self._pairs = list(compress(self._pairs, compared))
        self._tallies = list(compress(self._tallies, compared))

    def contradictions(self) -> Iterator[str]:
        for pair, (first, second) in zip(self._pairs, self._tallies, strict=True):
            if first == second or (pair.leaves and second.count > first.count):
                continue
            found = (
                f"{first.count} and {second.count}"
                if first.count != second.count
                else f"{first.count} each, but not the same"
            )
            yield (
                f"the column families '{pair.first}' and '{pair.second}' do not agree on "
                f"{pair.what}: {found}"
            )


def _pairs(operator: TransformWithState) -> Iterator[_Pair]:
    for variable in operator.variables:
        yield from _of_list(variable) if variable.kind == "list" else _of_values(variable)
    if operator.timers and operator.timers_by_time:
        yield _Pair(
            operator.timers,
            operator.timers_by_time,
            lambda keys, _: [keys.field("key"), keys.field("expiryTimestampMs")],
            lambda keys, _: [keys.field("key"), keys.field("expiryTimestampMs")],
            "timers",
        )


def _of_values(variable: VariableInfo) -> Iterator[_Pair]:
    if variable.ttl:
        yield _Pair(
            variable.name,
            variable.family(TTL_INDEX),
            lambda keys, values: [keys, pc.struct_field(values, [TTL_FIELD])],
            _of_ttl_index,
            "when values expire",
            # Spark's `removeKey` takes an entry out of the map, and leaves it in the index.
            leaves=variable.kind == "map",
        )


def _of_list(variable: VariableInfo) -> Iterator[_Pair]:
    yield _Pair(
        variable.name,
        variable.family(TTL_COUNT if variable.ttl else COUNT),
        lambda keys, lists: [keys, pc.cast(pc.list_value_length(lists), pa.int64())],
        lambda keys, counts: [keys, counts.field(0)],
        "how long lists are",
    )
    if variable.ttl:
        yield _Pair(
            variable.name,
            variable.family(LEAST_EXPIRY),
            lambda keys, lists: [keys, _least_expiry(lists)],
            lambda keys, expiry: [keys, expiry.field(0)],
            "when the next element of a list expires",
        )
        yield _Pair(
            variable.family(LEAST_EXPIRY),
            variable.family(TTL_INDEX),
            lambda keys, expiry: [keys, expiry.field(0)],
            _of_ttl_index,
            "when the next element of a list expires",
        )


def _of_ttl_index(keys: pa.StructArray, _: pa.Array) -> list[pa.Array]:
    return [keys.field("elementKey"), keys.field("expirationMs")]


def _least_expiry(lists: pa.ListArray) -> pa.Array:
    expiry = pc.struct_field(lists.flatten(), [TTL_FIELD]).to_numpy(zero_copy_only=False)
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    starts = np.cumsum(counts) - counts
    least = np.zeros(len(lists), np.int64)
    filled = counts > 0
    least[filled] = np.minimum.reduceat(expiry, starts[filled]) if filled.any() else 0
    return pa.array(least, pa.int64())


def _bytes_of(columns: list[pa.Array]) -> list[bytes]:
    """Each row as bytes, the same for rows of the same values."""
    texts = [_texts(leaf) for column in columns for leaf in _leaves(column)]
    joined = pc.binary_join_element_wise(
        *texts,
        pa.scalar(_BETWEEN, pa.large_binary()),
        null_handling="replace",
        null_replacement="\0",
    )
    found: list[bytes] = joined.to_pylist()
    return found


def _leaves(array: pa.Array) -> list[pa.Array]:
    """The fields of a struct, and of structs in it."""
    if not pa.types.is_struct(array.type):
        return [array]
    return [leaf for child in array.flatten() for leaf in _leaves(child)]


def _texts(leaf: pa.Array) -> pa.Array:
    if pa.types.is_binary(leaf.type) or pa.types.is_string(leaf.type):
        return leaf.cast(pa.large_binary())
    if pa.types.is_nested(leaf.type) or pa.types.is_interval(leaf.type):
        return pa.array(
            [None if v is None else repr(v).encode() for v in python_values(leaf)],
            pa.large_binary(),
        )
    if pa.types.is_temporal(leaf.type):
        # Arrow's own text of a year beyond 32,767 is that of another one.
        leaf = leaf.view(pa.int32() if pa.types.is_date32(leaf.type) else pa.int64())
    return leaf.cast(pa.string()).cast(pa.large_binary())
