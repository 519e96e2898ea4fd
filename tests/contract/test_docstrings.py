"""Every public member says what it is, in one style.

Types are in the signatures. That numbers have units nobody can check but who reads.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple

import griffe

from bucketstate.errors import BucketstateError
from tests.contract.public import package, public_names
from tests.contract.raised import Function, raised_by

MANY = 3
"""A function of so many parameters describes each."""

# A sentence in the place of a section.
_PROSE = re.compile(r"\b(?:Raises|Warns with) [A-Z]\w+(?:Error|Warning)\b")
_THREADS = re.compile(r"thread|immutable|cannot change", re.IGNORECASE)
_AS_FOR = re.compile(r"\b(?:[Ss]ee|as\s+for)\s+`([\w.]+)`")


class Member(NamedTuple):
    """A public name, or a public member of a public class, by the names it is reached by."""

    path: str
    written: Any
    owner: type | None

    @property
    def text(self) -> str:
        return self.written.docstring.value if self.written.docstring else ""

    def section(self, kind: griffe.DocstringSectionKind) -> Any:
        """The items of a section; None without."""
        if not self.written.docstring:
            return None
        sections = self.written.docstring.parse("google", warnings=False)
        found = [s.value for s in sections if s.kind is kind]
        return found[0] if found else None

    @property
    def parameters(self) -> list[str]:
        if not self.written.is_function:
            return []
        names = [p.name.lstrip("*") for p in self.written.parameters]
        return [n for n in names if n not in ("self", "cls")]


@cache
def members() -> tuple[Member, ...]:
    return tuple(_members())


def _members() -> Iterator[Member]:
    for path in dict.fromkeys(public_names()):
        written: Any = package()[path.removeprefix("bucketstate.")]
        written = written.final_target if written.is_alias else written
        if not written.is_class:
            yield Member(path, written, None)
            continue
        owner = getattr(import_module(path.rpartition(".")[0]), path.rpartition(".")[2])
        yield Member(path, written, owner)
        for name, member in written.all_members.items():
            if name.startswith("_"):
                continue
            inner = member.final_target if member.is_alias else member
            if inner.is_function or inner.is_attribute:
                yield Member(f"{path}.{name}", inner, owner)


def functions() -> list[Member]:
    """With classes, whose arguments and errors are those of their `__init__`."""
    return [m for m in members() if m.written.is_function or m.written.is_class]


def test_members_of_classes_and_of_their_bases_are_looked_at() -> None:
    paths = {member.path for member in members()}
    assert {
        "bucketstate.checkpoint.Checkpoint.operator",
        "bucketstate.checkpoint.Finding.severity",
        "bucketstate.Conf.num_buckets",
    } <= paths


def test_every_public_member_says_what_it_is() -> None:
    assert not [member.path for member in members() if not member.text]


def test_errors_and_warnings_have_sections_of_their_own() -> None:
    assert not [member.path for member in members() if _PROSE.search(member.text)]


def test_classes_say_what_threads_may_do() -> None:
    found = [m for m in members() if m.owner and m.written.is_class]
    silent = [
        m.path
        for m in found
        if not issubclass(m.owner or object, BaseException) and not _THREADS.search(m.text)
    ]
    assert len(found) > len(silent)
    assert not silent


def _parameters(member: Member) -> list[str]:
    if dataclasses.is_dataclass(member.owner) and member.written.is_class:
        # The fields, each of which is a member.
        return []
    if member.written.is_class:
        init = member.written.members.get("__init__")
        return [] if init is None else member._replace(written=init).parameters
    return member.parameters


def test_arguments_are_described_all_or_none() -> None:
    wrong = []
    for member in functions():
        described = member.section(griffe.DocstringSectionKind.parameters)
        if described is not None:
            names = {p.name.lstrip("*") for p in described}
            if names != set(_parameters(member)):
                wrong.append((member.path, names ^ set(_parameters(member))))
    assert not wrong


def test_many_arguments_are_described_here_or_where_it_says() -> None:
    described = {
        m.path for m in functions() if m.section(griffe.DocstringSectionKind.parameters) is not None
    }
    silent = []
    for member in functions():
        if len(_parameters(member)) < MANY or member.path in described:
            continue
        named = _AS_FOR.findall(member.text)
        if not any(path.endswith(f".{name}") for path in described for name in named):
            silent.append(member.path)
    assert not silent


def _documented(member: Member) -> list[type]:
    """In its own section, or in that of a member that it names for it."""
    raised = member.section(griffe.DocstringSectionKind.raises)
    if raised is None:
        named = set(_AS_FOR.findall(member.text))
        others = [m for m in members() if m.path.rpartition(".")[2] in named]
        near = [m for m in others if m.owner is member.owner and m.path != member.path]
        return [error for other in near for error in _documented(other)]
    return [_class_of(str(item.annotation), member) for item in raised]


def _class_of(name: str, member: Member) -> type:
    module = import_module(member.written.module.path)
    errors = import_module("bucketstate.errors")
    stateful = import_module("bucketstate.stateful")
    for place in (module, errors, stateful, builtins):
        if isinstance(found := getattr(place, name, None), type):
            return found
    raise AssertionError(f"{member.path} raises {name}, which is no class")


def test_what_is_said_to_be_raised_is_an_error() -> None:
    named = [error for member in members() for error in _documented(member)]
    assert any(issubclass(error, BucketstateError) for error in named)
    assert all(issubclass(error, Exception) for error in named)


def _code(member: Member) -> FunctionType | None:
    """What runs: of a class its `__init__`, of a property what reads it."""
    name = member.path.rpartition(".")[2]
    if member.written.is_class:
        found = inspect.getattr_static(member.owner, "__init__", None)
    elif member.owner is not None:
        found = inspect.getattr_static(member.owner, name, None)
    else:
        found = getattr(import_module(member.written.module.path), name, None)
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, cached_property):
        found = found.func
    found = getattr(found, "__func__", found)
    found = inspect.unwrap(found) if callable(found) else None
    return found if isinstance(found, FunctionType) else None


def test_what_is_raised_is_documented() -> None:
    """Itself, or a base of it."""
    missing = {}
    for member in members():
        code = _code(member)
        # The `__init__` of a dataclass has no source.
        if code is None or code.__code__.co_filename == "<string>":
            continue
        documented = tuple(_documented(member))
        found = raised_by(Function(code, member.owner))
        if silent := {e.__name__ for e in found if not issubclass(e, documented)}:
            missing[member.path] = silent
    assert not missing
