"""The front door of rankproof: what a caller may import, and the version that is installed."""

from importlib.metadata import version
from pkgutil import extend_path

# In a checkout's root, Python takes the bare folder ./rankproof for the package; the rooms are then found by this line,
# where the installed package has them. Elsewhere it changes nothing.
__path__ = extend_path(__path__, __name__)

__version__ = version("rankproof")
