"""The rows of a space-time picture, and the picture in text."""

from __future__ import annotations

from dataclasses import replace

from rankproof.diagram import Agreement, Diagram, Fall, Stop, Turn, ack_name, diagram
from rankproof.diagram_text import text_lines
from rankproof.model.actions import Count, Crash, Decline, Enqueue, Finish, Issue, Pop, Wait
from rankproof.model.faults import FAULTS
from rankproof.model.protocol import BLOCKING, depth
from rankproof.model.schedule import Schedule, run


def picture_of(schedule: Schedule) -> Diagram:
    return diagram(schedule, run(schedule))


def text_of(schedule: Schedule, width: int = 80) -> list[str]:
    return [line.text for line in text_lines(picture_of(schedule), width)]


def test_a_round_joins_the_ranks_between_its_issue_and_its_waits(own_count: Schedule) -> None:
    assert text_of(own_count) == [
        "        rank 0                               rank 1",
        "  1-6   enqueue a0, finish a0, count 1,",
        "      ┌ issue r1",
        " 7-10 │                                    ┌ count 0, issue r1",
        "      ╞═ r1: min(1, 0) = 0 ════════════════╡",
        "11-12 └ wait r1: 0, pop a0                 │",
        "      ✗ finished-before-pop: rank 0 pops ack 0 of lane 0, which is not finished",
        "        on rank 1 (also exact-delay)",
    ]


def test_a_property_that_falls_on_the_way_is_shown_where_it_falls(stale_reset: Schedule) -> None:
    assert text_of(stale_reset) == [
        "        rank 0                               rank 1",
        "  1-7   enqueue a0, finish a0, count 1,",
        "      ┌ issue r1, reset",
        "      ✗ clean-lifecycle: rank 0 has round 1 in flight after its reset",
        " 8-13 │                                      enqueue a0, finish a0, count 1,",
        "      │                                    ┌ issue r1",
        "      ╞═ r1: min(1, 1) = 1 ════════════════╡",
        "14-15 └ wait r1: 1, pop 1 too many         │",
        "      ✗ finished-before-pop: rank 0 is to pop 1 more than its lanes hold (also",
        "        exact-delay, bounded-lag)",
    ]


def test_two_lanes_have_a_count_each_and_three_ranks_a_column_each(three_ranks: Schedule) -> None:
    assert text_of(three_ranks) == [
        "        rank 0                  rank 1                  rank 2",
        "  1-6   enqueue b0,",
        "        finish b0,",
        "        count (0, 1),",
        "      ┌ issue r1",
        " 7-12 │                         enqueue b0,",
        "      │                         finish b0,",
        "      │                         count (0, 1),",
        "      │                       ┌ issue r1",
        "13-18 │                       │                         enqueue b0,",
        "      │                       │                         finish b0,",
        "      │                       │                         count (0, 1),",
        "      │                       │                       ┌ issue r1",
        "      ╞═ r1: min((0, 1), (0, 1), (0, 1)) = (0, 1) ════╡",
        "19-23 │ enqueue a0,           │                       │",
        "      └ wait r1: (0, 1),      │                       │",
        "        pop b0, count (0, 0), │                       │",
        "      ┌ issue r2              │                       │",
    ]


def test_the_pictures_of_the_catalogue_fit_80_columns(own_count: Schedule, stale_reset: Schedule) -> None:
    assert max(len(line) for schedule in (own_count, stale_reset) for line in text_of(schedule)) <= 80


def test_many_ranks_make_a_picture_wider_not_unreadable(three_ranks: Schedule) -> None:
    words = {line[position:].strip() for line in text_of(three_ranks, 30) for position in (8,)}
    assert 30 < max(map(len, text_of(three_ranks, 30))) <= 60
    assert "count (0, 1)," in words


def test_each_action_is_in_one_turn_and_in_its_place(three_ranks: Schedule) -> None:
    turns = [row for row in picture_of(three_ranks).rows if isinstance(row, Turn)]
    places = [place for turn in turns for place in range(turn.first, turn.last + 1)]
    assert places == list(range(1, len(three_ranks.actions) + 1))
    assert [turn.rank for turn in turns for _ in turn.deeds] == [action.rank for action in three_ranks.actions]


def test_a_round_is_agreed_once_with_what_each_rank_offered(three_ranks: Schedule) -> None:
    agreements = [row for row in picture_of(three_ranks).rows if isinstance(row, Agreement)]
    assert [(row.round, row.offers, row.agreed) for row in agreements] == [(1, ((0, 1),) * 3, (0, 1))]


def test_a_faulty_reduce_is_shown_with_what_it_does() -> None:
    fault = FAULTS["max-instead-of-min"]
    schedule = Schedule(fault.model, tuple(kind(rank) for rank in (0, 1) for kind in (Wait, Pop, Count, Issue)))
    assert [row.words for row in picture_of(schedule).rows if isinstance(row, Agreement)] == ["r1: max(0, 0) = 0"]


