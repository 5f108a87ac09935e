"""How much a fuzzing run is given: the profiles by name, and what explicit options make of them."""

from __future__ import annotations

from dataclasses import dataclass

from rankproof.model.errors import unknown_name


@dataclass(frozen=True, slots=True)
class Budget:
    """Where a run ends, if nothing goes wrong: after so many schedules or seconds, whichever comes first.

    examples  random schedules in each place, which are memory and real processes, or None for as many as the seconds
              allow
    seconds   in all, or None for as many as the schedules take
    """

    examples: int | None
    seconds: float | None
    ranks: int


PROFILES: dict[str, Budget] = {
    "dev": Budget(examples=100, seconds=None, ranks=2),
    "ci": Budget(examples=None, seconds=60.0, ranks=2),
    "nightly": Budget(examples=None, seconds=1800.0, ranks=4),
}
"""Names for budgets: a look while one writes, a job on each change, and half an hour once a night."""

DEFAULT = "dev"


def budget(
    profile: str | None = None, *, examples: int | None = None, seconds: float | None = None, ranks: int | None = None
) -> Budget:
    """What a profile gives, with what is asked for explicitly in its place.

    A limit that is asked for takes the place of both of the profile's: 20 seconds are 20 seconds, whatever number of
    schedules the profile would stop at. Raises BadInput for an unknown profile.
    """
    name = profile or DEFAULT
    if name not in PROFILES:
        raise unknown_name("profile", name, PROFILES)
    given = PROFILES[name]
    if examples is None and seconds is None:
        examples, seconds = given.examples, given.seconds
    return Budget(examples, seconds, given.ranks if ranks is None else ranks)
