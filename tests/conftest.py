"""What every test may count on: that a process which it starts can be interrupted, and that no example is timed."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# A shell starts what it runs in the background with SIGINT ignored, and children inherit that; a handler they do not.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, and nothing of what is tested.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start processes come first: the longest are among them, and would leave workers idle at the end."""
    starting = {item.path for item in items if item.get_closest_marker("processes")}
    items.sort(key=lambda item: item.path not in starting)
