"""The transport for several hosts: each rank, started by torchrun, drives its own subject and records what it sees.

    torchrun --nproc-per-node 2 -m rankproof.conformance.recorded --subject package.module:factory --out DIR

There is no driver between the ranks. `rankproof fuzz --check DIR` holds the records against the model afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import re
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch.distributed as dist

from rankproof.conformance.apart import declared
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.conformance.recorded_file import Entry, Recorder, path_of
from rankproof.conformance.recorded_schedule import MOST_STEPS, Plan, call_of, commands_of, recorded
from rankproof.conformance.subject import SubjectConfig
from rankproof.conformance.worker import check_factory, make_subject, returned, text_of
from rankproof.model.errors import BadInput

_SLACK = 3.0
"""A call is given up after so many times the limit of one wait."""

_UNWRITTEN = 2
"""The exit code where a record is not written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Records this rank's part: 0 where it is written, whatever the subject did, else 2, with one line that says why.

    What the record amounts to is the judge's affair; another exit code would make torchrun end the other ranks before
    theirs are whole.
    """
    given = _parser().parse_args(arguments)
    try:
        rank, world = _number("RANK"), _number("WORLD_SIZE")
        record(_plan(given, world), rank, given.out)
    except BadInput as error:
        print(f"rankproof: {error}", file=sys.stderr)  # noqa: T201 # a program of its own
        return _UNWRITTEN
    said = f"written: {path_of(given.out, rank)}; with those of all ranks: rankproof fuzz --check {given.out}"
    sys.stdout.write(f"{said}\n")  # at once, as other ranks write to the same place
    return 0


def record(plan: Plan, rank: int, folder: Path) -> None:
    """Runs one rank's part of every example and writes it into a folder; stops after the first call that fails.

    The plan's capabilities hold for a subject that declares none. This process is to be one of torchrun's, and joins
    their group. Does not return where a call of the subject does not, or where one has failed: a group in an unknown
    state cannot be left in an orderly way, so that the process ends at once, with 0.
    Raises BadInput for a factory that cannot be used, for a subject that cannot be recorded, for ranks that do not come
    together, and for a folder that cannot be written.
    """
    check_factory(plan.subject)
    try:
        plan = replace(plan, capabilities=declared(plan.subject) or plan.capabilities)
    except ValueError as error:
        raise BadInput(f"{plan.subject}: {error}") from error
    with Recorder(folder, rank, plan) as recorder:
        _join(plan)
        watched = _Watched(recorder, _SLACK * plan.timeout)
        for example in range(plan.examples):
            _run(plan, example, rank, make_subject(plan.subject), watched, folder)
    _leave()


def _run(plan: Plan, example: int, rank: int, subject: object, watched: _Watched, folder: Path) -> None:
    config = SubjectConfig(rank, plan.world, plan.capabilities.names, plan.timeout, str(folder / "store"))
    calls: list[tuple[str, tuple[object, ...]]] = [("setup", (config,))]
    calls += [call_of(command, plan.capabilities) for command in commands_of(plan, example, rank)]
    calls += [("close", ())]
    for place, (method, given) in enumerate(calls):
        if method:
            watched.call(Entry(example, place, method, recorded(given), Ok()), subject, given)


class _Watched:
    """Calls of a subject, each recorded with what became of it, also where it does not come back."""

    def __init__(self, recorder: Recorder, limit: float) -> None:
        self._recorder = recorder
        self._limit = limit
        self._lock = threading.Lock()

    def call(self, entry: Entry, subject: object, arguments: tuple[object, ...]) -> None:
        """Makes a call, and ends this process where it fails or takes longer than the limit."""
        timer = threading.Timer(self._limit, lambda: self._settle(replace(entry, outcome=Hung(self._limit))))
        timer.daemon = True
        timer.start()
        outcome = _outcome(entry.call, subject, arguments)
        timer.cancel()
        self._settle(replace(entry, outcome=outcome))

    def _settle(self, entry: Entry) -> None:
        with self._lock:  # held for ever by the first that ends this process
            if isinstance(entry.outcome, Ok):
                self._recorder.add(entry)
                return
            code, says = _UNWRITTEN, f"example {entry.example}, {entry.call}: {entry.outcome}"
            try:
                self._recorder.add(entry)
                self._recorder.end()
                code = 0
            except BadInput as error:
                says = f"rankproof: {error}"
            finally:  # nobody else ends a call that hangs
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                    print(says, file=sys.stderr, flush=True)  # noqa: T201 # as above
                os._exit(code)


def _outcome(method: str, subject: object, arguments: tuple[object, ...]) -> Outcome:
    try:
        return returned(method, getattr(subject, method)(*arguments))
    except SystemExit as leave:
        return Died(leave.code if isinstance(leave.code, int) else int(leave.code is not None))
    except Exception as error:
        return Raised(type(error).__name__, text_of(error))


def _join(plan: Plan) -> None:
    """Makes torchrun's processes one gloo group, which `rendezvous.join` then gives to the subject.

    Raises BadInput where they do not find each other.
    """
    if os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE"):
        loopback = "lo0" if sys.platform == "darwin" else "lo"
        if loopback in {name for _, name in socket.if_nameindex()}:  # which needs no name service
            os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)
    try:
        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=plan.timeout))
    except (ValueError, RuntimeError, OSError) as error:  # what a rendezvous raises, without a name of its own
        says = text_of(error).partition("\n")[0] + _mend(text_of(error))
        raise BadInput(f"the ranks did not come together within {plan.timeout:g} s: {says}") from error


def _mend(said: str) -> str:
    """What to do where gloo has told a rank on another host to look for this one at home, as unknown host names do."""
    alone = os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE")
    if alone or not re.search(r"remote=\[(127\.|::1)", said):
        return ""
    return "; a rank of another host was looked for on this one: set GLOO_SOCKET_IFNAME, on each host, to its network"


def _leave() -> None:
    """Leaves the group when all have come to their end; a peer that is gone by now matters to nobody any more."""
    with contextlib.suppress(Exception):
        dist.barrier()
        dist.destroy_process_group()


def _number(name: str) -> int:
    try:
        return int(os.environ[name])
    except (KeyError, ValueError) as error:
        raise BadInput(
            f"{name} is not set; start it as torchrun --nproc-per-node N -m rankproof.conformance.recorded ..."
        ) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rankproof.conformance.recorded", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--subject", required=True, metavar="MODULE:FACTORY", help="what each rank drives")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="a new folder for the records")
    parser.add_argument("--seed", type=int, default=0, help="the same on every rank")
    parser.add_argument("--examples", type=int, default=20, help="schedules, one after the other")
    parser.add_argument("--steps", type=int, default=30, help=f"scheduler steps in each, at most {MOST_STEPS}")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds that a wait of the subject may last")
    parser.add_argument("--lag", type=int, default=1, help="of a subject that does not declare its own")
    return parser


def _plan(given: argparse.Namespace, world: int) -> Plan:
    try:
        fallback = Capabilities(lag=given.lag, cumulative=given.lag > 1)
        return Plan(given.subject, world, given.seed, given.examples, given.steps, given.timeout, fallback)
    except ValueError as error:  # which begins with the name
        raise BadInput(f"--{error}") from error


if __name__ == "__main__":
    sys.exit(main())
