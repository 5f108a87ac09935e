"""The catalogue of faults: one wrong choice each, and every checked property has one that breaks it."""

from dataclasses import fields

import pytest

from rankproof.model.errors import BadInput
from rankproof.model.explorer import explore, explore_each
from rankproof.model.faults import FAULTS, Fault, fault_named
from rankproof.model.interleaving import Model
from rankproof.model.properties import PROPERTIES, property_named
from rankproof.model.protocol import Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.verdict import Verdict


def wrong_fields(fault: Fault) -> list[str]:
    return [f.name for f in fields(Protocol) if getattr(fault.protocol, f.name) != getattr(fault.base, f.name)]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_is_one_wrong_field_or_one_broken_assumption(fault: Fault) -> None:
    assert len(wrong_fields(fault)) + (fault.drops is not None) == 1
    if fault.drops:
        assert fault.choice == f"without {fault.drops}"
    else:
        assert fault.choice.startswith(f"{wrong_fields(fault)[0]}=")


@pytest.mark.parametrize("base", sorted({fault.base for fault in FAULTS.values()}, key=repr), ids=str)
def test_what_a_fault_is_a_fault_of_is_right(base: Protocol) -> None:
    aligned = Scenario(acks=1, aligned_enqueue="enqueued" in base.guards)
    assert explore(Model(base, aligned)).verdict is Verdict.HOLDS


def test_every_property_has_a_fault_that_breaks_it() -> None:
    assert {name for fault in FAULTS.values() for name in fault.breaks} == set(PROPERTIES)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_breaks_each_property_that_it_names(fault: Fault) -> None:
    explored = explore_each(fault.model, [property_named(name) for name in fault.breaks])
    assert {name: each.verdict for name, each in explored.items()} == dict.fromkeys(fault.breaks, Verdict.VIOLATED)


def test_references_name_a_project_and_a_number() -> None:
    for fault in FAULTS.values():
        for reference in fault.references:
            project, number = reference.rsplit(" #", 1)
            assert project
            assert number.isdigit()


@pytest.mark.parametrize("find", [fault_named, property_named])
def test_an_unknown_name_is_refused_with_the_nearest_known(find: object) -> None:
    assert callable(find)
    known = "count-before-pop" if find is fault_named else "same-pops"
    with pytest.raises(BadInput, match=f"did you mean '{known}'"):
        find(known[:-1])
    with pytest.raises(BadInput, match="; known: "):
        find("qqqqqq")
    assert find(known).name == known


def test_faults_and_properties_are_filed_under_their_own_names() -> None:
    assert all(name == fault.name for name, fault in FAULTS.items())
    assert all(name == each.name for name, each in PROPERTIES.items())
