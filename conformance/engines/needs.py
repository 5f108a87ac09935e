"""What methods need of the object that they are called on, read off their text."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

NOT_LITERAL = object()


@dataclass(frozen=True)
class Needs:
    """What an object has to have, so that some methods of its class can run on it.

    attributes    names that the methods use on `self` and that are none of these methods
    literals      the attributes to which `__init__` assigns a literal, with it
    optional      the attributes that a method compares with None
    sizes         the attributes, of whatever, whose `qsize()` a method asks for
    entries       for each dictionary out of which a method takes an entry, the names that it gives to the parts (one
                  name where it does not take the entry apart)
    asynchronous  whether a method starts a collective that it does not wait for, by `async_op=True`
    """

    attributes: frozenset[str]
    literals: dict[str, object]
    optional: frozenset[str]
    sizes: frozenset[str]
    entries: dict[str, tuple[str, ...]]
    asynchronous: bool


def needs_of(methods: list[ast.FunctionDef], initial: ast.FunctionDef | None) -> Needs:
    """What `methods` need of their object; `initial` is the `__init__` of their class, where it has one."""
    return Needs(
        attributes=frozenset(_over(methods, of_self)) - {method.name for method in methods},
        literals=dict(_assigned_literals(initial)) if initial else {},
        optional=frozenset(_over(methods, _compared_with_none)),
        sizes=frozenset(_over(methods, _asked_for_size)),
        entries=dict(_entries(methods)),
        asynchronous=any(_over(methods, _not_waited_for)),
    )


def of_self(node: ast.AST) -> str | None:
    """The name in `self.name`."""
    match node:
        case ast.Attribute(ast.Name("self"), name):
            return name
    return None


def literal(value: ast.expr) -> object:
    """The value of a literal, or `NOT_LITERAL`."""
    try:
        return ast.literal_eval(value)
    except ValueError:
        return NOT_LITERAL


def _over(methods: Iterable[ast.FunctionDef], name_in: Callable[[ast.AST], str | None]) -> Iterator[str]:
    for method in methods:
        for node in ast.walk(method):
            if name := name_in(node):
                yield name


def _compared_with_none(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(left, [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return of_self(left)
    return None


def _asked_for_size(node: ast.AST) -> str | None:
    match node:
        case ast.Call(ast.Attribute(ast.Attribute(_, name), "qsize")):
            return name
    return None


def _not_waited_for(node: ast.AST) -> str | None:
    match node:
        case ast.keyword("async_op" as name, ast.Constant(True)):
            return name
    return None


def _assigned_literals(method: ast.FunctionDef) -> Iterator[tuple[str, object]]:
    for node in ast.walk(method):
        match node:
            case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                assigned = literal(value)
                if (name := of_self(target)) and assigned is not NOT_LITERAL:
                    yield name, assigned


def _entries(methods: Iterable[ast.FunctionDef]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Where a method takes an entry out of one of its dictionaries, by `pop` or by an index: the names it goes by."""
    for method in methods:
        taken_apart = dict(_taken_apart(method))
        for node in ast.walk(method):
            match node:
                case ast.Assign([target], ast.Call(ast.Attribute(holder, "pop")) | ast.Subscript(holder)):
                    if (name := of_self(holder)) and (parts := _names(target)):
                        yield name, taken_apart.get(parts[0], parts) if len(parts) == 1 else parts


def _taken_apart(method: ast.FunctionDef) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The local names whose value a method takes apart in a statement of its own, and the names of the parts."""
    for node in ast.walk(method):
        match node:
            case ast.Assign([ast.Tuple() as target], ast.Name(whole)):
                yield whole, _names(target)


def _names(target: ast.expr) -> tuple[str, ...]:
    match target:
        case ast.Name(one):
            return (one,)
        case ast.Tuple(parts):
            return tuple(part.id for part in parts if isinstance(part, ast.Name))
    return ()
