"""What verification costs, as tables."""

from __future__ import annotations

from rankproof.benchmarks.results import Results
from rankproof.benchmarks.tables import Table, rate, seconds, short
from rankproof.benchmarks.verification_summary import Found, World, commands, found_faults, rates, solvers, worlds


def verification_tables(results: Results) -> list[Table]:
    """Proofs, exploring, fuzzing and faults; those that were measured."""
    return [*_proofs(results), *_commands(results), *_worlds(results), *_rates(results), *_faults(results)]


def _proofs(results: Results) -> list[Table]:
    found = solvers(results)
    if not found:
        return []
    return [
        Table(
            f"Proofs, for every number of ranks: {found[0].obligations} obligations",
            ("solver", "all, s", "the median one, ms", "the slowest, ms", "which is"),
            tuple(
                (
                    each.name,
                    seconds(each.whole_s),
                    short(1e3 * each.middle_s),
                    short(1e3 * each.slowest_s),
                    each.slowest,
                )
                for each in found
            ),
            ("Each obligation is two questions: that its negation has no model, and that its hypotheses have one.",),
        )
    ]


def _commands(results: Results) -> list[Table]:
    found = commands(results)
    if not found:
        return []
    return [
        Table(
            "The commands that prove, from start to end",
            ("command", "s"),
            tuple((f"rankproof {command}", seconds(took)) for command, took in found.items()),
            ("In processes of their own, on all cores of this machine, with the false claims and the report.",),
        )
    ]


def _worlds(results: Results) -> list[Table]:
    found = worlds(results)
    if not found:
        return []
    return [
        Table(
            "Exploring every interleaving of the pipelined protocol",
            ("ranks, lanes, acks a lane", "states", "seconds", "states a second", "bytes a state", "seen whole"),
            tuple(_world(world) for world in found),
            (
                "A world that was not seen whole in its share of the time says how far the search had come. States are "
                "those of the world: those that differ only in which rank is which are visited once and counted each, "
                "so that of 3 ranks up to six are counted in the time of one. Bytes are what the process has grown by.",
                *(
                    ["Reduced is a world of which only the schedules were run that stand for all others."]
                    if any(world.reduced for world in found)
                    else []
                ),
            ),
        )
    ]


def _world(world: World) -> tuple[str, ...]:
    return (
        f"{world.ranks}, {world.lanes}, {world.acks}{' (reduced)' if world.reduced else ''}",
        f"{world.states:,}",
        f"{world.seconds:.2f}",
        short(world.states / world.seconds),
        "-" if world.grown_bytes is None else f"{world.grown_bytes:.0f}",
        "yes" if world.whole else "no",
    )


def _rates(results: Results) -> list[Table]:
    found = rates(results)
    if not found:
        return []
    naive = found[-1]
    return [
        Table(
            "Fuzzing the reference implementation",
            ("way", "scheduler steps a second", "schedules a second", f"against {naive.way}"),
            tuple(
                (
                    each.way,
                    rate(each.steps),
                    rate(each.examples),
                    f"{short(each.examples.value / naive.examples.value)} times",
                )
                for each in found
            ),
            (
                "In turn, in the same run. A scheduler step is one rank's: one that 4 ranks take counts 4. Bare steps "
                "are nothing but these, 30 on each rank for a schedule, without acks, model or hypothesis. The "
                "model alone makes the moves of the fuzzer, with no subject and no hypothesis; the others run whole "
                "random schedules, of which the model, the draws and fresh subjects for each are a part. Fresh "
                "processes are what a test that starts its ranks anew for each schedule has.",
            ),
        )
    ]


def _faults(results: Results) -> list[Table]:
    found = found_faults(results)
    if not found:
        return []
    columns = ("fault", "actions", "states", "explorer, ms", "solver, ms", "real processes, ms")
    notes = (
        "The solver's search is left out where it has no reading of the fault.",
        "On real processes random schedules are run until one shows it; that is the median of the searches made, "
        "without the start of the processes, and left out where it was not found in time.",
    )
    hunted = any(each.hunt_s is not None for each in found)
    shown = None if hunted else -1
    lines = tuple(_fault(each)[:shown] for each in found)
    return [Table("Time to find each fault, and its shortest schedule", columns[:shown], lines, notes[:shown])]


def _fault(found: Found) -> tuple[str, ...]:
    return (
        found.fault,
        str(found.actions),
        f"{found.states:,}",
        short(1e3 * found.explorer_s),
        "-" if found.solver_s is None else short(1e3 * found.solver_s),
        "-" if found.hunt_s is None else short(1e3 * found.hunt_s),
    )
