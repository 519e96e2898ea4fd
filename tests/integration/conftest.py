"""One real local Spark for all integration tests: the fixture that users get."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.engine import CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="session")
def bucketstate_spark_settings() -> dict[str, str]:
    # The workers import the functions of the demo and of the tests by name, and else what the tests
    # import.
    given = [p for p in [os.environ.get("PYTHONPATH")] if p]
    os.environ["PYTHONPATH"] = os.pathsep.join([*given, str(EXAMPLES), str(EXAMPLES.parent)])
    return {"spark.log.level": "OFF", **CONF.to_spark()}


@pytest.fixture(scope="session")
def spark(bucketstate_spark: SparkSession) -> SparkSession:
    return bucketstate_spark
