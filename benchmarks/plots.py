"""The plots of a run, each as PNG and as SVG; the same results give the same SVG, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankproof.benchmarks.estimates import Estimate
from rankproof.benchmarks.growth import points
from rankproof.benchmarks.guardwords import differences
from rankproof.benchmarks.overlap import KINDS, PUBLISHED_HIDDEN, PUBLISHED_THROUGHPUT, Row, rows
from rankproof.benchmarks.results import Results
from rankproof.benchmarks.simulation import ENOUGH, LAGS, curves
from rankproof.benchmarks.simulation_tables import FORWARD_MS
from rankproof.benchmarks.verification_summary import found_faults, rates

Drawing: TypeAlias = Callable[[Results], Figure | None]
"""Makes a plot, or None where there are no results for it."""

GREY = "#555555"
COLOURS = {
    "blocking": "#b2182b",
    "pipelined": "#2166ac",
    "depth 2": "#5aae61",
    "depth 4": "#9970ab",
    "carried": "#e08214",
    "bare": GREY,
    "bare carried": "#fdb863",
}
STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 110,
    "font.size": 9,
    "grid.alpha": 0.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "rankproof",
}


def draw(name: str, results: Results, folder: Path) -> bool:
    """Writes the plot of that name as PNG and SVG; whether there was anything to draw."""
    with mpl.rc_context(STYLE):  # type: ignore[arg-type] # its type wants a literal of every key
        figure = DRAWINGS[name](results)
        if figure is None:
            return False
        figure.set_layout_engine("constrained")
        figure.savefig(folder / f"{name}.png")
        figure.set_layout_engine("none")  # which keeps what was laid out: that takes as long as all else
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    return True


def remove(name: str, folder: Path) -> None:
    """Takes a plot of another run away."""
    for ending in ("png", "svg"):
        (folder / f"{name}.{ending}").unlink(missing_ok=True)


def _panels(count: int, width: float = 4.2, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width * count, height))
    return figure, [figure.add_subplot(1, count, place) for place in range(1, count + 1)]


def _points(axes: Axes, places: Sequence[float], values: Sequence[Estimate], label: str, colour: str) -> None:
    """Points with their intervals, joined by a line."""
    middle = [value.value for value in values]
    ends = (
        [value.value - min(value.low, value.value) for value in values],
        [max(value.high, value.value) - value.value for value in values],
    )
    axes.errorbar(places, middle, yerr=ends, label=label, color=colour, marker="o", markersize=4, capsize=2)


def _by_ranks_and_delay(measured: Sequence[Row]) -> dict[tuple[int, float], list[Row]]:
    groups: dict[tuple[int, float], list[Row]] = {}
    for row in measured:
        groups.setdefault((row.ranks, row.delay_ms), []).append(row)
    return dict(sorted(groups.items()))


def _grid(measured: Sequence[Row]) -> tuple[Figure, list[tuple[Axes, int, float, list[Row]]]]:
    """A panel for each number of ranks, a row of them, and each latency."""
    groups = _by_ranks_and_delay(measured)
    ranks = sorted({number for number, _ in groups})
    delays = sorted({delay for _, delay in groups})
    figure = Figure(figsize=(3.4 * len(delays), 2.7 * len(ranks)))
    panels = []
    for (number, delay), group in groups.items():
        place = ranks.index(number) * len(delays) + delays.index(delay) + 1
        axes = figure.add_subplot(len(ranks), len(delays), place)
        axes.set_title(f"{number} ranks, +{delay:g} ms", fontsize=9)
        axes.set_xlabel("forward, ms")
        panels.append((axes, number, delay, group))
    return figure, panels


def overlap(results: Results) -> Figure | None:
    """Throughput against no agreement, over the time of a forward."""
    measured = rows(results)
    if not measured:
        return None
    figure, panels = _grid(measured)
    for axes, _, delay, group in panels:
        for kind in KINDS[1:]:
            values = [row.throughput[kind].scaled(100) for row in group]
            _points(axes, [row.forward_ms for row in group], values, kind, COLOURS[kind])
        if delay == 2.8:
            for kind, published in PUBLISHED_THROUGHPUT.items():
                axes.plot([10.7], [100 * published], marker="*", markersize=11, color=COLOURS[kind], linestyle="")
            axes.plot([], [], marker="*", color=GREY, linestyle="", label="sglang#39903")
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_xlim(left=0)
        axes.set_ylabel("throughput against none, %")
        axes.legend(fontsize=7)
    return figure


def hidden(results: Results) -> Figure | None:
    """The fraction of the cost of blocking that is gone, over the time of a forward."""
    measured = rows(results)
    if not measured:
        return None
    figure, panels = _grid(measured)
    for axes, _, delay, group in panels:
        for kind in KINDS[2:]:
            values = [row.hidden[kind].scaled(100) for row in group]
            _points(axes, [row.forward_ms for row in group], values, kind, COLOURS[kind])
        if delay == 2.8:
            axes.plot(
                [10.7],
                [100 * PUBLISHED_HIDDEN],
                marker="*",
                markersize=11,
                color=GREY,
                linestyle="",
                label="sglang#39903",
            )
        axes.axhline(100, color=GREY, linewidth=0.8)
        axes.set_ylim(min(0.0, axes.get_ylim()[0]), 115)
        axes.set_xlim(left=0)
        axes.set_ylabel("hidden, %")
        axes.legend(fontsize=7, loc="lower right")
    return figure


def guards(results: Results) -> Figure | None:
    """What guard words, and all checks, add to a step."""
    measured = differences(results)
    if not measured:
        return None
    figure, (axes,) = _panels(1, width=6.0)
    names = [f"{each.ranks} ranks, forward {each.forward_ms:g} ms" for each in measured]
    for shift, kind, label, colour in (
        (-0.12, "unguarded", "guard words", COLOURS["pipelined"]),
        (0.12, "bare", "all checks, against counts alone", COLOURS["blocking"]),
    ):
        values = [each.loop[kind].scaled(100) for each in measured]
        axes.errorbar(
            [value.value for value in values],
            [place + shift for place in range(len(values))],
            xerr=(
                [max(0.0, value.value - value.low) for value in values],
                [max(0.0, value.high - value.value) for value in values],
            ),
            label=label,
            color=colour,
            marker="o",
            linestyle="",
            capsize=3,
        )
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel("added to the step, % (median and interval)")
    axes.legend(fontsize=8)
    return figure


def growth(results: Results) -> Figure | None:
    """What a step costs against ranks, lanes and acks waiting."""
    axes_of = {over: found for over in ("ranks", "lanes", "waiting") if (found := points(results, over))}
    if not axes_of:
        return None
    figure, panels = _panels(len(axes_of), width=3.6, height=3.0)
    names = {"ranks": "ranks, 2 lanes", "lanes": "lanes, 2 ranks", "waiting": "acks waiting, one rank alone"}
    colours = COLOURS | {"counting": COLOURS["pipelined"], "popping": COLOURS["blocking"]}
    for axes, (over, found) in zip(panels, axes_of.items(), strict=True):
        for kind in found[0].costs:
            _points(axes, [p.place for p in found], [p.costs[kind].scaled(1e6) for p in found], kind, colours[kind])
        axes.set_xscale("log")
        axes.set_xticks([point.place for point in found], [f"{point.place:,}" for point in found], fontsize=7)
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel(names[over])
        axes.set_ylabel("a step, us of the core" if over == "waiting" else "a step, us")
        axes.legend(fontsize=7)
    return figure


def ranks(results: Results) -> Figure | None:
    """Simulated throughput against ranks, at each lag."""
    shown = [curve for curve in curves(results) if curve.forward_ms == FORWARD_MS and curve.stragglers]
    if not shown:
        return None
    figure, panels = _panels(len(shown), width=3.6, height=3.0)
    for axes, curve in zip(panels, shown, strict=True):
        numbers = sorted(curve.by_ranks)
        for lag, kind in ((0, "blocking"), (1, "pipelined"), (2, "depth 2"), (4, "depth 4")):
            kept = [100 * curve.by_ranks[number][lag] for number in numbers]
            axes.plot(numbers, kept, label=kind, color=COLOURS[kind], marker="o", markersize=3)
        axes.axhline(100 * ENOUGH, color=GREY, linewidth=0.8, linestyle=":")
        _ranks_axis(axes, numbers)
        axes.set_title(f"simulated: {curve.network}", fontsize=8)
        axes.set_ylabel("throughput against none, %")
        axes.legend(fontsize=7, loc="lower left")
    return figure


def depth(results: Results) -> Figure | None:
    """The simulated depth that keeps 99% of throughput, against ranks."""
    shown = [curve for curve in curves(results) if curve.stragglers]
    if not shown:
        return None
    networks = list(dict.fromkeys(curve.network for curve in shown))
    figure, panels = _panels(len(networks), width=3.6, height=3.0)
    forwards = sorted({curve.forward_ms for curve in shown})
    for axes, network in zip(panels, networks, strict=True):
        for curve in shown:
            if curve.network == network:
                numbers = sorted(curve.by_ranks)
                found = [curve.depth_for(number) for number in numbers]
                known = [(number, lag) for number, lag in zip(numbers, found, strict=True) if lag is not None]
                axes.plot(
                    [number for number, _ in known],
                    [lag for _, lag in known],
                    label=f"forward {curve.forward_ms:g} ms",
                    color=list(COLOURS.values())[forwards.index(curve.forward_ms)],
                    marker="o",
                    markersize=3,
                )
        _ranks_axis(axes, sorted(shown[0].by_ranks))
        axes.set_ylim(-0.3, LAGS[-1] + 0.3)
        axes.set_title(f"simulated: {network}", fontsize=8)
        axes.set_ylabel(f"depth for {100 * ENOUGH:.0f}% of throughput")
        axes.legend(fontsize=7, loc="upper left")
    return figure


def _ranks_axis(axes: Axes, numbers: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(numbers[::3], [f"{number:,}" for number in numbers[::3]])
    axes.minorticks_off()
    axes.set_xlabel("ranks")


def verification(results: Results) -> Figure | None:
    """Schedules a second by each way to run them, and the time to find each fault."""
    ways, found = rates(results), found_faults(results)
    if not ways or not found:
        return None
    figure, (left, right) = _panels(2, width=5.2, height=4.6)
    names = [each.way for each in ways][::-1]
    left.barh(names, [each.examples.value for each in ways][::-1], color=COLOURS["pipelined"])
    left.set_xscale("log")
    left.set_xlabel("schedules a second")
    faults = found[::-1]
    right.barh(
        [each.fault for each in faults],
        [each.explorer_s for each in faults],
        color=COLOURS["pipelined"],
        label="explorer",
    )
    right.plot(
        [each.solver_s for each in faults if each.solver_s is not None],
        [each.fault for each in faults if each.solver_s is not None],
        marker="o",
        markersize=4,
        linestyle="",
        color=COLOURS["blocking"],
        label="solver",
    )
    right.plot(
        [each.hunt_s for each in faults if each.hunt_s is not None],
        [each.fault for each in faults if each.hunt_s is not None],
        marker="x",
        markersize=4,
        linestyle="",
        color=COLOURS["depth 2"],
        label="real processes",
    )
    right.set_xscale("log")
    right.set_xlabel("seconds to find the fault")
    right.tick_params(axis="y", labelsize=6)
    right.legend(fontsize=7, loc="lower right")
    return figure


DRAWINGS: dict[str, Drawing] = {
    "overlap": overlap,
    "hidden": hidden,
    "guards": guards,
    "growth": growth,
    "ranks": ranks,
    "depth": depth,
    "verification": verification,
}
"""Every plot, by its name."""
