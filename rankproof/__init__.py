"""The front door of rankproof: what a caller may import, and the version that is installed."""

import os
import sys

TYPE_CHECKING = False  # as typing has it, which takes longer to import than all else here
if TYPE_CHECKING:
    from rankproof.conformance.asserting import assert_conforms as assert_conforms

    __version__: str

# In a checkout's root, Python takes the bare folder ./rankproof for the package; the rooms are then found by this line,
# where the installed package has them. Elsewhere it changes nothing. (pkgutil.extend_path costs 30 ms more.)
__path__ += [
    found
    for folder in sys.path
    if (found := os.path.join(folder, __name__)) not in __path__ and os.path.isfile(os.path.join(found, "__init__.py"))
]

_PUBLIC = {"assert_conforms": "rankproof.conformance.asserting"}
"""Public names by the module that has them: each is imported when it is asked for, and not before."""


def __getattr__(name: str) -> object:
    """`__version__`, which costs 80 ms to look up, and the public names: every start would pay for them."""
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version(__name__)
