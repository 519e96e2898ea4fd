"""The errors of the Python package as tables: what their docstrings say."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from types import ModuleType
from typing import Any

import bucketstate
from bucketstate.errors import BucketstateError
from scripts.generate.markdown import row
from scripts.generate.marks import between

BEGIN = "<!-- Made by `make generate` from docstrings: edits before the end are lost. -->"

_TO_DO = "What to do: "
_RUNS = "bucketstate.__main__"


def with_errors(text: str) -> str:
    """The page with the errors as they are now. ValueError if its marks are not there."""
    return between("docs/errors.md", text, BEGIN, tables(package_errors()))


def package_errors() -> list[type[Exception]]:
    """Every error and warning of the package that gets out of it, by module, as they are written.

    Those that the package itself always catches are no BucketstateError.
    """
    modules = [bucketstate, *_modules(bucketstate)]
    found = {value for module in modules for value in vars(module).values() if _is_ours(value)}
    return sorted(found, key=_place)


def tables(errors: list[type[Exception]]) -> str:
    """A table for each module. ValueError for a docstring that does not say what to do."""
    head = row("error", "what it is, and when", "what to do") + "|---|---|---|\n"
    modules = dict.fromkeys(error.__module__ for error in errors)
    made = []
    for module in modules:
        rows = [_row(error) for error in errors if error.__module__ == module]
        made.append(f"### `{_imported_from(module)}`\n\n{head}{''.join(rows)}")
    return "\n".join(made)


def _row(error: type[Exception]) -> str:
    summary, *rest = [
        " ".join(part.split()) for part in (inspect.getdoc(error) or "").split("\n\n")
    ]
    if not rest or not rest[-1].startswith(_TO_DO):
        raise ValueError(f"The last part of {error.__name__}'s docstring must begin '{_TO_DO}'.")
    to_do = rest[-1].removeprefix(_TO_DO)
    bases = " and ".join(f"`{base.__name__}`" for base in error.__bases__)
    about = " ".join([summary, *rest[:-1], f"Is a {bases}."])
    return row(f"`{error.__name__}`", about, to_do[0].upper() + to_do[1:])


def _is_ours(value: Any) -> bool:
    if not inspect.isclass(value) or not issubclass(value, (BucketstateError, Warning)):
        return False
    return value.__module__.startswith("bucketstate.")


def _modules(package: ModuleType) -> list[ModuleType]:
    names = [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [import_module(name) for name in names if name != _RUNS]


def _place(error: type[Exception]) -> tuple[bool, str, int]:
    """The errors that are not of one room come first."""
    module = error.__module__
    return module != BucketstateError.__module__, module, inspect.getsourcelines(error)[1]


def _imported_from(module: str) -> str:
    """The public module: the room, or `bucketstate.errors`."""
    return ".".join(module.split(".")[:2])
