"""A talk may end where all choose the same and hold it alike: between seats, in one round, on meaning."""

from dataclasses import replace
from typing import Any

import pytest

from server.debate.ballots.convergence import SIMILAR, extract_numbers, find_likeness
from server.debate.ballots.report import describe_measurement
from server.debate.commands.setup.open import add_meter
from server.debate.facts.answers import Measured, build_embedding_key
from server.debate.facts.beliefs import Converged
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.setup.opened import Opened
from server.debate.machine.render import render
from server.debate.machine.transitions import apply, replay
from server.debate.records.verify import verify_record
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import list_tasks
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    build_ballot,
    build_debaters,
    build_setup,
    label_positions,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D12")

P, OPP = "Proponent", "Opponent"
MODEL = "vendor/embed"
COSTS = "Writing it costs a year and nobody would maintain it later."
REWORDED = "Writing it costs a year, and later nobody would maintain it."
NEGATION = "Writing it costs no year and nobody would maintain it later."
OTHER = "What exists has been tried by thousands of teams."


def build(stop: str = "on", model: str = MODEL, **fields: Any) -> Opened:
    options = {"ballots": "rounds", "stop": stop, **fields.pop("options", {})}
    opened = build_setup(("openai/gpt-5", "anthropic/claude-4"), max_rounds=4, options=options, **fields)
    return add_meter(opened, model)


def talk(*positions: str, choices: str = "AAA", words: Any = None, opened: Any = None) -> DebateSimulation:
    """A debate whose debaters hold these positions after each round, in order; something is new in each."""

    def ballot(call: Any) -> dict[str, Any]:
        seat = at.debate.names.index(call.seat)
        said = positions[seat % len(positions)]
        percent = 60 + 6 * call.round + seat  # it moves
        made = build_ballot(choices[seat % len(choices)], said, percent)
        return made | {"new_point": "Taxes.", "open_point": None, "moved_by": None} | (words or {})

    at = simulate(opened or build(), task_script({"ballot": ballot}))
    return at.play()


def test_what_is_measured_is_no_prompt() -> None:
    at = talk(COSTS, REWORDED)
    asked = replace(at.calls_made[-1][0], task="measurement")
    with pytest.raises(AssertionError, match="embedded as they are"):
        render(at.debate, asked)


def test_a_talk_ends_where_all_choose_the_same_and_hold_it_alike() -> None:
    at = talk(COSTS, REWORDED)
    (measured,) = at.debate.measurements
    (pair,) = measured.similarities
    assert (pair.one, pair.other) == (P, OPP)
    told = f"by {measured.usage.model}: {P} and {OPP} {pair.value}."
    assert describe_measurement(measured) == f"Similarity of what all hold in private, {told}"
    assert float(pair.value) >= SIMILAR
    assert [(one.seat, one.key) for one in measured.positions] == [
        (P, build_embedding_key(MODEL, COSTS)),
        (OPP, build_embedding_key(MODEL, REWORDED)),
    ]
    (found,) = at.debate.convergence
    assert (found.round, found.why, found.by, found.similarity) == (2, "alike", "embeddings", pair.value)
    assert at.debate.talk_round_count == 2
    assert at.debate.rounds[-1].because == "converged"
    assert f"hold it alike by the embeddings (similarity {pair.value} or more)" in (
        render_transcript(at.debate, at.log)
    )


def test_a_negation_is_embedded_alike_and_ends_nothing_because_its_voter_chooses_otherwise() -> None:
    against = talk(COSTS, NEGATION, choices="AB")
    assert against.debate.measurements == ()  # nobody is asked, and nothing is paid
    assert against.debate.convergence == ()
    assert talk(COSTS, NEGATION).debate.convergence[0].why == "alike"  # which is why the choice is needed


def test_a_voter_is_never_compared_with_what_it_held_before() -> None:
    at = talk(COSTS, OTHER)  # each says the same word for word after every round
    assert at.debate.convergence == ()
    assert at.debate.talk_round_count == 4
    assert [one.round for one in at.debate.measurements] == [2, 3]
    measured = [pair.value for one in at.debate.measurements for pair in one.similarities]
    assert max(map(float, measured)) < SIMILAR


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It saves 40 hours a month for us.", "It saves 14 hours a month for us.", False),
        ("For 2 years, it costs 40 a month.", "It costs 40 a month for 2 years.", True),
        ("At 2.5 percent it is too high.", "At 25 percent it is too high.", False),
    ],
)
def test_another_number_is_embedded_alike_and_ends_nothing(one: str, other: str, *, same: bool) -> None:
    at = talk(one, other)
    assert bool(at.debate.convergence) == same


def test_numbers_are_compared_as_they_are_written_without_separators_of_thousands() -> None:
    assert extract_numbers("From 1,200 to 12'000, by 2.5 % in 2024.") == {"1200", "12000", "2.5", "2024"}
    assert extract_numbers("In 3,5 of ten cases") == {"3,5"}


def test_every_pair_counts_and_the_least_alike_decides() -> None:
    opened = build(debaters=build_debaters(3))
    at = talk(COSTS, REWORDED, OTHER, opened=opened)
    assert len(at.debate.measurements[0].similarities) == 3
    assert at.debate.convergence == ()
    at = talk(COSTS, REWORDED, COSTS, opened=opened)
    values = [pair.value for pair in at.debate.measurements[0].similarities]
    assert at.debate.convergence[0].similarity == min(values)


