"""Which of the package's errors a function may raise, by its source: itself, or what it calls.

Followed are calls of the package's own functions and classes by their names, and of a class's own
methods as `self.name()` or `super().name()`; what a `try` catches is left out. Calls on other
objects are not: which they are is not written there.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

from bucketstate.errors import BucketstateError

Errors = frozenset[type[BaseException]]


class Function(NamedTuple):
    """A function written in Python, and the class whose method it is called as."""

    code: Any
    owner: type | None


def raised_by(function: Function) -> Errors:
    """The package's errors alone."""
    found = _Walk().of(function)
    return frozenset(error for error in found if issubclass(error, BucketstateError))


class _Walk:
    """One walk over calls; a function that is being walked already adds nothing."""

    def __init__(self) -> None:
        self._seen: set[Function] = set()

    def of(self, function: Function) -> Errors:
        if function in self._seen:
            return frozenset()
        self._seen.add(function)
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function.code))).body
        assert isinstance(definition, ast.FunctionDef)
        return self._in(definition.body, function)

    def _in(self, nodes: list[Any], function: Function) -> Errors:
        return frozenset().union(*(self._at(node, function) for node in nodes))

    def _at(self, node: ast.AST, function: Function) -> Errors:
        if isinstance(node, ast.Try):
            caught = frozenset(_classes(node.handlers, function))
            inside = {e for e in self._in(node.body, function) if not issubclass(e, tuple(caught))}
            handlers = [statement for handler in node.handlers for statement in handler.body]
            others = self._in([*handlers, *node.orelse, *node.finalbody], function)
            return others | inside
        found: Errors = frozenset()
        if isinstance(node, ast.Raise) and node.exc is not None:
            found = frozenset(_error_of(node.exc, function))
        elif isinstance(node, ast.Call) and (called := _called(node.func, function)):
            found = self.of(called)
        return found | self._in(list(ast.iter_child_nodes(node)), function)


def _classes(handlers: list[ast.ExceptHandler], function: Function) -> Iterator[Any]:
    for handler in handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        for kind in kinds:
            named = BaseException if kind is None else _value(kind, function)
            if isinstance(named, type):
                yield named


def _error_of(raised: ast.expr, function: Function) -> Iterator[type[BaseException]]:
    """The class of `raise Class(...)`, or what `raise made(...)` is annotated to return."""
    while isinstance(raised, ast.Call):
        value = _value(raised.func, function)
        if isinstance(value, type) and issubclass(value, BaseException):
            yield value
            return
        if isinstance(value, FunctionType):
            annotated = eval(str(value.__annotations__.get("return")), value.__globals__)
            if isinstance(annotated, type) and issubclass(annotated, BaseException):
                yield annotated
                return
        # Error(...).about(...) is the error itself.
        raised = raised.func.value if isinstance(raised.func, ast.Attribute) else raised.func


def _called(name: ast.expr, function: Function) -> Function | None:
    value = _value(name, function)
    owner = function.owner if isinstance(name, ast.Attribute) else None
    if isinstance(value, type) and not issubclass(value, BaseException):
        value, owner = inspect.getattr_static(value, "__init__", None), value
    value = getattr(value, "__func__", value)
    if isinstance(value, FunctionType) and value.__module__.startswith("bucketstate"):
        code = inspect.unwrap(value)
        # A dataclass has an __init__ without a source.
        return Function(code, owner) if code.__code__.co_filename != "<string>" else None
    return None


def _value(node: ast.expr, function: Function) -> Any:
    """What a name stands for; None if the source alone does not say it."""
    if isinstance(node, ast.Name):
        return function.code.__globals__.get(node.id, getattr(builtins, node.id, None))
    if not isinstance(node, ast.Attribute) or function.owner is None:
        return None
    match node.value:
        case ast.Name(id="self" | "cls"):
            return inspect.getattr_static(function.owner, node.attr, None)
        case ast.Call(func=ast.Name(id="super")):
            bases = function.owner.__mro__[1:]
            return next((vars(b)[node.attr] for b in bases if node.attr in vars(b)), None)
    return None
