"""The analyst as a seat: what of it is recorded, shown and counted, and how it is asked."""

from typing import Any

import pytest

from server.debate.analysis.claims import build_graph_data
from server.debate.facts.answers import Claim, ClaimLink, Extracted
from server.debate.facts.beliefs import Citation
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.machine.render import render
from server.debate.machine.transitions import apply, replay
from server.debate.rules.budget import count_round_calls
from server.debate.rules.plan import count_expected_answers
from server.debate.seats.analyst import MAX_CLAIMS
from server.debate.seats.registry import name_task
from server.debate.views.events import build_event_row
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_analysis, build_round
from server.debate.views.visibility import is_hidden
from tests.support import simulation
from tests.support.analyst_debates import DOUBLED, FREE, NOT_DOUBLED, TURNS, build_claim, build_link, extract

pytestmark = pytest.mark.requirement("D12", "D15")


class TestRecord:
    def test_a_record_whose_words_or_links_are_wrong_is_refused(self) -> None:
        at = extract(DOUBLED, FREE, NOT_DOUBLED, rounds=2).play()
        before, event = at.before(Extracted)
        one, two, three = event.claims

        def spoil(claim: Claim, **changes: Any) -> Claim:
            return claim.model_copy(update=changes)

        def to(seat: str, point: int) -> Citation:
            return Citation(seat=seat, round=1, point=point)

        for wrong, why in (
            ([spoil(one, said=one.said.model_copy(update={"end": one.said.end - 1}))], "not in the turn"),
            ([spoil(one, said=one.said.model_copy(update={"seat": "Ada"}))], "not in the turn"),
            ([spoil(one, said=one.said.model_copy(update={"start": 3, "end": 3, "quote": ""}))], "not in"),
            ([spoil(one, links=(ClaimLink(relation="attacks", to=to("Ada", 1)),)), three], "had not read"),
            ([spoil(one, links=(ClaimLink(relation="attacks", to=to("Bob", 1)),))], "had not read"),
            ([spoil(one, links=(ClaimLink(relation="attacks", to=to("Bob", 7)),))], "had not read"),
            ([spoil(one, same_as=(to("Bob", 1),))], "had not read"),
            ([spoil(one, same_as=(to("Ada", 7),))], "had not read"),
            ([spoil(one, wording=str(n)) for n in range(MAX_CLAIMS + 1)], "too many"),
        ):
            with pytest.raises(IllegalEvent, match=why):
                apply(before, event.model_copy(update={"claims": tuple(wrong)}))
        later = max(i for i, made in enumerate(at.events) if isinstance(made, Extracted))
        with pytest.raises(IllegalEvent, match="another round"):
            apply(replay(at.events[:later]), at.events[later].model_copy(update={"claims": (two,)}))

    def test_people_read_it_with_names(self) -> None:
        turns = TURNS | {"Ada": "As A1 1.1 says, A is wrong. Speed matters."}
        row = build_claim(
            "A is wrong",
            "B1",
            claim="A is wrong, says B.",
            evidence="A1",
            links=[build_link("attacks", "#1")],
        )
        at = extract(DOUBLED, row, turns=turns).play()
        shown = build_round(at.debate, 1)["claims"][1]
        assert (shown["point"], shown["according_to"]) == ("Ada 1.1", "analyst")
        assert "[Ada 1.1]" in render_transcript(at.debate, at.log)
        assert "attacks [Bob 1.1]" in render_transcript(at.debate, at.log)

    @pytest.mark.parametrize("hidden", ["analyst", "debaters"])
    def test_clients_do_not_see_what_is_hidden_from_them(self, hidden: str) -> None:
        left = {"left_out": [{"speaker": "Bob", "words": "It may fail", "why": "Which?"}]}
        at = extract(DOUBLED, more=left, visibility={"hide_from_client": [hidden]}).play()
        assert at.debate.find_readings(Extracted)[0].left_out
        assert (build_round(at.debate, 1)["claims"], build_round(at.debate, 1)["unclear"]) == ([], [])
        assert "extraction" not in build_analysis(at.debate)
        assert "So: " not in render_transcript(at.debate, at.log)
        assert "So: " not in str(build_graph_data(at.debate))
        (entry,) = [entry for entry in at.log if isinstance(entry.event, Extracted)]
        row = build_event_row(at.debate, entry, is_hidden=is_hidden(at.debate, entry.event))
        assert "claims" not in row
        assert row["names"] == ["claims"]


class TestSeat:
    def test_the_analyst_is_asked_with_the_other_readers_once_a_round(self) -> None:
        at = extract(DOUBLED, rounds=2, referee=True, observer=True).play_to_round(1)
        tasks: list[list[str]] = []
        while at.debate.round == 1:
            tasks.append([name_task(call) for call in at.pending_calls()])
            at.step()
        assert ["audit", "observation", "extraction"] in tasks
        at.play()
        assert [one.round for one in at.debate.find_readings(Extracted)] == [1, 2]

    def test_it_counts_in_the_estimate_and_in_the_price_of_a_round(self) -> None:
        with_it, without = extract(rounds=3), extract(rounds=3, claims="asked")
        assert count_expected_answers(with_it.debate) - count_expected_answers(without.debate) == 3
        entered = with_it.play_to_round(1).debate.rounds[0]
        calls = [count_round_calls(at.debate, entered) for at in (with_it, without)]
        assert calls[0] - calls[1] == 1

    def test_the_prompt_asks_for_exact_words_and_names_who_can_speak(self) -> None:
        at = extract(DOUBLED).play()
        (prompt,) = at.prompts("analyst")
        assert "copied exactly from the turn" in prompt
        assert "A negation, or another number, is not the same." in prompt.replace("\n", " ")
        (asked,) = [made for call, made in at.calls_made if call.seat == "analyst"]
        assert asked.schema
        row = asked.schema["properties"]["claims"]["items"]["properties"]
        assert row["speaker"]["enum"] == ["A1", "B1"]

    def test_a_model_and_a_prompt_of_its_own(self) -> None:
        at = extract(analyst={"model": "vendor/x", "prompt": "Mind the numbers."})
        (analyst,) = at.debate.setup.officers
        assert analyst.model == "vendor/x"
        (call,) = [call for call, _ in at.play().calls_made if call.seat == "analyst"]
        assert call.model == "vendor/x"
        assert "Mind the numbers." in simulation.render_prompt_text(
            render(replay(at.events[: call.seen]), call)
        )

    def test_an_analyst_without_a_task_is_refused(self) -> None:
        with pytest.raises(InvalidRequestError, match=r"options\.claims=extracted"):
            simulation.build_setup(options={"analyst": "vendor/x"})
        assert simulation.build_setup().officers == ()
