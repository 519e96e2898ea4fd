"""What `docs/format.md` says in words of what files hold is what the provider writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bucketstate.checkpoint.store.store import HASH_FUNCTION

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
SCALA = ROOT / "scala/src/main/scala/io/bucketstate/record/BucketAssigner.scala"


def hash_name() -> str:
    """The name that the provider writes into each changelog and manifest."""
    (name,) = re.findall(r'^  val HashName = "([^"]+)"$', SCALA.read_text("utf-8"), re.MULTILINE)
    return str(name)


def test_the_page_names_the_hash_function_wherever_a_file_has_it() -> None:
    (manifest,) = re.findall(r"^\| `hashFunction` \|.*$", PAGE, re.MULTILINE)
    (header,) = re.findall(r"^\|.*\| name of the hash function.*$", PAGE, re.MULTILINE)
    (example,) = re.findall(r'^    0030 .* hash function "([^"]+)"$', PAGE, re.MULTILINE)
    assert f"`{hash_name()}`" in manifest
    assert f"`{hash_name()}`" in header
    assert example == hash_name()
    assert f"With the hash function `{hash_name()}` a key's bucket is" in PAGE


def test_files_that_were_written_and_both_readers_have_that_name() -> None:
    assert hash_name() == HASH_FUNCTION
    found = list((ROOT / "tests/golden/v1/plans").rglob("*.manifest"))
    names = {json.loads(path.read_bytes())["hashFunction"] for path in found if _is_json(path)}
    assert names == {hash_name()}


def _is_json(path: Path) -> bool:
    """Not so of those that are damaged on purpose."""
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True
