"""`bucketstate completion`: the script by which a shell completes this command line."""

from __future__ import annotations

import argparse

from bucketstate.cli.fish import commands, fish
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
    for action in (action for _, command in commands(top) for action in command._actions):
        if action.dest in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(top, shell=shell))
