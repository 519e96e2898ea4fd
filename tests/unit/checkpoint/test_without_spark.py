"""The reader, its command and its report need no pyspark; what does says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.checkpoint.test_state import grown

pytestmark = pytest.mark.slow

HIDDEN = "import sys; sys.modules['pyspark'] = sys.modules['py4j'] = None\n"
"""What is None there is not found when it is imported."""


def without_spark(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDDEN + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_of_a_checkpoint_is_read(tmp_path: Path) -> None:
    built = grown(tmp_path)
    built.snapshot(4)
    code = f"""
import json
from bucketstate.checkpoint import Checkpoint

checkpoint = Checkpoint({str(tmp_path)!r})
scan = checkpoint.scan()
key = scan.to_arrow()["key"][0].as_py()
print(json.dumps({{
    "rows": scan.to_arrow().num_rows,
    "frame": len(scan.to_pandas()),
    "found": scan.get(key) is not None,
    "changes": checkpoint.scan("changes").to_arrow().num_rows,
    "diff": checkpoint.scan("diff").to_arrow().num_rows,
    "history": checkpoint.scan("history", key=key).to_arrow().num_rows,
    "buckets": sum(scan.keys_per_bucket()["keys"].to_pylist()),
    "versions": checkpoint.history().num_rows,
    "stores": len(checkpoint.overview().operators[0].stores),
    "sound": checkpoint.verify().ok,
    "type": checkpoint.schema().key.simpleString(),
    "spark": [name for name in sys.modules if name.startswith(("pyspark.", "py4j."))],
}}))
"""
    run = without_spark(code)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    count = len(built.rows())
    assert {name: found[name] for name in ("rows", "frame", "buckets", "found")} == {
        "rows": count,
        "frame": count,
        "buckets": count,
        "found": True,
    }
    assert min(found["changes"], found["diff"], found["history"]) > 0
    assert (found["versions"], found["stores"], found["sound"]) == (12, 2, True)
    assert found["type"].startswith("struct<")
    assert found["spark"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "{cp}", "--buckets"],
        ["show", "{cp}", "--limit", "3"],
        ["export", "{cp}", "-"],
        ["verify", "{cp}"],
        ["diff", "{cp}"],
        ["doctor", "{cp}"],
        ["clone", "{cp}", "{cp}/../clone"],
        ["fork", "{cp}", "{cp}/../fork", "--batch", "3"],
        ["rewind", "{cp}", "--batch", "3"],
        ["report", "{cp}", "-o", "{cp}/../report.html"],
        ["jar", "--spark", "4.3"],
        ["conf", "--spark", "4.3"],
        ["--help"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_so_do_the_commands(tmp_path: Path, arguments: list[str]) -> None:
    grown(tmp_path / "checkpoint")
    given = [a.format(cp=tmp_path / "checkpoint") for a in arguments]
    run = without_spark(f"from bucketstate.cli import main; sys.exit(main({given!r}))")
    assert run.returncode == 0, run.stderr


def test_what_needs_spark_says_what_to_install(tmp_path: Path) -> None:
    grown(tmp_path)
    told = "needs pyspark, which is not installed: pip install 'bucketstate[spark]'."
    for code in (
        "import bucketstate.stateful",
        "import bucketstate.testing",
        f"""
from bucketstate.checkpoint import Checkpoint
Checkpoint({str(tmp_path)!r}).scan(decode="total long").to_arrow()
""",
    ):
        run = without_spark(code)
        assert f"MissingLibraryError: A stateful function {told}" in run.stderr
    for command in (["show", str(tmp_path), "--decode", "total long"], ["jar"], ["conf"]):
        run = without_spark(f"from bucketstate.cli import main; sys.exit(main({command!r}))")
        assert run.returncode == 1
        assert "pip install 'bucketstate[spark]'" in run.stderr
        assert "Traceback" not in run.stderr
