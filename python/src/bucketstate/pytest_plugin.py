"""The pytest plugin. Installing bucketstate makes its fixtures known to pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["bucketstate_spark", "bucketstate_spark_settings"]


@pytest.fixture(scope="session")
def bucketstate_spark_settings() -> dict[str, str]:
    """Spark settings on top of the fixture's own. Override it in a conftest.py."""
    return {}


@pytest.fixture(scope="session")
def bucketstate_spark(bucketstate_spark_settings: dict[str, str]) -> Iterator[SparkSession]:
    """A small local Spark session (two cores, UTC); its queries keep their state in bucketstate.

    A session that runs already is used instead, with the settings for as long as the tests take.

    Raises:
        SessionError: that session cannot be given one of the settings any more.
        JarNotFoundError: there is no jar for this pyspark.
    """
    from bucketstate.testing.session import local_session

    yield from local_session(bucketstate_spark_settings)
