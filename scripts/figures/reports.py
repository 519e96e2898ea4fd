"""What is kept of each benchmark's report: rows of plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    seen = [result["loadOfOthers"] for result in report["results"] if "loadOfOthers" in result]
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
            "background": found["processorMicros"]["background"],
        }
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


READERS: dict[str, Callable[[Any], list[Row]]] = {
    **dict.fromkeys(("providers", "native", "native-large", "native-short", "engines"), _batches),
    **dict.fromkeys(("long-run", "memory-uniform", "memory-zipf"), _long_run),
    **dict.fromkeys(("restart", "native-restart"), _restart),
    **dict.fromkeys(("operations", "small-rows"), _operations),
    **dict.fromkeys(("end-to-end", "partitions", "join", "small-process"), _end_to_end),
    "moving": _moving,
}
"""By the file's name without `.json`."""
