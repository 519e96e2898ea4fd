"""The commands that look into a checkpoint of a transformWithState."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet
import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.cli import main
from bucketstate.report import write_report
from tests.kit.checkpoints import Built
from tests.kit.pages import Page
from tests.unit.checkpoint.test_variables import FIRST, HOUR, SECOND, grown

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grown(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def ran(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    assert main([str(a) for a in arguments]) == code
    return capsys.readouterr().out


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(a) for a in arguments]) == 1
    return capsys.readouterr().err


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def cells(text: str) -> list[list[str]]:
    split = (line.strip("│").split("│") for line in text.splitlines() if line.startswith("│"))
    return [[cell.strip() for cell in line] for line in split]


def test_inspect_lists_the_variables(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    text = ran(capsys, "inspect", root, "--version", 1)
    assert "state variables (time mode ProcessingTime, timers: 3)" in text
    shown = {row[0]: row[1:4] for row in cells(text)}
    assert shown["by_value"] == ["map", "yes", "2"]
    assert shown["count"] == ["value", "no", "2"]
    assert shown["every"] == ["list", "no", "2"]
    # What Spark keeps for itself is shown when it is asked for.
    assert "$ttl_last" not in text
    shown = {row[0]: row[1:4] for row in cells(ran(capsys, "inspect", root, "--internal"))}
    assert shown["$ttl_last"] == ["internal", "expiry times of last, in order", "1"]
    assert shown["$procTimers_timestampToKey"] == ["internal", "timers by time", "1"]
    assert shown["default"] == ["", "not used", "0"]


def test_what_cannot_be_read_is_no_sum_without_it(
    capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    """Of two partitions the second has the first version alone, and cannot be read."""
    metadata = root / "state/0/_metadata/v2"
    (file,) = metadata.iterdir()
    file.write_text(file.read_text().replace('"numPartitions": 1', '"numPartitions": 2'))
    shutil.copytree(root / "state/0/0", root / "state/0/1")
    changelog = root / "state/0/1/2.changelog"
    changelog.write_bytes(changelog.read_bytes()[:150])
    (operator,) = Checkpoint(root).overview().operators
    assert [s.problem is None for s in operator.stores] == [True, False]
    assert {v.keys for v in operator.state_variables} == {None}
    assert operator.timers is None
    (operator,) = json.loads(ran(capsys, "inspect", root, "--json", code=3))["operators"]
    assert operator["state_variables"][0]["keys"] is operator["timers"] is None
    text = ran(capsys, "inspect", root, "--internal", code=3)
    assert "state variables (time mode ProcessingTime, timers: unknown)" in text
    shown = {row[0]: row for row in cells(text)}
    assert shown["by_value"][3] == shown["$ttl_last"][3] == "unknown"
    assert "not counted" not in text
    # A page, too, tells what it is.
    write_report(root, root.parent / "report.html", state=False)
    table = Page(root.parent / "report.html").tables["State variables"]
    assert "unknown" in table
    assert "not counted" not in table


def test_nothing_of_what_cannot_be_read_is_told(
    capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    changelog = root / "state/0/0/2.changelog"
    changelog.write_bytes(changelog.read_bytes()[:150])
    shown = {row[0]: row for row in cells(ran(capsys, "inspect", root, code=3))}
    assert shown["count"][3] == shown["plain"][3] == "unknown"


def test_inspect_as_json(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    (operator,) = json.loads(ran(capsys, "inspect", root, "--json"))["operators"]
    assert (operator["time_mode"], operator["timers"]) == ("ProcessingTime", len(SECOND.timers))
    variables = {v["name"]: v for v in operator["state_variables"]}
    assert variables["plain"] | {"keys": 1} == {
        "name": "plain",
        "kind": "map",
        "ttl": False,
        "keys": 1,
        "key": "struct<key:string>",
        "user_key": "struct<v:bigint>",
        "value": "struct<v:bigint>",
        "schema_ids": [0],
    }
    roles = {f["name"]: f["role"] for f in operator["stores"][0]["families"] if f["internal"]}
    assert roles["$count_recent"] == "length of each list of recent"
    assert all(roles.values())


def test_inspect_without_a_schema_file(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    (schema,) = (root / "state/0/_stateSchema/default").iterdir()
    schema.unlink()
    shown = {row[0]: row[1:] for row in cells(ran(capsys, "inspect", root))}
    assert shown["count"] == ["value", "no", "1", "unknown", "", "unknown", ""]


def test_other_operators_have_no_table_of_variables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Built(tmp_path).batch({("a",): (1, 1)})
    assert "state variables" not in ran(capsys, "inspect", tmp_path, "--internal")
    (operator,) = json.loads(ran(capsys, "inspect", tmp_path, "--json"))["operators"]
    assert (operator["time_mode"], operator["state_variables"]) == (None, [])
    told = failed(capsys, "show", tmp_path, "--state-var", "count")
    assert "(stateStoreSave) has no state variables, only a transformWithState has" in told


def test_show_a_variable(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    show = ["show", root, "--version", 1, "--json", "--state-var"]
    found = lines(ran(capsys, *show, "every"))
    assert len(found) == sum(map(len, FIRST.every.values()))
    assert found[0].keys() == {"key", "list_element", "partition_id"}
    whole = lines(ran(capsys, *show, "every", "--no-flatten"))
    assert {r["key"]["key"]: [v["v"] for v in r["list_value"]] for r in whole} == FIRST.every
    expiring = lines(ran(capsys, *show, "last", "--times"))
    assert {r["key"]["key"]: r["expires_at"] for r in expiring} == {
        "a": "1970-01-01T01:00:00+00:00",
        "b": "1970-01-01T02:00:00+00:00",
    }
    text = ran(capsys, "show", root, "--state-var", "by_value")
    assert ["a", "1", "10", str(HOUR), "0"] in cells(text)


def test_show_timers(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    found = lines(ran(capsys, "show", root, "--timers", "--json", "--version", 1))
    assert {(r["key"]["key"], r["expiration_timestamp_ms"]) for r in found} == FIRST.timers
    assert "1970-01-01 02:00:00+00:00" in ran(capsys, "show", root, "--timers", "--times")


def test_show_an_internal_family(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    (row,) = lines(ran(capsys, "show", root, "--column-family", "$count_recent", "--json"))
    assert (row["key"], row["value"]) == ({"key": "a"}, {"count": 1})


def test_what_is_not_there(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    told = failed(capsys, "show", root, "--state-var", "nope")
    assert "There are: by_value, count, every, last, plain, recent." in told
    assert "name one of them with state_var (--state-var)" in failed(capsys, "show", root)
    with pytest.raises(SystemExit) as usage:
        main(["show", str(root), "--state-var", "count", "--timers"])
    assert usage.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["--state-var", "every"], 4),
        (["--state-var", "every", "--no-flatten"], 2),
        (["--state-var", "plain"], 4),
        (["--state-var", "plain", "--no-flatten"], 2),
        (["--timers"], 3),
    ],
)
def test_export(
    capsys: pytest.CaptureFixture[str], root: Path, arguments: list[str], rows: int
) -> None:
    target = root.parent / "rows.parquet"
    ran(capsys, "export", root, target, "--version", 1, *arguments)
    assert pyarrow.parquet.read_table(target).num_rows == rows
    for ending in (".csv", ".jsonl", ".arrow"):
        other = target.with_suffix(ending)
        said = ran(capsys, "export", root, other, "--version", 1, *arguments, "--json")
        assert json.loads(said)["rows"] == rows


def test_diff_and_verify(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    found = lines(ran(capsys, "diff", root, "--state-var", "plain", "--json"))
    changes = {(r["key"]["userKey"]["v"], r["change"]) for r in found if "a" in str(r["key"])}
    assert changes == {(1, "changed"), (2, "removed")}
    assert json.loads(ran(capsys, "verify", root, "--json"))["findings"] == []


def test_one_key_of_a_variable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = grown(tmp_path / "tws").root
    how = ["show", root, "--state-var", "plain", "--json"]
    whole = lines(ran(capsys, *how))
    first = whole[0]
    key, user_key = first["key"]["key"], first["user_map_key"]["v"]
    assert lines(ran(capsys, *how, "--key", key)) == [r for r in whole if r["key"] == first["key"]]
    assert lines(ran(capsys, *how, "--key", key, "--user-key", user_key)) == [first]
    newest = lines(ran(capsys, *how, "--key", key, "--user-key", user_key, "--history"))[-1]
    assert newest == {"version": 2, "batch_id": 1} | first