@pytest.mark.parametrize("words", [{"open_point": "Who pays?"}, {"beliefs": {"A": 45, "B": 45, "none": 10}}])
def test_nothing_is_measured_where_something_is_open_or_nobody_chooses(words: dict[str, Any]) -> None:
    at = talk(COSTS, REWORDED, words=words)
    assert (at.debate.measurements, at.debate.convergence) == ((), ())


def test_nothing_is_measured_where_the_ballots_end_the_talk_anyway() -> None:
    at = talk(COSTS, REWORDED, words={"new_point": None, "beliefs": {"A": 95, "none": 5}})
    assert at.debate.convergence[0].why == "sure"
    assert at.debate.measurements == ()


def move(call: Any) -> dict[str, Any]:
    """The ballot of a voter who holds the same as all others, and more so after each round."""
    return build_ballot("A", COSTS, 60 + 6 * call.round) | {"new_point": "Taxes.", "open_point": None}


def test_a_failed_measurement_is_recorded_and_the_talk_goes_on() -> None:
    """No model that writes stands in for one that embeds."""
    script = task_script({"ballot": move, "measurement": ProviderFailure("unavailable")})
    at = simulate(build(options={"fallback_models": ["vendor/other"]}), script).play()
    assert at.status == "concluded"
    assert at.debate.talk_round_count == 4
    assert [(failed.seat, failed.model) for failed in at.debate.failures] == [("meter", MODEL)] * 2
    rows = [(row["seat"], row["task"], row["state"]) for row in list_tasks(at.debate)]
    assert rows.count(("meter", "measurement", "failed")) == 2


@pytest.mark.parametrize(
    ("same", "turns", "ends"), [("#1", "A point. B point.", True), ("", "A point. B point.", False)]
)
def test_without_an_embedding_model_the_analyst_says_what_is_the_same(
    same: str, turns: str, ends: bool
) -> None:
    def claim(speaker: str, **fields: Any) -> dict[str, Any]:
        return {"speaker": speaker, "words": turns, "claim": turns} | fields

    rows = [claim("A1"), claim("B1", same_as=[same] if same else [])]

    opened = build(model="", options={"claims": "extracted"})
    assert opened.meter is None
    script = task_script({"argument": turns, "ballot": move, "extraction": {"claims": rows}})
    at = simulate(opened, script).play()
    assert at.debate.measurements == ()
    if ends:
        (found,) = at.debate.convergence
        assert (found.why, found.by, found.similarity) == ("alike", "analyst", "")
        assert "hold it alike by the analyst:" not in render_transcript(at.debate, at.log)
        assert "hold it alike by the analyst" in render_transcript(at.debate, at.log)
    else:
        assert at.debate.convergence == ()


def test_the_analyst_has_to_link_all_and_in_the_same_round() -> None:
    opened = build(model="", debaters=build_debaters(3), options={"claims": "extracted"})
    names = ("A1", "B1", "C1")
    chains = {"linked": ["", "#1", "#2"], "apart": ["", "#1", ""], "earlier": ["", "A1 1.1", "A1 1.1"]}
    ends = {}
    for name, same in chains.items():
        rows = [
            {"speaker": s, "words": "It is so", "claim": "It is so.", "same_as": [to] if to else []}
            for s, to in zip(names, same, strict=True)
        ]
        script = task_script({"argument": "It is so.", "ballot": move, "extraction": {"claims": rows}})
        ends[name] = [one.round for one in simulate(opened, script).play().debate.convergence]
    assert ends == {"linked": [2], "apart": [], "earlier": []}


def test_a_record_of_other_positions_or_pairs_is_refused() -> None:
    at = talk(COSTS, REWORDED)
    before, event = at.before(Measured)
    first, second = event.positions
    for changes, why in (
        ({"positions": (second, first)}, "not the positions"),
        ({"positions": (first, second.model_copy(update={"key": "0" * 64}))}, "not the positions"),
        ({"similarities": ()}, "each pair"),
        ({"similarities": event.similarities * 2}, "each pair"),
    ):
        with pytest.raises(IllegalEvent, match=why):
            apply(before, event.model_copy(update=changes))
    with pytest.raises(IllegalEvent, match="no slot"):
        apply(replay(at.events[: at.events.index(event) - 1]), event.model_copy(update={"seen": 1}))


def test_a_convergence_that_does_not_follow_is_refused() -> None:
    at = talk(COSTS, REWORDED)
    before, found = at.before(Converged)
    for changes in ({"similarity": "0.9999"}, {"by": "analyst"}, {"why": "sure"}):
        with pytest.raises(IllegalEvent):
            apply(before, found.model_copy(update=changes))


def test_ballots_that_are_asked_again_after_a_retraction_are_not_those_that_were_measured() -> None:
    at = talk(COSTS, REWORDED, opened=build(stop="on"))
    number = at.debate.convergence[0].round
    again = simulate(at.debate.setup, at.script)
    again.play(lambda debate: any(one.round == number for one in debate.measurements))
    assert find_likeness(again.debate)
    again.intervene("retract", to=P, round=1)
    assert find_likeness(again.debate) is None  # there are no ballots of everybody now


def test_there_is_a_meter_only_where_ballots_after_a_round_may_end_the_talk() -> None:
    assert build(stop="off").meter is None
    assert build(model="").meter is None
    assert build(stop="on").meter
    at = talk(COSTS, REWORDED, opened=label_positions(build()))
    opened = at.log[0]
    forged = replace(opened, event=at.debate.setup.model_copy(update={"stop": "off"}))
    with pytest.raises(InvalidRequestError, match="its meter has nothing to do"):
        verify_record([forged], range(1))
