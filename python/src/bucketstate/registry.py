"""The settings and metrics of the provider, as its Scala registry exported them.

`settings.json` is generated (`make generate`) and never edited by hand: keys, types, defaults and
bounds have one home, the Scala registry.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from bucketstate.errors import InvalidSettingError

Value = int | str | bool

_WHOLE_NUMBERS = {
    "int": "a whole number",
    "millis": "a whole number of milliseconds",
    "bytes": "a whole number of bytes, or a text such as '64m',",
}
_BYTES = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)


@dataclass(frozen=True)
class Setting:
    """One setting: how it is called, and what it may be."""

    name: str
    key: str
    type: str
    default: Value
    min: int | None
    max: int | None
    values: tuple[str, ...] | None
    doc: str

    @property
    def field(self) -> str:
        """The name in Python: `snapshot.maxBytes` is `snapshot_max_bytes`."""
        return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", self.name.replace(".", "_")).lower()

    @property
    def allowed(self) -> str:
        if self.values is not None:
            return ("one of " if len(self.values) > 1 else "") + ", ".join(map(repr, self.values))
        if self.type in _WHOLE_NUMBERS:
            low = "" if self.min is None else f" from {self.min}"
            high = "" if self.max is None else f" to {self.max}"
            return f"{_WHOLE_NUMBERS[self.type]}{low}{high}"
        if self.type == "boolean":
            return "true or false"
        return f"a {self.type}"

    def parse(self, text: str) -> Value:
        """The value that a configuration file or a Spark session holds as text."""
        if self.type == "bytes" and not text.strip().isdecimal():
            return self.check(text.strip())
        if self.type in _WHOLE_NUMBERS:
            try:
                return self.check(int(text.strip()))
            except ValueError:
                raise self._refusal(text) from None
        if self.type == "boolean":
            if text.strip().lower() not in ("true", "false"):
                raise self._refusal(text)
            return text.strip().lower() == "true"
        return self.check(text.strip())

    def check(self, value: object) -> Value:
        """The value itself if it is allowed, else an error that says what is."""
        match self.type:
            case "bytes" if isinstance(value, str):
                self.check(self._bytes(value))
                return value
            case "int" | "millis" | "bytes" if isinstance(value, int) and not isinstance(
                value, bool
            ):
                too_low = self.min is not None and value < self.min
                too_high = self.max is not None and value > self.max
                if not (too_low or too_high):
                    return value
            case "boolean" if isinstance(value, bool):
                return value
            case "enum" if isinstance(value, str) and value in (self.values or ()):
                return value
            case "string" if isinstance(value, str) and value:
                return value
        raise self._refusal(value)

    def _bytes(self, text: str) -> int:
        """Spark's way to write bytes: suffixes are powers of 1024."""
        found = _BYTES.fullmatch(text.strip())
        if found is None:
            raise self._refusal(text)
        return int(found[1]) << (10 * " kmgt".index(found[2].lower() or " "))

    def _refusal(self, value: object) -> InvalidSettingError:
        return InvalidSettingError(f"{self.key} is {value!r}: it must be {self.allowed}.")


@dataclass(frozen=True)
class Metric:
    """One custom metric that the provider reports in `StreamingQueryProgress.stateOperators`."""

    name: str
    kind: str
    doc: str


@dataclass(frozen=True)
class Registry:
    prefix: str
    settings: tuple[Setting, ...]
    metrics: tuple[Metric, ...]

    def by_field(self, field: str) -> Setting:
        return next(s for s in self.settings if s.field == field)

    def by_key(self, key: str) -> Setting:
        """The setting of a full key; an unknown one is an error that names the nearest."""
        for setting in self.settings:
            if setting.key == key:
                return setting
        keys = {s.name.lower(): s.key for s in self.settings}
        name = key[len(self.prefix) :].lower()
        near = get_close_matches(name, keys, n=1, cutoff=0.0)
        raise InvalidSettingError(
            f"{key} is not a setting of bucketstate: did you mean {keys[near[0]]}? "
            f"Known are {', '.join(s.key for s in self.settings)}."
        )


def parse_registry(text: str) -> Registry:
    raw: dict[str, Any] = json.loads(text)
    return Registry(
        prefix=raw["prefix"],
        settings=tuple(_setting(s) for s in raw["settings"]),
        metrics=tuple(Metric(m["name"], m["kind"], m["doc"]) for m in raw["metrics"]),
    )


@cache
def registry() -> Registry:
    """The registry that came with this package."""
    text = files("bucketstate").joinpath("settings.json").read_text(encoding="utf-8")
    return parse_registry(text)


def _setting(raw: dict[str, Any]) -> Setting:
    known = (*_WHOLE_NUMBERS, "enum", "boolean", "string")
    if raw["type"] not in known:
        raise ValueError(f"settings.json: {raw['name']} has type {raw['type']}, not one of {known}")
    default = raw["default"]
    if raw["type"] in _WHOLE_NUMBERS and raw["type"] != "bytes":
        default = int(default)
    elif raw["type"] == "boolean":
        default = default == "true"
    return Setting(
        name=raw["name"],
        key=raw["key"],
        type=raw["type"],
        default=default,
        min=raw.get("min"),
        max=raw.get("max"),
        values=None if raw.get("values") is None else tuple(raw["values"]),
        doc=raw["doc"],
    )
