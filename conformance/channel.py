"""Pickled messages over a socket pair, where each send and each receive has a deadline."""

from __future__ import annotations

import pickle
import select
import socket
import struct
import time
from collections.abc import Iterable

_HEADER = struct.Struct("!I")
_SEND_WITHIN = 10.0


class Channel:
    """One end of a socket pair; both ends are trusted, because pickles run code when they are read.

    A message that arrives in parts, as when its sender is stopped in the middle, is kept and completed by a later
    receive: a deadline that passes loses nothing.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._received = bytearray()

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """A channel, and the socket of its other end, to be handed to another process."""
        here, there = socket.socketpair()
        return cls(here), there

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, message: object) -> None:
        """Send `message`; what cannot be pickled raises before anything is sent.

        Raises EOFError when the other end is gone, TimeoutError when it stopped reading and the socket is full.
        """
        body = pickle.dumps(message)
        left = memoryview(_HEADER.pack(len(body)) + body)
        deadline = time.monotonic() + _SEND_WITHIN
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                if not self._wait(select.POLLOUT, deadline):
                    raise TimeoutError(f"the other end read nothing for {_SEND_WITHIN:g} s") from None
            except (BrokenPipeError, ConnectionResetError):
                raise EOFError("the other end is gone") from None

    def receive(self, within: float | None = None) -> object:
        """The next message; waits at most `within` seconds, or for ever when None.

        Raises TimeoutError at the deadline, and EOFError when the other end is gone. A message that is there is
        taken even if the deadline passed long ago, as it has when this process itself was stopped meanwhile.
        """
        deadline = None if within is None else time.monotonic() + within
        last_look = False
        while not self._complete():
            if last_look:
                raise TimeoutError(f"no message within {within:g} s")
            last_look = not self._wait(select.POLLIN, deadline)
        body = bytes(self._received[_HEADER.size :])
        self._received.clear()
        return pickle.loads(body)

    def send_files(self, files: list[int]) -> None:
        """Send open file descriptors; the other end must be about to call `receive_files`."""
        socket.send_fds(self._socket, [b"f"], files)

    def receive_files(self, count: int, within: float) -> list[int]:
        """The `count` file descriptors that the other end sends now; raises TimeoutError or EOFError."""
        if not self._wait(select.POLLIN, time.monotonic() + within):
            raise TimeoutError(f"no file descriptors within {within:g} s")
        mark, files, _, _ = socket.recv_fds(self._socket, 1, count)
        if not mark:
            raise EOFError("the other end is gone")
        return files

    def _complete(self) -> bool:
        """Read what is there, never past the end of one message, and say whether that message is whole."""
        while (missing := self._missing()) > 0:
            try:
                part = self._socket.recv(missing)
            except BlockingIOError:
                return False
            except ConnectionResetError:
                part = b""
            if not part:
                raise EOFError("the other end is gone")
            self._received += part
        return True

    def _missing(self) -> int:
        have = len(self._received)
        if have < _HEADER.size:
            return _HEADER.size - have
        (length,) = _HEADER.unpack_from(self._received)
        return int(length) + _HEADER.size - have

    def _wait(self, event: int, deadline: float | None) -> bool:
        """Wait until the socket can be read or written, or hung up; False when the deadline came first."""
        poll = select.poll()
        poll.register(self._socket, event)
        remaining = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        return bool(poll.poll(remaining))


def readable(channels: Iterable[Channel], within: float) -> list[Channel]:
    """Those of `channels` on which something has come, or whose other end is gone; waits for the first of them."""
    by_file = {channel.fileno(): channel for channel in channels}
    poll = select.poll()
    for file in by_file:
        poll.register(file, select.POLLIN)
    return [by_file[file] for file, _ in poll.poll(max(0.0, within) * 1000)]
