"""A dashboard for Grafana, over the metrics that the plugin gives to Prometheus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bucketstate.operations.names import PREFIX, events, of_store

_SELECTED = '{application=~"$application",query=~"$query"}'
_OF_QUERY = "query, operator"
_WIDTH, _HEIGHT, _ACROSS = 8, 8, 3


@dataclass(frozen=True)
class _Chart:
    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]
    """Expressions with what each line is called."""
    says: str = ""


def _now(name: str, by: str = "sum") -> str:
    return f"{by} by ({_OF_QUERY}) ({name}{_SELECTED})"


def _rate(name: str) -> str:
    return f"sum by ({_OF_QUERY}) (rate({name}{_SELECTED}[$__rate_interval]))"


def _share(name: str, share: float) -> str:
    rate = f"rate({PREFIX}{name}_bucket{_SELECTED}[$__rate_interval])"
    return f"histogram_quantile({share}, sum by ({_OF_QUERY}, le) ({rate}))"


_EACH = "{{query}} {{operator}}"


def _rows() -> dict[str, list[_Chart]]:
    def now(title: str, unit: str, name: str, says: str = "", by: str = "sum") -> _Chart:
        return _Chart(title, unit, ((_now(name, by), _EACH),), says)

    def rate(title: str, unit: str, metric: str, says: str = "") -> _Chart:
        return _Chart(title, unit, ((_rate(of_store(metric)), _EACH),), says)

    def shares(title: str, name: str) -> _Chart:
        lines = ((_share(name, s), f"{_EACH} p{s * 100:.0f}") for s in (0.5, 0.95, 0.99))
        return _Chart(title, "s", tuple(lines))

    executors = '{application=~"$application"}'
    memory = f"{PREFIX}executor_memory"
    counter = f"{PREFIX}failures_total{_SELECTED}"
    # The last part is for lines at nought, where the first has none.
    failed = f"{events(counter, '5m')} or increase({counter}[5m])"
    failures = f"sum by ({_OF_QUERY}, kind) ({failed})"
    return {
        "State": [
            now("Keys", "short", f"{PREFIX}keys"),
            now("State in memory", "bytes", f"{PREFIX}memory_bytes"),
            _Chart(
                "Memory of executors",
                "bytes",
                (
                    (f"{memory}_bytes{executors}", "{{executor}}"),
                    (f"{memory}_limit_bytes{executors}", "{{executor}} may"),
                ),
                "What the state of all stores takes in the heap, and what memory.maxBytes allows.",
            ),
        ],
        "Batches": [
            shares("Commits take", "commit_seconds"),
            rate("Keys changed per second", "short", "bucketedChangedKeys"),
            rate("Changelogs written", "Bps", "bucketedChangelogBytes"),
            rate("Encoding and compression", "s", "bucketedEncodeTimeMs", "Seconds per second."),
            shares("Loads of the checkpoint take", "load_seconds"),
            _Chart("Failures in five minutes", "short", ((failures, f"{_EACH} {{{{kind}}}}"),)),
        ],
        "Cold state": [
            rate("Buckets that leave memory", "short", "bucketedEvictions"),
            rate("Keys looked up in files", "short", "bucketedColdReads"),
            rate("of them, those that had to read a file", "short", "bucketedColdReadsFromFiles"),
        ],
        "Snapshots": [
            now(
                "Versions behind",
                "short",
                of_store("bucketedSnapshotLag"),
                "The partition that is behind most: so many changelogs a restart reads.",
                by="max",
            ),
            now("Runs", "short", of_store("bucketedRuns"), by="max"),
            rate("Runs written", "Bps", "bucketedRunBytes"),
            rate("Snapshot failures", "short", "bucketedSnapshotFailures"),
            _Chart(
                "Background work that waits",
                "short",
                ((f"{PREFIX}executor_background_queue{executors}", "{{executor}}"),),
            ),
            now("Files that cannot be deleted", "short", of_store("bucketedRetentionFailures")),
        ],
        "Object store": [
            rate("Files written", "reqps", "bucketedObjectPuts"),
            rate("Reads", "reqps", "bucketedObjectGets"),
            rate("Folders listed", "reqps", "bucketedObjectLists"),
        ],
        "Local databases (engine=rocksdb)": [
            now("Native memory", "bytes", of_store("bucketedDbMemoryBytes")),
            rate("Compactions written", "Bps", "bucketedDbCompactionBytes"),
            now("Versions behind", "short", of_store("bucketedDbLag"), by="max"),
        ],
    }


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it, from version 9 on. It asks which Prometheus to use."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, charts in _rows().items():
        panels.append(_titled(len(panels), title, top))
        top += 1
        for at, chart in enumerate(charts):
            left, below = at % _ACROSS * _WIDTH, at // _ACROSS * _HEIGHT
            panels.append(_panel(len(panels), chart, left, top + below))
        top += -(-len(charts) // _ACROSS) * _HEIGHT
    return {
        "title": "bucketstate: state of streaming queries",
        "uid": "bucketstate",
        "tags": ["spark", "streaming", "bucketstate"],
        "schemaVersion": 36,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": panels,
    }


_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _variables() -> list[dict[str, Any]]:
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource"}
    # A query that could not be opened has nothing else, and one that runs has these, too.
    queries = f'{PREFIX}failures_total{{application=~"$application"}}'
    return [
        {**source, "query": "prometheus"},
        _variable("application", f"label_values({PREFIX}executor_stores, application)"),
        _variable("query", f"label_values({queries}, query)"),
    ]


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _titled(number: int, title: str, top: int) -> dict[str, Any]:
    at = {"h": 1, "w": _WIDTH * _ACROSS, "x": 0, "y": top}
    return {"id": number + 1, "type": "row", "title": title, "gridPos": at, "panels": []}


def _panel(number: int, chart: _Chart, left: int, top: int) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": chart.title,
        "description": chart.says,
        "datasource": _SOURCE,
        "gridPos": {"h": _HEIGHT, "w": _WIDTH, "x": left, "y": top},
        "fieldConfig": {"defaults": {"unit": chart.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": _SOURCE,
                "expr": expression,
                "legendFormat": legend,
            }
            for at, (expression, legend) in enumerate(chart.lines)
        ],
    }
