"""What every test may count on: that a process which it starts can be interrupted, and that no example is timed."""

from __future__ import annotations

import signal

from hypothesis import settings

# A shell starts what it runs in the background with SIGINT ignored, and children inherit that; a handler they do not.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, and nothing of what is tested.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
