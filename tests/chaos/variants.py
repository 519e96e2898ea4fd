"""How an application runs: drawn for each life of a driver, but for what a checkpoint fixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from bucketstate import Conf
from bucketstate.testing.session import SETTINGS
from tests.kit.engine import Engine

if TYPE_CHECKING:
    import random

STATE_STORE = "spark.sql.streaming.stateStore."


@dataclass(frozen=True)
class Variant:
    engine: Engine
    checkpoint_format: int
    """Fixed for the life of a checkpoint."""
    speculation: bool
    unload_on_commit: bool
    dynamic_allocation: bool

    @classmethod
    def drawn(cls, chance: random.Random, checkpoint_format: int) -> Variant:
        return cls(
            engine=chance.choice(get_args(Engine)),
            checkpoint_format=checkpoint_format,
            speculation=chance.random() < 0.5,
            unload_on_commit=chance.random() < 0.25,
            dynamic_allocation=chance.random() < 0.25,
        )

    def __str__(self) -> str:
        extras = [
            name.replace("_", " ")
            for name in ("speculation", "unload_on_commit", "dynamic_allocation")
            if getattr(self, name)
        ]
        return ", ".join([self.engine, f"format {self.checkpoint_format}", *extras])

    def settings(self, buckets: int) -> dict[str, str]:
        found = Conf(num_buckets=buckets, engine=self.engine).to_spark() | {
            STATE_STORE + "checkpointFormatVersion": str(self.checkpoint_format),
            STATE_STORE + "unloadOnCommit": str(self.unload_on_commit).lower(),
            "spark.speculation": str(self.speculation).lower(),
        }
        if self.dynamic_allocation:
            allocation = "spark.dynamicAllocation."
            found |= {
                allocation + "enabled": "true",
                allocation + "shuffleTracking.enabled": "true",
                allocation + "minExecutors": "2",
                allocation + "maxExecutors": "4",
                allocation + "executorIdleTimeout": "8s",
                allocation + "shuffleTracking.timeout": "12s",
            }
        return found


ALWAYS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"],
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"],
    "spark.cores.max": "4",
    "spark.scheduler.mode": "FAIR",
    # So that a store goes to whichever executor is left, and comes back.
    "spark.locality.wait": "100ms",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "500ms",
    # An executor that is silent for so long is lost, and may wake up behind it.
    "spark.network.timeout": "12s",
    "spark.network.timeoutInterval": "3s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.shuffle.io.maxRetries": "2",
    "spark.shuffle.io.retryWait": "200ms",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.pollingDelay": "200ms",
    STATE_STORE + "minDeltasForSnapshot": "3",
    STATE_STORE + "maintenanceInterval": "1s",
}
