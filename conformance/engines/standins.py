"""What stands in for the parts of an engine that are not taken: it goes along with everything and decides nothing."""

from __future__ import annotations

from typing import Any, NoReturn


class StandInDecides(Exception):
    """The engine asked a stand-in for something on which its way depends, so what it does next would be made up."""


class StandIn:
    """Takes any call, attribute and item, and gives another stand-in; refuses to be a condition, a number or a list.

    So an engine's method may tell its tree to release a lock, but what it counts, pops or branches on never comes from
    here. `is None` cannot be refused: an attribute that is compared so has to be known.
    """

    def __init__(self, name: str, **attributes: object) -> None:
        """`name` is how the engine calls it; `attributes` are the few things about it that are not made up."""
        self.__dict__.update(attributes, _name=name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # copying asks for these, and takes no for an answer
            raise AttributeError(name)
        made = self.__dict__[name] = StandIn(f"{self._name}.{name}")
        return made

    def __call__(self, *_: object, **__: object) -> Any:
        return StandIn(f"{self._name}()")

    def __getitem__(self, _: object) -> Any:
        return StandIn(f"{self._name}[]")

    def __setitem__(self, _: object, __: object) -> None:
        """Forgets it."""

    def __repr__(self) -> str:
        return f"<stand-in for {self._name}>"

    def _decides(self, *_: object) -> NoReturn:
        raise StandInDecides(f"{self._name} is stood in for, but the engine's way depends on its value")

    __bool__ = __len__ = __iter__ = __contains__ = __int__ = __index__ = __float__ = _decides
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _decides
    __add__ = __radd__ = __sub__ = __rsub__ = __neg__ = __mul__ = __rmul__ = _decides
    __hash__ = object.__hash__
