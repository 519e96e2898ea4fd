"""Each alert rule beside figures that it is for and others, as promtool evaluates it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from bucketstate.operations import alert_rules

if TYPE_CHECKING:
    from pathlib import Path

_OF_QUERY = 'application="app",operator="0",query="rides"'


@dataclass(frozen=True)
class _Case:
    """Series with a value for each minute, in promtool's notation, and minutes to look at."""

    alert: str
    what: str
    series: dict[str, str]
    firing: tuple[int, ...] = ()
    quiet: tuple[int, ...] = ()
    labels: str = _OF_QUERY


def _of_counter(alert: str, counter: str, window: int, kind: str = "") -> list[_Case]:
    """What every alert has to do that is about events which a counter counts.

    No moment is the edge of a window, which versions of Prometheus count in or leave out.
    """
    series = f"{counter}{{{_OF_QUERY}{kind}}}"
    labels = ",".join(sorted(f"{_OF_QUERY}{kind}".split(",")))

    def case(what: str, values: str, firing: tuple[int, ...], quiet: tuple[int, ...]) -> _Case:
        return _Case(alert, what, {series: values}, firing, quiet, labels)

    later, after = window - 1, window + 2
    return [
        case(
            "a series that begins with an event",
            f"_x5 1x{3 * window}",
            (5, 6, 5 + later),
            (4, 5 + after, 5 + 2 * window),
        ),
        case(
            "a series that begins with an event and ends",
            "_x5 1x4 stale",
            # Its samples are there up to minute 9.
            (5, 9, 12),
            (4, 5 + after, 5 + 2 * window),
        ),
        case(
            "a series that ends with an event",
            f"0x{window + 3} 1x4 stale",
            (window + 4, window + 8),
            (window + 3, 2 * window + 12),
        ),
        case(
            "a count that grows",
            f"0x{window + 3} 1x{3 * window}",
            (window + 4, 2 * window + 2),
            (1, window + 3, 2 * window + 6, 3 * window),
        ),
        case(
            "a second event",
            f"_x5 1x{window + 9} 2x{2 * window}",
            (5, window + 15, 2 * window + 12),
            (window + 8, 2 * window + 17),
        ),
        case(
            "a count that begins anew with an event",
            f"3x{window + 9} 1x{2 * window}",
            (window + 10, 2 * window + 8),
            (window + 9, 2 * window + 12),
        ),
        case(
            "a count that begins anew with nothing",
            f"3x{window + 9} 0x{2 * window}",
            (),
            (window + 9, window + 10, 2 * window, 3 * window),
        ),
        case("a new series without events", f"_x5 0x{2 * window}", (), (4, 5, 6, 2 * window)),
        case("a scrape that is late", f"1x{window + 9} _x6 1x9", (), (window + 17,)),
    ]


def _commits(at_most_5s: str, all_of_them: str) -> dict[str, str]:
    counts = {"5": at_most_5s, "10": all_of_them, "+Inf": all_of_them}
    return {
        f'bucketstate_commit_seconds_bucket{{{_OF_QUERY},le="{bound}"}}': count
        for bound, count in counts.items()
    }


def _memory(used: int, limit: int) -> dict[str, str]:
    of_executor = '{application="app",executor="1"}'
    return {
        f"bucketstate_executor_memory_bytes{of_executor}": f"{used}x40",
        f"bucketstate_executor_memory_limit_bytes{of_executor}": f"{limit}x40",
    }


_FAILURES = "bucketstate_failures_total"
_LAG = f"bucketstate_snapshot_lag{{{_OF_QUERY}}}"
_STAY = f"bucketstate_retention_failures{{{_OF_QUERY}}}"
_OF_EXECUTOR = 'application="app",executor="1"'

CASES = [
    *_of_counter("BucketstateFailures", _FAILURES, 10, ',kind="storage"'),
    _Case(
        "BucketstateFailures",
        "tasks that Spark stopped",
        {f'{_FAILURES}{{{_OF_QUERY},kind="interrupted"}}': "_x5 1x5 2x20"},
        quiet=(5, 6, 10, 20),
    ),
    *_of_counter("BucketstateSnapshotFailures", "bucketstate_snapshot_failures_total", 30),
    *_of_counter("BucketstateRepairs", "bucketstate_repairs_total", 60),
    _Case("BucketstateSnapshotLag", "far behind", {_LAG: "101x40"}, (16, 40), (14,)),
    _Case("BucketstateSnapshotLag", "a bit behind", {_LAG: "100x40"}, quiet=(40,)),
    _Case("BucketstateFilesStay", "files stay", {_STAY: "1x150"}, (121, 150), (119,)),
    _Case("BucketstateFilesStay", "a later run deletes them", {_STAY: "1x60 0x90"}, quiet=(150,)),
    _Case("BucketstateFilesStay", "none stay", {_STAY: "0x90"}, quiet=(90,)),
    _Case("BucketstateMemoryAtLimit", "above", _memory(111, 100), (16,), (14,), _OF_EXECUTOR),
    _Case("BucketstateMemoryAtLimit", "at it", _memory(110, 100), quiet=(40,)),
    _Case("BucketstateMemoryAtLimit", "no limit", _memory(111, 0), quiet=(40,)),
    _Case("BucketstateSlowCommits", "slow", _commits("0+97x40", "0+99x40"), (17,), (14,)),
    _Case("BucketstateSlowCommits", "quick", _commits("0+99x40", "0+99x40"), quiet=(40,)),
]


def test_each_rule_has_figures_that_it_fires_on_and_figures_that_it_does_not_fire_on() -> None:
    rules = set(re.findall(r"- alert: (\w+)", alert_rules()))
    assert {case.alert for case in CASES if case.firing} == rules
    assert {case.alert for case in CASES if not case.firing} == rules


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Prometheus's promtool")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}-{case.what}")
def test_an_alert_fires_when_it_should(case: _Case, tmp_path: Path) -> None:
    severity = re.search(rf"{case.alert}\n(?:.*\n)*?.*severity: (\w+)", alert_rules())
    assert severity
    firing = f'ALERTS{{alertname="{case.alert}",alertstate="firing"'
    seen = {"labels": f'{firing},{case.labels},severity="{severity[1]}"}}', "value": 1}
    looks = [(minute, [seen]) for minute in case.firing] + [(m, []) for m in case.quiet]
    (tmp_path / "rules.yml").write_text(alert_rules(), encoding="utf-8")
    asked = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": s, "values": v} for s, v in case.series.items()],
                "promql_expr_test": [
                    {"expr": f"{firing}}}", "eval_time": f"{minute}m", "exp_samples": samples}
                    for minute, samples in sorted(looks, key=lambda look: look[0])
                ],
            }
        ],
    }
    # JSON is YAML.
    (tmp_path / "test.yml").write_text(json.dumps(asked), encoding="utf-8")
    command = ["promtool", "test", "rules", "test.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
