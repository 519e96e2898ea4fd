"""A parser of command lines that is exact, and that says in one line what is wrong with one."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

_CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from .*\)")


class Parser(argparse.ArgumentParser):
    """Takes no beginnings of options, since those would be others once there is a new one."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given, allow_abbrev=False)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuses what it does not know itself: the parser above it has other options."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = [self._near(word) for word in unknown[:1] if word.startswith("-")]
            self.error(f"unrecognized arguments: {' '.join(unknown)}{''.join(near)}")
        return found, []

    def error(self, message: str) -> NoReturn:
        """Ends the process with exit code 2; the usage of all is long, so it is asked for."""
        wrong = _CHOICE.search(message)
        if wrong is not None:
            known = [name for a in self._actions for name in map(str, a.choices or ())]
            message += _did_you_mean(wrong[1], known)
        self.exit(2, f"{self.prog}: error: {message}\nSee {self.prog} --help.\n")

    def _near(self, option: str) -> str:
        return _did_you_mean(option.partition("=")[0], list(self._option_string_actions))


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    # What somebody began to write is meant, too.
    found = [name for name in known if len(word) > 2 and name.startswith(word)]
    found += get_close_matches(word, known)
    return f" (did you mean {found[0]}?)" if found else ""
