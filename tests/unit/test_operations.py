"""Dashboard, alert rules and what is scraped, without a Prometheus."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.cli import main
from bucketstate.operations import alert_rules, dashboard, scrape_config
from tests.docs import DOCS
from tests.kit.prometheus import METRIC

if TYPE_CHECKING:
    from pathlib import Path

COLLECTOR = re.findall(
    r"^```yaml\n(receivers:.*?)^```$",
    (DOCS / "operations.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)[0]
"""The configuration of OpenTelemetry's collector that the page has."""

_SCRAPING = re.search(r"^ {4}config:\n((?: {6}.*\n)+)", COLLECTOR, re.MULTILINE)
COLLECTED = dedent(_SCRAPING[1]) if _SCRAPING else ""
"""What is in it of Prometheus's own."""


def test_the_panels_lie_beside_each_other_and_ask_for_data_they_can_have() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
        for target in panel.get("targets", []):
            assert METRIC.search(target["expr"])
            assert target["expr"].count("(") == target["expr"].count(")")


def test_a_query_that_failed_at_its_start_is_among_all() -> None:
    """It has its failures alone: a run that has ended shows only what it counted."""
    variables = {v["name"]: v for v in dashboard()["templating"]["list"]}
    asked = variables["query"]["query"]["query"]
    assert asked == 'label_values(bucketstate_failures_total{application=~"$application"}, query)'


def test_the_command_prints_what_the_functions_give(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*arguments: str) -> str:
        assert main(["grafana", *arguments]) == 0
        return capsys.readouterr().out

    assert json.loads(printed()) == dashboard()
    assert printed("--alerts") == alert_rules()
    assert printed("--scrape", "a:4040", "--scrape", "b:4041") == scrape_config(
        ["a:4040", "b:4041"]
    )


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Prometheus's promtool")
@pytest.mark.parametrize(
    ("check", "text"),
    [
        (("check", "rules"), alert_rules()),
        (("check", "config"), scrape_config(["driver:4040"])),
        (("check", "config"), COLLECTED),
    ],
)
def test_prometheus_takes_them(check: tuple[str, ...], text: str, tmp_path: Path) -> None:
    file = tmp_path / "file.yml"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(["promtool", *check, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_collector_of_opentelemetry_scrapes_the_same_and_sends_it_on() -> None:
    assert scrape_config(["driver:4040"]) == COLLECTED
    # Without a pipeline, or with parts that there are not, no collector starts.
    parts = re.findall(r"^(\w+):\n  (\w+):", COLLECTOR, re.MULTILINE)
    assert parts == [
        ("receivers", "prometheus"),
        ("exporters", "otlp_http"),
        ("service", "pipelines"),
    ]
    for kind, name in parts[:2]:
        assert f"      {kind}: [{name}]\n" in COLLECTOR.partition("    metrics:\n")[2]


def test_each_rule_names_query_and_remedy() -> None:
    rules: list[str] = re.findall(r"- alert: (\w+)", alert_rules())
    assert len(rules) == len(set(rules)) == alert_rules().count("description:")


def test_each_kind_of_chart_has_a_unit() -> None:
    charts: list[dict[str, Any]] = [p for p in dashboard()["panels"] if p["type"] == "timeseries"]
    assert {c["fieldConfig"]["defaults"]["unit"] for c in charts} <= {
        "short",
        "bytes",
        "Bps",
        "reqps",
        "s",
    }
