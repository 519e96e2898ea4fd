"""Alert rules for Prometheus, over the metrics that the plugin gives."""

from __future__ import annotations

from dataclasses import dataclass

from bucketstate.operations.names import PREFIX, events, of_store

_OF_QUERY = "application, query, operator"


@dataclass(frozen=True)
class _Rule:
    name: str
    expression: str
    lasting: str
    severity: str
    summary: str
    description: str


def _rules() -> list[_Rule]:
    lag = of_store("bucketedSnapshotLag")
    failures = events(f'{PREFIX}failures_total{{kind!="interrupted"}}', "10m")
    snapshot_failures = events(of_store("bucketedSnapshotFailures"), "30m")
    repairs = events(of_store("bucketedRepairs"), "1h")
    retention = of_store("bucketedRetentionFailures")
    return [
        _Rule(
            "BucketstateSnapshotLag",
            f"max by ({_OF_QUERY}) ({lag}) > 100",
            "15m",
            "warning",
            "Snapshots of {{ $labels.query }} are {{ $value }} versions behind",
            "A restart reads that many changelogs. Look for snapshot failures in the executors' "
            "logs, and for background work that waits (bucketstate_executor_background_queue).",
        ),
        _Rule(
            "BucketstateFailures",
            f"sum by ({_OF_QUERY}, kind) {failures}",
            "0m",
            "critical",
            "Stores of {{ $labels.query }} fail: {{ $labels.kind }}",
            "Versions could not be opened, read or committed. The tasks' errors say which file "
            "or setting, and what to do.",
        ),
        _Rule(
            "BucketstateSnapshotFailures",
            f"sum by ({_OF_QUERY}) {snapshot_failures}",
            "0m",
            "warning",
            "Snapshots of {{ $labels.query }} fail",
            "Batches go on and restarts get slower. The executors' logs say why.",
        ),
        _Rule(
            "BucketstateRepairs",
            f"sum by ({_OF_QUERY}) {repairs}",
            "0m",
            "critical",
            "Damaged snapshots of {{ $labels.query }} were passed over",
            "The state is right, from older files. Run `bucketstate verify` on the checkpoint.",
        ),
        _Rule(
            "BucketstateFilesStay",
            f"sum by ({_OF_QUERY}) ({retention}) > 0",
            # Longer than it is from one maintenance to the next, which may mend it.
            "2h",
            "warning",
            "Maintenance cannot delete files of {{ $labels.query }}",
            "The checkpoint grows. Look at the rights on its folder.",
        ),
        _Rule(
            "BucketstateMemoryAtLimit",
            f"{PREFIX}executor_memory_bytes / ({PREFIX}executor_memory_limit_bytes > 0) > 1.1",
            "15m",
            "warning",
            "Executor {{ $labels.executor }} holds more state than memory.maxBytes (of "
            "engine=rocksdb: rocksdb.heapBytes) allows",
            "Changes that no snapshot has yet cannot leave memory. Give more memory, or more "
            "executors.",
        ),
        _Rule(
            "BucketstateSlowCommits",
            f"histogram_quantile(0.99, sum by ({_OF_QUERY}, le) "
            f"(rate({PREFIX}commit_seconds_bucket[10m]))) > 5",
            "15m",
            "warning",
            "One commit in a hundred of {{ $labels.query }} takes more than 5 s",
            "Look at the storage of the checkpoint: a commit writes one file.",
        ),
    ]


def alert_rules() -> str:
    """A file of rules, as YAML: for `rule_files` of Prometheus."""
    lines = ["groups:", "  - name: bucketstate", "    rules:"]
    for rule in _rules():
        lines += [
            f"      - alert: {rule.name}",
            f"        expr: {_quoted(rule.expression)}",
            f"        for: {rule.lasting}",
            "        labels:",
            f"          severity: {rule.severity}",
            "        annotations:",
            f"          summary: {_quoted(rule.summary)}",
            f"          description: {_quoted(rule.description)}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A scalar of YAML in single quotes, which stand for nothing but themselves."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
