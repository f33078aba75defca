"""An analyst reads what turns claim: exact places, links by id, what is left out; and the debate does without it."""

from typing import Any

import pytest

from server.debate.analysis.claims import build_graph_data
from server.debate.arguments.graph import build_graph
from server.debate.arguments.points import MAX_POINTS, list_points
from server.debate.facts.answers import ClaimLink, Extracted
from server.debate.facts.beliefs import Citation
from server.debate.replies.extract import Reply
from server.debate.seats.analyst import MAX_CLAIMS, list_unread_rounds
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_analysis, build_round, list_tasks
from server.debate.views.verdict import build_verdict
from tests.support import simulation
from tests.support.analyst_debates import (
    DOUBLED,
    FREE,
    NOT_DOUBLED,
    TEAM,
    TURNS,
    build_claim,
    build_link,
    extract,
    list_ids,
    list_links,
)

pytestmark = pytest.mark.requirement("D12", "D15")


class TestReading:
    def test_a_claim_has_its_exact_place_its_wording_kind_and_source(self) -> None:
        at = extract(DOUBLED, FREE).play()
        (extracted,) = at.debate.find_readings(Extracted)
        first, second = extracted.claims
        assert TURNS["Bob"][first.said.start : first.said.end] == first.said.quote == "Costs doubled in 2024"
        assert (first.wording, first.kind, first.evidence) == (
            "So: Costs doubled in 2024",
            "fact",
            "the audit",
        )
        assert (second.said.quote, second.kind) == ("Waiting is free", "value")
        assert (extracted.dropped, extracted.unknown) == (0, 0)

    @pytest.mark.parametrize(
        "wrong",
        [
            build_claim("Costs tripled in 2024"),
            build_claim("Costs doubled in 2025"),
            build_claim("Costs doubled in 2024", "B1"),
            build_claim("Costs doubled in 2024", "Cleo"),
            build_claim("Costs doubled in 2024", claim=""),
            build_claim(""),
            build_claim("ell. Costs d"),
            {"words": ["Costs doubled in 2024"], "speaker": 7},
            "Costs doubled in 2024",
            None,
        ],
    )
    def test_what_is_not_in_the_turn_is_dropped_and_counted(self, wrong: Any) -> None:
        (extracted,) = extract(wrong, FREE).play().debate.find_readings(Extracted)
        assert [one.said.quote for one in extracted.claims] == ["Waiting is free"]
        assert extracted.dropped == 1

    def test_what_can_be_read_two_ways_is_left_out_and_said(self) -> None:
        row = {"speaker": "A1", "words": "It may fail", "why": "The wait, or the audit."}
        at = extract(FREE, more={"left_out": [row, row | {"words": "It will fail"}, None]}).play()
        (extracted,) = at.debate.find_readings(Extracted)
        assert [(left.said.quote, left.why) for left in extracted.left_out] == [
            ("It may fail", "The wait, or the audit.")
        ]
        assert extracted.dropped == 2
        shown = render_transcript(at.debate, at.log)
        assert 'Left out, of Bob: "The wait, or the audit."\n\n> It may fail' in shown
        assert "Not counted: 2 rows whose words are not in the turns named." in shown
        assert build_analysis(at.debate)["extraction"]["unclear"][0]["said"]["quote"] == "It may fail"
        (unclear,) = build_round(at.debate, 1)["unclear"]
        assert (unclear["said"]["quote"], unclear["why"]) == ("It may fail", "The wait, or the audit.")

    def test_keys_kinds_and_references_are_read_in_any_spelling(self) -> None:
        odd = {
            "Speaker": "Ada",
            "words": "“Speed matters most”",
            "Claim": "Speed counts.",
            "KIND": "Values",
            "Links": {"relation": "Rebuts", "to": "[Bob 1.2]"},
            "sameAs": "1",
        }
        at = extract(DOUBLED, FREE, odd).play()
        read = at.debate.find_readings(Extracted)[0].claims[2]
        assert (read.kind, read.links) == (
            "value",
            (ClaimLink(relation="attacks", to=Citation(seat="Bob", round=1, point=2)),),
        )
        assert read.same_as == (Citation(seat="Bob", round=1, point=1),)

    def test_a_row_that_is_there_twice_is_one_claim_with_the_links_of_both(self) -> None:
        again = build_claim("Costs did not double", "B1", same_as=["#2"])
        at = extract(DOUBLED, FREE, NOT_DOUBLED, again).play()
        assert len(at.debate.find_readings(Extracted)[0].claims) == 3
        assert list_links(at, "Ada", 1) == ["attacks Bob 1.1", "same_as Bob 1.2"]

    def test_no_more_claims_than_a_limit_are_kept(self) -> None:
        turn = " ".join(f"Claim{n:04} holds." for n in range(MAX_CLAIMS + 9))
        rows = [build_claim(f"Claim{n:04} holds") for n in range(MAX_CLAIMS + 9)]
        at = extract(
            *rows, turns=TURNS | {"Bob": turn}, more={"left_out": [build_claim("Claim0001 holds")]}
        ).play()
        (extracted,) = at.debate.find_readings(Extracted)
        assert (len(extracted.claims), extracted.dropped, extracted.left_out) == (MAX_CLAIMS, 9, ())
        assert list_ids(at).count(f"Bob 1.{MAX_POINTS}") == 1
        assert f"Bob 1.{MAX_POINTS + 1}" not in list_ids(at)


