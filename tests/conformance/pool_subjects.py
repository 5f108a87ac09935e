"""Small subjects that do one thing well or badly; the ranks of the pool's tests import them by name."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import ClassVar

from rankproof.conformance.channel import Channel
from rankproof.conformance.outcome import Ok
from rankproof.conformance.subject import Observation, SubjectConfig
from rankproof.conformance.worker import Reply

NOTHING = Observation(popped=((), ()), left=((), ()))
number = 7


class Echo:
    """Holds lanes in a list and pops what it is told to; each other method ends a command in another way."""

    def setup(self, config: SubjectConfig) -> None:
        self.rank = config.rank
        self.config = config
        self.lanes: list[list[int]] = [[] for _ in config.lanes]

    def enqueue(self, lane: int, ack: int) -> None:
        self.lanes[lane].append(ack)

    def finish(self, lane: int, ack: int) -> None:
        assert ack in self.lanes[lane]

    def step(self) -> Observation:
        popped = tuple(tuple(lane) for lane in self.lanes)
        for lane in self.lanes:
            lane.clear()
        return Observation(popped, left=tuple(() for _ in self.lanes))

    def flush(self) -> Observation:
        return NOTHING

    def reset(self) -> Observation:
        return NOTHING

    def evict(self, lane: int) -> Observation:
        del lane
        return NOTHING

    def reconfigure(self, key: str, value: object) -> None:
        setattr(self, key, value)

    def close(self) -> None:
        pass

    def echo(self, value: object) -> object:
        return value

    def config_seen(self) -> SubjectConfig:
        return self.config

    def throw(self, message: str) -> None:
        raise ValueError(message)

    def hang(self) -> None:
        threading.Event().wait()

    def exit(self, code: int) -> None:
        sys.exit(code)

    def exit_at_once(self, code: int) -> None:
        os._exit(code)

    def abort(self) -> None:
        os.abort()

    def say(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        os.system(f"echo {text} >&2")

    def give_a_lambda(self) -> object:
        return lambda: None

    def start_a_child(self) -> int:
        """The pid of a process that lives until it is killed, and has come up."""
        waits = "import threading; print(flush=True); threading.Event().wait()"
        child = subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        return child.pid

    def answer_an_old_command_too(self) -> str:
        """As a subject may that forks: its other half goes on in the worker's loop, on the same channel."""
        (channel,) = (found for found in gc.get_objects() if isinstance(found, Channel))
        channel.send(Reply(0, Ok("old")))
        return "new"

    def leave_a_daemon(self) -> int:
        """The pid of a process that has left this one's group and session, as daemons do."""
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(write, f"{os.getpid()}\n".encode())
                os.close(write)
                threading.Event().wait()
            os._exit(0)
        os.wait()
        return int(os.read(read, 16))

    def close_the_channel_and_go_on(self) -> None:
        (channel,) = (found for found in gc.get_objects() if isinstance(found, Channel))
        with socket.socket(fileno=os.dup(channel.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)
        self.hang()

    def leave_a_child_and_exit(self) -> None:
        if os.fork() == 0:
            threading.Event().wait()
        os._exit(9)


class HangsInClose(Echo):
    def close(self) -> None:
        self.hang()


class EqualToAll(Observation):
    """An observation of an engine's own, which decides itself what it equals."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Observation.__hash__


class EndsItsReader:
    """Ends the process that reads it."""

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (0,)


class ReturnsItsOwnTypes(Echo):
    def give(self, kind: str) -> object:
        return {"observation": EqualToAll(((),), ((),)), "trap": EndsItsReader(), "module": sys}[kind]

    def raise_without_words(self) -> None:
        raise ValueError("\ud800")


class HangsInCloseOnRankOne(Echo):
    def close(self) -> None:
        if self.rank == 1:
            self.hang()


class RaisesInSetupOnRankOne(Echo):
    def setup(self, config: SubjectConfig) -> None:
        super().setup(config)
        if self.rank == 1:
            raise ValueError("no such device")
        self.hang()


class HangsInSetup(Echo):
    def setup(self, config: SubjectConfig) -> None:
        super().setup(config)
        self.hang()


class StopsInSetup(Echo):
    """Holds up its whole process, as a call does that never gives the interpreter's lock back."""

    def setup(self, config: SubjectConfig) -> None:
        super().setup(config)
        os.kill(os.getpid(), signal.SIGSTOP)


class DiesInSetup(Echo):
    def setup(self, config: SubjectConfig) -> None:
        super().setup(config)
        self.say("last words")
        os._exit(3)


class Minimum(Echo):
    """A gloo group on which `minimum` is one blocking MIN of 10 + rank; torch is imported only where this is used."""

    groups: ClassVar[list[object]] = []

    def setup(self, config: SubjectConfig) -> None:
        from rankproof.conformance.rendezvous import join

        super().setup(config)
        self.group = join(config)
        if self.group not in self.groups:
            self.groups.append(self.group)

    def minimum(self) -> int:
        import torch
        import torch.distributed as dist

        offered = torch.tensor([10 + self.rank])
        dist.all_reduce(offered, op=dist.ReduceOp.MIN, group=self.group)
        return int(offered.item())

    def groups_seen(self) -> int:
        """How many different groups this process has had."""
        return len(self.groups)


class MinimumOnNoInterface(Minimum):
    def setup(self, config: SubjectConfig) -> None:
        os.environ["GLOO_SOCKET_IFNAME"] = "nosuch0"
        super().setup(config)


class NoSteps:
    def setup(self, config: SubjectConfig) -> None: ...

    def close(self) -> None: ...


def fails_to_make() -> Echo:
    raise OSError("weights not found")


def make_echo() -> Echo:
    return Echo()
