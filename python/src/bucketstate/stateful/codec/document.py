"""The stored form of a state: a version beside a JSON document of its fields.

Spark compares the state's schema with the checkpoint's and refuses any change of columns, so a
state kept as columns could never gain a field. The columns here never change; the document names
its fields, so each row says by itself what it holds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pyspark.sql.types import ArrayType, DataType, LongType, StructField, StructType

from bucketstate.stateful.codec.classes import KINDS, is_record, names_of
from bucketstate.stateful.codec.codecs import LEAST, MOST, surrogate_in
from bucketstate.stateful.codec.containers import COMPOUND
from bucketstate.stateful.codec.ddl import parse_ddl, struct_of_schema
from bucketstate.stateful.codec.defaults import check_default, fresh_default, has_default
from bucketstate.stateful.codec.evolution import Evolution, evolution_of
from bucketstate.stateful.codec.hints import (
    checked_fields,
    codec_of_hint,
    hints_of_record,
)
from bucketstate.stateful.codec.json_text import decode, encode
from bucketstate.stateful.codec.noticed import NOTICED
from bucketstate.stateful.codec.parts import TTL, Held, ListState, MapState, Ttl, ValueState
from bucketstate.stateful.codec.raw_bytes import BYTES, Places
from bucketstate.stateful.codec.structs import Field, StructCodec
from bucketstate.stateful.errors import (
    NOTHING,
    DefinitionError,
    MigrationError,
    MismatchError,
    RenamedFieldWarning,
    UnreadableError,
    WrongTypeError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import tzinfo

    from bucketstate.stateful.codec.codecs import Codec
    from bucketstate.stateful.codec.noticed import Renamed
    from bucketstate.stateful.codec.parts import Part


@dataclass(frozen=True, slots=True)
class Clock:
    """The batch's clocks, in milliseconds since the epoch.

    `watermark` is None where the query has none, and 0 before the first one.
    """

    now: int
    watermark: int | None

    def expiry(self, ttl: Ttl) -> int | None:
        """When a value that is set now expires; None while there is nothing to count from."""
        now = self.now if ttl.time == "processing" else self.watermark
        return None if ttl.time == "event" and not now else (now or 0) + ttl.millis

    def expired(self, ttl: Ttl, expires: int | None) -> bool:
        now = self.now if ttl.time == "processing" else self.watermark
        return expires is not None and now is not None and expires <= now


class PartCodec:
    """A part's values, each with the time it expires at."""

    def __init__(self, kind: type[Any], key: Codec | None, value: Codec, ttl: Ttl | None) -> None:
        self.kind = kind
        self.ttl = ttl
        self.expected = f"a {kind.__name__}"
        self._key = key
        self._value = value

    @property
    def stored(self) -> DataType:
        item = StructType()
        if self._key is not None:
            item = item.add("key", self._key.stored)
        item = item.add("value", self._value.stored).add("expires", LongType())
        return ArrayType(item)

    def dump(self, part: Any, clock: Clock, *, moved: bool = False) -> list[dict[str, Any]]:
        """Its values; in a part that was `moved` from another field their time begins again."""
        made = []
        for n, (key, held) in enumerate(self._items(part)):
            item: dict[str, Any] = {}
            try:
                if self._key is not None:
                    item["key"] = self._key.dump(_canonical(key))
                item["value"] = self._value.dump(held.value)
            except MismatchError as e:
                raise e.under(f"[{n if self._key is None else repr(key)}]") from None
            if self.ttl is not None:
                expires = None if moved else held.expires
                expires = clock.expiry(self.ttl) if expires is None else expires
                if expires is not None:
                    item["expires"] = expires
            made.append(item)
        return made

    def load(self, stored: Any, clock: Clock) -> Any:
        if not isinstance(stored, list) or not all(isinstance(i, dict) for i in stored):
            raise MismatchError(self.expected, stored)
        part = self.kind()
        held = []
        for n, item in enumerate(stored):
            expires = item.get("expires")
            if self.ttl is not None and clock.expired(self.ttl, expires):
                continue
            try:
                key = None if self._key is None else self._key.load(item.get("key"))
                held.append((key, Held(self._value.load(item.get("value")), expires)))
            except MismatchError as e:
                raise e.under(f"[{n}]") from None
        if self.kind is MapState:
            part._held = dict(held)
        elif self.kind is ListState:
            part._held = [h for _, h in held]
        else:
            part._held = held[0][1] if held else None
        return part

    def check(self, part: Any) -> Any:
        """What the part holds, as Spark takes it: a list, a dict, one value or None."""
        check = self._value.check
        if self.kind is ValueState:
            return check(part.get()) if part.exists() else None
        if self.kind is ListState:
            return [check(value) for value in part.get()]
        assert self._key is not None
        return {self._key.check(key): check(value) for key, value in part.iterator()}

    def inner_codecs(self) -> Iterable[tuple[str, Codec]]:
        """The codecs within it, as a codec gives them."""
        keys = [] if self._key is None else [("[].key", self._key)]
        return [*keys, ("[].value", self._value)]

    def cell(self, given: Any) -> Any:
        """A part of a column's cell: its value, its values, or a map of them."""
        if given is None:
            return self.kind()
        if self.kind is MapState:
            assert self._key is not None
            key, value = self._key.cell, self._value.cell
            return MapState({key(k): value(v) for k, v in dict(given).items()})
        if self.kind is ListState:
            return ListState([self._value.cell(v) for v in given])
        return ValueState(self._value.cell(given))

    def encode(self, value: Any) -> str:
        """One value as the text of its own that a state variable holds."""
        return _text(self._value.dump(value))

    def decode(self, text: str) -> Any:
        value = self._value.load(decode(text))
        if NOTICED.older:
            for renamed in NOTICED.take():
                _warn(
                    renamed,
                    "no migration gets the values of a part that is a variable of its own, so "
                    "give the field its old name. If not, there is nothing to do.",
                )
        return value

    def check_key(self, key: Any) -> None:
        """MismatchError for a key that `encode_key` would refuse."""
        assert self._key is not None
        exact = self._key.exact
        # Most keys are one of these, and are looked up far more often than written.
        if type(key) is exact and (
            (exact is str and key.isascii()) or (exact is int and LEAST <= key <= MOST)
        ):
            return
        self.encode_key(key)

    def encode_key(self, key: Any) -> str:
        """A map's key as text: the same for keys that are equal."""
        assert self._key is not None
        return _text(self._key.dump(_canonical(key)))

    def decode_key(self, text: str) -> Any:
        assert self._key is not None
        return self._key.load(decode(text))

    def _items(self, part: Any) -> list[tuple[Any, Held[Any]]]:
        if self.kind is MapState:
            return list(part._held.items())
        if self.kind is ListState:
            return [(None, h) for h in part._held]
        return [] if part._held is None else [(None, part._held)]


