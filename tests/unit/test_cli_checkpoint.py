"""The commands that look into a checkpoint."""

from __future__ import annotations

import builtins
import json
import math
import subprocess
import sys
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

from bucketstate.cli import main
from bucketstate.cli.terminal.rows import as_json, as_text
from bucketstate.units import size
from tests.kit.aging import Aging, Record
from tests.kit.checkpoints import NEVER, Built, Row
from tests.unit.checkpoint.test_state import grown, rewrite
from tests.unit.checkpoint.test_verify import damage


def ran(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    assert main([str(a) for a in arguments]) == code
    return capsys.readouterr().out


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_inspect(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    text = ran(capsys, "inspect", built.root)
    keys = str(len(built.rows()))
    (row,) = [
        row for row in cells(text) if row[:5] == ["0", "stateStoreSave", "default", "2", keys]
    ]
    most = max(len(built.states[6][p]) for p in range(2))
    assert row[5] == str(most)
    text = ran(capsys, "inspect", built.root, "--verbose")
    assert "operator 0 (stateStoreSave) at version 6" in text
    assert "manifest 4 (2 runs) + 2 changelogs" in text
    found = json.loads(ran(capsys, "inspect", built.root, "--json", "--buckets", "--version", 3))
    (operator,) = found["operators"]
    assert [s["keys"] for s in operator["stores"]] == [len(built.states[3][p]) for p in range(2)]
    assert [s["manifest_version"] for s in operator["stores"]] == [None, None]
    assert [b["buckets"] for b in found["buckets"]] == [8, 8]
    assert "keys per bucket" in ran(capsys, "inspect", built.root, "--buckets")


def test_a_batch_in_place_of_a_version(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    for command in (["inspect"], ["show", "--limit", "0"]):
        by_batch = ran(capsys, *command, built.root, "--json", "--batch", 2)
        assert by_batch == ran(capsys, *command, built.root, "--json", "--version", 3)
        assert by_batch != ran(capsys, *command, built.root, "--json")


def test_the_way_to_hdfs_without_libhdfs_is_one_of_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", str(tmp_path))
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    assert main(["verify", "hdfs://127.0.0.1:1/checkpoint"]) == 1
    told = capsys.readouterr().err
    assert "give the path as webhdfs://namenode:9870/path" in told
    assert "filesystem=" not in told


def cells(text: str) -> list[list[str]]:
    """The cells of all tables' rows."""
    split = (line.strip("│").split("│") for line in text.splitlines() if line.startswith("│"))
    return [[cell.strip() for cell in line] for line in split]


def test_inspect_tells_cold_and_warm(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    assert "cold in data files" not in ran(capsys, "inspect", built.root)
    text = ran(capsys, "inspect", built.root, "-v")
    found = json.loads(ran(capsys, "inspect", built.root, "--json"))
    for store in found["operators"][0]["stores"]:
        of = store["residency"]
        assert 0 < of["resident_keys"] <= min(store["keys"], of["warm_records"])
        assert of["resident_share"] == of["resident_keys"] / store["keys"]
        counts = [str(store["partition"]), "default", str(of["cold_entries"])]
        (row,) = [row for row in cells(text) if row[:3] == counts]
        assert row[3] == size(of["cold_bytes"])
        assert row[4:6] == [str(of["warm_records"]), size(of["warm_bytes"])]
        assert row[6] == f"{of['resident_keys']} ({of['resident_share']:.1%})"
    assert "by bucket" not in text


def test_buckets_add_up_to_what_their_store_has(
    capsys: pytest.CaptureFixture[str], built: Built
) -> None:
    found = json.loads(ran(capsys, "inspect", built.root, "--json", "--buckets"))
    for store, summary in zip(found["operators"][0]["stores"], found["buckets"], strict=True):
        assert (summary["partition"], summary["column_family"]) == (store["partition"], "default")
        buckets = summary["by_bucket"]
        assert [b["bucket"] for b in buckets] == list(range(8))
        assert sum(b["keys"] for b in buckets) == store["keys"]
        for name in ("cold_entries", "cold_bytes", "warm_records", "warm_bytes"):
            assert sum(b[name] for b in buckets) == store["residency"][name]


def test_the_largest_buckets_are_shown_and_the_others_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    built = grown(tmp_path, buckets=25)
    built.snapshot(4)
    text = ran(capsys, "inspect", built.root, "--buckets")
    rows = cells(text[text.index("cold and warm by bucket, the largest first") :])
    assert len(rows) == 1 + 20
    assert sum(int(row[4]) for row in rows) == len(built.rows())
    found = json.loads(ran(capsys, "inspect", built.root, "--buckets", "--json"))
    every = [b for s in found["buckets"] for b in s["by_bucket"]]
    filled = [b for b in every if b["cold_entries"] or b["warm_records"]]
    assert rows[-1][:4] == ["", f"{len(filled) - 20} smaller ones", "", ""]
    for at, name in ((5, "cold_entries"), (7, "warm_keys"), (8, "warm_records")):
        assert sum(int(row[at]) for row in rows) == sum(b[name] for b in every)
    largest = max(every, key=lambda b: b["cold_bytes"] + b["warm_bytes"])
    assert rows[0][3:6] == [str(largest[n]) for n in ("bucket", "keys", "cold_entries")]


def test_nothing_is_shown_of_buckets_of_the_empty_store(
    capsys: pytest.CaptureFixture[str], built: Built
) -> None:
    text = ran(capsys, "inspect", built.root, "--buckets", "--version", 0)
    assert "keys per bucket" in text
    assert "by bucket" not in text


def test_inspect_of_what_cannot_be_read(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    (built.folder(1) / "6.changelog").unlink()
    text = ran(capsys, "inspect", built.root, code=3)
    assert "cannot be read" in text
    assert "6.changelog is not there" in text
    found = json.loads(ran(capsys, "inspect", built.root, "--json", code=3))
    stores = found["operators"][0]["stores"]
    assert [bool(s["problem"]) for s in stores] == [False, True]
    assert [s["residency"] is None for s in stores] == [False, True]


def test_inspect_of_a_replaced_changelog(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    rewrite(built, 5, commit=uuid.UUID(int=7))
    text = ran(capsys, "inspect", built.root)
    assert "another attempt at the same batch has replaced it" in " ".join(text.split())
    found = json.loads(ran(capsys, "inspect", built.root, "--json"))
    first, second = found["operators"][0]["stores"]
    assert "5.changelog is of the commit" in first["replaced"][0]
    assert second["replaced"] == []


def aging(root: Path, time_buckets: int) -> Aging:
    """An hour apart, two keys in each, one that never expires and one without a time."""
    built = Aging(root)
    hour, start = 3600, 1_700_000_000 // 3600 * 3600
    written: dict[Row, Record] = {
        (f"k{n}",): (start + hour * (n // 2), (n, n)) for n in range(2 * time_buckets)
    }
    built.batch_at({**written, ("always",): (NEVER, (0, 0)), ("old",): (None, (0, 0))}, horizon=0)
    built.batch_at({}, horizon=start + hour, newest=start + hour * (time_buckets - 1))
    return built


def test_inspect_of_state_that_expires(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    built = aging(tmp_path, 3)
    text = ran(capsys, "inspect", built.root)
    assert "expired before" in text
    # The horizon of all, and the bucket that starts then; of each partition, with -v.
    assert text.count("2023-11-14 23:00:00") == 2
    assert ran(capsys, "inspect", built.root, "-v").count("2023-11-14 23:00:00") == 3
    table = [" ".join(line.replace("│", " ").split()) for line in text.splitlines()]
    for line in ("2023-11-14 23:00:00 2", "2023-11-15 00:00:00 2", "never expire 2"):
        assert line in table
    found = json.loads(ran(capsys, "inspect", built.root, "--json"))
    expiries = [s["families"][0]["expiry"] for s in found["operators"][0]["stores"]]
    for expiry in expiries:
        assert expiry["horizon"] == "2023-11-14T23:00:00+00:00"
        assert expiry["newest"] == "2023-11-15T00:00:00+00:00"
    assert sum(expiry["untimed_keys"] for expiry in expiries) == 1
    counts: dict[str | None, int] = {}
    for bucket in (b for expiry in expiries for b in expiry["time_buckets"]):
        counts[bucket["start"]] = counts.get(bucket["start"], 0) + bucket["keys"]
    assert counts == {
        "2023-11-14T23:00:00+00:00": 2,
        "2023-11-15T00:00:00+00:00": 2,
        None: 2,
    }


def test_inspect_of_state_that_expires_and_cannot_be_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    built = Aging(tmp_path)
    keys = [(f"key-{n}",) for n in range(20)]
    built.batch_at(dict.fromkeys(keys, (7200, (1, 1))), horizon=3600)
    changelog = built.folder(1) / "1.changelog"
    changelog.write_bytes(changelog.read_bytes()[:100])
    assert main(["inspect", str(tmp_path)]) == 3
    text = capsys.readouterr().out
    assert "keys per time bucket, of all that can be read" in " ".join(text.split())
    (line,) = [line for line in text.splitlines() if "1970-01-01 01:00:00" in line]
    assert line.split("│")[1].strip() == "all that can be read"
    assert main(["inspect", str(tmp_path), "-v"]) == 3
    assert "│ all" not in capsys.readouterr().out


def test_inspect_of_many_time_buckets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = ran(capsys, "inspect", aging(tmp_path, 31).root)
    table = [" ".join(line.replace("│", " ").split()) for line in text.splitlines()]
    assert "10 later ones 20" in table
    assert sum(line.startswith("2023-") for line in table) == 20


def test_nothing_is_said_of_times_where_there_are_none(
    capsys: pytest.CaptureFixture[str], built: Built
) -> None:
    text = ran(capsys, "inspect", built.root)
    assert "expired before" not in text
    assert "time bucket" not in text
    found = json.loads(ran(capsys, "inspect", built.root, "--json"))
    assert found["operators"][0]["stores"][0]["families"][0]["expiry"] is None


def test_show_and_export_with_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    built = aging(tmp_path / "checkpoint", 2)
    rows = lines(ran(capsys, "show", built.root, "--json", "--times"))
    by_key = {row["key"]["key"]: row["time_bucket"] for row in rows}
    start = "2023-11-14T23:00:00+00:00"
    assert by_key == {"k2": start, "k3": start, "always": None, "old": None}
    assert "time_bucket" in ran(capsys, "show", built.root, "--times")
    assert "time_bucket" not in ran(capsys, "show", built.root)
    for ending in ("parquet", "arrow", "csv", "jsonl"):
        ran(capsys, "export", built.root, tmp_path / f"state.{ending}", "--times")
    table = pyarrow.parquet.read_table(tmp_path / "state.parquet")
    assert table["time_bucket"].null_count == 2


@pytest.mark.parametrize("limit", ["-1", "many", "1.5"])
def test_a_limit_that_is_no_number_of_rows(
    capsys: pytest.CaptureFixture[str], built: Built, limit: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["show", str(built.root), "--limit", limit])
    assert stop.value.code == 2
    said = f"argument --limit: '{limit}' is no number of rows: give 0 for all of them"
    assert said in capsys.readouterr().err


def test_show(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    rows = lines(ran(capsys, "show", built.root, "--json", "--limit", 0, "--version", 5))
    found = {(r["partition_id"], *r["key"].values(), *r["value"].values()) for r in rows}
    assert found == {(p, *k, *v) for p, k, v in built.rows(5)}
    assert len(lines(ran(capsys, "show", built.root, "--json"))) == len(built.rows())
    text = ran(capsys, "show", built.root, "--limit", 3, "--partition", 1)
    assert "key.key" in text
    assert "more than these 3" in text
    assert text.count("key-") == 3
    assert "no rows" in ran(capsys, "show", built.root, "--version", 0)


def test_rows_as_json_are_alone_and_that_there_are_more_is_said_beside_them(
    capsys: pytest.CaptureFixture[str], built: Built
) -> None:
    for limit, said in (3, ["more than these 3"]), (0, []):
        assert main(["show", str(built.root), "--json", "--limit", str(limit)]) == 0
        printed = capsys.readouterr()
        assert len(lines(printed.out)) == (limit or len(built.rows()))
        assert [words for words in said if words in printed.err] == said
        assert bool(printed.err) == bool(said)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
def test_export(
    capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path, ending: str
) -> None:
    target = tmp_path / f"state.{ending}"
    assert f"{len(built.rows())} rows in" in ran(capsys, "export", built.root, target)
    expected = {(*k, *v) for _, k, v in built.rows()}
    match ending:
        case "csv":
            table = pyarrow.csv.read_csv(target)
            assert table.column_names == ["key.key", "value.count", "value.total", "partition_id"]
            rows = {tuple(row.values())[:3] for row in table.to_pylist()}
        case "jsonl":
            found = lines(target.read_text())
            rows = {(*r["key"].values(), *r["value"].values()) for r in found}
        case _:
            if ending == "parquet":
                table = pyarrow.parquet.read_table(target)
            else:
                table = pyarrow.ipc.open_file(target).read_all()
            rows = {tuple(row.values())[:3] for row in table.flatten().to_pylist()}
    assert rows == expected
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [target.name]


def test_export_does_not_replace_a_file_unasked(
    capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path
) -> None:
    target = tmp_path / "state.jsonl"
    target.write_text("mine")
    assert main(["export", str(built.root), str(target)]) == 1
    assert "is there already: choose another name, or add --overwrite" in capsys.readouterr().err
    assert target.read_text() == "mine"
    found = json.loads(ran(capsys, "export", built.root, target, "--overwrite", "--json"))
    assert found["rows"] == len(built.rows()) == len(target.read_text().splitlines())


def test_an_export_that_fails_leaves_nothing(
    capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path
) -> None:
    damage(built.folder(1) / "6.changelog", -60)
    target = tmp_path / "state.parquet"
    assert main(["export", str(built.root), str(target)]) == 1
    assert "6.changelog is damaged" in capsys.readouterr().err
    assert [p for p in tmp_path.iterdir() if p.is_file()] == []


@pytest.mark.parametrize("name", ["state.xlsx", "state"])
def test_an_ending_that_is_not_known(
    capsys: pytest.CaptureFixture[str], built: Built, tmp_path: Path, name: str
) -> None:
    assert main(["export", str(built.root), str(tmp_path / name)]) == 1
    assert (
        "must be one of .arrow, .csv, .jsonl, .parquet, or add --format" in capsys.readouterr().err
    )


def test_verify(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    keys = len(built.rows())
    text = ran(capsys, "verify", built.root)
    first, last = text.splitlines()
    assert first.startswith("operator 0: a restart opens version 6 of 2 stores (")
    assert first.endswith(f", {keys} keys)")
    assert "is sound" in last
    text = ran(capsys, "verify", built.root, "-v")
    assert text.count("opens version 6 from manifest 4 and 2 changelogs") == 2
    damage(built.folder(0) / "6.changelog", 20)
    text = ran(capsys, "verify", built.root, code=3)
    assert "error: " in text
    assert "is DAMAGED" in text
    assert json.loads(ran(capsys, "verify", built.root, "--json", code=3))["ok"] is False


def test_diff(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    newest = lines(ran(capsys, "diff", built.root, "--json", "--limit", 0))
    assert newest == lines(
        ran(capsys, "diff", built.root, "--from", 5, "--to", 6, "--json", "--limit", 0)
    )
    batches = ["--from-batch", 4, "--to-batch", 5]
    assert newest == lines(ran(capsys, "diff", built.root, *batches, "--json"))
    before, after = dict_of(built, 5), dict_of(built, 6)
    assert {row["key"]["key"] for row in newest} == {
        key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
    }
    assert "before.count" in ran(capsys, "diff", built.root)
    ran(capsys, "diff", built.root, "--exit-code", code=3)
    ran(capsys, "diff", built.root, "--exit-code", "--from", 4, "--to", 4, code=0)


def test_rows_that_a_terminal_is_too_narrow_for_are_lines(
    capsys: pytest.CaptureFixture[str], built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    text = ran(capsys, "show", built.root, "--limit", 2)
    assert text.count("value.total  ") == 2
    assert "-- 2 --" in text
    monkeypatch.setenv("COLUMNS", "90")
    assert "┃" in ran(capsys, "show", built.root, "--limit", 2)


def dict_of(built: Built, version: int) -> dict[str, Any]:
    return {k[0]: (p, v) for p, k, v in built.rows(version)}


@pytest.mark.parametrize("command", ["inspect", "show", "verify", "diff"])
def test_a_wrong_path_is_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    assert main([command, str(tmp_path / "none")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "does not exist" in err


@pytest.mark.parametrize(
    "arguments", [["show"], ["show", "x", "--limit", "-1"], ["diff", "x", "y"]]
)
def test_a_misuse_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


def test_without_rich_json_still_works_and_tables_say_what_is_missing(
    capsys: pytest.CaptureFixture[str], built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [m for m in sys.modules if m.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "rich":
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr("bucketstate.optional.import_module", lambda name: without(name))
    assert json.loads(ran(capsys, "verify", built.root, "--json"))["ok"]
    assert "is sound" in ran(capsys, "verify", built.root)
    assert "rows in" in ran(capsys, "export", built.root, built.root.parent / "state.csv")
    assert main(["inspect", str(built.root)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "pip install 'bucketstate[cli]'" in err


def test_a_reader_that_has_enough_is_no_failure(built: Built) -> None:
    command = [
        sys.executable,
        "-m",
        "bucketstate",
        "show",
        str(built.root),
        "--json",
        "--limit",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 0


def test_values_as_json_and_as_text() -> None:
    row = {
        "at": datetime(2024, 3, 1, tzinfo=UTC),
        "for": timedelta(minutes=1),
        "cost": Decimal("1.50"),
        "raw": b"\x01\xff",
        "list": [None, 1.5, math.nan, math.inf],
    }
    assert json.loads(as_json(row)) == {
        "at": "2024-03-01T00:00:00+00:00",
        "for": 60.0,
        "cost": "1.50",
        "raw": "01ff",
        "list": [None, 1.5, "NaN", "Infinity"],
    }
    by_day = {date(2024, 3, 1): 1, None: math.nan, 7: "x"}
    assert as_json(by_day) == '{"2024-03-01": 1, "null": "NaN", "7": "x"}'
    assert [as_text(v) for v in (None, "-", "", "a", ["-", None])] == [
        "-",
        "'-'",
        "''",
        "a",
        "['-', -]",
    ]
    assert as_text(row) == (
        "{at: 2024-03-01 00:00:00+00:00, for: 0:01:00, cost: 1.50, raw: 0x01ff, "
        "list: [-, 1.5, nan, inf]}"
    )
