"""Names of metrics as Prometheus has them: of the registry, and of the plugin itself."""

from __future__ import annotations

from bucketstate.registry import registry

PREFIX = "bucketstate_"


def of_store(name: str) -> str:
    """What Prometheus calls a custom metric of the provider, such as `bucketedColdReads`.

    Raises LookupError for a name that the registry has not.
    """
    found = {metric.name: metric.prometheus for metric in registry().metrics}
    return found[name]
