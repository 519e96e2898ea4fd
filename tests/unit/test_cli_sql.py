"""`bucketstate sql`: a checkpoint asked for in DuckDB's SQL."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate.cli import main
from tests.docs import DOCS, commands
from tests.kit.checkpoints import Built, log
from tests.kit.variables import State, Variables
from tests.unit.checkpoint.test_state import grown
from tests.unit.checkpoint.test_states import row_of, visits, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Ask = "Callable[..., str]"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return grown(tmp_path)


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Asks the checkpoint: what is printed, or of what fails what is told."""

    def asked(*given: object, code: int = 0) -> str:
        assert main(["sql", str(tmp_path), *map(str, given)]) == code
        out = capsys.readouterr()
        return out.err if code else out.out

    return asked


def rows(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_the_state(built: Built, ask: Any) -> None:
    held = built.rows()
    (found,) = rows(ask("select count(*) n, sum(value.total) total from state", "--json"))
    assert found == {"n": len(held), "total": sum(value[1] for _, _, value in held)}
    query = "select key.key as k, value.count as n from state where n >= 4 order by k limit 3"
    some = sorted((key[0], value[0]) for _, key, value in held if value[0] >= 4)[:3]
    assert [tuple(row.values()) for row in rows(ask(query, "--json"))] == some
    table = ask(query)
    assert all(k in table for k, _ in some)
    found_csv = list(csv.reader(io.StringIO(ask(query, "--csv"))))
    assert found_csv == [["k", "n"], *([k, str(n)] for k, n in some)]
    before = rows(ask("select count(*) n from state", "--json", "--batch", 2))
    assert before == [{"n": len(built.rows(3))}]


def test_what_a_column_is_called_is_shown_as_it_is(built: Built, ask: Any) -> None:
    assert built.rows()
    printed = ask("""select 1 as "sums[a]", 2 as "#n", '[b]' as "[bold]x" """)
    assert all(name in printed for name in ("sums[a]", "#n", "[bold]x", "[b]"))


def test_changes_and_differences(built: Built, ask: Any) -> None:
    query = "select change_type, count(*) n from changes group by all order by all"
    changes = {row["change_type"]: row["n"] for row in rows(ask(query, "--json"))}
    assert sum(changes.values()) <= 80 + 300 // 5
    assert set(changes) == {"update", "delete"}
    query = "select distinct batch_id from changes order by all"
    asked = rows(ask(query, "--json", "--from", 2, "--version", 5))
    assert [row["batch_id"] for row in asked] == [2, 3, 4]
    old, new = ({key for _, key, _ in built.rows(version)} for version in (2, 6))
    query = "select key.key k from diff where change = 'removed' order by k"
    gone = rows(ask(query, "--json", "--from", 2))
    assert [row["k"] for row in gone] == sorted(key[0] for key in old - new)


def test_hot_keys_are_found_as_the_page_of_the_tab_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "state-tab.md").read_text(encoding="utf-8")
    (command,) = [words for words in commands(page) if words[0] == "sql"]
    first = int(command[command.index("--from") + 1])
    built = Built(tmp_path / command[1])
    for number in range(first + 6):
        changed: dict[Any, Any] = {("hot",): (number, 0), (f"key-{number}",): (number, 0)}
        # One that was hot before, and one that is warm.
        if number < first:
            changed[("old",)] = (number, 0)
        if number % 2:
            changed[("warm",)] = (number, 0)
        built.batch(changed)
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--json"]) == 0
    found = [(row["key"]["key"], row["batches"]) for row in rows(capsys.readouterr().out)]
    assert found[:2] == [("hot", 6), ("warm", 3)]
    assert {batches for _, batches in found[2:]} == {1}
    assert len(found) == 8


def test_tables_are_listed(built: Built, ask: Any) -> None:
    listed = rows(ask("--json"))
    assert [row["table"] for row in listed] == ["state", "changes", "diff"]
    assert list(listed[0]["columns"]) == ["key", "value", "partition_id"]
    assert "changes" in ask()
    told = ask("select * from states", code=2)
    assert 'Did you mean "state"' in told
    assert built.root


def test_more_rows_than_are_printed(built: Built, ask: Any) -> None:
    assert "more than these 20" in ask("select * from state")
    assert "more than these 3" in ask("select * from state", "--limit", 3)
    held = len(built.rows())
    for limit, shown in ((3, 3), (0, held), (held, held), (held + 1, held)):
        asked = ("select * from state", "--csv", "--limit", limit)
        assert len(ask(*asked).splitlines()) == 1 + shown
    assert "no rows" in ask("select * from state where false")
    twice = rows(ask("select 1 as n, 2 as n, 3 as n", "--json"))
    assert twice == [{"n": 1, "n_2": 2, "n_3": 3}]
    every = rows(ask("select * from state", "--json"))
    assert len(every) == len(built.rows()) > 20


