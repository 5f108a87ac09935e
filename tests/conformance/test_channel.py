"""Messages between processes keep their order, their deadline and their whole content."""

from __future__ import annotations

import pickle
import struct

import pytest

from rankproof.conformance.channel import Channel, readable


def test_what_is_sent_is_received_in_order() -> None:
    here, there = Channel.pair()
    other = Channel(there)
    for message in (1, ("two", None), "x" * 100_000):
        here.send(message)
    assert [other.receive(1) for _ in range(3)] == [1, ("two", None), "x" * 100_000]
    here.close()
    other.close()


def test_a_message_cut_by_a_deadline_is_completed_by_the_next_receive() -> None:
    here, there = Channel.pair()
    body = pickle.dumps("whole")
    frame = struct.pack("!I", len(body)) + body
    for cut in range(1, len(frame)):
        there.send(frame[:cut])
        with pytest.raises(TimeoutError):
            here.receive(0)
        there.send(frame[cut:])
        assert here.receive(1) == "whole"
    here.close()
    there.close()


def test_a_message_that_came_while_the_receiver_itself_was_stopped_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Channel.pair()
    other = Channel(there)

    def message_and_deadline_both_came(event: int, deadline: float | None) -> bool:
        del event, deadline
        other.send("in time")
        return False

    monkeypatch.setattr(here, "_wait", message_and_deadline_both_came)
    assert here.receive(1) == "in time"
    here.close()
    other.close()


def test_nothing_readable_is_an_empty_list_and_the_rest_are_named() -> None:
    (first, to_first), (second, to_second) = Channel.pair(), Channel.pair()
    assert readable([first, second], 0) == []
    Channel(to_second).send("here")
    assert readable([first, second], 1) == [second]
    to_first.close()
    assert set(readable([first, second], 1)) == {first, second}, "an end that is gone can be read: it is the end"
    for end in (first, second, to_second):
        end.close()


def test_an_end_that_is_gone_is_an_end_of_file_for_both_directions() -> None:
    here, there = Channel.pair()
    here.send("unread")
    there.close()
    with pytest.raises(EOFError):
        here.receive(1)
    with pytest.raises(EOFError):
        here.send("anything")
    here.close()


def test_what_cannot_be_pickled_leaves_the_channel_usable() -> None:
    here, there = Channel.pair()
    other = Channel(there)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        here.send(lambda: None)
    here.send("next")
    assert other.receive(1) == "next"
    here.close()
    other.close()
