"""Ctrl-C ends each command within a second, whatever it is blocked in, and says nothing.

A file system that does not let go what was half written is waited for two seconds more. Moves that
Spark makes are in tests/integration/test_move.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit.checkpoints import Built
from tests.kit.storage.silent import silent
from tests.unit.checkpoint.test_state import grown

pytestmark = pytest.mark.slow

SOON = 1.0
"""Seconds within which it ends. The system takes a moment to end a process with much memory."""

COMMANDS = [
    ["inspect"],
    ["show"],
    ["show", "--json"],
    ["diff"],
    ["export", "-"],
    ["export", "out.parquet"],
    ["verify"],
    ["verify", "--json"],
    ["doctor"],
    ["report"],
    ["savepoint", "list"],
    ["savepoint", "drop", "x"],
    ["sql", "select 1"],
    ["clone", "copy"],
    ["fork", "copy", "--batch", "0"],
    ["rewind", "--batch", "0"],
]


@contextmanager
def started(
    *arguments: str, cwd: Path, path: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The program itself, which nothing of a test is in."""
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(path), *sys.path])
    command = ["-m", "bucketstate", *arguments]
    with running(command, cwd=cwd, env=environment, stdout=subprocess.PIPE) as process:
        yield process


@contextmanager
def running(command: list[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Python with these arguments, which does not outlive the block."""
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, **how)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def interrupted(process: subprocess.Popen[bytes], within: float = SOON) -> tuple[int, bytes]:
    """How it ended on SIGINT, and what it said on standard error."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - began < within
    return process.returncode, said


def waited_for(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not found():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_while_a_file_system_does_not_answer(command: list[str], tmp_path: Path) -> None:
    words = 2 if command[0] == "savepoint" else 1
    name, rest = command[:words], command[words:]
    with silent() as own, started(*name, own.of("s3"), *rest, cwd=tmp_path) as process:
        own.wait()
        code, said = interrupted(process)
    # By the signal itself, or with what a shell has for it.
    assert code in (-signal.SIGINT, 130)
    assert said.replace(b"\x1b[?25h\n", b"") == b""
    assert not [*tmp_path.iterdir()]


def test_while_google_is_asked_again_and_again(tmp_path: Path) -> None:
    with silent() as own, started("inspect", own.of("gs"), cwd=tmp_path) as process:
        own.wait()
        assert interrupted(process) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("module", ["argparse", "pyarrow", "numpy", "rocksdict"])
def test_while_modules_are_imported(module: str, tmp_path: Path) -> None:
    """From the first one on that the commands need."""
    slow, mark = tmp_path / "slow", tmp_path / "mark"
    slow.mkdir()
    code = f"from pathlib import Path; import time; Path({str(mark)!r}).touch(); time.sleep(60)"
    (slow / f"{module}.py").write_text(code)
    with started("inspect", "x", cwd=tmp_path, path=slow) as process:
        waited_for(mark.exists)
        assert interrupted(process) == (-signal.SIGINT, b"")


def test_an_export_leaves_nothing_half_written(built: Built, tmp_path: Path) -> None:
    """It is held up in the middle of its file."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    code = (
        "import sys, time; from pathlib import Path; import bucketstate.__main__ as program\n"
        "from bucketstate.cli import export\n"
        "export._written = lambda *_: (Path('mark').touch(), time.sleep(60))\n"
        f"sys.argv[1:] = ['export', {str(built.root)!r}, 'out.csv']\n"
        "program.main()"
    )
    with running(["-c", code], cwd=folder) as process:
        waited_for((folder / "mark").exists)
        assert len([*folder.glob(".out.csv.*.tmp")]) == 1
        assert interrupted(process) == (-signal.SIGINT, b"")
    assert [file.name for file in folder.iterdir()] == ["mark"]


def test_an_export_that_is_sent_leaves_nothing(built: Built, tmp_path: Path) -> None:
    """It is held up when the file system has some of it."""
    folder = tmp_path / "out"
    folder.mkdir()
    code = (
        "import sys, time, fsspec; from pathlib import Path\n"
        "import bucketstate.__main__ as program\n"
        "from bucketstate.cli import targets\n"
        "from fsspec.implementations.local import LocalFileSystem\n"
        "class Seen(LocalFileSystem):\n"
        "    protocol = 'seen'\n"
        "    @classmethod\n"
        "    def _strip_protocol(cls, path):\n"
        "        return path.removeprefix('seen://')\n"
        "fsspec.register_implementation('seen', Seen)\n"
        "def held_up(filesystem, source, path):\n"
        "    stream = filesystem.open_output_stream(path); stream.write(b'half')\n"
        f"    Path({str(tmp_path / 'mark')!r}).touch(); time.sleep(60)\n"
        "targets.sent = held_up\n"
        f"sys.argv[1:] = ['export', {str(built.root)!r}, 'seen://{folder}/state.csv']\n"
        "program.main()"
    )
    with running(["-c", code]) as process:
        waited_for((tmp_path / "mark").exists)
        (file,) = folder.iterdir()
        assert file.name.startswith(".state.csv.")
        assert interrupted(process) == (-signal.SIGINT, b"")
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    "command", [["show"], ["verify"], ["export", "out.csv"], ["report"]], ids=" ".join
)
def test_copies_of_far_files_go(command: list[str], tmp_path: Path) -> None:
    """It is held up where a data file was copied to the temporary folder."""
    copies, folder = tmp_path / "copies", tmp_path / "cwd"
    copies.mkdir()
    folder.mkdir()
    # Another process has its own there.
    (copies / "bucketstate-runs-another").mkdir()
    built = grown(tmp_path / "checkpoint")
    built.snapshot(4)
    code = (
        "import sys, time; from pathlib import Path; import bucketstate.__main__ as program\n"
        "from bucketstate.checkpoint.format import runs, storage\n"
        "storage.Folder.is_local = False\n"
        "runs._SMALL = 0\n"
        "read = runs.Runs._scan\n"
        "def held_up(self, file, *of):\n"
        "    self._verified(file); Path('mark').touch(); time.sleep(60)\n"
        "    return read(self, file, *of)\n"
        "runs.Runs._scan = held_up\n"
        f"sys.argv[1:] = [{command[0]!r}, {str(built.root)!r}, *{command[1:]!r}]\n"
        "program.main()"
    )
    own = {**os.environ, "TMPDIR": str(copies)}
    with running(["-c", code], cwd=folder, env=own, stdout=subprocess.DEVNULL) as process:
        waited_for((folder / "mark").exists)
        assert len(list(copies.glob("*/*.sst"))) > 0
        assert interrupted(process) == (-signal.SIGINT, b"")
    assert [file.name for file in copies.iterdir()] == ["bucketstate-runs-another"]
    assert [file.name for file in folder.iterdir()] == ["mark"]


HELD_UP = """
import sys, time; from pathlib import Path; import bucketstate.__main__ as program
from bucketstate.checkpoint import savepoints
from bucketstate.checkpoint.format.writing import WritableFolder
def held_up(*_):
    Path({mark!r}).touch(); time.sleep(60)
savepoints._whole = held_up
{more}
sys.argv[1:] = ['savepoint', 'create', {root!r}, 'mine']
program.main()
"""


def test_a_savepoint_that_is_not_verified_yet_is_gone(built: Built, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = HELD_UP.format(mark=str(mark), root=str(built.root), more="")
    with running(["-c", code]) as process:
        waited_for(mark.exists)
        assert len([*(built.root / "_bucketstate/savepoints").iterdir()]) == 1
        assert interrupted(process) == (-signal.SIGINT, b"")
    assert [*(built.root / "_bucketstate/savepoints").iterdir()] == []


def test_it_ends_where_nobody_answers_who_is_to_undo(built: Built, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    more = "WritableFolder.delete = held_up"
    code = HELD_UP.format(mark=str(mark), root=str(built.root), more=more)
    with running(["-c", code]) as process:
        waited_for(mark.exists)
        assert interrupted(process, within=2 * SOON + 2) == (-signal.SIGINT, b"")


def test_a_library_leaves_a_thread_s_signals_alone() -> None:
    """Signals are the main thread's affair, also where they are the system's own."""
    code = (
        "import signal, threading; from bucketstate.interrupts import undone\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "def work():\n"
        "    with undone(): print('here')\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"here\n", b"")


def test_who_ignores_it_goes_on() -> None:
    """As a shell starts what runs beside it."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import bucketstate.__main__, os\n"
        "os.kill(os.getpid(), signal.SIGINT); print('here')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"here\n"


def test_importing_the_library_leaves_signals_alone() -> None:
    code = (
        "import bucketstate.cli, bucketstate.checkpoint, signal\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
