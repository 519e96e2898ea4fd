"""Values that were appended to over versions, put together again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bucketstate.checkpoint.format.changelog import read_changelog
from bucketstate.checkpoint.format.names import Attempt, ChangelogName, parse
from bucketstate.checkpoint.format.records import MERGE, PUT, REMOVE
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.store.state import read_changes, read_state
from bucketstate.checkpoint.store.store import Store
from tests.kit.cases import examples
from tests.kit.checkpoints import changelog

CHANGE = st.tuples(st.sampled_from([PUT, REMOVE, MERGE]), st.binary(max_size=4))
VERSIONS = st.lists(
    st.dictionaries(st.binary(max_size=1), CHANGE, max_size=4), min_size=1, max_size=6
)


def write(model: dict[bytes, bytes], version: dict[bytes, tuple[int, bytes]]) -> None:
    """What a version's changes make of the values."""
    for key, (op, value) in version.items():
        if op == REMOVE:
            model.pop(key, None)
        else:
            model[key] = (model.get(key, b"") if op == MERGE else b"") + value


@pytest.mark.slow
@settings(
    max_examples=examples(30),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(VERSIONS)
def test_every_version_appends_to_the_one_before(
    tmp_path: Path, versions: list[dict[bytes, tuple[int, bytes]]]
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    model: dict[bytes, bytes] = {}
    for number, version in enumerate(versions, start=1):
        write(model, version)
        data = changelog(
            number,
            [(op, key, value) for key, (op, value) in version.items()],
            len(model),
            buckets=3,
            value_encoding="compact-rows/1",
        )
        (folder / f"{number}.changelog").write_bytes(data)
        store = Store(0, 0, "default", Folder.at(folder))
        plan = store.plan(Attempt(number, None))
        pairs = [
            pair
            for records in read_state(store, plan, plan.family("default"))
            for pair in zip(records.keys.to_list(), records.values.to_list(), strict=True)
        ]
        assert len(dict(pairs)) == len(pairs)
        assert dict(pairs) == model


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_changelog_says_what_is_appended(tmp_path: Path, codec: str) -> None:
    written = [(PUT, b"a", b"1"), (MERGE, b"b", b"2"), (REMOVE, b"c", b"")]
    data = changelog(3, written, 2, buckets=1, codec=codec, value_encoding="compact-rows/1")
    (tmp_path / "3.changelog").write_bytes(data)
    name = parse("3.changelog")
    assert isinstance(name, ChangelogName)
    index = read_changelog(Folder.at(tmp_path), name)
    (found,) = read_changes(index, index.families[0])
    assert found.keys.to_list() == [b"a", b"b", b"c"]
    assert found.values.to_list() == [b"1", b"2", b""]
    assert found.puts.tolist() == [True, True, False]
    assert found.merges.tolist() == [False, True, False]
    assert index.families[0].value_encoding == "compact-rows/1"
