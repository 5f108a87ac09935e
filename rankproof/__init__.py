"""The front door of rankproof: what a caller may import, and the version that is installed."""

from pkgutil import extend_path

# In a checkout's root, Python takes the bare folder ./rankproof for the package; the rooms are then found by this line,
# where the installed package has them. Elsewhere it changes nothing.
__path__ = extend_path(__path__, __name__)


def __getattr__(name: str) -> str:
    """`__version__`, looked up when it is asked for: that costs 80 ms, which every start would pay."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version(__name__)
