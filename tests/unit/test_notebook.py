"""What a notebook shows: tables, and a live panel without widgets."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate import Conf, stateful
from bucketstate.checkpoint import Checkpoint
from bucketstate.notebook import table
from bucketstate.progress import NotebookPanel, Panel, Recorder
from bucketstate.stateful import State
from bucketstate.testing import Harness
from tests.unit.checkpoint.test_verify import damage
from tests.unit.test_progress import progress, recorded

if TYPE_CHECKING:
    from tests.kit.checkpoints import Built


def cells(html: str) -> list[list[str]]:
    """The table's rows as texts, the head first."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [[unescape(c) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", r)] for r in rows]


def html(value: Any) -> str:
    found = value._repr_html_()
    assert isinstance(found, str)
    # Nothing that a notebook would have to fetch or to run.
    assert not re.search(r"<script|src=|href=|url\(", found)
    return found


def test_what_looks_like_markup_is_text() -> None:
    found = table("<b>", ["<i>", "#n"], [["<script>", 1234], [b"\x01", None]])
    assert "<script>" not in found
    assert cells(found) == [["<i>", "#n"], ["<script>", "1,234"], ["0x01", "<i>null</i>"]]


def test_numbers_are_to_the_right() -> None:
    columns = ["name", "n", "yes", "of each kind", "none", "said to be"]
    rows: list[list[Any]] = [
        ["a", 1, True, 2.5, None, "9"],
        ["b", None, False, Decimal(3), None, "10"],
    ]
    found = table("", columns, rows, right=["said to be"])
    sides = re.findall(r'<t[hd] style="text-align: (\w+)">', found)
    assert sides == 3 * ["left", "right", "left", "right", "left", "right"]


def test_a_conf() -> None:
    rows = cells(html(Conf(num_buckets=8)))
    assert rows[0] == ["setting", "value"]
    assert [r[1] for r in rows if r[0].endswith(".numBuckets")] == ["8"]


def test_a_checkpoint(built: Built) -> None:
    found = html(Checkpoint(built.root))
    assert str(built.root) in found
    assert "last committed batch 5" in found
    rows = cells(found)
    assert rows[1][:4] == ["0", "default", "84", "manifest 4 (2 runs) + 2 changelogs"]
    (built.folder() / "6.changelog").unlink()
    assert cells(html(Checkpoint(built.root)))[1][2:4] == ["<i>null</i>", "cannot be read"]


def test_a_scan_has_its_first_rows(built: Built) -> None:
    found = html(Checkpoint(built.root).scan())
    rows = cells(found)
    assert rows[0] == ["key.key", "value.count", "value.total", "partition_id"]
    assert len(rows) == 21
    assert "... more than these 20" in found
    one = Checkpoint(built.root).scan(filters=[("partition_id", "=", 0)], columns=["key.key"])
    assert cells(html(one))[0] == ["key.key"]


def test_a_scan_of_nothing_says_why(built: Built) -> None:
    found = html(Checkpoint(built.root).scan(operator=7))
    assert "NoSuchStateError" in found
    assert "has no operator 7" in found


def test_a_report(built: Built) -> None:
    assert "is sound: " in html(Checkpoint(built.root).verify())
    damage(built.folder() / "6.changelog", 90)
    found = html(Checkpoint(built.root).verify())
    assert "is DAMAGED: " in found
    assert cells(found)[1][0] == "error"


@dataclass
class Count:
    n: int = 0


def count(key: Any, rows: list[dict[str, Any]], state: State[Count]) -> dict[str, Any]:
    state.value.n += len(rows)
    state.timeout_after(timedelta(hours=1))
    return {"k": key.k, "n": state.value.n}


def test_a_harness_and_its_answers() -> None:
    harness = Harness(count, by="k", timeout="processing", output="k string, n long")
    answer = harness.run([{"k": "<a>"}, {"k": "<a>"}])
    assert answer == [{"k": "<a>", "n": 2}]
    assert cells(html(answer)) == [["k", "n"], ["<a>", "2"]]
    found = html(harness)
    assert "count by k: 1 keys" in found
    head, row = cells(found)
    assert head == ["key", "state", "timeout", "timers"]
    assert row[:2] == ["Key(k='<a>')", "Count(n=2)"]
    many = harness.run([{"k": str(n)} for n in range(30)])
    assert "... more than these 20" in html(many)
    assert html(harness.run()) != ""


def test_a_harness_whose_keys_have_structs() -> None:
    windows = stateful.windows("at", timedelta(minutes=5), n=stateful.count())
    harness = Harness(windows, by="k", schema="k string, at timestamp")
    harness.run([{"k": "a", "at": datetime(2024, 3, 1, 12, 2, tzinfo=UTC)}])
    _, row = cells(html(harness))
    assert row[0].startswith("Key(k='a', window=(")
    assert row[2:] == ["2024-03-01 12:04:59.999000+00:00", "<i>null</i>"]


def test_a_recorder_and_what_its_panel_has() -> None:
    rows = cells(html(recorded(2, bucketedMemoryLimitBytes=8000)))
    assert rows[0][:4] == ["query", "batch", "rows", "ms"]
    assert [r[:4] for r in rows[1:]] == [
        ["flights", "0", "50", "100"],
        ["flights", "1", "50", "100"],
    ]
    assert "waiting for the first batch" in html(Recorder())


class Kernel:
    """IPython as far as a panel needs it: what is displayed, and what replaces it."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def modules(self) -> dict[str, ModuleType]:
        ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
        ipython.get_ipython = lambda: SimpleNamespace(kernel=self)  # type: ignore[attr-defined]
        display.HTML = lambda html: html  # type: ignore[attr-defined]
        display.display = self._display  # type: ignore[attr-defined]
        return {"IPython": ipython, "IPython.display": display}

    def _display(self, html: str, *, display_id: bool) -> Any:
        assert display_id
        self.shown.append(html)
        return SimpleNamespace(update=self.shown.append)


def test_a_live_panel_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(Recorder().live(), Panel)
    kernel = Kernel()
    for name, module in kernel.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    recorder = Recorder()
    with recorder.live() as panel:
        assert isinstance(panel, NotebookPanel)
        recorder.add(progress(0))
    recorder.add(progress(1))
    panel.update()
    assert "waiting for the first batch" in kernel.shown[0]
    numbers = [[row[1] for row in cells(shown)[1:]] for shown in kernel.shown]
    assert numbers == [[], [], ["0"], ["0", "1"]]
