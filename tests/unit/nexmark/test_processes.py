"""What is read of processes: memory at most, and time of processors with their children."""

from __future__ import annotations

import os
import subprocess
import sys

from bucketstate_nexmark.runs.process import cpu_seconds, peak_bytes


def test_a_process_has_memory_and_time() -> None:
    assert peak_bytes(os.getpid()) > 1 << 20
    before = cpu_seconds(os.getpid())
    spent = 0
    while cpu_seconds(os.getpid()) < before + 0.03:
        spent += sum(range(10_000))
    assert spent


def test_children_count_while_they_live_and_when_they_were_waited_for() -> None:
    before = cpu_seconds(os.getpid())
    work = "sum(range(4_000_000)); print('done', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert cpu_seconds(os.getpid()) > before
    assert cpu_seconds(os.getpid()) > before


def test_a_process_that_has_ended_has_no_time() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert cpu_seconds(child.pid) == 0
