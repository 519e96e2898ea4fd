"""The columns of tables: what of a report is told, and under which title."""

from __future__ import annotations

from scripts.figures.cells import Column, mib, two, whole

IN_PYSPARK = (
    Column("batch, ms", "batch", whole),
    Column("all commits added up, ms", "commits", whole),
    Column("first batch after a cold restart, ms", "restart", whole),
    Column("memory of the process at most, MiB", "resident", mib),
)
BATCHES = (
    Column("open", "open"),
    Column("get+put", "get+put"),
    Column("commit", "commit"),
    Column("whole batch", "p50"),
    Column("heap, bytes per key", "heap per key", whole),
)
LONG_RUN = (
    Column("batch p50 ms", "p50"),
    Column("p99 ms", "p99"),
    Column("bytes written per update", "written", whole),
    Column("processor time per update, us", "processor", two),
    Column("of it beside the batches", "background", two),
    Column("lag of the newest snapshot, versions: mean", "lag"),
    Column("most", "most lag", whole),
)
MORE_THAN_MEMORY = (
    Column("batch p50, ms", "p50", whole),
    Column("batch p99, ms", "p99", whole),
    Column("bytes written per update", "written", whole),
    Column("first get after a restart, ms", "first get", whole),
    Column("first batch after a restart, ms", "first batch", whole),
)
SECOND_ENGINE = (
    Column("batch p50, ms", "p50", whole),
    Column("batch p99, ms", "p99", whole),
    Column("commit p50, ms", "commit"),
    Column("checkpoint bytes written per update", "written", whole),
    Column("heap after the run, MiB", "heap", mib),
    Column("memory of the process at most, MiB", "resident", mib),
)
IN_MEMORY = (
    Column("bytes per group in memory", "memory", whole),
    Column("written per batch", "written", whole),
)
FUNCTIONS = (
    Column("ms a batch", "batch", whole),
    Column("of the first", "of the first", two),
    Column("us per group", "processor", whole),
    Column("of the first", "processor of the first", two),
    *IN_MEMORY,
)
TWS = (
    Column("batch p50, ms", "p50", whole),
    Column("p99", "p99", whole),
    Column("all commits of a batch, p50", "commit", whole),
    Column("processor time of a batch", "processor", whole),
    Column("bytes written per row", "written", whole),
    Column("heap, MiB", "heap", mib),
    Column("resident at most, MiB", "resident", mib),
)
TWS_RESTARTS = (
    Column("first batch after a cold restart, ms", "restart", whole),
    Column("of it the batch alone", "batch of it", whole),
    Column("loading, all partitions", "loading", whole),
    Column("first batch of the same query without any state", "empty", whole),
)
MANY_STORES = (
    Column("first batch, ms", "start", whole),
    Column("batch p50, ms", "batch", whole),
    Column("first batch after a restart, ms", "restart", whole),
    Column("threads", "threads", whole),
    Column("memory of the process, MiB", "resident", mib),
)
LOOKING_UP = (
    Column("keys a second", "rate", whole),
    Column("processor time of a key, us", "processor", whole),
    Column("slowest call, ms", "slowest"),
)
LOOKED_UP_BESIDE = (
    Column("keys a second", "rate", whole),
    Column("processors that asking takes", "share", two),
    Column("memory of the process that asks, MiB", "memory", mib),
    Column("slowest call, ms", "slowest"),
    Column("batches that an answer was behind at most", "behind", whole),
    Column("batch of the query alone, ms", "batch alone", whole),
    Column("batch beside the asking, ms", "batch beside", whole),
    Column("times as long, median of the pairs", "ratio", two),
    Column("times as long, the least", "least ratio", two),
    Column("times as long, the most", "most ratio", two),
)
FIRST_BATCHES = (
    Column("session there, ms", "session", whole),
    Column("first batch done, ms", "done", whole),
    Column("of it the batch alone", "batch", whole),
)
LARGE = (
    Column("all keys brought in, s", "load", whole),
    Column("batches after that", "batches", whole),
    Column("batch p50, ms", "p50", whole),
    Column("batch p99, ms", "p99", whole),
    Column("all commits added up, ms", "commit", whole),
    Column("first batch after a cold restart, ms", "restart", whole),
    Column("memory of the process at most, MiB", "resident", mib),
    Column("checkpoint, MiB", "checkpoint", mib),
    Column("`bucketstate verify`, s", "verify", whole),
    Column("`bucketstate report`, s", "report", whole),
)
