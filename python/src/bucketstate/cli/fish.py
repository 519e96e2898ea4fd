"""The script by which fish completes this command line: shtab makes none for that shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

_HEAD = """\
# Whether the words before the cursor lead to that command, or to none yet.
function __{prog}_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l found
    for word in $words
        if contains -- (string join ' ' $found $word) {paths}
            set -a found $word
        end
    end
    test "$found" = "$argv"
end
complete -c {prog} -f"""
_FOLDERS = "-a '(__fish_complete_directories)'"
_FILES = "-F"


def fish(top: argparse.ArgumentParser, folders: Iterable[str], files: Iterable[str]) -> str:
    """The script; what takes a folder or a file is known by its name in the arguments."""
    paths = [_quoted(" ".join(path)) for path, _ in commands(top)][1:]
    lines = [_HEAD.format(prog=top.prog, paths=" ".join(paths))]
    for path, command in commands(top):
        at = f"complete -c {top.prog} -n {_quoted(' '.join((f'__{top.prog}_at', *path)))}"
        for action in command._actions:
            lines += (f"{at} {rest}" for rest in _of(command, action, folders, files))
    return "\n".join(lines)


def commands(
    command: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """A command and those below it, each with the words that lead to it."""
    yield path, command
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from commands(inner, (*path, name))


def _of(
    command: argparse.ArgumentParser,
    action: argparse.Action,
    folders: Iterable[str],
    files: Iterable[str],
) -> Iterator[str]:
    if isinstance(action, argparse._SubParsersAction):
        for choice in action._choices_actions:
            yield f"-a {choice.dest} -d {_help(command, choice)}"
        return
    choices: Any = action.choices
    if choices:
        values = f"-a {_quoted(' '.join(map(str, choices)))}"
    elif action.dest in folders:
        values = _FOLDERS
    elif action.dest in files or action.metavar in ("FILE", "PATH"):
        values = _FILES
    else:
        values = ""
    if not action.option_strings:
        if values:
            yield f"{values} -d {_help(command, action)}"
        return
    names = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
        for name in action.option_strings
    ]
    if action.nargs != 0:
        names.append(f"-r {values}" if values == _FILES else f"-x {values}".strip())
    yield f"{' '.join(names)} -d {_help(command, action)}"


def _help(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The first sentence of the help, as a word of fish."""
    text = command._get_formatter()._expand_help(action) if action.help else action.dest
    return _quoted(" ".join(text.split()).partition(". ")[0].removesuffix("."))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
