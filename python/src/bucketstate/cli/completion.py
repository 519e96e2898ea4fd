"""`bucketstate completion`: the script by which a shell completes this command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from bucketstate.cli.fish import fish
from bucketstate.optional import needed

SHELLS = ("bash", "zsh", "fish")
_FOLDERS = ("checkpoint", "source", "target")
_FILES = ("output", "places")


def completion(top: argparse.ArgumentParser, shell: str) -> str:
    """The script for one of SHELLS.

    Raises MissingLibraryError without shtab, which makes it; not for fish.
    """
    if shell == "fish":
        return fish(top, _FOLDERS, _FILES)
    shtab = needed("shtab", extra="cli", what="Completing a shell's command line")
    for action in _actions(top):
        if action.dest in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(top, shell=shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of the commands, too."""
    for action in parser._actions:
        yield action
        choices: Any = action.choices
        if isinstance(action, argparse._SubParsersAction):
            for command in choices.values():
                yield from _actions(command)
