"""Every name that `rankproof explain` knows, by its kind, and the nearest of them to one that it does not."""

from __future__ import annotations

from rankproof.model.assumptions import ASSUMPTIONS
from rankproof.model.errors import BadInput, nearest
from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES
from rankproof.model.verdict import Verdict
from rankproof.output import Output
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS

KINDS: dict[str, tuple[str, ...]] = {
    "property": tuple(PROPERTIES),
    "fault": tuple(FAULTS),
    "assumption": tuple(ASSUMPTIONS),
    "obligation": tuple(each.name for each in OBLIGATIONS),
    "false claim": tuple(each.name for each in FALSE_CLAIMS),
}
"""The names of each kind, in the order of the project."""


def known(name: str) -> str:
    """The name as it is written, however its letters are. Raises BadInput for an unknown one, with the nearest."""
    names = {each.lower(): each for kind in KINDS.values() for each in kind}
    if name.lower() in names:
        return names[name.lower()]
    near = nearest(name.lower(), names)
    hint = f"did you mean {names[near]!r}?" if near else "rankproof explain lists all that there are"
    raise BadInput(f"there is no property, fault, assumption or obligation {name!r}; {hint}")


def kind_of(name: str) -> str | None:
    """What the name is one of, or None."""
    return next((kind for kind, names in KINDS.items() if name in names), None)


SAYS: dict[str, str] = {
    **{name: each.says for name, each in PROPERTIES.items()},
    **{name: each.says for name, each in FAULTS.items()},
    **{name: each.says for name, each in ASSUMPTIONS.items()},
}
"""A sentence for each name of the first three kinds; an obligation's is too long for a list."""


def report(output: Output) -> Verdict:
    """Lists every name by its kind. The JSON document has `names`, by kind."""
    for kind, names in KINDS.items():
        plural = "properties" if kind == "property" else f"{kind}s"
        output.say((f"{len(names)} {plural}", "title"))
        if names[0] in SAYS:
            for name in names:
                output.paragraph(f"{name}: {SAYS[name]}", indent=2, hang=2)
        else:
            output.paragraph(", ".join(names), indent=2)
    output.say()
    output.say("rankproof explain NAME says more of each")
    output.document("explain", Verdict.HOLDS, {"names": KINDS})
    return Verdict.HOLDS
