"""What every test may count on: that a process which it starts can be interrupted."""

from __future__ import annotations

import signal

# A shell starts what it runs in the background with SIGINT ignored, and children inherit that; a handler they do not.
signal.signal(signal.SIGINT, signal.default_int_handler)
