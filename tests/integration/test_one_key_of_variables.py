"""State variables of one key, of which some lie in snapshots: `get`, history and command line
give what Spark's own source has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate import Conf
from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from tests.integration.streams import run_with_restart
from tests.integration.test_state_variables import (
    BATCHES,
    FORMAT,
    batches,
    by_event_time_in_pandas,
    by_event_time_of_rows,
    session,
    spark_s,
)
from tests.kit.cases import cases
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["session"]

VALUES = {"count": "value", "every": "list_value", "plain": "map_value"}
"""The state variables, and the column in which Spark has all of a key's."""
NOBODY = "nobody"
SOME = {"k0", "k1", "k2", "k3", "k4", "k5"}
"""The keys that the last batch brings, which forgets some of them."""


@pytest.fixture
def snapshot(session: SparkSession) -> Iterator[None]:
    """One behind the third of four versions: the last is in changelogs alone."""
    seldom = Conf(snapshot_mode="sync", snapshot_max_versions=3)
    with settings(session, seldom.to_spark()):
        yield


def of_spark(session: SparkSession, found: Checkpoint, name: str, batch: int) -> dict[str, Any]:
    """What each key has in a variable behind a batch."""
    flat: dict[str, Any] = {} if name == "count" else {"flattenCollectionTypes": False}
    read = spark_s(session, found, stateVarName=name, batchId=batch, **flat)
    return {row["key"]["key"]: row[VALUES[name]] for row in read.collect()}


def as_dicts(value: Any) -> Any:
    """Spark's rows as `get` has them: of a map, keys with values, in some order."""
    if isinstance(value, dict):
        return sorted(((k.asDict(), v.asDict()) for k, v in value.items()), key=repr)
    if isinstance(value, list):
        return [row.asDict() for row in value]
    return None if value is None else value.asDict()


def in_order(name: str, value: Any) -> Any:
    return sorted(value, key=repr) if name == "plain" and value is not None else value


@pytest.mark.parametrize(
    ("query", "checkpoint_format"),
    cases([(by_event_time_of_rows, 2)], [(by_event_time_in_pandas, 1)]),
)
@pytest.mark.usefixtures("snapshot")
@pytest.mark.timeout(400)
def test_variables_of_one_key(
    session: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    query: Callable[[DataFrame], DataFrame],
    checkpoint_format: int,
) -> None:
    session.conf.set(FORMAT, checkpoint_format)
    *earlier, last = batches()
    few = [event for event in last if event["key"] in SOME]
    run_with_restart(session, tmp_path, query, [*earlier, few], mode="update")
    found = Checkpoint(tmp_path / "checkpoint")
    assert found.restart_version == BATCHES
    plans = [
        found.plan(partition=n)
        for n in range(found.store_info(found.operator(), "default").partitions)
    ]
    assert {plan.base.version if plan.base else 0 for plan in plans} == {BATCHES - 1}
    assert {len(plan.changelogs) for plan in plans} == {1}
    for name in VALUES:
        versions = {
            version: of_spark(session, found, name, version - 1) for version in found.versions
        }
        state = versions[BATCHES]
        # Of keys that the last batch did not bring the snapshot is all there is.
        changed = found.scan(
            "changes", since=BATCHES - 1, version=BATCHES, state_var=name
        ).to_arrow()
        brought = {row["key"] for row in changed.column("key").to_pylist()}
        assert state.keys() - brought
        assert state.keys() & brought
        forgotten = set().union(*versions.values()) - state.keys()
        # Of its list a forgotten key keeps something, and of its map it may.
        assert forgotten or name != "count"
        for key in [*state, *forgotten, NOBODY]:
            expected = as_dicts(state.get(key))
            assert in_order(name, found.scan(state_var=name).get(key)) == expected
            history = found.scan("history", key=key, state_var=name, flatten=False).to_arrow()
            assert history.column("version").to_pylist() == list(versions)
            for version, value in zip(
                versions, history.column(VALUES[name]).to_pylist(), strict=True
            ):
                assert in_order(name, value) == as_dicts(versions[version].get(key)), version
            shown = on_command_line(capsys, found, key, "--state-var", name)
            whole = found.scan(state_var=name, key=key).to_arrow()
            assert len(shown) == whole.num_rows
            assert bool(shown) == (expected is not None)
            if name == "count" and shown:
                assert [row["value"] for row in shown] == [expected]
            told = on_command_line(capsys, found, key, "--state-var", name, "--history")
            assert {row["version"] for row in told} == set(versions)
    of_maps = of_spark(session, found, "plain", BATCHES - 1)
    for key, entries in of_maps.items():
        for user_key in range(6):
            value = {k["v"]: v.asDict() for k, v in entries.items()}.get(user_key)
            assert found.scan(state_var="plain").get(key, user_key) == value
            how = ("--state-var", "plain", "--user-key", str(user_key))
            shown = on_command_line(capsys, found, key, *how)
            assert len(shown) == (value is not None)


def on_command_line(
    capsys: pytest.CaptureFixture[str], found: Checkpoint, key: str, *how: str
) -> list[dict[str, Any]]:
    assert main(["show", found.location, "--json", "--limit", "0", "--key", key, *how]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]
