"""What Prometheus is told, to find the metrics of an application."""

from __future__ import annotations

from bucketstate.errors import InvalidArgumentError

METRICS_PATH = "/bucketstate/metrics"
"""Where the plugin gives the metrics of all executors, in the web UI of the driver."""


def scrape_config(targets: list[str]) -> str:
    """A `scrape_configs` entry, as YAML.

    Args:
        targets: host and port of each driver's web UI, such as `driver:4040`.

    Raises:
        InvalidArgumentError: they are no list of texts.
    """
    if not isinstance(targets, list | tuple) or not all(isinstance(t, str) for t in targets):
        raise InvalidArgumentError(
            f"targets={targets!r}: give a list of hosts with ports, such as ['driver:4040']."
        )
    listed = ", ".join(f'"{target}"' for target in targets)
    return f"""\
scrape_configs:
  - job_name: bucketstate
    metrics_path: {METRICS_PATH}
    scrape_interval: 15s
    static_configs:
      - targets: [{listed}]
"""
