"""What was measured of overlap and guard words, as tables."""

from __future__ import annotations

from rankproof.benchmarks.carrying import savings
from rankproof.benchmarks.guardwords import Difference, differences
from rankproof.benchmarks.overlap import KINDS, PUBLISHED, PUBLISHED_HIDDEN, PUBLISHED_THROUGHPUT, Row, rows
from rankproof.benchmarks.results import Results
from rankproof.benchmarks.tables import Table, microseconds, milliseconds, percent


def overlap_tables(results: Results) -> list[Table]:
    """The published row beside ours, and then every row."""
    measured = rows(results)
    if not measured:
        return []
    return [*_beside_the_published([row for row in measured if row.published]), _every_row(measured), _costs(measured)]


def _beside_the_published(measured: list[Row]) -> list[Table]:
    if not measured:
        return []
    theirs = (
        "sglang#39903, 4 B200",
        "3.2",
        f"{100 * PUBLISHED_THROUGHPUT['blocking']:.1f}%",
        f"{100 * PUBLISHED_THROUGHPUT['pipelined']:.1f}%",
        f"{100 * PUBLISHED_HIDDEN:.0f}%",
        "-",
        "-",
        "-",
        "-",
    )
    ours = [
        (
            f"here, {row.ranks} ranks",
            milliseconds(row.reduce_s),
            percent(row.throughput["blocking"]),
            percent(row.throughput["pipelined"]),
            percent(row.hidden["pipelined"]),
            percent(row.hidden["carried"]),
            percent(row.hidden["bare"]),
            percent(row.hidden["bare carried"]),
            percent(row.overlapped),
        )
        for row in measured
    ]
    forward, delay = PUBLISHED
    return [
        Table(
            f"The published box: a step of {forward:g} ms, a reduce that is {delay:g} ms slower",
            (
                "where",
                "reduce, ms",
                "blocking",
                "pipelined",
                "hidden",
                "carried",
                "bare",
                "bare, carried",
                "of the wait alone",
            ),
            (theirs, *ours),
            (
                "Throughput against none at all; hidden is the fraction of what blocking costs a step that is gone "
                "with one round in flight, (B - C) / (B - A). What is left is the work of the thread that steps, which "
                "no pipelining hides; of the wait alone more is gone. Carried: hidden where a thread of their own "
                "carries the rounds. Bare: hidden by the same pipelining with nothing but its counts, on plain queues, "
                "over the same transport in the same turns: no guard words and no digests. It is the floor: what it "
                "leaves unhidden has nothing to do with checks; what is between it and ours is what the checks cost.",
            ),
        )
    ]


def _every_row(measured: list[Row]) -> Table:
    return Table(
        "Throughput against no agreement, and what is hidden",
        (
            "ranks, forward, added",
            "blocking",
            "pipelined",
            "depth 2",
            "hidden at depth 1",
            "at depth 2",
            "carried",
            "bare",
            "bare, carried",
        ),
        tuple(
            (
                _name(row),
                *(percent(row.throughput[kind]) for kind in ("blocking", "pipelined", "depth 2")),
                *(percent(row.hidden[kind]) for kind in KINDS[2:]),
            )
            for row in measured
        ),
    )


def _costs(measured: list[Row]) -> Table:
    return Table(
        "Where a step's time goes: waiting for the reduce, and the rank's own thread",
        (
            "ranks, forward, added",
            "blocking waits, ms",
            "pipelined waits, ms",
            "of the wait gone",
            "blocking core, us",
            "pipelined core, us",
            "carried core, us",
            "bare core, us",
        ),
        tuple(
            (
                _name(row),
                milliseconds(row.reduce_s),
                milliseconds(row.waits_s),
                percent(row.overlapped),
                microseconds(row.core_s["blocking"]),
                microseconds(row.core_s["pipelined"]),
                microseconds(row.core_s["carried"]),
                microseconds(row.core_s["bare"]),
            )
            for row in measured
        ),
        (
            "Core: time of the core in the thread that steps, in the call of `step()` alone; it cannot be hidden. "
            "Waiting is the rest of the call's wall time. After a forward in which the core was idle its caches are "
            "cold, and the same code takes several times as long as back to back. Carried, another thread issues the "
            "collective and waits for it.",
        ),
    )


def _name(row: Row) -> str:
    return f"{row.ranks}, {row.forward_ms:g} ms, +{row.delay_ms:g} ms"


def carrier_tables(results: Results) -> list[Table]:
    """What a carrier saves."""
    measured = savings(results)
    if not measured:
        return []
    return [
        Table(
            "What agreement adds to a pipelined step, with a carrier and without",
            (
                "ranks, forward",
                "step with, us",
                "without, us",
                "saved, us",
                "thread with, us",
                "without, us",
                "process with, us",
                "without, us",
            ),
            tuple(
                (
                    f"{each.ranks}, {each.forward_ms:g} ms, {each.forward}",
                    microseconds(each.added["carried"]),
                    microseconds(each.added["pipelined"]),
                    microseconds(each.saved),
                    microseconds(each.core["carried"]),
                    microseconds(each.core["pipelined"]),
                    microseconds(each.cores["carried"]),
                    microseconds(each.cores["pipelined"]),
                )
                for each in measured
            ),
            (
                "Step: to a whole step with its forward, against the same without any agreement. Thread: time of the "
                "core in the thread that steps, in the call of `step()`. Process: to the time of the cores in all "
                "threads of a rank, against the same without any agreement; a carrier moves work and takes none away. "
                "What is saved below 0 is lost. Forwards: idle, as while a GPU works; torch, short operations one "
                "after the other, each of which lets go of the interpreter; python, plain Python that does not. A busy "
                "forward is so many operations, so that what a carrier takes from it shows in the step.",
            ),
        )
    ]


def guard_tables(results: Results) -> list[Table]:
    """What guard words add to a step."""
    measured = differences(results)
    if not measured:
        return []
    return [
        Table(
            "What guard words add to a pipelined step",
            ("ranks, forward", "guard words, step", "guard words, core us", "all checks, step", "all checks, core us"),
            tuple(
                (
                    f"{each.ranks}, {each.forward_ms:g} ms",
                    percent(each.loop["unguarded"], 2),
                    microseconds(each.core_s["unguarded"]),
                    percent(each.loop["bare"], 2),
                    microseconds(each.core_s["bare"]),
                )
                for each in measured
            ),
            (
                "Step: against the same step without. Guard words: the implementation with and without them. All "
                "checks: the implementation against counts alone on plain queues, without words or digests.",
            ),
        ),
        _exchange_table(measured),
    ]


def _exchange_table(measured: list[Difference]) -> Table:
    return Table(
        "What the exchange saves against a MIN all_reduce of the same words",
        ("ranks, forward", "step", "core us"),
        tuple(
            (
                f"{each.ranks}, {each.forward_ms:g} ms",
                percent(each.loop["reduced"], 2),
                microseconds(each.core_s["reduced"]),
            )
            for each in measured
        ),
        (
            "Step: by the exchange, against the same by an all_reduce. gloo reduces around a ring of N ranks, and "
            "cuts a vector into 2 N pieces of a word or more, so that up to 2 N each word is one more piece that "
            "goes around twice. In an exchange every rank sends its words to each other in one message, however "
            "many they are: guard words make no message more.",
        ),
    )
