"""`bucketstate grafana`: a dashboard, alert rules, and what Prometheus is told, as text."""

from __future__ import annotations

import argparse
import json

from bucketstate.operations import alert_rules, dashboard, scrape_config


def grafana(arguments: argparse.Namespace) -> str:
    if arguments.alerts:
        return alert_rules().rstrip("\n")
    if arguments.scrape:
        return scrape_config(arguments.scrape).rstrip("\n")
    return json.dumps(dashboard(), indent=2)