class TestPoints:
    def test_a_turn_without_numbers_has_a_point_for_each_claim(self) -> None:
        at = extract(FREE, DOUBLED).play()
        assert list_ids(at) == ["Bob 1.1", "Bob 1.2", "Ada 1.1", "Ada 1.2"]
        first, second, *_ = list_points(at.debate).values()
        assert first.text == "Well. Costs doubled in 2024, says the audit. It may fail."
        assert second.text == "Waiting is free."
        assert (first.kind, second.kind) == ("fact", "value")

    def test_the_numbers_of_a_debater_stay_what_they_are(self) -> None:
        rows = [
            build_claim("Speed matters", "B1", kind="forecast"),
            build_claim("Costs did not", "B1", kind="forecast"),
        ]
        at = extract(*rows).play()
        points = [point for point in list_points(at.debate).values() if point.id.seat == "Ada"]
        assert [(point.id.point, point.kind) for point in points] == [(1, "forecast"), (2, "value")]
        assert [[one.said.quote for one in point.claims] for point in points] == [
            ["Costs did not"],
            ["Speed matters"],
        ]

    def test_judges_and_debaters_read_the_ids_and_nothing_else_of_it(self) -> None:
        at = extract(DOUBLED, FREE, NOT_DOUBLED, rounds=2).play()
        for seat in ("judge 1", "Bob", "Ada"):
            text = at.prompts(seat)[-1]
            assert "[A1 1.1]\n> Well. Costs doubled" in text or "[B1 1.1]\n> Well. Costs doubled" in text
            assert ".2]\n> Waiting is free." in text
            assert "So: " not in text
            assert "analyst" not in text.lower()

    def test_points_stay_the_debaters_own_where_nothing_was_found(self) -> None:
        assert list_ids(extract().play()) == ["Bob 1.1", "Ada 1.1", "Ada 1.2"]

    def test_a_message_stays_one_point(self) -> None:
        opened = simulation.build_setup(
            debaters=TEAM, options={"phases": ["cross_examination", "verdict"], "claims": "extracted"}
        )
        asked = {"to": "B1", "kind": "question", "text": "Is it so? It costs much. It takes long."}
        rows = [
            build_claim("It costs much", claim="It costs."),
            build_claim("It takes long", claim="It takes."),
        ]
        script = simulation.task_script(
            {
                "message": lambda call: asked if call.seat == "Bob" else asked | {"to": "A1"},
                "extraction": lambda _: {"claims": rows},
            }
        )
        at = simulation.simulate(opened, script).play()
        point = list_points(at.debate)[Citation(seat="Bob", round=1, point=1)]
        assert [one.wording for one in point.claims] == ["It costs.", "It takes."]


