"""A running hash of acks in order, which ranks compare instead of the acks themselves.

Two ranks whose sequences differ have different digests but for one chance in 2^64 or so; this is a check against
mistakes, not against an adversary. It does not depend on the process, as Python's own hash of a text does.
"""

from __future__ import annotations

import hashlib

EMPTY = 0
"""The digest of no ack."""

_FACTOR = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_HALF = 1 << 63


def word_of(text: str) -> int:
    """A word of 64 bits, signed, that stands for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def identity_word(identity: int | str) -> int:
    """A word of 64 bits, signed, that stands for an ack; a number that fits stands for itself, which needs no hash."""
    if type(identity) is int and -_HALF <= identity < _HALF:
        return identity
    return word_of(repr(identity))


def extended(digest: int, identity: int | str) -> int:
    """The digest of a sequence with one more ack at its end."""
    return folded(digest, identity_word(identity))


def folded(digest: int, word: int) -> int:
    """The digest with one more word; the order of words matters, and a leading zero does too."""
    mixed = ((digest ^ (digest >> 29)) * _FACTOR + word + 1) & _MASK
    return mixed - (1 << 64) if mixed >> 63 else mixed
