"""What is kept of each benchmark's report: rows of plain numbers."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OURS = ("bucketed", "no-snapshots")
"""What the names of this provider begin with."""

Row: TypeAlias = "dict[str, str | int | float]"


def rows_of(name: str, report: Any) -> list[Row]:
    """The rows of a report as its benchmark wrote it.

    Raises:
        KeyError: no table is made of a report of this name.
    """
    return READERS[name](report)


def others_share(report: Any) -> float | None:
    """The most that other processes took of the processors, 0 to 1, where that was looked at."""
    if not isinstance(report, dict):
        return None
    results = report.get("results", [])
    seen = [result["loadOfOthers"] for result in results if "loadOfOthers" in result]
    return max(seen, default=None)


def _batches(report: Any) -> list[Row]:
    return [
        {
            "provider": found["provider"],
            "keys": found["keys"],
            "open": found["open"]["p50"],
            "get+put": found["getPut"]["p50"],
            "commit": found["commit"]["p50"],
            "p50": found["batch"]["p50"],
            "p99": found["batch"]["p99"],
            **_on_heap(found),
            "heap": found["heapBytes"],
            "written": found["batchBytesPerUpdate"] + found["maintenanceBytesPerUpdate"],
            **_resident(found),
        }
        for found in report["results"]
    ]


def _on_heap(found: Mapping[str, Any]) -> Row:
    """Nothing of RocksDB's provider, whose state is native memory."""
    native = found["provider"].startswith("rocksdb")
    return {} if native else {"heap per key": found["heapBytes"] / found["keys"]}


def _resident(found: Mapping[str, Any]) -> Row:
    return {"resident": found["resident"]["most"]} if found.get("resident") else {}


def _long_run(report: Any) -> list[Row]:
    rows: list[Row] = []
    for found in report["results"]:
        times = found["times"]
        row: Row = {
            "provider": found["provider"],
            "keys": found["keys"],
            "p50": times["batch"]["p50"],
            "p99": times["batch"]["p99"],
            "written": found["bytesPerUpdate"],
            "processor": found["processorMicros"]["process"],
        }
        if found["provider"].startswith(_OURS):
            # Threads of others are not told apart.
            row["background"] = found["processorMicros"]["background"]
        if times.get("lag"):
            row |= {"lag": times["lag"]["mean"], "most lag": times["lag"]["largest"]}
        if found.get("restart"):
            restart = found["restart"]
            row |= {"first get": restart["firstGetMs"], "first batch": restart["firstBatchMs"]}
        rows.append(row)
    return rows


def _restart(report: Any) -> list[Row]:
    return [
        {
            "provider": found["provider"],
            "keys": found["keys"],
            "tail": found["tail"],
            "jvm": found["jvm"],
            "initialisation": found["initMs"]["median"],
            "first get": found["firstGetMs"]["median"],
            "processor": found["firstGetCpuMs"]["median"],
            "first batch": found["firstBatchMs"]["median"],
        }
        for found in report["results"]
    ]


def _operations(report: Any) -> list[Row]:
    return [
        {
            "provider": found["provider"],
            "keys": found["keys"],
            "operation": found["operation"],
            "rate": found["perSecond"],
        }
        for found in report["results"]
    ]


def _end_to_end(report: Any) -> list[Row]:
    return [
        {
            "provider": found["provider"],
            "batch": found["batch_ms"],
            "commits": found["commits_ms"],
            "waited": found["waited_ms"],
            "restart": found["restart_ms"],
            "resident": found["resident"],
        }
        for found in report
    ]


def _moving(report: Any) -> list[Row]:
    return [
        {
            "case": found["case"],
            "keys": found["keys_of_state"],
            "seconds": found["seconds"],
            **({"peak": found["peak_mb"]} if "peak_mb" in found else {}),
        }
        for found in report
    ]


def _many_keys(report: Any) -> list[Row]:
    return [
        {
            "name": found["name"],
            "keys": run["keys"],
            "processor": median(found["processor_millis"]) * 1000 / run["keys"],
        }
        for run in report["runs"]
        for found in run["results"]
    ]


def _many_keys_memory(report: Any) -> list[Row]:
    return [
        {
            "case": found["case"],
            "keys of a call": "many" if found["many_keys"] else "one",
            "jvm": found["jvm"],
            "worker": found["worker"],
        }
        for found in report
    ]


def _stateful(report: Any) -> list[Row]:
    return [
        *_of_groups("functions", report["results"], report["groups"]),
        *_of_groups("history", report["history"]["results"], report["history"]["groups"]),
    ]


