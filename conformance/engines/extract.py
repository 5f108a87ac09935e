"""Takes named methods of one class out of a source text and compiles just these; nothing else of the text runs."""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from rankproof.conformance.engines.needs import NOT_LITERAL, Needs, literal, needs_of, of_self
from rankproof.conformance.engines.standins import StandIn
from rankproof.model.errors import BadInput

_REAL_MODULES = frozenset(sys.stdlib_module_names) | {"torch"}
_KEPT_DECORATORS = ("property", "staticmethod", "classmethod")


@dataclass(frozen=True)
class Extract:
    """One class with just the methods that were taken, compiled.

    made        the class; its base stands in for the bases that it had, and has what the methods ask of `super()`
    methods     name and first line of each method taken, in the order of the source
    decorators  those that were dropped, as `method: @decorator`
    globals     names that the methods read of their module and that have a stand-in behind them
    needs       what the methods need of their object
    """

    made: type[Any]
    methods: tuple[tuple[str, int], ...]
    decorators: tuple[str, ...]
    globals: tuple[str, ...]
    needs: Needs


@lru_cache(maxsize=8)
def extract(
    text: str, file: str, class_name: str, wanted: frozenset[str] | None = None, telling: frozenset[str] = frozenset()
) -> Extract | None:
    """The class of that name with those of its methods that are `wanted` (None: all of its body as it stands).

    Where a method taken calls another on `self`, and that one names an attribute that is `telling`, it is taken too.
    Decorators and bases are dropped, annotations are not evaluated, and line numbers stay those of `file`, so that a
    traceback shows the engine's own lines. What the methods read of the module is real where it comes from the standard
    library or torch, or is a literal; else a `StandIn`. None where the text has no such class. Raises BadInput for
    what is no Python.
    """
    try:
        module = ast.parse(text, file)
    except (SyntaxError, ValueError) as error:
        here = ".".join(map(str, sys.version_info[:2]))
        raise BadInput(f"{file}: Python {here} cannot read it: {error}") from None
    found = next((each for each in module.body if isinstance(each, ast.ClassDef) and each.name == class_name), None)
    if found is None:
        return None
    whole = {each.name: each for each in found.body if isinstance(each, ast.FunctionDef)}
    initial = whole.get("__init__")
    if wanted is None:
        return _compiled(module, found, file, list(whole.values()), initial, ())
    names = _reached(whole, wanted, telling)
    methods = [method for name, method in whole.items() if name in names]
    dropped = tuple(said for method in methods for said in _undecorated(method))
    found.body = list[ast.stmt](methods) or [ast.Pass()]
    found.bases, found.keywords, found.decorator_list = [ast.Name("_Base", ast.Load())], [], []
    return _compiled(module, found, file, methods, initial, dropped)


def _reached(whole: dict[str, ast.FunctionDef], wanted: frozenset[str], telling: frozenset[str]) -> set[str]:
    """The names of the methods to take."""
    taken: set[str] = set()
    ahead = [name for name in whole if name in wanted]
    while ahead:
        name = ahead.pop()
        taken.add(name)
        calls = [node.func for node in ast.walk(whole[name]) if isinstance(node, ast.Call)]
        called = {function for call in calls if (function := of_self(call))}
        for other in set(whole) & called - taken:
            named = {node.attr for node in ast.walk(whole[other]) if isinstance(node, ast.Attribute)}
            if named & telling:
                ahead.append(other)
    return taken


def _undecorated(method: ast.FunctionDef) -> list[str]:
    """What is dropped, once it is: all decorators but those that say how a method is called."""
    kept = [each for each in method.decorator_list if isinstance(each, ast.Name) and each.id in _KEPT_DECORATORS]
    dropped = [f"{method.name}: @{ast.unparse(each)}" for each in method.decorator_list if each not in kept]
    method.decorator_list = list(kept)
    return dropped


def _compiled(
    module: ast.Module,
    taken: ast.ClassDef,
    file: str,
    methods: list[ast.FunctionDef],
    initial: ast.FunctionDef | None,
    dropped: tuple[str, ...],
) -> Extract:
    code = compile(
        ast.fix_missing_locations(ast.Module([taken], [])),
        file,
        "exec",
        flags=annotations.compiler_flag,
        dont_inherit=True,
    )
    namespace: dict[str, Any] = {"__name__": f"rankproof.taken.{taken.name}", "_Base": _Base}
    read = sorted(set(_globals(code)) - set(vars(builtins)) - set(namespace) - {taken.name, "__qualname__"})
    namespace |= {name: _real(module, name) for name in read}
    try:
        exec(code, namespace)  # the definitions; no method runs
    except Exception as error:
        raise BadInput(f"{file}: {taken.name} cannot be taken by itself: {type(error).__name__}: {error}") from None
    return Extract(
        made=namespace[taken.name],
        methods=tuple((method.name, method.lineno) for method in methods),
        decorators=dropped,
        globals=tuple(name for name in read if isinstance(namespace[name], StandIn)),
        needs=needs_of(methods, initial),
    )


class _Base:
    """Stands in for the bases of a class that was taken: what it asks of them is heard and does nothing."""

    def reset(self) -> None:
        """Clears nothing: the tree is not here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self.__dict__[name] = StandIn(f"self.{name}")
        return made


def _globals(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _real(module: ast.Module, name: str) -> Any:
    """What `name` is in the module, where that can be had without running any of it; else a stand-in."""
    found: Any = None
    for each in ast.walk(module):
        match each:
            case ast.Import(names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    if bound == name:
                        found = _imported(alias.name if alias.asname else bound)
            case ast.ImportFrom(str(source), names, 0):
                for alias in names:
                    if (alias.asname or alias.name) == name:
                        found = getattr(_imported(source), alias.name, None)
            case ast.Assign([ast.Name(to)], value) if to == name and each in module.body:
                if ast.unparse(value) == "logging.getLogger(__name__)":
                    found = logging.getLogger("rankproof.taken")
                elif (said := literal(value)) is not NOT_LITERAL:
                    return said
    return StandIn(name) if found is None else found


def _imported(module: str) -> Any:
    """A module that is no part of the engine, or None where it is one or is not here."""
    if module.partition(".")[0] not in _REAL_MODULES:
        return None
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
