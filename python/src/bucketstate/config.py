"""The provider's settings as one immutable, checked value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

from bucketstate.errors import InvalidSettingError
from bucketstate.kinds import Duration, Named, Value, pairs_of
from bucketstate.notebook import table
from bucketstate.presets import PRESETS, PresetName
from bucketstate.registry import Setting, registry
from bucketstate.scopes import Scope
from bucketstate.settings import Settings

PROVIDER_CLASS = "io.bucketstate.BucketedStateStoreProvider"
"""The provider, for `spark.sql.streaming.stateStore.providerClass`."""

PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
PLUGIN_CLASS = "io.bucketstate.BucketstatePlugin"
"""What turns everything on, for `spark.plugins`: provider, session extension, metrics."""

PLUGINS_KEY = "spark.plugins"
EXTENSION_CLASS = "io.bucketstate.BucketstateExtensions"
"""The session extension that `transformWithState` needs, for `spark.sql.extensions`."""

EXTENSIONS_KEY = "spark.sql.extensions"
PARTITIONS_KEY = "spark.sql.shuffle.partitions"
"""How many partitions stateful operators with keys have; Spark records it with each batch."""

_MOST_SPANS = 4000
"""Into so many spans the time after which state expires can be divided."""


@dataclass(frozen=True, kw_only=True)
class Conf(Settings):
    """Settings of the provider, as one checked value.

    Only what is given is set: a field that is None leaves the setting to whoever has set it (the
    builder, `spark-defaults.conf`, `--conf`, the session), or else to the provider's default.

    A time may be given as a `timedelta`; it is kept as a text of seconds, or as a number where the
    setting is one of milliseconds. Options by name may be given as a dict; they are kept as pairs
    in the order of their names. It cannot change, so any number of threads may use one.

    Raises:
        InvalidSettingError: a value is not allowed, or not beside another one.
    """

    per_query: tuple[tuple[str, Value], ...] = ()
    """What is otherwise for some queries: keys with their values, made by `for_query`."""

    others: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    """Settings of Spark's own that go with these, such as those of a preset: keys with texts."""

    if not TYPE_CHECKING:

        def __new__(cls, *given: object, **settings: object) -> Self:
            """Refuses names that are none. Type checkers know them by the fields."""
            if given:
                raise InvalidSettingError(
                    f"Conf was given {given[0]!r} without a name: give settings by name, such as "
                    "Conf(num_buckets=64). Conf.from_spark takes settings by Spark's keys."
                )
            for name in settings.keys() - {f.name for f in fields(cls)}:
                registry().by_field(name)
            return object.__new__(cls)

    def __post_init__(self) -> None:
        for field, value in self._given().items():
            self._keep(field, registry().by_field(field).checked(value))
        if not isinstance(self.per_query, tuple) or not all(map(_is_of_key, self.per_query)):
            raise InvalidSettingError(
                f"per_query is {self.per_query!r}: leave it to for_query, which makes it."
            )
        given = {key: _narrowed(key).checked(value) for key, value in self.per_query}
        # In one order, so that the same settings are equal.
        self._keep("per_query", tuple(sorted(given.items())))
        self._keep("others", _of_spark(self.others))
        self._check_spans()

    def __repr__(self) -> str:
        # What is not given is left to others, and is not worth a line of thirty times None.
        given = {field: value for field, value in self._given().items() if value != ()}
        given |= {n: v for n in ("per_query", "others") if (v := getattr(self, n))}
        return f"Conf({', '.join(f'{field}={value!r}' for field, value in given.items())})"

    @classmethod
    def defaults(cls) -> Self:
        """Every setting, given as the provider's default.

        `numBuckets` is among them: a query on a checkpoint with another number does not start with
        these. `Conf()` gives nothing, and leaves each setting as it is.
        """
        every: dict[str, Any] = {s.field: s.default for s in registry().settings}
        return cls(**every)

    @classmethod
    def preset(cls, name: PresetName, **settings: Any) -> Self:
        """The settings for a purpose, as given ones: they win over what the session has.

            Conf.preset("large-state", num_buckets=1024)

        Args:
            name: one of those that `bucketstate conf --help` lists.
            settings: by their names as fields of `Conf`; they win over the preset's.

        Raises:
            InvalidSettingError: the name is not known, or a value is not allowed.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise InvalidSettingError(
                f"There is no preset {name!r}: it must be one of {', '.join(map(repr, PRESETS))}."
            )
        found = PRESETS[name]
        given = {"others": found.others()} | settings
        return replace(cls.from_spark(found.to_spark()), **given)

    def for_query(
        self, query: str | None = None, *, operator: int | None = None, **settings: Any
    ) -> Self:
        """A copy with other values of some settings for one query or stateful operator.

            Conf(time_bucket_expire_after="30d").for_query(
                "sessions", operator=0, time_bucket_expire_after="12h"
            )

        What is said for an operator of a query comes first, then what is said for the query, then
        for the operator of any query, then what is said for all.

        Args:
            query: the query's name (`queryName`); any query without.
            operator: Spark's number of the stateful operator in its query; all of them without.
            settings: by their names as fields of `Conf`.

        Raises:
            InvalidSettingError: neither a query nor an operator is given, a setting cannot be given
                for one query, or a value is not allowed.
        """
        scope = _scope(query, operator)
        given = {_per_query(field).key + scope.suffix: value for field, value in settings.items()}
        return replace(self, per_query=tuple((dict(self.per_query) | given).items()))

    def to_spark(self) -> dict[str, str]:
        """What is given, as a session may be told at any time, with the one of the provider.

        What has to be there when Spark starts is in `bucketstate.spark_settings` besides.
        """
        texts: dict[str, str] = {}
        for field, value in self._given().items():
            texts |= registry().by_field(field).to_spark(value)
        texts |= {key: str(value) for key, value in self.per_query}
        return {PROVIDER_KEY: PROVIDER_CLASS, **texts, **dict(self.others)}

    @classmethod
    def from_spark(cls, settings: Mapping[str, str]) -> Self:
        """What of a session's settings is the provider's; keys of others are ignored.

        Raises:
            InvalidSettingError: a key below the provider's prefix is not known, its value is not
                allowed, or what is given is no mapping of texts.
        """
        if not isinstance(settings, Mapping) or not all(isinstance(k, str) for k in settings):
            raise InvalidSettingError(
                f"The settings are {settings!r}: give texts by Spark's keys, such as "
                f"{{'{registry().prefix}numBuckets': '64'}}."
            )
        known = registry()
        everywhere: dict[str, Any] = {}
        per_query: dict[str, Value] = {}
        for key in (k for k in settings if k.lower().startswith(known.prefix.lower())):
            setting, scope = known.by_key(key)
            if isinstance(setting.kind, Named):
                name = key[len(setting.key) + 1 :]
                everywhere.setdefault(setting.field, {})[name] = setting.text(settings[key])
                continue
            value = setting.parse(settings[key])
            if scope == Scope():
                everywhere[setting.field] = value
            else:
                per_query[key] = value
        return cls(**everywhere, per_query=tuple(per_query.items()))

    def _repr_html_(self) -> str:
        return table("Conf", ["setting", "value"], self.to_spark().items())

    def _given(self) -> dict[str, Any]:
        """What is given for all queries, by field."""
        values = {field.name: getattr(self, field.name) for field in fields(Settings)}
        return {field: value for field, value in values.items() if value is not None}

    def _check_spans(self) -> None:
        """InvalidSettingError for a span of which a task would say that it cannot be.

        Looked up as tasks do it, for each query and operator that is named, and for the others.
        """
        span, after = (
            registry().by_field(f) for f in ("time_bucket_span", "time_bucket_expire_after")
        )
        everywhere = {s.key: getattr(self, s.field) for s in (span, after)}
        given = {k: v for k, v in (everywhere | dict(self.per_query)).items() if v is not None}
        for scope in _met(key[len(s.key) :] for key in given for s in (span, after) if _of(s, key)):
            keys = [_nearest(s, scope, given) for s in (span, after)]
            each, most = (Duration.seconds(given.get(key)) for key in keys)
            if each is None or most is None or each <= most <= each * _MOST_SPANS:
                continue
            wrong = "longer than" if each > most else f"less than one in {_MOST_SPANS} of"
            # Where neither of them names the one that has both.
            own = {s.key + scope.suffix for s in (span, after)} & set(keys)
            whom = "" if own else f" for operator {scope.operator} of query {scope.query!r}"
            raise InvalidSettingError(
                f"{keys[0]} is {given[keys[0]]!r}, which is {wrong} {keys[1]}={given[keys[1]]!r}"
                f"{whom}: state expires by whole spans, so make it a small part of that time, or "
                "leave it out."
            )

    def _keep(self, field: str, value: object) -> None:
        # It is frozen for everybody else.
        object.__setattr__(self, field, value)


def _of(setting: Setting, key: str) -> bool:
    return key == setting.key or key.startswith(setting.key + ".")


def _met(suffixes: Iterable[str]) -> list[Scope]:
    """All whom keys with these suffixes are for: also an operator by itself of a query by itself.

    The wider ones come first.
    """
    scopes = [Scope.parse(suffix) for suffix in suffixes]
    queries = {scope.query for scope in scopes} | {None}
    operators = {scope.operator for scope in scopes} | {None}
    met = (Scope(query, operator) for query in queries for operator in operators)
    return sorted(met, key=lambda scope: scope.suffix)


def _nearest(setting: Setting, scope: Scope, given: Mapping[str, Value]) -> str:
    """The key of a setting that counts for a scope, or the one for all if none does."""
    keys = (setting.key + wider.suffix for wider in scope.wider)
    return next((key for key in keys if key in given), setting.key)


def _scope(query: str | None, operator: int | None) -> Scope:
    scope = Scope(query, operator)
    try:
        if scope != Scope() and Scope.parse(scope.suffix) == scope:
            return scope
    except ValueError:
        pass
    raise InvalidSettingError(
        f"for_query was given the query {query!r} and the operator {operator!r}: give a query's "
        "name that is not empty and does not end in .operator.<number>, an operator's number from "
        "0, or both."
    )


def _of_spark(others: object) -> tuple[tuple[str, str], ...]:
    """Pairs in the order of their keys. InvalidSettingError for what is not Spark's own."""
    pairs = pairs_of(others) if isinstance(others, Mapping) else others
    if not isinstance(pairs, tuple) or not all(map(_is_pair, pairs)):
        raise InvalidSettingError(
            f"others is {others!r}: it must be texts by Spark's keys, such as "
            "{'spark.sql.streaming.minBatchesToRetain': '20'}."
        )
    for key, _ in pairs:
        if key == PROVIDER_KEY or key.startswith(registry().prefix):
            raise InvalidSettingError(
                f"others has {key}, which is not Spark's own: give the provider's settings as "
                "fields of Conf, which checks them; the provider's class is set anyway."
            )
    return tuple(sorted(pairs))


def _is_of_key(pair: object) -> bool:
    match pair:
        case (str(), _):
            return True
    return False


def _is_pair(pair: object) -> bool:
    match pair:
        case (str(key), str()):
            return key.startswith("spark.")
    return False


def _per_query(field: str) -> Setting:
    setting = registry().by_field(field)
    if setting.per_query:
        return setting
    known = [s for s in registry().settings if s.per_query]
    raise InvalidSettingError(
        f"{field} cannot be given for one query, only {', '.join(s.field for s in known)} can. "
        "Give it for all of them, as a field of Conf."
    )


def _narrowed(key: str) -> Setting:
    setting, scope = registry().by_key(key)
    if scope == Scope():
        raise InvalidSettingError(
            f"{key} is for all queries: give it as Conf({setting.field}=...), not in per_query."
        )
    return setting
