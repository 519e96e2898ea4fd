"""One real local Spark for all integration tests: the fixture that users get."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bucketstate.config import PARTITIONS_KEY, PROVIDER_KEY
from tests.kit.cases import sample
from tests.kit.engine import CONF
from tests.kit.light import light

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEXMARK = EXAMPLES.parent / "nexmark/src"


HERE = str(Path(__file__).parent)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves cases out where tests are not named."""
    if config.option.keyword or any("::" in argument for argument in config.args):
        return
    here = [item for item in items if str(item.path).startswith(HERE)]
    left_out = set(here) - set(sample(here))
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def bucketstate_spark_settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    files = light(tmp_path_factory.getbasetemp() / "light")
    # The workers import the functions of the demo and of the tests by name, and else what the tests
    # import.
    given = [p for p in [os.environ.get("PYTHONPATH")] if p]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [*given, str(EXAMPLES), str(NEXMARK), str(EXAMPLES.parent)]
    )
    return {"spark.log.level": "OFF", **files, **CONF.to_spark()}


@pytest.fixture(scope="session")
def spark(bucketstate_spark: SparkSession) -> SparkSession:
    return bucketstate_spark


@pytest.fixture(autouse=True)
def _one_session_for_all(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test leaves of these settings, all tests after it run with."""
    if "bucketstate_spark" not in request.fixturenames:
        yield
        return
    conf = request.getfixturevalue("bucketstate_spark").conf
    before = {key: conf.get(key) for key in (PROVIDER_KEY, PARTITIONS_KEY)}
    yield
    assert {key: conf.get(key) for key in before} == before
