"""The doctor on an event log as Spark writes it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bucketstate.doctor import of_progress, read_progress
from tests.integration.applications import APPS, answer_of
from tests.kit.cases import at_night

if TYPE_CHECKING:
    from pathlib import Path


@at_night
def test_an_event_log_of_spark_s(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    said = f"spark.eventLog.enabled true\nspark.eventLog.dir {logs.as_uri()}\n"
    (tmp_path / "spark-defaults.conf").write_text(said, encoding="utf-8")
    command = [sys.executable, str(APPS / "configured.py"), str(tmp_path)]
    answer = answer_of(command, timeout=170, SPARK_CONF_DIR=str(tmp_path))
    (log,) = logs.iterdir()
    found = read_progress(log)
    reported = [list(o["customMetrics"]) for p in found for o in p["stateOperators"]]
    assert [sorted(names) for names in reported] == [sorted(n) for n in answer["metrics"]]
    (note,) = of_progress(found).notes
    assert "1 batches after the first of each run say too little" in note
