"""`rankproof explain`: a name in words, what it says formally, why it holds or what breaks it, and who saw it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rankproof.catalogue import known
from rankproof.diagram import diagram
from rankproof.diagram_text import draw
from rankproof.doubting import tried
from rankproof.model.assumptions import ASSUMPTIONS, Assumption
from rankproof.model.closedloop import first_loss
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS, Fault
from rankproof.model.properties import PROPERTIES, Property
from rankproof.model.protocol import PIPELINED
from rankproof.model.schedule import Schedule, dump, run
from rankproof.model.verdict import Verdict, combine
from rankproof.output import STICKY, Output
from rankproof.proofs.answered import refuted
from rankproof.proofs.broken import broken_by, is_refuted
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import BUILT_IN, Obligation
from rankproof.proofs.prove import decide
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS, OF_THE_PROTOCOL
from rankproof.tidying import tidy


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to say of one name.

    kind        "property", "fault", "assumption", "obligation" or "false claim"
    says        the statement in words
    formal      the statement as the tool has it, a sentence a line
    why         why it holds, or what it breaks, a sentence a line
    schedule    a shortest schedule that breaks something, or None
    breaking    what the schedule shows, in words
    references  public reports, as "project #number"
    verdict     holds where what is said of it is so: a proof, or a schedule that was found
    """

    name: str
    kind: str
    says: str
    formal: tuple[str, ...]
    why: tuple[str, ...]
    schedule: Schedule | None
    breaking: str
    references: tuple[str, ...]
    verdict: Verdict


def report(output: Output, name: str) -> Verdict:
    """Explains a property, fault, assumption, obligation or false claim.

    The JSON document has `name`, `kind`, `says`, `formal`, `why`, `breaking`, `references` and `schedule` (as in a
    schedule file, or null). Raises BadInput for a name that nothing has.
    """
    found = explanation(name)
    output.say((found.name, "title"), (f"  {found.kind}", "quiet"))
    output.paragraph(found.says, indent=2)
    for title, lines in (("formally", found.formal), ("why", found.why)):
        if lines:
            output.say(f"  {title}")
        for line in lines:
            output.paragraph(line, indent=4, hang=2)
    if found.references:
        seen = ", ".join(each.replace(" ", STICKY) for each in found.references)
        output.paragraph(f"seen in {seen}", indent=2, hang=2)
    if found.schedule:
        output.say()
        output.paragraph(found.breaking, indent=2, hang=2)
        output.say()
        draw(output, diagram(found.schedule, run(found.schedule)), indent=2)
    content = {
        "name": found.name,
        "kind": found.kind,
        "says": found.says,
        "formal": found.formal,
        "why": found.why,
        "breaking": found.breaking,
        "references": found.references,
        "schedule": json.loads(dump(found.schedule)) if found.schedule else None,
    }
    output.document("explain", found.verdict, content)
    return found.verdict


def explanation(name: str) -> Explanation:
    """What there is to say of the thing of that name, in any case of letters. Raises BadInput for an unknown one."""
    name = known(name)
    if name in PROPERTIES:
        return _property(PROPERTIES[name])
    if name in FAULTS:
        return _fault(FAULTS[name])
    if name in ASSUMPTIONS:
        return _assumption(ASSUMPTIONS[name])
    return _obligation(next(each for each in (*OBLIGATIONS, *FALSE_CLAIMS) if each.name == name))


def _property(prop: Property) -> Explanation:
    proofs = [each for each in OBLIGATIONS if each.property == prop.name]
    breaking = [fault for fault in FAULTS.values() if prop.name in fault.breaks]
    first = sorted(breaking, key=lambda fault: fault.breaks.index(prop.name))[:1]
    schedule = _shortest(first[0], prop.name) if first else None
    needed = sorted({name for each in proofs for name in each.needs})
    return Explanation(
        prop.name,
        "property",
        prop.says,
        (
            f"on ints: model/checks.py, {prop.broken.__name__}, of each action in a schedule",
            *(f"{each.name}: {each.says}" for each in proofs),
        ),
        (
            f"{len(proofs)} obligations prove it for every number of ranks (rankproof prove)"
            if proofs
            else "no obligation proves it; it is checked in explored worlds and in schedules only",
            _assuming(needed),
            f"it falls with {_listed(fault.name for fault in breaking) or 'no fault of the catalogue'}",
        ),
        schedule,
        f"the shortest schedule that breaks it, with {first[0].name}: {first[0].says}" if first else "",
        _references(breaking),
        combine(decide(each) for each in proofs),
    )


