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


def events(counter: str, window: str) -> str:
    """PromQL for the events that each series of a counter has had in a window, where it had any.

    `increase` is the change between two samples, so it misses what the first sample has already.
    A series may begin with an event: a store that cannot be opened is the first thing that its
    query tells of. Where a series was not there a window ago, all that it counts is new, unless
    the samples of the window say how much of it is. It may also end within the window, as that of a
    query that failed at its start: what it has counted by then is an event of the window still.
    """
    grown = f"increase({counter}[{window}]) > 0"
    begun = f"max_over_time({counter}[{window}]) > 0 unless {counter} offset {window}"
    return f"({grown} or ({begun}))"
