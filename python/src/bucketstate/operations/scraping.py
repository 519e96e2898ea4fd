"""What Prometheus is told, to find the metrics of an application."""

from __future__ import annotations

METRICS_PATH = "/bucketstate/metrics"
"""Where the plugin gives the metrics of all executors, in the web UI of the driver."""


def scrape_config(targets: list[str]) -> str:
    """A `scrape_configs` entry, as YAML.

    Args:
        targets: host and port of each driver's web UI, such as `driver:4040`.
    """
    listed = ", ".join(f'"{target}"' for target in targets)
    return f"""\
scrape_configs:
  - job_name: bucketstate
    metrics_path: {METRICS_PATH}
    scrape_interval: 15s
    static_configs:
      - targets: [{listed}]
"""
