"""What an operator sees of an application that has the plugin and nothing else."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.operations import alert_rules, dashboard
from tests.integration.applications import APPS, answer_of
from tests.kit.prometheus import METRIC, families

if TYPE_CHECKING:
    from pathlib import Path

EXPRESSIONS = [t["expr"] for p in dashboard()["panels"] for t in p.get("targets", [])]


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("operated")
    return answer_of([sys.executable, str(APPS / "operated.py"), str(folder)], timeout=200)


def test_each_metric_of_dashboard_and_rules_is_there(answer: dict[str, Any]) -> None:
    there = families(answer["scraped"])
    named = {name for text in [*EXPRESSIONS, alert_rules()] for name in METRIC.findall(text)}
    assert named - there == set()
    assert 'query="operated"' in answer["scraped"]


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs Prometheus")
def test_prometheus_has_data_for_each_chart_and_evaluates_each_rule(
    answer: dict[str, Any],
) -> None:
    assert [e for e in EXPRESSIONS if not answer["results"][e]] == []
    assert len(answer["rules"]) == alert_rules().count("- alert:")
    assert {health for _, health in answer["rules"]} == {"ok"}
