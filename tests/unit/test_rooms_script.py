"""`make rooms`: what it counts, and what it calls too much."""

from __future__ import annotations

from pathlib import Path

from scripts.rooms import (
    MOST_FILES,
    MOST_IMPORTERS,
    Room,
    arrows,
    circle,
    folders,
    importers_of,
    scala_imports,
    too_much,
)

REPOSITORY = Path(__file__).parents[2]


def scala(root: Path, package: str, name: str, *imports: str) -> None:
    folder = root / package.replace(".", "/")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"package {package}", "", *(f"import {named}" for named in imports), "", "class A"]
    (folder / f"{name}.scala").write_text("\n".join(lines))


def test_files_are_counted_by_folder(tmp_path: Path) -> None:
    scala(tmp_path, "io.bucketstate.table", "One")
    scala(tmp_path, "io.bucketstate.table", "Two", "io.bucketstate.record.Record")
    scala(tmp_path, "io.bucketstate.record", "Record")
    found = folders(tmp_path, ".scala")
    assert {folder: room.files for folder, room in found.items()} == {
        "io/bucketstate/record": 1,
        "io/bucketstate/table": 2,
    }
    assert found["io/bucketstate/table"].largest == "Two 5"


def test_arrows_are_counted_by_file(tmp_path: Path) -> None:
    scala(tmp_path, "io.bucketstate.table.cold", "Cold", "io.bucketstate.record.{A, B}")
    scala(tmp_path, "io.bucketstate.store", "One", "io.bucketstate.table.cold.Cold.Part")
    scala(tmp_path, "io.bucketstate.store", "Two", "io.bucketstate.record.A", "java.util.UUID")
    scala(tmp_path, "io.bucketstate.record", "A")
    files = scala_imports(tmp_path)
    assert arrows(files) == {
        "io.bucketstate.record": {},
        "io.bucketstate.store": {"io.bucketstate.record": 1, "io.bucketstate.table.cold": 1},
        "io.bucketstate.table.cold": {"io.bucketstate.record": 1},
    }
    assert [file.stem for file in importers_of("io.bucketstate.table", files)] == ["One"]


def test_a_circle_is_told_in_its_order() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    found = circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert found[0] == found[-1]
    assert set(found) == {"a", "b", "c"}


def test_one_more_is_too_much() -> None:
    rooms: dict[str, set[str]] = {"a": {"b"}, "b": set()}
    assert too_much({"f": Room(MOST_FILES, 1, "")}, MOST_IMPORTERS, rooms) == []
    full = too_much(
        {"f": Room(MOST_FILES + 1, 1, "")}, MOST_IMPORTERS + 1, {"a": {"b"}, "b": {"a"}}
    )
    assert [line.partition(":")[0] for line in full] == [
        "f",
        f"{MOST_IMPORTERS + 1} files outside of table import it, at most {MOST_IMPORTERS}",
        "a circle of rooms",
    ]


def test_the_scala_rooms_are_not_too_much() -> None:
    root = REPOSITORY / "scala/src/main"
    files = scala_imports(root)
    assert len(files) > 300
    rooms = {room: set(used) for room, used in arrows(files).items()}
    known = importers_of("io.bucketstate.table", files)
    assert too_much(folders(root, ".scala"), len(known), rooms) == []