class StateCodec:
    """A state class: its fields, its parts, its version."""

    def __init__(
        self, struct: StructCodec, parts: dict[str, PartCodec], evolution: Evolution
    ) -> None:
        self.cls = struct.cls
        self.name = struct.cls.__name__
        self.evolution = evolution
        self.parts = parts
        by_event = [n for n, p in parts.items() if p.ttl and p.ttl.time == "event"]
        self.maps = {n: p for n, p in parts.items() if p.kind is MapState}
        self.event_time_part = by_event[0] if by_event else None
        """The name of a part that needs a watermark, if there is one."""
        self._struct = struct
        self._names = frozenset(struct.names) | parts.keys()
        self._order = (*struct.names, *parts)
        of_parts = [
            (f"{name}.{step}", codec)
            for name, part in parts.items()
            for step, codec in part.inner_codecs()
        ]
        self._places = Places([*((f.name, f.codec) for f in struct.fields), *of_parts])

    @property
    def stored(self) -> StructType:
        """The type of the document, for Spark's `from_json`."""
        plain = {f.name: f.codec.stored for f in self._struct.fields}
        every = {**plain, **{n: p.stored for n, p in self.parts.items()}}
        return StructType([StructField(n, every[n], True) for n in names_of(self.cls)])

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that are not parts."""
        return self._struct.fields

    @property
    def columns(self) -> StructType:
        """The type of a value's fields as Spark has them, without the parts."""
        return self._struct.schema

    def row(self, value: Any) -> tuple[Any, ...]:
        """A value's fields as Spark takes them, in the order of `columns`."""
        return self._struct.row(value)

    def new(self, beside: Mapping[str, Part] | None = None) -> Any:
        """A default-constructed value. MismatchError names a field that has no default.

        `beside` are the parts of a state that keeps them outside its document, here and below.
        """
        for field in self._struct.fields:
            if field.required:
                raise MismatchError("a default", None, field.name)
        parts = beside or {n: p.kind() for n, p in self.parts.items()}
        return self.cls(**self._struct.with_fresh(dict(parts)))

    def value_of(self, value: Any) -> Any:
        """An instance of the class, or one made from a mapping of fields."""
        if isinstance(value, self.cls):
            return value
        if not isinstance(value, dict):
            raise MismatchError(f"a {self.name} or a dict of its fields", value)
        if value.keys() - self._names:
            raise MismatchError(f"the fields of {self.name}", value)
        if absent := sorted(self._names - value.keys()):
            raise MismatchError(
                "all fields, as a dict takes the place of the whole state",
                NOTHING,
                absent[0],
                advice="Give them all, or set attributes of state.value.",
            )
        return self._struct.make(**value)

    def cell(self, given: Any) -> Any:
        """A value of the fields that a row has, as Spark and Arrow have them."""
        arguments = self._struct.given(given)
        for name, part in self.parts.items():
            try:
                arguments[name] = part.cell(given.get(name))
            except MismatchError as e:
                raise e.under(name) from None
        return self.cls(**self._struct.with_fresh(arguments))

    def dump(self, value: Any, clock: Clock, beside: Mapping[str, Part] | None = None) -> str:
        document = self._struct.dump(value)
        if self._places.bytes:
            document = {BYTES: self._places.bytes} | document
        for name, part in self.parts.items():
            found = getattr(value, name)
            if not isinstance(found, part.kind):
                raise MismatchError(part.expected, found, name)
            if beside is not None:
                continue
            try:
                document[name] = part.dump(found, clock, moved=found._field not in (None, name))
            except MismatchError as e:
                raise e.under(name) from None
        return _text(document)

    def load(
        self, text: str, version: int, clock: Clock, beside: Mapping[str, Part] | None = None
    ) -> Any:
        """The stored value in today's class; MismatchError or UnreadableError without a way."""
        return self.read(text, version, clock, beside)[0]

    def read(
        self, text: str, version: int, clock: Clock, beside: Mapping[str, Part] | None = None
    ) -> tuple[Any, bool]:
        """What `load` gives, and whether `dump` would write it otherwise as the class has changed.

        Where something has expired, the state itself is another one.
        """
        if NOTICED.older:
            # A reading that failed has left it.
            NOTICED.take()
        document = decode(text)
        marked = document.pop(BYTES, ())
        today = version == self.evolution.version
        older = not today and self.evolution.changes(version)
        if marked or self._places.bytes:
            if not older:
                self._places.check(document, marked, () if beside is None else beside.keys())
            older = older or marked != self._places.bytes
        if not today:
            document = self._migrated(document, version)
        names = self._order if beside is None else self._struct.names
        if tuple(document) != names:
            NOTICED.names(self.name, document, names)
        arguments = self._struct.arguments(document)
        if beside is None:
            for name, part in self.parts.items():
                try:
                    arguments[name] = part.load(document.get(name, []), clock)
                except MismatchError as e:
                    raise e.under(name) from None
                arguments[name]._field = name
        else:
            arguments |= beside
        value = self._struct.make(**arguments)
        if NOTICED.older:
            older = True
            for renamed in NOTICED.take():
                if today:
                    self._warn(renamed)
        return value, older and (beside is not None or not self._expired(document, arguments))

    def unreadable(
        self, key: Any, version: int, e: MismatchError | UnreadableError
    ) -> MigrationError:
        """The error for a stored state that the class cannot take; `version` wrote it."""
        where = f"The state of {key!r} cannot be read as {self.name}: "
        if isinstance(e, UnreadableError):
            return MigrationError(f"{where}{e}")
        advice = e.advice or (
            "Give the field a type that takes it, or a default, or raise the version of "
            f"{self.name} and add a migration from {version}."
        )
        return MigrationError(
            f"{where}{e.place} holds {e.found_text}, expected {e.expected}. It was written by "
            f"version {version}, this is version {self.evolution.version}. {advice}"
        )

    def unfit(self, key: Any, e: MismatchError) -> WrongTypeError:
        """The error for a value that does not fit the class."""
        return WrongTypeError(
            f"The state of {key!r}: {e.place} of {self.name} is {e.found_text}, expected "
            f"{e.expected}. "
            + (e.advice or "Convert it in the function, or change the field's type.")
        )

    def _expired(self, document: dict[str, Any], parts: dict[str, Any]) -> bool:
        """Whether a part in the document has values that are not among what was read of it."""
        return any(
            len(p._items(parts[n])) < len(document.get(n, ())) for n, p in self.parts.items()
        )

    def _warn(self, renamed: Renamed) -> None:
        version = self.evolution.version
        _warn(
            renamed,
            f"use @stateful.state(version={version + 1}, migrations={{{version}: ...}}) on "
            f"{self.name} to take them over. If not, raise the version alone.",
        )

    def _migrated(self, document: dict[str, Any], version: int) -> dict[str, Any]:
        if version > self.evolution.version:
            raise UnreadableError(
                f"it was written by version {version} of {self.name}, and this code knows versions "
                f"up to {self.evolution.version}. Run the newer code."
            )
        for step in range(version, self.evolution.version):
            migrate = self.evolution.migrations.get(step)
            if migrate is None:
                continue
            try:
                document = migrate(document)
            except Exception as e:
                raise UnreadableError(
                    f"migrations[{step}] failed with {type(e).__name__}: {e}. It gets the fields "
                    f"as version {step} stored them."
                ) from e
            if not isinstance(document, dict):
                raise UnreadableError(
                    f"migrations[{step}] of {self.name} returned a {type(document).__name__} where "
                    f"the dict of the fields of version {step + 1} is expected. Return that."
                )
        return document


