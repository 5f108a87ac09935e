"""What the guard words of a round prove: whether ranks differ, and which acks they are about to pop."""

from __future__ import annotations

from rankproof.model import rules, words
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation

WORD_BITS = 64
"""A word of the vector is an int64."""


def _words(reading: EveryRank, protocol: Protocol, complement: str) -> tuple[Hypotheses, Goals]:
    """A word and its complement in one reduce; what comes out is the same on every rank, so they all judge alike."""
    word = reading.words("word", WORD_BITS)

    def other(rank: Rank) -> Number:
        return words.complement(word(rank)) if complement == "inverted" else -word(rank)

    agreed, agreed_other = rules.agree(reading, protocol, word), rules.agree(reading, protocol, other)
    judged_same = words.same(agreed, agreed_other) if complement == "inverted" else agreed == -agreed_other
    some = reading.rank("some")
    same = reading.every_rank(lambda rank: word(rank) == word(some))
    return {}, {"goal": same == judged_same}


def _inverted(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _words(reading, protocol, "inverted")


def _negated(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _words(reading, protocol, "negated")


class _Lanes:
    """One lane on every rank; `digest(rank, n)` is the running hash of its first n acks, `place` any place in it.

    `marked` is how much a rank had popped by the end of the round of which its popped digest speaks (`words.settled`).
    """

    def __init__(self, reading: EveryRank) -> None:
        self.reading = reading
        self.ack, self.digest = reading.table("ack"), reading.table("digest")
        self.enqueued, self.finished = reading.family("enqueued"), reading.family("finished")
        self.marked, self.popped_next = reading.family("marked"), reading.family("popped_next")
        self.place = reading.number("place")
        self.prefixes = {
            "prefixes": reading.every_rank(
                lambda rank: reading.both(
                    0 <= self.marked(rank),
                    self.marked(rank) <= self.popped_next(rank),
                    self.popped_next(rank) <= self.finished(rank),
                    self.finished(rank) <= self.enqueued(rank),
                )
            )
        }

    def equal(self, length: str) -> Truth:
        """That the digest of the prefix of that length passes the guard: it is the same on every rank."""
        size = getattr(self, length)
        return self.reading.every_pair(
            lambda one, other: self.digest(one, size(one)) == self.digest(other, size(other))
        )

    def no_collision(self, length: str) -> Truth:
        """That prefixes of one digest have one length and the same acks."""
        reading, size = self.reading, getattr(self, length)

        def same(one: Rank, other: Rank) -> Truth:
            alike = reading.implies(self.place < size(one), self.ack(one, self.place) == self.ack(other, self.place))
            return reading.implies(
                self.digest(one, size(one)) == self.digest(other, size(other)),
                reading.both(size(one) == size(other), alike),
            )

        return reading.every_pair(same)

    def same_acks(self, length: str) -> Truth:
        """That the ack at the place, if it is within that length on two ranks, is the same on both."""
        reading, size = self.reading, getattr(self, length)
        return reading.every_pair(
            lambda one, other: reading.implies(
                reading.both(self.place < size(one), self.place < size(other)),
                self.ack(one, self.place) == self.ack(other, self.place),
            )
        )

    def by_length(self, length: str) -> Truth:
        """That ranks have, for one length, one digest: what `named-divergence/digest-grows` shows of every length."""
        size = getattr(self, length)
        return self.reading.every_pair(
            lambda one, other: self.reading.implies(
                size(one) == size(other), self.digest(one, size(one)) == self.digest(other, size(other))
            )
        )


def _grows(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A running hash takes one ack after another, so the digests of a place and the next are equal where the acks are.

    The induction over the place, in one: below place 1 it begins, with the digest of no ack; from there on it goes on.
    """
    del protocol
    lanes, mixed = _Lanes(reading), reading.table("mixed")  # what the hash makes of a digest and an ack, on any rank
    digest, ack, place, empty = lanes.digest, lanes.ack, lanes.place, reading.number("empty")
    so_far = reading.every_pair(lambda one, other: digest(one, place) == digest(other, place))
    hypotheses = {
        "place": 0 <= place,
        "empty": reading.every_rank(lambda rank: digest(rank, 0) == empty),
        "so-far": reading.implies(1 <= place, so_far),
        "same-order": reading.every_pair(lambda one, other: ack(one, place) == ack(other, place)),
        "one-hash": reading.every_pair(
            lambda one, other: reading.implies(
                reading.both(digest(one, place) == digest(other, place), ack(one, place) == ack(other, place)),
                mixed(one, place) == mixed(other, place),
            )
        ),
        "running": reading.every_rank(lambda rank: digest(rank, place + 1) == mixed(rank, place)),
    }
    return hypotheses, {
        "begins": reading.every_pair(lambda one, other: digest(one, 0) == digest(other, 0)),
        "goal": reading.every_pair(lambda one, other: digest(one, place + 1) == digest(other, place + 1)),
    }


def _enqueued_digest_proves(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    del protocol
    lanes = _Lanes(reading)
    hypotheses = lanes.prefixes | {"guard": lanes.equal("enqueued"), "no-collision": lanes.no_collision("enqueued")}
    return hypotheses, {"goal": lanes.same_acks("popped_next")}


def _is_quiet(reading: EveryRank, prefix: str) -> tuple[Hypotheses, Goals]:
    lanes = _Lanes(reading)
    aligned = reading.every_pair(lambda one, other: lanes.enqueued(one) == lanes.enqueued(other))
    hypotheses = lanes.prefixes | {"aligned-enqueue": aligned, "digest-by-length": lanes.by_length(prefix)}
    return hypotheses, {"goal": lanes.equal(prefix)}


def _enqueued_digest_is_quiet(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _is_quiet(reading, "finished" if "ready" in protocol.guards else "enqueued")


def _ready_digest_is_quiet(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    del protocol
    return _is_quiet(reading, "finished")


def _popped_digest_is_quiet(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    del protocol
    lanes, total = _Lanes(reading), reading.number("total")
    marks = reading.every_rank(lambda rank: lanes.marked(rank) == total)  # as `popped-digest-age` has it
    hypotheses = lanes.prefixes | {"marked": marks, "digest-by-length": lanes.by_length("marked")}
    return hypotheses, {"goal": lanes.equal("marked")}


def _popped_digest(reading: EveryRank, proves: str) -> tuple[Hypotheses, Goals]:
    lanes = _Lanes(reading)
    hypotheses = lanes.prefixes | {"guard": lanes.equal("marked"), "no-collision": lanes.no_collision("marked")}
    return hypotheses, {"goal": lanes.same_acks(proves)}


def _popped_digest_proves(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    del protocol
    return _popped_digest(reading, "marked")


def _popped_digest_proves_the_next(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    del protocol
    return _popped_digest(reading, "popped_next")


GUARDS: tuple[Obligation, ...] = (
    Obligation(
        "named-divergence/words",
        "named-divergence",
        "`x` and `~x` in one MIN show on every rank whether all ranks hold the same 64-bit word, for all words",
        (),
        _inverted,
        logic="QF_UFBV",
    ),
    Obligation(
        "named-divergence/digest-grows",
        "named-divergence",
        "ranks that enqueue in the same order have the same digest for the same length",
        ("same-order",),
        _grows,
    ),
    Obligation(
        "named-divergence/enqueued-digest",
        "named-divergence",
        "equal digests of the enqueued prefix at issue: all that the round pops is the same on every rank",
        (),
        _enqueued_digest_proves,
    ),
    Obligation(
        "named-divergence/enqueued-digest-is-quiet",
        "named-divergence",
        "the digest of the enqueued prefix raises no false alarm, where one length has one digest",
        ("aligned-enqueue",),
        _enqueued_digest_is_quiet,
    ),
    Obligation(
        "named-divergence/popped-digest",
        "named-divergence",
        "equal digests of the popped prefix: all that was popped by the end of its round is the same on every rank",
        (),
        _popped_digest_proves,
    ),
    Obligation(
        "named-divergence/popped-digest-is-quiet",
        "named-divergence",
        "the digest of the popped prefix raises no false alarm, where one length has one digest, in whatever steps "
        "ranks enqueue and flush",
        (),
        _popped_digest_is_quiet,
    ),
)

FALSE_OF_GUARDS: tuple[Obligation, ...] = (
    Obligation(
        "false/negated-words",
        "named-divergence",
        "`x` and `-x` in one MIN show whether all ranks hold the same word",
        (),
        _negated,
        logic="QF_UFBV",
    ),
    Obligation(
        "false/ready-digest-is-quiet",
        "named-divergence",
        "the digest of the finished prefix raises no false alarm, where ranks enqueue the same acks in the same steps",
        (),
        _ready_digest_is_quiet,
    ),
    Obligation(
        "false/popped-digest-in-time",
        "named-divergence",
        "equal digests of the popped prefix: all that the round pops is the same on every rank",
        (),
        _popped_digest_proves_the_next,
    ),
)
