"""A savepoint is forked and gone back to when Spark has long forgotten its batch.

The query goes on as one that never went further.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint, savepoints
from bucketstate.move import fork, rewind
from tests.integration.test_checkpoint import FORMAT
from tests.integration.test_elsewhere import NO_EMPTY_BATCHES
from tests.integration.test_moving import KINDS, Going, assert_sound
from tests.kit.cases import cases
from tests.kit.engine import engine
from tests.kit.session_settings import settings
from tests.kit.stops import Stopped, Writes
from tests.kit.unloading import unload

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FEW = {
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint": "0",
    "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
}
SNAPSHOTS = Conf(engine=engine(), snapshot_mode="sync", snapshot_max_versions=3)
BEFORE, LATER = 4, 10


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("kind", "form"),
    cases([], [("aggregation", "1"), ("aggregation", "2"), ("transformWithState", "2")]),
)
def test_a_savepoint_of_long_ago(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    form: str,
) -> None:
    with settings(spark, SNAPSHOTS.to_spark() | FEW | {FORMAT: form} | NO_EMPTY_BATCHES):
        going = Going(spark, KINDS[kind])
        twin = going.on(tmp_path / "twin", BEFORE + 2)
        expected = {n: twin[n] for n in (BEFORE, BEFORE + 1)}
        original = tmp_path / "original"
        going.on(original, BEFORE)
        made = savepoints.create(original, "kept")
        assert made.batch == BEFORE - 1
        going.on(original, LATER)
        assert Checkpoint(original).query.planned[0] > made.batch + 2

        fork(original, tmp_path / "fork", savepoint="kept")
        assert going.on(tmp_path / "fork", 2) == expected
        assert_sound(tmp_path / "fork")

        unload(spark)
        with monkeypatch.context() as context:
            counted = Writes()
            counted.install(context)
            shutil.copytree(original, tmp_path / "counted")
            report = rewind(tmp_path / "counted", savepoint="kept", stopped=True)
        assert report.restored >= 4
        # Within the files of state, among what is restored, and among the entries of the logs.
        for back in (12, 9, 6, 3, 2, 1):
            root = tmp_path / f"stopped-{back}"
            shutil.copytree(original, root)
            with monkeypatch.context() as context:
                Writes(counted.count - back).install(context)
                with pytest.raises(Stopped):
                    rewind(root, savepoint="kept", stopped=True)
            try:
                found = going.on(root, 1)
            except StreamingQueryException:
                rewind(root, savepoint="kept", stopped=True)
                found = going.on(root, 1)
            assert found == {BEFORE: twin[BEFORE]}
            shutil.rmtree(root)

        rewind(original, savepoint="kept", stopped=True)
        assert_sound(original)
        assert going.on(original, 2) == expected
        assert_sound(original)
        # It is still there to go back to.
        rewind(original, savepoint="kept", stopped=True)
        assert going.on(original, 2) == expected
