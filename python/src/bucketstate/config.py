"""The provider's settings as one immutable, checked value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

from bucketstate.kinds import Value
from bucketstate.registry import registry
from bucketstate.settings import Settings

PROVIDER_CLASS = "io.bucketstate.BucketedStateStoreProvider"
PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"


@dataclass(frozen=True, kw_only=True)
class Conf(Settings):
    """Every setting of the provider. A value that is not allowed raises when it is given."""

    def __post_init__(self) -> None:
        for field, value in asdict(self).items():
            registry().by_field(field).check(value)

    def to_spark(self) -> dict[str, str]:
        """The settings as Spark wants them, with the one that selects the provider."""
        settings = {registry().by_field(f).key: str(v) for f, v in asdict(self).items()}
        return {PROVIDER_KEY: PROVIDER_CLASS, **settings}

    @classmethod
    def from_spark(cls, settings: Mapping[str, str]) -> Self:
        """The value that a session's settings hold; keys of others are ignored."""
        known = registry()
        own = [k for k in settings if k.lower().startswith(known.prefix.lower())]
        found = {known.by_key(k): settings[k] for k in own}
        fields: dict[str, Value] = {s.field: s.parse(text) for s, text in found.items()}
        return cls(**fields)  # type: ignore[arg-type]
