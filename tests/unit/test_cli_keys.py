"""`bucketstate show --key`: one key, its history, and the text that a key is given as."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bucketstate.cli import main
from bucketstate.errors import InvalidArgumentError
from tests.kit.checkpoints import Built
from tests.unit.test_cli_checkpoint import lines, ran


def test_one_key(capsys: pytest.CaptureFixture[str], built: Built) -> None:
    (partition, (key,), (count, total)), *_ = sorted(built.rows())
    row = {"key": {"key": key}, "value": {"count": count, "total": total}}
    for text in (key, json.dumps({"key": key})):
        (found,) = lines(ran(capsys, "show", built.root, "--json", "--key", text))
        assert found == row | {"partition_id": partition}
    assert key in ran(capsys, "show", built.root, "--key", key)
    assert "no rows" in ran(capsys, "show", built.root, "--key", "nobody")
    history = lines(ran(capsys, "show", built.root, "--json", "--key", key, "--history"))
    assert [r["version"] for r in history] == [1, 2, 3, 4, 5, 6]
    assert history[-1] == {"version": 6, "batch_id": 5} | found


def test_of_a_long_history_the_newest_versions_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    built = Built(tmp_path)
    for number in range(30):
        built.batch({("a",): (number, number)})
    asked = ["show", tmp_path, "--key", "a", "--history"]
    for options, versions in (
        ([], range(1, 31)),
        (["--limit", "3"], range(28, 31)),
        (["--limit", "0"], range(1, 31)),
        (["--limit", "40"], range(1, 31)),
    ):
        assert main([*map(str, asked), "--json", *options]) == 0
        shown = capsys.readouterr()
        assert [row["version"] for row in lines(shown.out)] == list(versions)
        older = 30 - len(versions)
        assert (f"... and {older} older: --limit 0 shows all" in shown.err) == bool(older)
    assert main([*map(str, asked)]) == 0
    shown = capsys.readouterr()
    table = shown.out
    assert "... and 10 older: --limit 0 shows all" in shown.err
    assert table.count("│") // 7 == 20
    assert " 30 " in table
    assert "no rows" not in table


@pytest.mark.parametrize("command", ["show", "inspect"])
@pytest.mark.parametrize("option", ["--batch", "--version"])
def test_a_number_below_zero_is_no_empty_state(
    capsys: pytest.CaptureFixture[str], built: Built, command: str, option: str
) -> None:
    assert main([command, str(built.root), option, "-1"]) != 0
    shown = capsys.readouterr()
    assert f"no {option[2:]} -1: " in shown.out + shown.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--history"], "--history is of one key: give --key"),
        (["--user-key", "x"], "--user-key is of one key: give --key"),
        (["--key", "a", "--timers"], "not of timers"),
        (["--no-flatten"], "--no-flatten is of a list or a map: give --state-var"),
        (["--key", "a", "--history", "--batch", "1"], "leave out --version and --batch"),
        (["--key", "a", "--user-key", "x"], "--user-key is of a map variable"),
    ],
)
def test_a_key_that_is_asked_for_otherwise(
    capsys: pytest.CaptureFixture[str], built: Built, arguments: list[str], told: str
) -> None:
    assert main(["show", str(built.root), *arguments]) == 2
    assert told in capsys.readouterr().err


def test_the_text_of_a_key() -> None:
    from bucketstate.checkpoint.spark import types as T  # noqa: N812
    from bucketstate.cli.given import key_of

    def of(text: str, *kinds: T.DataType) -> Any:
        fields = [T.StructField(name, kind) for name, kind in zip("ab", kinds, strict=False)]
        return key_of(text, T.StructType(tuple(fields)), "--key")

    assert of("5", T.LongType()) == (5,)
    assert of("5", T.StringType()) == ("5",)
    assert of("null", T.StringType()) == ("null",)
    assert of('{"a": null}', T.StringType()) == {"a": None}
    assert of("1.25", T.DecimalType(5, 2)) == (Decimal("1.25"),)
    assert of("true", T.BooleanType()) == (True,)
    assert of("2024-01-01", T.DateType()) == ("2024-01-01",)
    assert of('[1, "x"]', T.LongType(), T.StringType()) == (1, "x")
    assert of('{"a": 1, "b": "x"}', T.LongType(), T.StringType()) == {"a": 1, "b": "x"}
    with pytest.raises(InvalidArgumentError, match=r"not the column of the key: give .* a bigint"):
        of('{"aa": 7}', T.LongType())
    assert of('{"aa": 7}', T.StringType()) == ('{"aa": 7}',)
    with pytest.raises(InvalidArgumentError, match=r"--key 'x' has not the columns.*a bigint, b"):
        of("x", T.LongType(), T.StringType())