class TestLinks:
    def test_links_of_the_analyst_and_of_the_debater_are_one_graph(self) -> None:
        undercut = build_claim("Speed matters", "B1", links=[build_link("undercuts", "#2")])
        at = extract(DOUBLED, FREE, NOT_DOUBLED, undercut).play()
        assert list_links(at, "Ada", 1) == ["attacks Bob 1.1"]
        assert list_links(at, "Ada", 2) == ["undercuts Bob 1.2"]
        rows = {row["id"]: row for row in build_graph_data(at.debate)["points"]}
        assert rows["Bob 1.1"]["claims"][0] == {
            "wording": "So: Costs doubled in 2024",
            "kind": "fact",
            "evidence": "the audit",
            "start": 6,
            "end": 27,
            "words": "Costs doubled in 2024",
        }
        assert rows["Bob 1.1"]["status"] == rows["Bob 1.2"]["status"] == "answered"

    @pytest.mark.parametrize(
        ("written", "read", "counts"),
        [
            ("[concedes A1 1.1]", "attacks", "concedes"),  # in a word of its own
            ("[A1 1.1]", "concedes", "concedes"),  # an id alone says nothing
            ("A1 1.1", "attacks", "attacks"),  # named, and no more
            ("[A1 1.1]", "", "cites"),
        ],
    )
    def test_the_debaters_own_word_counts_before_the_analysts(
        self, written: str, read: str, counts: str
    ) -> None:
        row = build_claim("No", "B1", claim="No.", links=[build_link(read, "A1 1.1")] if read else [])
        at = extract(row | {"words": "Never ever"}, turns=TURNS | {"Ada": f"Never ever. {written}"}).play()
        assert list_links(at, "Ada", 1) == [f"{counts} Bob 1.1"]

    @pytest.mark.parametrize(
        "to", ["B1 1.1", "#3", "#9", "A1 1.9", "A1 2.1", "", None, ["#1"], {"a": 1}, "Cleo 1.1", "B1 1.2"]
    )
    def test_a_reference_to_nothing_or_to_what_was_not_read_is_dropped_and_counted(self, to: Any) -> None:
        wrong = build_claim("Costs doubled", links=[build_link("attacks", to)])
        at = extract(FREE, wrong, build_claim("Speed matters", "B1")).play()
        (extracted,) = at.debate.find_readings(Extracted)
        assert extracted.claims[1].links == ()
        assert extracted.unknown == 1

    @pytest.mark.parametrize("bad", ["attacks A1 1.1", {"relation": "likes", "to": "#1"}, {"to": "#1"}, None])
    def test_a_link_that_says_nothing_is_dropped_and_counted(self, bad: Any) -> None:
        at = extract(DOUBLED, build_claim("Speed matters", "B1", links=[bad])).play()
        (extracted,) = at.debate.find_readings(Extracted)
        assert (extracted.claims[1].links, extracted.unknown) == ((), 1)

    def test_turns_written_together_answer_nothing_of_each_other_and_may_claim_the_same(self) -> None:
        opened = simulation.build_setup(debaters=TEAM, options={"claims": "extracted"})
        rows = [DOUBLED, NOT_DOUBLED | {"same_as": ["#1"], "links": [build_link("supports", "#1")]}]
        script = simulation.task_script(
            {"argument": lambda call: TURNS[call.seat], "extraction": lambda _: {"claims": rows}}
        )
        at = simulation.simulate(opened, script).play_through_round(1)
        (extracted,) = at.debate.find_readings(Extracted)
        assert (extracted.claims[1].links, extracted.unknown) == ((), 1)
        assert extracted.claims[1].same_as == (Citation(seat="Bob", round=1, point=1),)
        assert "same_as Bob 1.1" in list_links(at, "Ada", 1)
        (agreed,) = build_graph(at.debate).find_agreement().items()
        accepted, by = agreed
        assert accepted == Citation(seat="Bob", round=1, point=1)
        assert [(link.source.seat, link.is_read) for link in by] == [("Ada", True)]

    def test_what_two_sides_claim_is_common_ground(self) -> None:
        turns = TURNS | {"Ada": "The bill is twice what it was. Speed matters."}
        at = extract(DOUBLED, build_claim("The bill is twice", "B1", same_as=["#1"]), turns=turns).play()
        assert build_verdict(at.debate).claims.common_ground == [
            f'[Bob 1.1] "{TURNS["Bob"]}" (claimed by Ada too, as the analyst reads it)'
        ]
        [link] = build_graph_data(at.debate)["links"]
        assert (link["relation"], link["according_to"]) == ("same_as", "analyst")

    @pytest.mark.parametrize(
        ("said", "read", "told"),
        [
            ("", {"same_as": ["#1"]}, "claimed by Ada too, as the analyst reads it"),
            ("", {"links": [build_link("concedes", "#1")]}, "accepted by Ada, as the analyst reads it"),
            (" [concedes A1 1.1]", {"same_as": ["#1"]}, "accepted by Ada"),
        ],
    )
    def test_who_accepts_a_point_is_told_from_who_is_read_so(
        self, said: str, read: dict[str, Any], told: str
    ) -> None:
        turns = TURNS | {"Ada": f"The bill is twice what it was.{said} Speed matters."}
        at = extract(DOUBLED, build_claim("The bill is twice", "B1", **read), turns=turns).play()
        (line,) = build_verdict(at.debate).claims.common_ground
        assert line.endswith(f" ({told})")
        (row,) = build_analysis(at.debate)["claims"]["common_ground"]
        names = ([], ["Ada"]) if "analyst" in told else (["Ada"], [])
        assert (row["accepted_by"], row["according_to_analyst"]) == names
        (link,) = build_graph_data(at.debate)["links"]
        assert link["according_to"] == ("analyst" if "analyst" in told else "debater")

    @pytest.mark.parametrize("same", ["#1", "A1 1.1", "A1 1.2"])
    def test_nobody_claims_the_same_as_itself(self, same: str) -> None:
        (extracted,) = extract(DOUBLED, FREE | {"same_as": [same]}).play().debate.find_readings(Extracted)
        assert (extracted.claims[1].same_as, extracted.unknown) == ((), 1)


