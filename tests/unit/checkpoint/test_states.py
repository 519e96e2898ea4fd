"""States of `bucketstate.stateful`, read from a checkpoint as their class."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructType

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.documents import timers_of
from bucketstate.checkpoint.spark.key_values import json_key
from bucketstate.cli import main
from bucketstate.errors import InvalidArgumentError, NoSuchStateError
from bucketstate.stateful import (
    DefinitionError,
    ListState,
    MapState,
    MigrationError,
    ValueState,
    state,
)
from bucketstate.stateful.codec.document import Clock, state_codec
from bucketstate.stateful.codec.kept import SCHEMA, Kept
from tests.kit.checkpoints import Built
from tests.kit.parts import BuiltParts, Held, Parts
from tests.kit.rows import unsafe_row
from tests.kit.values import classes
from tests.kit.variables import KEY, PREFIX, VARIABLES, Variables, plain_key, scanned
from tests.kit.variables import Kept as Family
from tests.unit.checkpoint.test_state import grown

if TYPE_CHECKING:
    from pathlib import Path


class Colour(Enum):
    RED = "red"


NOW = Clock(now=1_000, watermark=None)


@dataclass
class Seen:
    at: datetime
    where: str | None = None


@dataclass
class Visits:
    total: int = 0
    price: Decimal = Decimal(0)
    day: date | None = None
    span: timedelta = timedelta(0)
    raw: bytes = b""
    last: Seen | None = None
    by_hour: dict[int, float] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    pages: ListState[str] = field(default_factory=ListState)
    counts: MapState[str, int] = field(default_factory=MapState)


def visits(number: int) -> Visits:
    found = Visits(
        total=number,
        price=Decimal(number) / 4,
        day=date(2024, 1, 1 + number),
        span=timedelta(seconds=-number, microseconds=5),
        raw=bytes([number, 255]),
        last=Seen(datetime(2024, 1, 1, number, tzinfo=UTC)) if number % 2 else None,
        by_hour={number: number / 2},
        names={"a": ["x", "y"]},
    )
    found.pages.appendList([f"/{number}", "/end"])
    found.counts.updateValue("n", number)
    return found


def row_of(value: Any, version: int = 1, **kept: Any) -> tuple[Any, ...]:
    text = None if value is None else state_codec(type(value), UTC).dump(value, NOW)
    return Kept(version, text=text, **kept).row


def written(root: Path, rows: dict[str, tuple[Any, ...]]) -> Checkpoint:
    """As applyInPandasWithState keeps them, without Spark."""
    value = StructType().add("groupState", SCHEMA)
    built = Built(root, key=StructType().add("user", StringType()), value=value)
    built.batch({(user,): (row,) for user, row in rows.items()})
    return Checkpoint(root)


@pytest.fixture
def found(tmp_path: Path) -> Checkpoint:
    rows = {f"u{n}": row_of(visits(n)) for n in range(10)}
    rows["waits"] = Kept(0, timers=((5_000, "ping"), (7_000, None))).row
    rows["timed"] = row_of(visits(3), timeout=9_000)
    return written(tmp_path, rows)


def test_instances(found: Checkpoint) -> None:
    states = found.scan(decode=Visits)
    one = states.get("u3")
    assert isinstance(one, Visits)
    plain = [f.name for f in dataclasses.fields(Visits) if f.name not in ("pages", "counts")]
    assert all(getattr(one, name) == getattr(visits(3), name) for name in plain)
    assert list(one.pages.get()) == ["/3", "/end"]
    assert one.counts.getValue("n") == 3
    assert states.get("waits") is None
    assert states.get("nobody") is None


def test_typed_columns(found: Checkpoint) -> None:
    table = found.scan(decode=Visits).to_arrow()
    assert table.column_names == ["key", "state", "timers", "partition_id"]
    by_key = {row["key"]["user"]: row for row in table.to_pylist()}
    assert len(by_key) == 12
    at = datetime(2024, 1, 1, 3, tzinfo=UTC)
    assert by_key["u3"]["state"] == {
        "total": 3,
        "price": Decimal("0.75"),
        "day": date(2024, 1, 4),
        "span": timedelta(seconds=-3, microseconds=5),
        "raw": b"\x03\xff",
        "last": {"at": at, "where": None},
        "by_hour": [{"key": 3, "value": 1.5}],
        "names": [("a", ["x", "y"])],
        "pages": ["/3", "/end"],
        "counts": [("n", 3)],
    }
    assert by_key["u2"]["state"]["last"] is None
    assert by_key["waits"]["state"] is None
    assert by_key["waits"]["timers"] == [
        {"at": datetime.fromtimestamp(5, UTC), "name": "ping"},
        {"at": datetime.fromtimestamp(7, UTC), "name": None},
    ]
    assert by_key["timed"]["timers"] == [{"at": datetime.fromtimestamp(9, UTC), "name": None}]
    kind = table.schema.field("state").type
    assert kind.field("last").type.field("at").type == pa.timestamp("us", tz="UTC")
    assert kind.field("price").type == pa.decimal128(38, 18)


def test_columns_and_filters(found: Checkpoint) -> None:
    states = found.scan(decode=Visits)
    some = states.update(
        columns=["key.user", "state.total"], filters=[("state.total", ">=", 8)]
    ).to_arrow()
    assert some.column_names == ["key.user", "state.total"]
    assert sorted(map(tuple, (r.values() for r in some.to_pylist()))) == [("u8", 8), ("u9", 9)]
    one = states.update(columns=["state.last.at"], filters=[("key.user", "=", "u5")]).to_arrow()
    assert one.to_pylist() == [{"state.last.at": datetime(2024, 1, 1, 5, tzinfo=UTC)}]
    several = [("key.user", "in", ["u1", "u2"]), ("state.total", "!=", 2)]
    assert states.update(columns=["key.user"], filters=several).to_pandas()[
        "key.user"
    ].tolist() == ["u1"]
    frame = states.to_pandas()
    assert {"key.user", "state.total", "state.last.at", "timers"} <= set(frame.columns)


def test_filters_of_the_key_are_applied_before_documents_are_read(tmp_path: Path) -> None:
    found = written(tmp_path, {"a": row_of(visits(1)), "b": (1, -1, '{"total":"x"}')})
    states = found.scan(decode=Visits)
    assert (
        states.update(columns=["state.total"], filters=[("key.user", "<", "b")]).to_arrow().num_rows
        == 1
    )
    # Nor are they where nothing of the state is asked for.
    assert states.update(columns=["key.user"]).to_arrow().num_rows == 2
    with pytest.raises(MigrationError, match=r"state of \{'user': 'b'\}.* field total holds str"):
        states.to_arrow()
    with pytest.raises(MigrationError, match="state of 'b', written by version 1"):
        states.get("b")


@pytest.mark.parametrize(
    ("columns", "filters", "told"),
    [
        (["state.nope"], None, r"columns has the column 'state\.nope'.*There are: key, key\.user"),
        ("state", None, "columns='state' is a text"),
        (None, [("nope", "=", 1)], "filters has the column 'nope'"),
        (None, [("state.total", "~", 1)], r"filters has \('state\.total', '~', 1\): give tuples"),
        (None, [("state.total", "=", "x")], r"state\.total is int64: give a value of that type"),
    ],
)
def test_what_cannot_be_asked_for(found: Checkpoint, columns: Any, filters: Any, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        found.scan(decode=Visits, columns=columns, filters=filters).to_arrow()


@state(version=2, migrations={1: lambda old: {"count": int(old["total"])}})
@dataclass
class Renamed:
    count: int
    added: str = "new"


def test_older_documents_go_through_migrations_and_get_defaults(tmp_path: Path) -> None:
    rows = {"old": (1, -1, json.dumps({"total": 7})), "new": (2, -1, '{"count":8}')}
    table = written(tmp_path, rows).scan(decode=Renamed, columns=["key.user", "state"]).to_arrow()
    by_key = {row["key.user"]: row["state"] for row in table.to_pylist()}
    assert by_key == {"old": {"count": 7, "added": "new"}, "new": {"count": 8, "added": "new"}}


def test_a_ddl_text_in_place_of_a_class(found: Checkpoint) -> None:
    table = found.scan(
        decode="total long, names map<string, array<string>>", filters=[("key.user", "=", "u4")]
    ).to_arrow()
    assert table.column("state").to_pylist() == [{"total": 4, "names": [("a", ["x", "y"])]}]


def parts_of(root: Path) -> Checkpoint:
    """Three batches; of b a part alone changes with the second, of c with the third."""
    built = BuiltParts(root)
    held = {"a": Held(1), "b": Held(2, ("/x", NEVER), ("/1", "/2"), {"n": (3, NEVER)})}
    held["b"].counts["removed"] = None, NEVER
    held["c"] = Held(7, counts={"n": (1, NEVER)})
    built.batch(held)
    held |= {"a": Held(5, timers=((5_000, "ping"),))}
    held["b"] = dataclasses.replace(held["b"], pages=("/1", "/2", "/3"))
    built.batch(held)
    built.batch({"a": held["a"], "c": Held(7, counts={"n": (1, NEVER), "m": (2, NEVER)})})
    return Checkpoint(root)


NEVER = 4_000_000_000_000


@pytest.mark.parametrize("many", [False, True])
def test_parts_that_are_variables(
    tmp_path: Path, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        # As of a batch with so many keys that the variables are read whole.
        monkeypatch.setattr("bucketstate.checkpoint.states._FEW", 0)
    found = parts_of(tmp_path)
    states = found.scan(decode=Parts, version=2)
    b = states.get("b")
    assert b is not None
    assert (b.total, b.last.get(), list(b.pages.get())) == (2, "/x", ["/1", "/2", "/3"])
    assert dict(b.counts.iterator()) == {"n": 3}
    assert not b.since.exists()
    by_key = {row["key"]["key"]: row["state"] for row in states.to_arrow().to_pylist()}
    assert by_key["b"] == {
        "total": 2,
        "last": "/x",
        "pages": ["/1", "/2", "/3"],
        "counts": [("n", 3)],
        "since": None,
    }
    assert by_key["a"]["pages"] == []
    some = states.update(columns=["key.key", "state.counts"], filters=[("key.key", "=", "c")])
    assert some.to_arrow().to_pylist() == [{"key.key": "c", "state.counts": [("n", 1)]}]


def test_differences_of_states_and_parts(tmp_path: Path) -> None:
    found = parts_of(tmp_path)
    table = found.scan("diff", since=1, version=2, decode=Parts).to_arrow()
    names = ["change", "key", "before", "after", "timers_before", "timers_after", "partition_id"]
    assert table.column_names == names
    by_key = {row["key"]["key"]: row for row in table.to_pylist()}
    assert set(by_key) == {"a", "b"}
    a, b = by_key["a"], by_key["b"]
    assert (a["before"]["total"], a["after"]["total"]) == (1, 5)
    assert (a["timers_before"], [t["name"] for t in a["timers_after"]]) == ([], ["ping"])
    assert b["change"] == "changed"
    assert (b["before"]["pages"], b["after"]["pages"]) == (["/1", "/2"], ["/1", "/2", "/3"])
    newer = found.scan("diff", since=2, decode=Parts, columns=["change", "key.key", "after.counts"])
    assert sorted(newer.to_arrow().to_pylist(), key=str) == [
        {"change": "changed", "key.key": "c", "after.counts": [("m", 2), ("n", 1)]},
        {"change": "removed", "key.key": "b", "after.counts": None},
    ]
    added = found.scan("diff", since=0, version=1, decode=Parts).to_arrow()
    assert added["before"].null_count == added.num_rows == 3


def test_the_history_of_a_state_and_its_parts(tmp_path: Path) -> None:
    history = parts_of(tmp_path).scan("history", key="b", decode=Parts).to_arrow()
    assert history.column_names[:4] == ["version", "batch_id", "key", "state"]
    pages = [row["state"] and row["state"]["pages"] for row in history.to_pylist()]
    assert pages == [["/1", "/2"], ["/1", "/2", "/3"], None]


def test_differences_and_history_of_documents(tmp_path: Path) -> None:
    value = StructType().add("groupState", SCHEMA)
    built = Built(tmp_path, key=StructType().add("user", StringType()), value=value)
    built.batch({("a",): (row_of(visits(1)),), ("b",): (row_of(visits(2)),)})
    built.batch({("a",): (row_of(visits(3), timeout=5_000),), ("b",): None})
    checkpoint = Checkpoint(tmp_path)
    rows = checkpoint.scan("diff", decode=Visits).to_arrow().to_pylist()
    by_key = {row["key"]["user"]: row for row in rows}
    a, b = by_key["a"], by_key["b"]
    assert (a["before"]["total"], a["after"]["total"], len(a["timers_after"])) == (1, 3, 1)
    assert (b["change"], b["before"]["pages"], b["after"]) == ("removed", ["/2", "/end"], None)
    history = checkpoint.scan("history", key="b", decode=Visits).to_arrow()
    assert [state and state["total"] for state in history["state"].to_pylist()] == [2, None]


@dataclass
class OtherPart:
    pages: MapState[str, int] = field(default_factory=MapState)


@dataclass
class OtherType:
    pages: ListState[int] = field(default_factory=ListState)


def test_parts_that_cannot_be_read_as_the_class(tmp_path: Path) -> None:
    found = parts_of(tmp_path)
    with pytest.raises(MigrationError, match="pages is a map, and the checkpoint has it as a list"):
        found.scan(decode=OtherPart, version=2).to_arrow()
    with pytest.raises(
        MigrationError, match=r"part pages of the state of \{'key': 'b'\} cannot be"
    ):
        found.scan(decode=OtherType, version=2).get("b")


@pytest.mark.parametrize(
    ("user_key", "text"),
    [
        ("p0", '"p0"'),
        ("p\xe9\\x", '"p\xe9\\\\x"'),
        (5, "5"),
        (True, "true"),
        (0.5, "0.5"),
        (-0.0, "0.0"),
        (Decimal("1.50"), '"1.5"'),
        (date(2024, 1, 2), '"2024-01-02"'),
        (datetime(2024, 1, 2, 3, tzinfo=UTC), '"2024-01-02T03:00:00+00:00"'),
        (b"abc", '"YWJj"'),
        (UUID(int=1), f'"{UUID(int=1)}"'),
        (Colour.RED, '"red"'),
        (time(1, 2, 3), '"01:02:03"'),
        (timedelta(days=2, hours=3, microseconds=4), '"2 03:00:00.000004"'),
        (timedelta(seconds=-1), '"-0 00:00:01.000000"'),
        (5, "5.0"),
        (-3, "-3.0"),
        (10**22, "1e+22"),
    ],
)
def test_a_key_of_a_map_is_found_as_the_function_has_it(
    tmp_path: Path, user_key: Any, text: str
) -> None:
    made = Variables(tmp_path)
    of_text = StructType().add("key", StringType())
    value = StructType().add("value", StringType())
    key = StructType().add("key", KEY).add("userKey", of_text)
    made.kept["state"] = Family(KEY, SCHEMA)
    made.kept["by"] = Family(key, value, PREFIX, user_key=of_text)
    made.new_schemas()
    made.write_metadata(VARIABLES | {"state": ("ValueState", False), "by": ("MapState", False)})
    first, rest = StructType(key.fields[:1]), StructType(key.fields[1:])
    stored = scanned(unsafe_row(first, (("a",),)), unsafe_row(rest, ((text,),)))
    made.batch(
        {
            "state": {plain_key("a"): made.row(SCHEMA, (1, -1, "{}"))},
            "by": {stored: made.row(value, ("8",))},
        }
    )
    scan = Checkpoint(tmp_path).scan(state_var="by")
    assert scan.get("a", user_key) == {"value": "8"}
    assert scan.get("a", text) == {"value": "8"}
    assert scan.get("a", "nobody") is None
    asked = ["show", str(tmp_path), "--state-var", "by", "--key", "a", "--user-key"]
    if isinstance(user_key, str | int) and not isinstance(user_key, Enum):
        assert main([*asked, text]) == 0


def test_what_is_no_state_of_a_stateful_function(tmp_path: Path) -> None:
    grown(tmp_path)
    with pytest.raises(NoSuchStateError, match=r"no documents of bucketstate\.stateful"):
        Checkpoint(tmp_path).scan(decode=Visits).to_arrow()
    with pytest.raises(DefinitionError, match="must be a dataclass"):
        Checkpoint(tmp_path).scan(decode=int).to_arrow()


def test_a_text_has_no_version(tmp_path: Path) -> None:
    states = written(tmp_path, {"a": row_of(Visits(total=3), version=7)}).scan
    assert states(decode="total long").get("a").total == 3
    with pytest.raises(MigrationError, match="written by version 7"):
        states(decode=Visits).get("a")


def test_a_text_with_a_name_that_no_state_has_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {"a": (1, -1, json.dumps({"n": 3}))})
    assert main(["show", str(tmp_path), "--decode", "nn long", "--json"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["state"] == {"nn": None}
    (line,) = out.err.splitlines()
    assert line.startswith("bucketstate: warning: State has no field n, which stored states have")


def test_show_unfolds_states_by_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = {
        "a": Kept(1, 60_000, ((1_000, "quiet"),), json.dumps({"n": 3, "by": {"x": [1]}})).row,
        "b": Kept(1, text=json.dumps({"n": 4, "more": None})).row,
        "c": Kept(0, timers=((2_000, None), (2**60, "far"))).row,
        "d": Kept(1, 5_000).row,
    }
    written(tmp_path, rows)

    def shown(*arguments: str) -> str:
        assert main(["show", str(tmp_path), *arguments]) == 0
        return capsys.readouterr().out

    found = {row["key"]["user"]: row for row in map(json.loads, shown("--json").splitlines())}
    assert [*found["a"]] == ["key", "state", "timers", "partition_id"]
    assert found["a"]["state"] == {"n": 3, "by": {"x": [1]}}
    assert found["a"]["timers"] == [
        {"at": "1970-01-01T00:00:01+00:00", "name": "quiet"},
        {"at": "1970-01-01T00:01:00+00:00", "name": None},
    ]
    assert (found["b"]["state"], found["b"]["timers"]) == ({"n": 4, "more": None}, [])
    assert found["c"]["state"] is None
    assert found["c"]["timers"] == [
        {"at": "1970-01-01T00:00:02+00:00", "name": None},
        {"at": 2**60, "name": "far"},
    ]
    assert (found["d"]["state"], len(found["d"]["timers"])) == (None, 1)
    text = shown()
    for name in ("key.user", "state.n", "state.by", "state.more", "timers"):
        assert name in text
    assert "{x: [1]}" in text
    assert "timers" not in shown("--key", "b")
    (alone,) = map(json.loads, shown("--key", "a", "--json").splitlines())
    assert alone == found["a"]
    (once,) = map(json.loads, shown("--key", "b", "--history", "--json").splitlines())
    assert (once["version"], once["state"]) == (1, {"n": 4, "more": None})
    assert "groupState.version" in shown("--stored")


def test_show_of_a_function_on_transform_with_state_is_its_states(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = Variables(tmp_path)
    made.kept["state"] = Family(KEY, SCHEMA)
    made.new_schemas()
    made.write_metadata(VARIABLES | {"state": ("ValueState", False)})
    document = (1, -1, json.dumps({"total": 5}))
    made.batch({"state": {plain_key("a"): made.row(SCHEMA, document)}})
    assert main(["show", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == {"total": 5}
    assert main(["show", str(tmp_path), "--key", "a"]) == 0
    text = capsys.readouterr().out
    assert "state.total" in text
    assert "beside it --state-var shows its parts: " in text


@pytest.mark.usefixtures("found")
def test_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def shown(*arguments: str, code: int = 0) -> Any:
        assert main(["show", str(tmp_path), "--json", "--limit", "0", *arguments]) == code
        out = capsys.readouterr()
        return out.err if code else [json.loads(line) for line in out.out.splitlines()]

    of_class = shown("--decode", f"{__name__}:Visits")
    assert len(of_class) == 12
    (one,) = shown("--decode", "total long", "--key", "u6")
    assert one["state"] == {"total": 6}
    assert "cannot be imported" in shown("--decode", "nowhere:Class", code=2)
    (then,) = shown("--decode", "total long", "--key", "u6", "--history")
    assert (then["version"], then["state"]) == (1, {"total": 6})
    assert main(["diff", str(tmp_path), "--from", "0", "--json", "--decode", "total long"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["change"] for row in rows} == {"added"}
    assert {"total": 6} in [row["after"] for row in rows]
    out = tmp_path / "states.jsonl"
    assert main(["export", str(tmp_path), str(out), "--decode", "total long"]) == 0
    assert len(out.read_text().splitlines()) == 12


class Level(IntEnum):
    LOW = 1


@dataclass
class Typed:
    colour: Colour = Colour.RED
    level: Level | None = Level.LOW
    id: UUID = field(default_factory=lambda: UUID(int=7))
    pair: tuple[int, Colour] = (1, Colour.RED)
    many: tuple[Level, ...] = (Level.LOW,)
    tags: set[UUID] = field(default_factory=lambda: {UUID(int=n) for n in (2, 1)})
    kind: Literal["a", "b"] = "a"
    by_id: dict[UUID, tuple[int, Level]] = field(
        default_factory=lambda: {UUID(int=1): (1, Level(1))}
    )
    by_level: dict[Level, Colour] = field(default_factory=lambda: {Level.LOW: Colour.RED})
    pairs: ListState[tuple[int, Colour]] = field(
        default_factory=lambda: ListState([(1, Colour.RED)])
    )
    ids: MapState[UUID, Colour] = field(default_factory=lambda: MapState({UUID(int=1): Colour.RED}))


def test_each_type_of_a_field_has_its_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scan = written(tmp_path / "cp", {"a": row_of(Typed())}).scan(decode=Typed)
    assert scan.get("a") == Typed()
    one, pair = str(UUID(int=1)), {"_1": 1, "_2": "red"}
    expected = {
        "colour": "red",
        "level": 1,
        "id": str(UUID(int=7)),
        "pair": pair,
        "many": [1],
        "tags": [one, str(UUID(int=2))],
        "kind": "a",
        "by_id": [(one, {"_1": 1, "_2": 1})],
        "by_level": [{"key": 1, "value": "red"}],
        "pairs": [pair],
        "ids": [(one, "red")],
    }
    (row,) = scan.to_arrow().to_pylist()
    assert row["state"] == expected
    assert scan.to_pandas()["state.colour"].tolist() == ["red"]
    target = str(tmp_path / "typed.jsonl")
    for command in (["show", "--key", "a"], ["show"], ["export", target]):
        name, *rest = command
        asked = [*rest, "--decode", f"{__name__}:Typed"]
        assert main([name, str(tmp_path / "cp"), *asked]) == 0
    assert "red" in capsys.readouterr().out


@pytest.mark.parametrize("kind", classes.KINDS)
def test_classes_of_each_kind(kind: Any, tmp_path: Path) -> None:
    value = kind(
        mood=classes.Mood.BAD,
        at=time(1, 2),
        event=classes.Closed(3),
        last=classes.Sold(price=classes.Price(1)),
        person=classes.Person(name="a"),
        anything=[1, {"b": None}],
        by_name={"c": 2.5},
    )
    found = written(tmp_path, {"u": row_of(value)}).scan(decode=kind)
    assert found.get("u") == value
    (row,) = found.to_arrow().column("state").to_pylist()
    assert row["event"] == {"tag": "Closed", "Opened": None, "Closed": {"at": 3, "why": None}}
    assert row["last"]["sold"] == {"kind": "sold", "price": {"amount": 1, "currency": "EUR"}}
    assert row["person"] == {"name": "a", "age": 0, "tags": []}
    told = [row[name] for name in ("mood", "at", "anything", "by_name")]
    assert told == ["bad", "01:02:00", '[1,{"b":null}]', [("c", "2.5")]]


@dataclass
class PartsOfClasses:
    events: ListState[classes.Opened | classes.Closed] = field(default_factory=ListState)
    notes: MapState[str, Any] = field(default_factory=MapState)
    at: ValueState[time] = field(default_factory=ValueState)


def test_parts_of_classes_and_json(tmp_path: Path) -> None:
    parts = PartsOfClasses(
        ListState([classes.Opened("a"), classes.Closed(3)]),
        MapState({"a": [1, None]}),
        ValueState(time(1, 2)),
    )
    found = written(tmp_path, {"u": row_of(parts)}).scan(decode=PartsOfClasses)
    assert found.get("u") == parts
    assert found.to_arrow().column("state").to_pylist() == [
        {
            "events": [
                {"tag": "Opened", "Opened": {"by": "a"}, "Closed": None},
                {"tag": "Closed", "Opened": None, "Closed": {"at": 3, "why": None}},
            ],
            "notes": [("a", "[1,null]")],
            "at": "01:02:00",
        }
    ]


def test_a_timeout_stands_beside_a_timer_of_the_same_moment() -> None:
    kept = [
        Kept(timeout=5_000, timers=((5_000, "x"),)),
        Kept(timeout=5_000, timers=((5_000, None), (5_000, "x"))),
        Kept(timers=((5_000, "x"),)),
    ]
    found = [[timer["name"] for timer in of] for of in timers_of(kept).to_pylist()]
    assert found == [[None, "x"], [None, "x"], ["x"]]


@dataclass
class MapsOf:
    times: MapState[time, int] = field(default_factory=MapState)
    spans: MapState[timedelta, int] = field(default_factory=MapState)


def test_keys_of_maps_are_written_as_a_function_writes_them() -> None:
    parts = state_codec(MapsOf, UTC).parts
    for at in (time(0), time(23, 59, 59, 999_999), time(1, 2, tzinfo=UTC)):
        assert json_key(at) == parts["times"].encode_key(at)
    for span in (timedelta(0), timedelta(days=-3, seconds=7), timedelta(days=400, microseconds=1)):
        assert json_key(span) == parts["spans"].encode_key(span)