def test_state_variables(tmp_path: Path, ask: Any) -> None:
    made = Variables(tmp_path)
    state = State(
        count={"a": (1, "x"), "b": (2, None)},
        every={"a": [1, 2, 3]},
        plain={("a", 1): 10, ("a", 2): 20},
        timers={("a", 5_000)},
    )
    made.batch(made.families(state))
    tables = [row["table"] for row in rows(ask("--json"))]
    assert {"count", "count_changes", "count_diff", "every", "plain", "timers"} <= set(tables)
    assert not [name for name in tables if name.startswith("_")]
    query = (
        "select key.key k, n, list(list_element.v order by list_element.v) vs, due from every, "
        "(select key.key k, value.n n from count) c, "
        "(select key.key k, expiration_timestamp_ms due from timers) t "
        "where key.key = c.k and c.k = t.k group by all"
    )
    assert rows(ask(query, "--json")) == [{"k": "a", "n": 1, "vs": [1, 2, 3], "due": 5_000}]
    query = "select user_map_key.v k, user_map_value.v v from plain order by all"
    assert [tuple(r.values()) for r in rows(ask(query, "--json"))] == [(1, 10), (2, 20)]


def test_stores_of_a_join(tmp_path: Path, ask: Any) -> None:
    built = grown(tmp_path, batches=1)
    names = ("left-keyToNumValues", "right-keyToNumValues")
    stores = [{"storeName": name, "numColsPrefixKey": 0, "numPartitions": 2} for name in names]
    for partition in range(2):
        for name in names:
            folder = built.folder(partition) / name
            folder.mkdir()
            for file in built.folder(partition).glob("*.changelog"):
                (folder / file.name).write_bytes(file.read_bytes())
    for name in names:
        (built.folder() / name / "_metadata").mkdir()
        schema = (built.folder() / "_metadata" / "schema").read_bytes()
        (built.folder() / name / "_metadata" / "schema").write_bytes(schema)
    info = {"operatorId": 0, "operatorName": "symmetricHashJoin"}
    metadata = {"operatorInfo": info, "stateStoreInfo": stores}
    log(tmp_path / "state/0/_metadata/metadata", 1, metadata)
    tables = [row["table"] for row in rows(ask("--json"))]
    assert tables[:2] == ["left_keyToNumValues", "left_keyToNumValues_changes"]
    query = "select (select count(*) from left_keyToNumValues) = (select count(*) from "
    query += "right_keyToNumValues) as same"
    assert rows(ask(query, "--json")) == [{"same": True}]


@pytest.mark.parametrize("partition", [0, 1])
def test_what_a_query_needs_is_read_alone(built: Built, ask: Any, partition: int) -> None:
    """The other partition cannot be read, and is not asked for."""
    key, value = next((k, v) for p, k, v in sorted(built.rows()) if p == partition)
    for file in built.folder(1 - partition).glob("*.changelog"):
        data = file.read_bytes()
        # Within the first block of records.
        file.write_bytes(data[:150] + bytes(10) + data[160:])
    of_partition = f"select count(*) n from state where partition_id = {partition}"
    count = sum(p == partition for p, *_ in built.rows())
    assert rows(ask(of_partition, "--json")) == [{"n": count}]
    told = ask("select count(*) from state", code=1)
    assert "is damaged" in told
    assert "Traceback" not in told
    looked_up = f"select value.count n from state where key.key = '{key[0]}' and value.count >= 0"
    assert rows(ask(looked_up, "--json")) == [{"n": value[0]}]


def test_decoded_states(tmp_path: Path, ask: Any) -> None:
    found = {f"u{n}": row_of(visits(n)) for n in range(5)}
    written(tmp_path, found | {"z": (1, -1, '{"total":"x"}')})
    given = "--decode", "total long, names map<string, array<string>>", "--json"
    query = "select key.user u, state.total n from state where key.user < 'u3' order by all"
    # That of z cannot be read: neither is it, nor where no state is asked for.
    assert [row["n"] for row in rows(ask(query, *given))] == [0, 1, 2]
    assert rows(ask("select count(*) n from state", *given)) == [{"n": 6}]
    assert "field total holds str" in ask("select max(state.total) from state", *given, code=1)
    query = "select change, after.total n from diff where key.user = 'u2'"
    assert rows(ask(query, *given, "--from", 0)) == [{"change": "added", "n": 2}]
    query = "select state.names['a'] names from state where key.user = 'u1'"
    assert rows(ask(query, *given)) == [{"names": ["x", "y"]}]


def test_what_is_wrong(
    built: Built, ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "Parser Error" in ask("selekt", code=2)
    assert 'column "nope" not found' in ask("select nope from state", code=2)
    assert "no operator 3" in ask("select 1", "--operator", 3, code=1)
    assert "no version 99" in ask("select * from state", "--version", 99, code=1)
    local = "select * from built"
    assert "does not exist" in ask(local, code=2)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert "pip install 'bucketstate[duckdb]'" in ask("select 1", code=1)
    assert built.root == tmp_path