def _fault(fault: Fault) -> Explanation:
    broken = broken_by(fault)
    schedule = _shortest(fault, fault.breaks[0])
    return Explanation(
        fault.name,
        "fault",
        fault.says,
        (f"the right protocol with {fault.choice}" if not fault.drops else f"the protocol, {fault.choice}",),
        (
            f"breaks {_listed(fault.breaks)}",
            f"for every number of ranks it breaks {_listed(broken)}" if broken else "no proof speaks of it",
        ),
        schedule,
        f"the shortest schedule that breaks {fault.breaks[0]}",
        fault.references,
        Verdict.HOLDS if schedule else Verdict.UNDETERMINED,
    )


def _assumption(assumption: Assumption) -> Explanation:
    users = [each.name for each in OBLIGATIONS if assumption.name in each.needs]
    dropped = assumption.dropped
    schedule, breaking = _without(dropped) if dropped else _in_a_closed_loop()
    return Explanation(
        assumption.name,
        "assumption",
        assumption.says,
        (
            f"a hypothesis of {_listed(users)}" if users else "a hypothesis of no proof",
            *([f"built in to most others: {BUILT_IN[assumption.name]}"] if assumption.name in BUILT_IN else []),
        ),
        (f"without it may fall: {_listed(assumption.needed)}",),
        schedule,
        breaking,
        dropped.references if dropped else (),
        Verdict.HOLDS if schedule else Verdict.UNDETERMINED,
    )


def _without(dropped: Fault) -> tuple[Schedule | None, str]:
    """What breaks without an assumption, and that in words."""
    says = f"the shortest schedule that breaks {dropped.breaks[0]} without it, {dropped.name}: {dropped.says}"
    return _shortest(dropped, dropped.breaks[0]), says


def _in_a_closed_loop() -> tuple[Schedule | None, str]:
    """What is lost without the one assumption of which no property of one run tells, and that in words."""
    loss = first_loss()
    if loss is None:
        return None, ""
    return loss.schedule, (
        "no property falls in this run or any other without it, for exact-delay compares two runs with the same "
        "completions, and here these differ; what is lost is throughput. The shortest run that shows it, of an engine "
        f"that keeps one ack in the lane: after step {loss.step} pipelined has popped {loss.popped}, and blocking, "
        f"with the same engine, {loss.blocking} after step {loss.step - loss.schedule.model.protocol.lag}"
    )


def _obligation(claim: Obligation) -> Explanation:
    hypotheses, goals = claim.state(EveryRank(), PIPELINED)
    formal = (
        f"hypotheses: {_listed(hypotheses) or 'none'}",
        f"goals: {_listed(goals)}",
        _assuming(claim.needs),
        f"in {claim.logic}; rankproof prove --export DIR writes it whole",
    )
    if claim in FALSE_CLAIMS:
        found = refuted(claim)
        false = (f"false: not with {tried(found.counterexample)}",)
        return Explanation(claim.name, "false claim", claim.says, formal, false, None, "", (), found.verdict)
    verdict = decide(claim)
    breaking = [fault for fault in FAULTS.values() if claim in OF_THE_PROTOCOL and _breaks(fault, claim)]
    meaning = {Verdict.HOLDS: "no group of ranks has the hypotheses and not the goals (z3)"}
    why = (
        f"{verdict}: {meaning.get(verdict, 'see rankproof prove')}",
        *([f"it falls with {_listed(fault.name for fault in breaking)}"] if breaking else []),
    )
    return Explanation(claim.name, "obligation", claim.says, formal, why, None, "", _references(breaking), verdict)


def _breaks(fault: Fault, claim: Obligation) -> bool:
    return claim.applies(fault.protocol) and is_refuted(claim, fault)


def _shortest(fault: Fault, property_name: str) -> Schedule | None:
    """A shortest schedule with the fault that breaks the property, as it is best read."""
    broken = explore(fault.model, [PROPERTIES[property_name]]).broken
    return tidy(Schedule(fault.model, broken.actions, "explorer", property_name)) if broken else None


def _assuming(names: Sequence[str]) -> str:
    return f"it needs {_listed(names)}" if names else "it needs no assumption of the engine"


def _references(faults: Iterable[Fault]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reference for fault in faults for reference in fault.references))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
