"""The judge of records: what every rank wrote, played back to the driver that holds it against the model.

The records say in which order each rank did its part, not how the ranks stood to each other. Nor does that matter: the
model lets each rank go on as far as its waits allow, and in the protocol the actions of different ranks commute.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rankproof.conformance.blame import broken_property
from rankproof.conformance.coverage import Coverage, coverage
from rankproof.conformance.driver import Command, Driver, Mismatch
from rankproof.conformance.outcome import Ok, Outcome
from rankproof.conformance.recorded_file import Entry, Record, path_of, read
from rankproof.conformance.recorded_schedule import Plan, call_of, commands_of, recorded
from rankproof.model.errors import BadInput
from rankproof.model.schedule import MOST_RANKS, Schedule
from rankproof.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """What records have shown.

    verdict   violated where an observation differs from the model, or where a call failed, which may be the one that
              closes, though every record is whole; undetermined where nothing differs but a record is missing or short,
              since what its rank did is not known
    ends      for each rank how its record ends, in words
    examples, commands, steps, popped, taken   as in `Fuzzing`: of what was compared
    failure   what differed, or why there is no verdict; empty where nothing differed
    schedule  what the model went through until then; None where the model has no part in it
    breaks    the property that the difference breaks, or empty where none of the model's has a name for it
    """

    plan: Plan
    verdict: Verdict
    ends: tuple[str, ...]
    examples: int
    commands: int
    steps: int
    popped: int
    seconds: float
    failure: str = ""
    schedule: Schedule | None = None
    taken: Mapping[str, int] = field(default_factory=dict)
    breaks: str = ""

    @property
    def coverage(self) -> Coverage:
        """What of all that these schedules may have came, and what never did."""
        can = self.plan.capabilities
        return coverage(self.taken, [can.model(self.plan.world)], can)


def check(folder: Path) -> Judgement:
    """Judges the records of all ranks in a folder.

    Raises BadInput for a folder without records, for records of different runs, for one that does not hold the schedule
    of its seed, and for a subject that could not be set up.
    """
    began = time.monotonic()
    records = _records(folder)
    plan = next(record.plan for record in records if record)
    short = [rank for rank, record in enumerate(records) if record is None or not record.whole or _ends_early(record)]
    told = [_by_example(record) if record else {} for record in records]
    played = _Played()
    counts = _Counts()
    differs: Mismatch | None = None
    settled = True
    for example in range(plan.examples):
        if not any(example in entries for entries in told):
            settled = False  # however many examples the plan has
            break
        parts = [
            _part(plan, record, example, entries.get(example, {})) if record else []
            for record, entries in zip(records, told, strict=True)
        ]
        played.begin([[entry for _, entry in part if entry] for part in parts])
        driver = Driver(plan.capabilities.model(plan.world), played, plan.capabilities)
        try:
            settled = take_through(driver, [[command for command, _ in part] for part in parts])
        except Mismatch as mismatch:
            differs = mismatch
        counts.add(driver)
        if differs or not settled:
            break
    # The model has no part in it: after the last step of each example every subject is closed.
    counts.taken["close"] = sum(entry.call == "close" for record in records if record for entry in record.entries)
    failed = "" if differs else _failed(records)
    if differs:
        verdict = Verdict.UNDETERMINED if short and not isinstance(played.last, Ok) else Verdict.VIOLATED
    elif failed:
        verdict = Verdict.UNDETERMINED if short else Verdict.VIOLATED
    else:
        verdict = Verdict.HOLDS if settled and counts.commands and not short else Verdict.UNDETERMINED
    missing = _missing(short, settled) if verdict is Verdict.UNDETERMINED else ""
    return Judgement(
        plan=plan,
        verdict=verdict,
        ends=tuple(_end(record) for record in records),
        examples=counts.examples,
        commands=counts.commands,
        steps=counts.steps,
        popped=counts.popped,
        seconds=time.monotonic() - began,
        failure="\n".join(filter(None, [missing, str(differs or failed)])),
        schedule=differs.schedule if differs else None,
        taken=counts.taken,
        breaks=broken_property(differs.schedule, differs.reply) if differs else "",
    )


def take_through(driver: Driver, parts: Sequence[Sequence[Command]]) -> bool:
    """Takes every rank through its part, as far as their waits allow; whether all came to the end of it."""
    left = [deque(part) for part in parts]
    got_further = True
    while got_further:
        got_further = False
        for rank, commands in enumerate(left):
            while commands and not driver.is_busy(rank) and driver.why_not(commands[0]) is None:
                driver.give(commands.popleft())
                got_further = True
    return not any(left) and not any(driver.is_busy(rank) for rank in range(len(left)))


@dataclass
class _Counts:
    examples: int = 0
    commands: int = 0
    steps: int = 0
    popped: int = 0
    taken: Counter[str] = field(default_factory=Counter)

    def add(self, driver: Driver) -> None:
        self.examples += 1
        self.commands += len(driver.compared)
        self.steps += sum(each.name == "step" for each in driver.compared)
        self.popped += sum(len(acks) for each in driver.compared for acks in each.popped)
        self.taken.update(type(action).__name__.lower() for action in driver.actions)


@dataclass
class _Played:
    """Ranks that did it all before: `send` finds what is next in a rank's record, and `receive` gives it."""

    last: Outcome = field(default_factory=Ok)
    _next: dict[int, deque[Entry]] = field(default_factory=dict)

    def begin(self, entries: Sequence[Sequence[Entry]]) -> None:
        """Goes to the next example, of which these are the entries of each rank."""
        self._next = {rank: deque(own) for rank, own in enumerate(entries)}

    def send(self, rank: int, method: str, *arguments: object) -> None:
        """Raises ValueError where the driver tells the rank something else than it was told."""
        entry = self._next[rank][0]
        if (entry.call, entry.arguments) != (method, recorded(arguments)):
            raise ValueError(f"rank {rank} was told {entry.call}{entry.arguments}, not {method}{arguments}")

    def receive(self, rank: int) -> Outcome:
        self.last = self._next[rank].popleft().outcome
        return self.last