def _of_groups(part: str, results: Any, groups: int) -> list[Row]:
    """Medians of batches; the ratios to the first contender are medians of those by batch."""

    def ratio(found: Any, field: str) -> float:
        pairs = zip(found[field], results[0][field], strict=True)
        return float(median(one / first for one, first in pairs))

    return [
        {
            "part": part,
            "name": found["name"],
            "batch": median(found["millis"]),
            "of the first": ratio(found, "millis"),
            "processor": median(found["cpu_millis"]) * 1000 / groups,
            "processor of the first": ratio(found, "cpu_millis"),
            "memory": median(found["memory_bytes"]) / groups,
            "written": median(found["written_bytes"]) / groups,
        }
        for found in results
    ]


def _requests(report: Any) -> list[Row]:
    return [dict(found) for found in report]


def _expiry(report: Any) -> list[Row]:
    """The rounds of one way and size as their medians."""
    results = report["results"]
    cases = dict.fromkeys((found["keys"], found["way"]) for found in results)
    return [
        {
            "keys": keys,
            "way": way,
            "p50": median(f["batchMs"] for f in results if (f["keys"], f["way"]) == (keys, way)),
        }
        for keys, way in cases
    ]


def _tws(report: Any) -> list[Row]:
    return [
        {
            "provider": found["provider"],
            "keys": found["keys"],
            "p50": found["batch"]["p50"],
            "p99": found["batch"]["p99"],
            "commit": found["commit"]["p50"],
            "processor": found["processorMs"],
            "written": found["bytesPerRow"],
            "heap": found["heapBytes"],
            **_resident(found),
            "restart": found["restartMs"],
            "batch of it": found["restartBatchMs"],
            "loading": found["restartLoad"],
            "empty": found["emptyMs"],
        }
        for found in report["results"]
    ]


def _many_stores(report: Any) -> list[Row]:
    return [
        {
            "provider": found["provider"],
            "stores": found["stores"],
            "start": found["start_ms"],
            "batch": found["batch_ms"],
            "restart": found["restart_ms"],
            "threads": found["threads"],
            "resident": found["resident"],
        }
        for found in report
    ]


def _large_state(report: Any) -> list[Row]:
    return [
        {
            "keys": report["keys"],
            "load": report["load_s"],
            "batches": report["batches"],
            "p50": report["batch_p50_ms"],
            "p99": report["batch_p99_ms"],
            "commit": report["commits_p50_ms"],
            "restart": report["restart_ms"],
            "resident": report["resident"],
            "checkpoint": report["checkpoint_bytes"],
            "verify": report["verify"]["seconds"],
            "report": report["report"]["seconds"],
        }
    ]


def _live(report: Any) -> list[Row]:
    """A row for each way of asking, and one for asking at a pace, beside the query's batches."""
    alone, beside = report["alone"], report["beside"]
    ways = {way: found for way, found in alone.items() if isinstance(found, dict)}
    rows: list[Row] = [
        {
            "way": way,
            "rate": found["keys_a_second"],
            "processor": found["processor_us_a_key"],
            "slowest": found["slowest_call_ms"],
        }
        for way, found in ways.items()
    ]
    paced: Row = {
        "way": "beside",
        "rate": beside["keys_a_second"],
        "share": beside["processor_of_asking"],
        "memory": alone["memory_bytes"],
        "slowest": beside["slowest_call_ms"],
        "behind": beside["batches_behind_at_most"],
        "batch alone": beside["ms_of_a_batch_alone"],
        "batch beside": beside["ms_of_a_batch_beside"],
        "ratio": beside["median_ratio"],
        "least ratio": min(beside["ratios"]),
        "most ratio": max(beside["ratios"]),
    }
    return [*rows, paced]


def _first_batch(report: Any) -> list[Row]:
    return [
        {
            "provider": contender,
            "start": start,
            "session": found["session_ms"],
            "done": found["done_ms"],
            "batch": found["batch_ms"],
        }
        for contender, starts in report.items()
        for start, found in starts.items()
    ]


READERS: dict[str, Callable[[Any], list[Row]]] = {
    **dict.fromkeys(("providers", "native", "native-large", "native-short", "engines"), _batches),
    **dict.fromkeys(("long-run", "memory-uniform", "memory-zipf"), _long_run),
    **dict.fromkeys(("restart", "native-restart"), _restart),
    **dict.fromkeys(("operations", "small-rows"), _operations),
    **dict.fromkeys(
        ("end-to-end", "partitions", "join", "small-process", "tws-pandas", "tws-rows"),
        _end_to_end,
    ),
    "moving": _moving,
    "many-keys": _many_keys,
    "many-keys-memory": _many_keys_memory,
    "stateful": _stateful,
    "s3": _requests,
    "expiry": _expiry,
    "tws": _tws,
    "many-stores": _many_stores,
    "large-state": _large_state,
    "live": _live,
    "first-batch": _first_batch,
}
"""By the file's name without `.json`."""