class TestFailure:
    @pytest.mark.parametrize("bad", ["No claims.", '{"claims": "none"}', '{"claims": {"words": "x"}}', "[]x"])
    def test_the_debate_goes_on_with_the_debaters_own_points_and_says_so(self, bad: str) -> None:
        at = extract()
        at.script = simulation.task_script({"argument": lambda call: TURNS[call.seat], "extraction": bad})
        at.play()
        assert at.status == "concluded"
        assert [failure.cause for failure in at.debate.failures] == ["unreadable"] * 2
        assert ("analyst", "extraction", "failed") in [
            (row["seat"], row["task"], row["state"]) for row in list_tasks(at.debate)
        ]
        assert "The analyst did not read round 1: the points there are the debaters' own." in (
            build_verdict(at.debate).cautions
        )
        assert list_ids(at) == ["Bob 1.1", "Ada 1.1", "Ada 1.2"]
        assert build_analysis(at.debate)["extraction"]["unread_rounds"] == [1]

    def test_a_model_too_small_reads_nothing_and_that_is_said(self) -> None:
        at = extract()
        small = Reply("It says so.", simulation.build_usage("local"), informative=False)
        at.script = simulation.task_script({"extraction": small})
        at.play()
        assert [(one.informative, one.claims) for one in at.debate.find_readings(Extracted)] == [(False, ())]
        assert list_unread_rounds(at.debate) == [1]

    def test_nothing_is_said_where_it_was_read_or_nobody_was_to(self) -> None:
        for at in (extract(), extract(claims="asked")):
            cautions = build_verdict(at.play().debate).cautions
            assert not any("analyst" in caution for caution in cautions)
        assert "extraction" not in build_analysis(at.debate)

    def test_the_round_under_way_is_not_unread_yet(self) -> None:
        at = extract().play(until=lambda debate: len(debate.turns) == 1)
        assert list_unread_rounds(at.debate) == []
