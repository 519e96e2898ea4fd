"""A query in an application that has one setting: what its web UI gives to Prometheus.

With a Prometheus at hand, what that has scraped and what its rules come to, too.
"""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bucketstate import PLUGIN_CLASS, jar_path
from bucketstate.operations import METRICS_PATH, alert_rules, dashboard, scrape_config
from tests.integration.apps.counting import builder_options

folder = Path(sys.argv[1])
builder = SparkSession.builder.master("local[2]").config("spark.jars", str(jar_path()))
for key, value in builder_options().items():
    builder = builder.config(key, value)
spark = (
    builder.config("spark.plugins", PLUGIN_CLASS)
    .config("spark.ui.enabled", "true")
    .config("spark.ui.port", "0")
    .config("spark.bucketstate.metrics.interval", "200")
    .getOrCreate()
)
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
counts = rows.groupBy((F.col("value") % 10).alias("digit")).count()
query = (
    counts.writeStream.queryName("operated")
    .outputMode("update")
    .format("noop")
    .trigger(processingTime="1 second")
    .option("checkpointLocation", str(folder / "checkpoint"))
    .start()
)
web = spark.sparkContext.uiWebUrl or "no web UI"


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return str(answer.read(), "utf-8")


def scrape() -> str:
    return read(web + METRICS_PATH)


until = time.monotonic() + 90
while "bucketstate_version{" not in scrape() and time.monotonic() < until:
    time.sleep(0.2)
scraped = scrape()
results: dict[str, int] = {}
rules: list[tuple[str, str]] = []


def asked(port: int) -> None:
    """What Prometheus has for each chart, once it has scraped twice."""
    base = f"http://127.0.0.1:{port}/api/v1"
    expressions = [t["expr"] for p in dashboard()["panels"] for t in p.get("targets", [])]
    for expression in expressions:
        plain = (
            expression.replace("$__rate_interval", "10s")
            .replace("$application", ".*")
            .replace("$query", ".*")
        )
        found = json.loads(read(f"{base}/query?query={urllib.parse.quote(plain)}"))
        results[expression] = len(found["data"]["result"])
    groups = json.loads(read(f"{base}/rules"))["data"]["groups"]
    rules[:] = [(r["name"], r["health"]) for g in groups for r in g["rules"]]


# It is no part of what the project needs; where it is, it is asked.
if shutil.which("prometheus"):
    home = folder / "prometheus"
    home.mkdir()
    (home / "rules.yml").write_text(alert_rules())
    config = scrape_config([web.removeprefix("http://")]).replace("15s", "1s")
    head = "global:\n  evaluation_interval: 1s\nrule_files: [rules.yml]\n"
    (home / "prometheus.yml").write_text(head + config)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={home / 'prometheus.yml'}",
            f"--storage.tsdb.path={home / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stderr=(home / "log").open("w"),
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            time.sleep(1)
            try:
                asked(port)
            except OSError:
                continue
            if all(results.values()) and all(health == "ok" for _, health in rules):
                break
    finally:
        server.terminate()
        server.wait(20)
query.stop()
spark.stop()
print("ANSWER " + json.dumps({"scraped": scraped, "results": results, "rules": rules}))
