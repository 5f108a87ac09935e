"""What torch says by itself of a fault: ranks take the commands of a schedule side by side, and no model looks on.

The debug mode of torch is set by the environment of a process, so that it is measured in a process of its own. There an
asynchronous reduce waits, already when it is issued, for every rank to come to it; a driver that gives one command to
one rank at a time would see only that, which is why ranks go side by side here.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TypeAlias

from rankproof.conformance.commands import Call, Command, Step, calls_of
from rankproof.conformance.faulty import faulty_named
from rankproof.conformance.hunting import ranks_with
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.model.actions import Crash, Enqueue, Finish, Throw
from rankproof.model.state import RankState

Case: TypeAlias = tuple[str, tuple[Command, ...]]
"""A fault of the catalogue, and the commands of a schedule."""

STEPS_AFTER = 4
"""Steps that every rank takes after the schedule, in which what it has done to the others may show."""

NOTHING = "nothing"
NO_ANSWER = "no answer"
"""What an answer begins with where torch could not be asked; why follows."""

_SAID = "said: "
_KILL = "kill"
_FINGERPRINT = re.compile(r"CollectiveFingerPrint\(SequenceNumber=\d+, OpType=(\w+), TensorShape=(\[\d*\]).*?\)\)\)")
_DETAIL = {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}
_WITHIN = 120.0
_EACH_WITHIN = 30.0


def said(case: Case, launcher: Launcher) -> str:
    """What torch says in this process's mode: the words of the first error that comes from it, or NOTHING."""
    fault, commands = case
    ranks = range(faulty_named(fault).ranks)
    todo = [_passes([command for command in commands if command.rank == rank]) for rank in ranks]
    with ranks_with(fault, launcher) as pool:
        killed: set[int] = set()
        for row in range(max(map(len, todo)) + STEPS_AFTER):
            outcomes: list[Outcome] = []
            for rank in ranks:
                for name, arguments in todo[rank][row] if row < len(todo[rank]) else ():
                    if name == _KILL:
                        pool.kill(rank)
                        killed.add(rank)
                    else:
                        outcomes.append(pool.call(rank, name, *arguments))
            left = [rank for rank in ranks if rank not in killed]
            for rank in left:
                pool.send(rank, "step")
            outcomes += [pool.receive(rank) for rank in left]
            if not all(isinstance(outcome, Ok) for outcome in outcomes):
                # A rank that died comes first: what its peers say then is only that it is gone.
                by_weight = sorted(outcomes, key=lambda outcome: not isinstance(outcome, Died))
                return next(filter(None, map(_words, by_weight)), NOTHING)
    return NOTHING


def _passes(commands: Sequence[Command]) -> list[list[Call]]:
    """What one rank is to do before each of its steps, until it is killed."""
    passes: list[list[Call]] = [[]]
    unfinished: set[tuple[int, int]] = set()
    for command in commands:
        match command:
            case Crash():
                passes[-1].append((_KILL, ()))
                break
            case Throw():
                passes[-1] += [("spoil", each) for each in sorted(unfinished)[:1]]
                passes.append([])
            case Step():
                passes.append([])
            case _:
                passes[-1] += calls_of(command, RankState(()))
                if isinstance(command, Enqueue):
                    unfinished.add((command.lane, command.ack))
                elif isinstance(command, Finish):
                    unfinished.discard((command.lane, command.ack))
    return passes


def said_in_detail(cases: Sequence[Case]) -> list[str]:
    """The same for several, with TORCH_DISTRIBUTED_DEBUG=DETAIL; NO_ANSWER and why for those that get none."""
    within = _WITHIN + _EACH_WITHIN * len(cases)
    # A process inherits what is blocked. Ctrl-C reaches all of a terminal's processes, and this one answers it.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import answer; answer()"],
            env=os.environ | _DETAIL,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    with child:
        try:
            out, err = child.communicate(pickle.dumps(list(cases)), timeout=within)
            last = err.decode(errors="replace").strip().rpartition("\n")[2]
            why = f"the process that asks ended with exit code {child.returncode}{f': {last}' if last else ''}"
        except subprocess.TimeoutExpired as error:
            out, why = error.output or b"", f"none within {within:.0f} s"
        finally:
            child.kill()
    lines = out.decode(errors="replace").split("\n")[:-1]  # the last one is not whole
    answers = [str(json.loads(line.removeprefix(_SAID))) for line in lines if line.startswith(_SAID)]
    return answers + [f"{NO_ANSWER}: {why}"] * (len(cases) - len(answers))


def answer() -> None:
    """Reads cases on stdin and writes what torch says of each to stdout, as soon as it has said it."""
    cases: list[Case] = pickle.load(sys.stdin.buffer)
    with Launcher() as launcher:
        for case in cases:
            sys.stdout.write(f"{_SAID}{json.dumps(said(case, launcher))}\n")
            sys.stdout.flush()


def _words(outcome: Outcome) -> str:
    """What torch or gloo said, in one line; empty where the error is the implementation's own."""
    match outcome:
        case Raised("StepTimeout" | "PeerLost", message):
            found = re.search(r"\((.*)\)", message.split(" [rank")[0])
            return _FINGERPRINT.sub(r"\1 \2", found[1] if found else message).strip(": ")
        case Hung():
            return "nothing, and does not return"
        case Died(_, last_words):
            what = re.search(r"what\(\):\s*(?:\[[^]]*\]\s*)?(.*)", last_words)
            return f"{str(outcome).removeprefix('died: ')}{f': {what[1].strip()}' if what else ''}"
        case _:
            return ""