def test_a_rank_that_issues_nothing_is_seen_to() -> None:
    schedule = Schedule(FAULTS["skip-when-empty"].model, (Wait(0), Pop(0), Count(0), Issue(0)))
    assert text_of(schedule)[1] == "1-4   count 0, issue nothing"


def test_a_turn_in_which_nothing_happens_still_says_what_was_done(own_count: Schedule) -> None:
    assert text_of(replace(own_count, actions=(Wait(1), Pop(1))))[1].split() == ["1-2", "wait,", "pop", "nothing"]


def test_a_blocking_round_begins_and_ends_in_one_step(own_count: Schedule) -> None:
    model = replace(own_count.model, protocol=BLOCKING)
    actions = (Count(0), Issue(0), Count(1), Issue(1), Wait(0), Pop(0), Wait(1), Pop(1))
    assert text_of(Schedule(model, actions)) == [
        "      rank 0                                rank 1",
        "1-2 ┌ count 0, issue r1",
        "3-4 │                                     ┌ count 0, issue r1",
        "    ╞═ r1: min(0, 0) = 0 ═════════════════╡",
        "5-6 └ wait r1: 0                          │",
        "7-8                                       └ wait r1: 0",
    ]


def test_a_schedule_that_stops_says_why_at_its_end(own_count: Schedule) -> None:
    stopped = picture_of(replace(own_count, actions=(*own_count.actions[:6], Wait(0))))
    assert stopped.rows[-1] == Stop("rank 0 waits for a round that rank 1 must issue first")
    assert text_lines(stopped)[-1].text.strip() == "stops: rank 0 waits for a round that rank 1 must issue first"


def test_no_row_follows_the_fall_that_ends_a_shortest_schedule(own_count: Schedule) -> None:
    last = picture_of(own_count).rows[-1]
    assert isinstance(last, Fall)
    assert last.name == own_count.breaks


def test_short_names_stay_apart_beyond_the_alphabet() -> None:
    assert [ack_name(lane, 3) for lane in (0, 1, 25, 26, 52)] == ["a3", "b3", "z3", "a1:3", "a2:3"]


def test_a_rank_with_two_rounds_in_flight_keeps_its_bracket_open_until_the_last_wait(own_count: Schedule) -> None:
    model = replace(own_count.model, protocol=depth(2))
    twice = tuple(kind(rank) for rank in (0, 0, 1, 1) for kind in (Wait, Pop, Count, Issue))
    assert text_of(Schedule(model, (*twice, Wait(0), Pop(0), Count(0), Issue(0))))[1:] == [
        "  1-8 ┌ count 0, issue r1, count 0,",
        "      ├ issue r2",
        " 9-12 │                                    ┌ count 0, issue r1",
        "      ╞═ r1: min(0, 0) = 0 ════════════════╡",
        "13-16 │                                    ├ count 0, issue r2",
        "      ╞═ r2: min(0, 0) = 0 ════════════════╡",
        "17-20 ├ wait r1: 0, count 0, issue r3      │",
    ]


def test_ranks_that_agree_on_their_own_are_not_joined() -> None:
    step = tuple(kind(1) for kind in (Wait, Pop, Count, Issue))
    lines = text_of(Schedule(FAULTS["agreement-in-halves"].model, step))
    assert lines[1:] == [
        "1-4                                       ┌ count 0, issue r1",
        "                                          ╞═ r1: min(0) = 0",
    ]


def test_two_rounds_of_one_step_are_both_named() -> None:
    actions = (Enqueue(0, 0, 0), Finish(0, 0, 0), Wait(0), Pop(0), Count(0), Issue(0))
    lines = text_of(Schedule(FAULTS["second-round-on-own-event"].model, actions))
    assert lines[2] == "    ┌ issue r1 r2"


def test_a_guard_word_that_differs_is_in_the_round_and_in_what_the_wait_gives() -> None:
    ready = (Enqueue(0, 0, 0), Finish(0, 0, 0))
    steps = tuple(kind(rank) for rank in (0, 1) for kind in (Wait, Pop, Count, Issue))
    lines = text_of(Schedule(FAULTS["ready-digest"].model, (*ready, *steps, Wait(1))))
    assert "╞═ r1: min(1, 0) = 0, ready differs ═╡" in lines[4]
    assert lines[5].endswith("└ wait r1: ready differs")


def test_a_wait_that_ends_because_a_rank_is_gone_says_so() -> None:
    model = FAULTS["no-deadline"].model
    right = replace(model, protocol=replace(model.protocol, deadline="set"))
    lines = text_of(Schedule(right, (Wait(0), Pop(0), Count(0), Issue(0), Crash(1), Wait(0))))
    assert [line.split()[-1] for line in lines[2:]] == ["crash", "lost"]
    assert "wait: peer lost" in lines[3]


def test_what_has_been_said_once_is_not_said_again() -> None:
    step = tuple(kind(1) for kind in (Wait, Pop, Count, Issue))
    lines = text_of(Schedule(FAULTS["skipped-round"].model, (*step, Decline(0), Wait(0), Pop(0), Count(0))))
    assert sum("matched-collectives" in line for line in lines) == 1