def _by_example(record: Record) -> dict[int, dict[int, Entry]]:
    """What a record tells, by example and place."""
    told: defaultdict[int, dict[int, Entry]] = defaultdict(dict)
    for entry in record.entries:
        told[entry.example][entry.place] = entry
    return dict(told)


def _failed(records: Sequence[Record | None]) -> str:
    """The first call that failed, in words, where nothing differed: so it is one that the model has no part in."""
    for record in filter(None, records):
        for entry in record.entries:
            if not isinstance(entry.outcome, Ok):
                return f"rank {record.rank}, example {entry.example}, {entry.call}: the subject {entry.outcome}"
    return ""


def _part(plan: Plan, record: Record, example: int, entries: Mapping[int, Entry]) -> list[tuple[Command, Entry | None]]:
    """The commands of an example that a record tells about, each with what it tells; None where nothing was called."""
    if (setup := entries.get(0)) and not isinstance(setup.outcome, Ok):
        raise BadInput(f"{record.path}: example {example}: setup {setup.outcome}")
    last = entries[max(entries)] if entries else None
    if last and last.call != "close" and isinstance(last.outcome, Ok) and last is not record.entries[-1]:
        raise BadInput(f"{record.path}: example {example} ends with {last.call}, and not with close; a part is missing")
    commands = commands_of(plan, example, record.rank)
    calls = [("setup", ()), *(call_of(command, plan.capabilities) for command in commands), ("close", ())]
    furthest = max(entries, default=-1)
    for place in range(furthest + 1):
        method, arguments = calls[place] if place < len(calls) else ("", ())
        entry = entries.get(place)
        if (entry.call, entry.arguments) != (method, recorded(arguments)) if entry else bool(method):
            told = f"{method}{arguments}" if method else "no call"
            raise BadInput(
                f"{record.path}: example {example}, place {place}: the schedule of seed {plan.seed} has {told} here; "
                "judge with the version that recorded it"
            )
    return [(command, entries.get(place)) for place, command in enumerate(commands[: max(furthest, 0)], 1)]


def _records(folder: Path) -> list[Record | None]:
    """The record of each rank, None where it is missing or empty."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: there is no such folder")
    found = [record for path in sorted(folder.glob("rank-*.ndjson")) if (record := read(path))]
    if not found:
        raise BadInput(f"{folder}: there are no records of ranks in it (rank-0000.ndjson and so on)")
    plan = found[0].plan
    if not 1 <= plan.world <= MOST_RANKS:
        raise BadInput(f"{found[0].path}: a run has 1 to {MOST_RANKS} ranks, not {plan.world}")
    for record in found:
        if record.plan != plan:
            raise BadInput(f"{record.path}: this is of another run than {found[0].path.name}; keep one run in a folder")
        if record.rank >= plan.world or record.path != path_of(folder, record.rank):
            raise BadInput(f"{record.path}: this is no record of a run of {plan.world} ranks under that name")
    by_rank = {record.rank: record for record in found}
    return [by_rank.get(rank) for rank in range(plan.world)]


def _end(record: Record | None) -> str:
    """How a record ends, in words."""
    if record is None:
        return "missing"
    calls = f"{len(record.entries):,} calls"
    last = record.entries[-1] if record.entries else None
    if not record.whole:
        return f"short: {calls}, then nothing more"
    if _ends_early(record):
        where = f"in example {last.example}, with {last.call}" if last else "before the first"
        return f"ends early: {calls}, the last {where}, though it has its end line"
    if last and not isinstance(last.outcome, Ok):
        return f"stopped after {calls}: in example {last.example}, {last.call} {last.outcome}"
    return f"whole: {calls}"


def _ends_early(record: Record) -> bool:
    """Whether a record that has its end line lacks calls before it, after one that went well."""
    if not record.entries:
        return True
    last = record.entries[-1]
    return isinstance(last.outcome, Ok) and (last.example, last.call) != (record.plan.examples - 1, "close")


def _missing(short: Sequence[int], settled: bool) -> str:
    if short:
        names = " and ".join(f"rank {rank}" for rank in short)
        return f"the record of {names} is missing, short, or ends early: what its process did after that is not known"
    return "nothing was compared" if settled else "the records end before the ranks have come to the same place"
