"""Spark's own files of a query: state schemas in every format, operator metadata, commit logs."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.schema_files import FamilySchema, read_schemas
from bucketstate.errors import DamagedFileError, NewerFormatError
from tests.kit.checkpoints import KEY, VALUE
from tests.kit.values.own_types import family_schema, own
from tests.unit.checkpoint.test_state import grown, rows

if TYPE_CHECKING:
    from pathlib import Path

LONG = T.StructType(
    [T.StructField(f"a field of some length, number {n}", T.LongType()) for n in range(900)]
)
SPEC = '{"keyStateEncoderType":"NoPrefixKeyStateEncoderSpec"}'


def utf(text: str) -> bytes:
    """As java.io.DataOutput.writeUTF."""
    data = text.encode("utf-8").replace(b"\0", b"\xc0\x80")
    return struct.pack(">H", len(data)) + data


def chunks(text: str) -> bytes:
    parts = [text[at : at + 65_535] for at in range(0, len(text), 65_535)]
    return struct.pack(">i", len(parts)) + b"".join(map(utf, parts))


def family(name: str, key: T.StructType, value: T.StructType) -> bytes:
    head = utf(name) + struct.pack(">h", 0) + chunks(key.json())
    return head + struct.pack(">h", 0) + chunks(value.json()) + chunks(SPEC) + chunks("{    }")


def read(folder: Path, content: bytes) -> dict[str, FamilySchema]:
    (folder / "schema").write_bytes(content)
    return read_schemas(Folder.at(folder), "schema")


def test_format_1(tmp_path: Path) -> None:
    found = read(tmp_path, utf("v1") + utf(KEY.json()) + utf(VALUE.json()))
    assert found == {"default": family_schema(KEY, VALUE)}


def test_format_2_in_parts(tmp_path: Path) -> None:
    assert len(LONG.json()) > 65_535
    found = read(tmp_path, utf("v2") + chunks(KEY.json()) + chunks(LONG.json()))
    assert found == {"default": family_schema(KEY, LONG)}


def test_format_3_with_families(tmp_path: Path) -> None:
    families = family("left", KEY, VALUE) + family("right", VALUE, KEY)
    found = read(tmp_path, utf("v3") + struct.pack(">i", 2) + families)
    assert found == {"left": family_schema(KEY, VALUE), "right": family_schema(VALUE, KEY)}


def test_a_field_s_name_may_be_any_text(tmp_path: Path) -> None:
    odd = T.StructType([T.StructField("größe 数", T.LongType())])
    found = read(tmp_path, utf("v2") + chunks(KEY.json()) + chunks(odd.json()))
    assert found["default"].value == own(odd)


def test_a_later_format(tmp_path: Path) -> None:
    with pytest.raises(NewerFormatError, match="a state schema of format version 3 or older"):
        read(tmp_path, utf("v4"))


def test_every_cut_is_damage(tmp_path: Path) -> None:
    sound = utf("v3") + struct.pack(">i", 1) + family("default", KEY, VALUE)
    for length in range(0, len(sound) - 1, 7):
        with pytest.raises(DamagedFileError, match="schema is damaged"):
            read(tmp_path, sound[:length])


def test_operator_metadata_2_names_its_schema_file_by_the_path_of_then(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (built.folder(0) / "_metadata" / "schema").unlink()
    (tmp_path / "state/0/_metadata/metadata").unlink()
    schemas = tmp_path / "state/0/_stateSchema/default"
    schemas.mkdir(parents=True)
    (schemas / "0_abc").write_bytes(
        utf("v3") + struct.pack(">i", 1) + family("default", KEY, VALUE)
    )
    store = {
        "storeName": "default",
        "numColsPrefixKey": 0,
        "numPartitions": 2,
        "stateSchemaFilePaths": ["hdfs://elsewhere/old/state/0/_stateSchema/default/0_abc"],
    }
    metadata = {
        "operatorInfo": {"operatorId": 0, "operatorName": "symmetricHashJoin"},
        "stateStoreInfo": [store],
        "operatorPropertiesJson": "{}",
    }
    folder = tmp_path / "state/0/_metadata/v2"
    folder.mkdir()
    (folder / "0").write_text("v2\n" + json.dumps(metadata))
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.operators[0].name == "symmetricHashJoin"
    assert rows(checkpoint.scan().to_arrow()) == built.rows()


def test_without_operator_metadata_the_folders_say_what_there_is(tmp_path: Path) -> None:
    built = grown(tmp_path)
    (tmp_path / "state/0/_metadata/metadata").unlink()
    assert rows(Checkpoint(tmp_path).scan().to_arrow()) == built.rows()


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_a_line_of_a_log_ends_where_spark_ends_it(tmp_path: Path, mark: str) -> None:
    """Marks that end a line elsewhere are part of the offsets of a source, and of settings."""
    grown(tmp_path)
    offset = f'{{"topic{mark}":{{"0":5}}}}'
    recorded = json.dumps({"conf": {"spark.a": f"b{mark}c"}}, ensure_ascii=False)
    for text in (f"v1\n{recorded}\n{offset}\n-", f"v1\r\n{recorded}\r\n{offset}\r\n-\r\n"):
        (tmp_path / "offsets/5").write_text(text, newline="")
        query = Checkpoint(tmp_path).query
        assert query.offsets(5) == [(None, offset), (None, "-")]
        assert query.settings(5) == {"spark.a": f"b{mark}c"}
    (tmp_path / "offsets/5").write_text("")
    with pytest.raises(DamagedFileError, match=r"offsets/5 .*it is empty"):
        Checkpoint(tmp_path).query.offsets(5)


def test_versions_are_those_that_spark_s_log_still_has(tmp_path: Path) -> None:
    built = grown(tmp_path)
    for batch in range(3):
        (tmp_path / "commits" / str(batch)).unlink()
        (tmp_path / "offsets" / str(batch)).unlink()
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.versions == [4, 5, 6]
    assert rows(checkpoint.scan(version=2).to_arrow()) == built.rows(2)
    history = checkpoint.history().to_pylist()
    assert [row["version"] for row in history] == [4, 5, 6] * 2
    assert [row["keys"] for row in history[:3]] == [len(built.states[v][0]) for v in (4, 5, 6)]