def _text(value: Any) -> str:
    """JSON as Spark stores it, which is in UTF-8; MismatchError for what that has not."""
    made = encode(value)
    if (odd := surrogate_in(made)) is not None:
        raise odd
    return made


def _warn(renamed: Renamed, advice: str) -> None:
    """Warns that a field went and another came.

    What is stored of a field that was renamed is lost when the state is next written.
    """
    warnings.warn(
        f"{renamed.owner} has no field {renamed.gone}, which stored states have, and new is "
        f"{renamed.new}. If that is a new name, the values are lost: {advice}",
        RenamedFieldWarning,
        stacklevel=2,
    )


def _canonical(key: Any) -> Any:
    """One of all the keys that are equal to this one."""
    if isinstance(key, Decimal) and key.is_finite():
        with localcontext(prec=80):
            return key.normalize() + 0
    if isinstance(key, float):
        if key != key:
            raise MismatchError("a key that is equal to itself", key)
        return key + 0.0
    return key


def state_codec(state: Any, zone: tzinfo) -> StateCodec:
    """The codec of a state class, a DDL text or a StructType."""
    if isinstance(state, str):
        state = parse_ddl(state)
    if isinstance(state, StructType):
        return StateCodec(struct_of_schema(state, "State", zone), {}, Evolution())
    if not is_record(state):
        raise DefinitionError(
            f"The state is {state!r}: it must be {KINDS}, a DDL text or a StructType."
        )
    hints = hints_of_record(state)
    plain, parts = [], {}
    for field in checked_fields(state):
        hint, where = hints[field.name], f"{state.__name__}.{field.name}"
        part = _part(hint, where, zone, field.metadata.get(TTL))
        if part is not None:
            parts[field.name] = part
        else:
            codec = codec_of_hint(hint, where, zone, (state,))
            check_default(field, codec, where)
            required, fresh = not has_default(field), fresh_default(field)
            plain.append(Field(field.name, codec, required=required, fresh=fresh))
    return StateCodec(StructCodec(state, plain), parts, evolution_of(state))


def _part(hint: Any, where: str, zone: tzinfo, ttl: Ttl | None) -> PartCodec | None:
    kind = get_origin(hint) or hint
    if kind not in (ValueState, ListState, MapState):
        if ttl is not None:
            raise DefinitionError(
                f"{where} has a time to live, but is not a part: annotate it as ValueState[X], "
                "ListState[X] or MapState[K, V]."
            )
        return None
    arguments = get_args(hint)
    if len(arguments) != (2 if kind is MapState else 1):
        example = "MapState[str, int]" if kind is MapState else f"{kind.__name__}[int]"
        raise DefinitionError(f"{where} does not say what it holds: write for example {example}.")
    codecs = [codec_of_hint(a, where, zone) for a in arguments]
    if kind is MapState and isinstance(codecs[0], COMPOUND):
        raise DefinitionError(f"{where}: a map's key must be a plain value, such as str or int.")
    return PartCodec(kind, codecs[0] if kind is MapState else None, codecs[-1], ttl)
