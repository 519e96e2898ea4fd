"""The settings and metrics of the provider, as its Scala registry exported them.

`settings.json` is generated (`make generate`) and never edited by hand: keys, types, defaults and
bounds have one home, the Scala registry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast, get_args

from bucketstate.errors import InvalidSettingError
from bucketstate.kinds import Kind, Named, Value, kind_of, plain
from bucketstate.scopes import Scope

_NATIVE = "rocksdb.options"
"""The setting whose names are those of RocksDB's own options."""


def _words(name: str) -> str:
    """A name in Java's case as one of Python."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace(".", "_")).lower()


@dataclass(frozen=True)
class Setting:
    """One setting: how it is called, and what it may be.

    `per_query` says whether it can be given for one query or operator alone.
    """

    name: str
    key: str
    kind: Kind
    default: Value
    doc: str
    per_query: bool = False

    @property
    def field(self) -> str:
        """The name in Python: `snapshot.maxBytes` is `snapshot_max_bytes`."""
        return _words(self.name)

    @property
    def shown(self) -> tuple[str, ...]:
        """The keys that can be set: this one, or the forms of those below it."""
        if isinstance(self.kind, Named):
            return tuple(f"{self.key}.{group}.<name>" for group in self.kind.groups)
        return (self.key,)

    def to_spark(self, value: Value) -> dict[str, str]:
        """The value as Spark wants it, each text under its key."""
        if isinstance(value, tuple):
            return {f"{self.key}.{name}": text for name, text in value}
        return {self.key: str(value)}

    def parse(self, text: str) -> Value:
        """The value that a configuration file or a Spark session holds as text.

        Raises InvalidSettingError if it is not allowed.
        """
        value = self.kind.parse(self.text(text))
        if not self.kind.allows(value):
            raise self._refusal(text)
        return value

    def text(self, given: object) -> str:
        """A text without blanks around it. InvalidSettingError for what is none."""
        if not isinstance(given, str):
            raise self._refusal(given)
        return given.strip()

    def checked(self, value: object) -> Value:
        """The value as it is kept: a `timedelta` becomes its text, or a number of milliseconds.

        Raises InvalidSettingError, which says what is allowed, if this is not.
        """
        kept = plain(value, self.kind)
        if not self.kind.allows(kept):
            raise self._refusal(value)
        if self.name == _NATIVE and isinstance(kept, tuple):
            for name, text in kept:
                if (wrong := native_options().problem(f"{self.key}.", name)) is not None:
                    raise InvalidSettingError(f"{self.key}.{name} is {text!r}: {wrong}")
        return cast(Value, kept)

    def _refusal(self, value: object) -> InvalidSettingError:
        return InvalidSettingError(f"{self.key} is {value!r}: it must be {self.kind.allowed}.")


@dataclass(frozen=True)
class NativeOptions:
    """The options of RocksDB that can be given, as `rocksdb_options.json` has them."""

    known: tuple[str, ...]
    """Those of each group, with its name in front: `cf.block_size`."""
    refused: Mapping[str, str]
    """Why others cannot be given."""

    def problem(self, prefix: str, name: str) -> str | None:
        """Why an option of that name cannot be given, and what to do; None if it can.

        `prefix` stands before it in the key.
        """
        if name in self.known:
            return None
        if name in self.refused:
            return f"{self.refused[name]}. Remove it."
        # A right name in the other group is nearer than any other name.
        option = name.partition(".")[2]
        near = [known for known in self.known if known.partition(".")[2] == option]
        near = near or get_close_matches(name, self.known, n=1, cutoff=0.0)
        return f"RocksDB has no such option. Did you mean {prefix}{near[0]}?"


MetricType = Literal["counter", "gauge"]


@dataclass(frozen=True)
class Metric:
    """One custom metric that the provider reports in `StreamingQueryProgress.stateOperators`.

    `type` says how its values go together over batches: those of a counter add up, of a gauge the
    last one counts, or the highest. `kind` is what Spark adds up over the partitions: "sum" for a
    number of things, "size" for bytes, "timing" for milliseconds. `over` is what the plugin makes
    of those of an operator's partitions: "sum", or "highest" where a sum says nothing. `prometheus`
    is its name for Prometheus, where times are in seconds.
    """

    name: str
    type: MetricType
    kind: str
    doc: str
    over: str
    prometheus: str


@dataclass(frozen=True)
class Registry:
    prefix: str
    settings: tuple[Setting, ...]
    plugin: tuple[Setting, ...]
    """Settings of the application, which the plugin reads once."""
    metrics: tuple[Metric, ...]

    def by_field(self, field: str) -> Setting:
        """The setting of a field of `Conf`. An unknown one is an error that names the nearest."""
        known = {s.field: s for s in self.settings}
        if field in known:
            return known[field]
        near = get_close_matches(_words(field), known, n=1, cutoff=0.0)
        raise InvalidSettingError(
            f"{field} is not a setting of bucketstate: did you mean {near[0]}? Known are "
            f"{', '.join(known)}."
        )

    def by_key(self, key: str) -> tuple[Setting, Scope]:
        """The setting of a full key, and whom it is for.

        A key below a setting of many names is of that setting. An unknown key is an error that
        names the nearest.
        """
        for setting in self.settings:
            below = key.startswith(setting.key + ".")
            if isinstance(setting.kind, Named):
                if below:
                    return setting, Scope()
            elif setting.key == key or (setting.per_query and below):
                return setting, self._scope(setting, key)
        keys = {s.name.lower(): " or ".join(s.shown) for s in self.settings}
        name = key[len(self.prefix) :].lower()
        near = get_close_matches(name, keys, n=1, cutoff=0.0)
        raise InvalidSettingError(
            f"{key} is not a setting of bucketstate: did you mean {keys[near[0]]}? "
            f"Known are {', '.join(key for s in self.settings for key in s.shown)}."
        )

    def _scope(self, setting: Setting, key: str) -> Scope:
        try:
            return Scope.parse(key[len(setting.key) :])
        except ValueError as error:
            raise InvalidSettingError(
                f"{key} is not a setting of bucketstate: {error}. Behind {setting.key} may stand "
                ".query.<name>, .operator.<number>, or one after the other."
            ) from error


def parse_registry(text: str) -> Registry:
    """The registry in the words of `settings.json`. ValueError for a type that is not known."""
    raw: dict[str, Any] = json.loads(text)
    return Registry(
        prefix=raw["prefix"],
        settings=tuple(_setting(s) for s in raw["settings"]),
        plugin=tuple(_setting(s) for s in raw["plugin"]),
        metrics=tuple(map(_metric, raw["metrics"])),
    )


@cache
def native_options() -> NativeOptions:
    """The options of the RocksDB that comes with Spark."""
    text = files("bucketstate").joinpath("rocksdb_options.json").read_text(encoding="utf-8")
    raw: dict[str, Any] = json.loads(text)
    refused = raw.pop("refused")
    known = (f"{group}.{name}" for group, names in raw.items() for name in names)
    return NativeOptions(tuple(known), refused)


@cache
def registry() -> Registry:
    """The registry that came with this package."""
    text = files("bucketstate").joinpath("settings.json").read_text(encoding="utf-8")
    return parse_registry(text)


def _setting(raw: dict[str, Any]) -> Setting:
    kind = kind_of(raw)
    default = kind.parse(raw["default"])
    per_query = raw.get("perQuery", False)
    return Setting(raw["name"], raw["key"], kind, default, raw["doc"], per_query)


def _metric(raw: dict[str, Any]) -> Metric:
    if raw["type"] not in get_args(MetricType):
        raise ValueError(
            f"settings.json: the metric {raw['name']} has the type {raw['type']}, which is none of "
            f"{', '.join(get_args(MetricType))}: bucketstate.registry has to learn it."
        )
    named = (raw[key] for key in ("name", "type", "kind", "doc", "over", "prometheus"))
    return Metric(*named)
