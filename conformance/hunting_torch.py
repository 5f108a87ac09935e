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
_KILL = "kill"
_FINGERPRINT = re.compile(r"CollectiveFingerPrint\(SequenceNumber=\d+, OpType=(\w+), TensorShape=(\[\d*\]).*?\)\)\)")
_DETAIL = {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}
_WITHIN = 120.0


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
    """The same for several, with TORCH_DISTRIBUTED_DEBUG=DETAIL."""
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import answer; answer()"],
        input=pickle.dumps(list(cases)),
        env=os.environ | _DETAIL,
        stdout=subprocess.PIPE,
        timeout=_WITHIN + 30.0 * len(cases),
        check=True,
    )
    answers = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answers, list)
    return [str(each) for each in answers]


def answer() -> None:
    """Reads cases on stdin and writes what torch says of each to stdout."""
    cases: list[Case] = pickle.load(sys.stdin.buffer)
    with Launcher() as launcher:
        answers = [said(case, launcher) for case in cases]
    sys.stdout.write(json.dumps(answers) + "\n")


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
