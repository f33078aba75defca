"""What the verdict says of points, the graph as data, and as drawings."""

import json
from collections import Counter
from typing import Any

import pytest

from server.debate.analysis.claims import build_analysis, build_graph_data
from server.debate.facts.interventions import TurnRetracted
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_verdict
from server.debate.views.verdict import build_verdict
from tests.support.simulation import DebateSimulation, build_setup, default_script, simulate

pytestmark = pytest.mark.requirement("D25", "D27")

DOCUMENTS = [{"title": "Costs", "text": "It costs a hundred a month, as the bill says."}]

TURNS = {
    (
        "Proponent",
        1,
    ): "[1] It pays. “It costs a hundred a month” (doc 1).\n[2 value] Safety first.\n[3] It is easy.",
    ("Opponent", 1): "[1] It costs (doc 1).\n[2 forecast] It fails.",
    ("Proponent", 2): "[1] No: [attacks B1 1.1].\n[2] True, [concedes B1 1.2]. [B1 9.9]",
    (
        "Opponent",
        2,
    ): "[1] Not so [attacks A1 1.1].\n[2] Easy is no reason [undercuts A1 1.3], and [supports A1 1.2].",
    ("Proponent", 3): "[1] It does pay [attacks B1 2.1].",
    ("Opponent", 3): "[1] Again [attacks A1 2.1].",
}


def argue(**fields: Any) -> DebateSimulation:
    """A debate of three rounds for Proponent, whose judge cites two points."""

    def script(call: Call) -> str:
        if call.task == "judgment":
            found = {
                "winner": "A",
                "cited": ["A1 1.1", "A1 2.1", "B1 1.1"],
                "would_change": "The bill. [A1 1.1]",
            }
            return json.dumps(json.loads(str(default_script(call))) | found)
        return TURNS.get((call.seat, call.round)) or str(default_script(call))

    options = {"judges": {"both_orders": False}, **fields.pop("options", {})}
    return simulate(build_setup(max_rounds=3, documents=DOCUMENTS, options=options, **fields), script).play()


def test_the_verdict_says_what_it_hangs_on_and_what_speaks_against_it() -> None:
    debate = argue().debate
    claims = build_verdict(debate).claims
    assert (claims.total, claims.open_attacks, claims.late_attacks) == (11, 3, 2)
    told = "- 11 points, 3 attacks never answered, 2 of them too late for an answer"
    assert told in render_verdict(debate)
    assert (claims.checked_quotes, claims.failed_quotes) == (1, 0)
    assert claims.hangs_on[0].startswith('[Proponent 1.1] "It pays.')
    assert [line.rpartition("(")[2] for line in claims.hangs_on] == ["cited in 1 of 1 reading)"] * 2
    easy = "Easy is no reason [undercuts Proponent 1.3], and [supports Proponent 1.2]."
    assert claims.against == [
        f'[Opponent 2.2] "{easy}" undercuts [Proponent 1.3], never answered',
        '[Opponent 3.1] "Again [attacks Proponent 2.1]." attacks [Proponent 2.1], too late for an answer',
    ]
    assert claims.common_ground == [
        '[Proponent 1.2] "Safety first." (accepted by Opponent)',
        '[Opponent 1.2] "It fails." (accepted by Proponent)',
    ]


def test_points_have_the_marks_of_the_server_behind_their_quotes_wherever_they_are_shown() -> None:
    costs = "\u201ca hundred a month\u201d (doc 1)"
    said = f"[1] It says {costs} and {costs.replace('hundred', 'thousand')}. [checked]\n[2] More."

    def script(call: Call) -> str:
        if call.task == "judgment":
            return json.dumps(json.loads(str(default_script(call))) | {"cited": ["A1 1.1"]})
        return said if (call.task, call.seat) == ("argument", "Proponent") else str(default_script(call))

    debate = simulate(build_setup(documents=DOCUMENTS), script).play().debate
    shown = f"It says {costs} [checked] and {costs.replace('hundred', 'thousand')} [not found in doc 1]. (checked)"
    in_a_line = shown.translate({0x201C: "'", 0x201D: "'"})
    assert build_verdict(debate).claims.hangs_on[0].startswith(f'[Proponent 1.1] "{in_a_line}"')
    assert shown in [point["text"] for point in build_graph_data(debate)["points"]]


def test_between_the_positions_are_disputes_attacks_shared_sources_and_what_would_settle_it() -> None:
    between = build_verdict(argue().debate).claims.between
    assert between[0] == 'in dispute: [Opponent 1.1] "It costs (doc 1)." (1 attack)'
    assert between[2:] == [
        "Proponent and Opponent: 5 attacks, 3 never answered",
        "doc 1 is cited by Opponent, Proponent",
        'would settle it, says judge 1: "The bill. [Proponent 1.1]"',
    ]


def test_the_analysis_counts_what_became_of_points_and_what_was_dropped() -> None:
    found = build_analysis(argue().debate)
    assert found["statuses"] == {"conceded": 2, "unanswered": 2, "answered": 5, "late": 2}
    assert found["statuses"] == dict(
        Counter(row["status"] for row in build_graph_data(argue().debate)["points"])
    )
    assert found["unknown_citations"] == 1
    attack = {"from": "Opponent 2.2", "to": "Proponent 1.3", "relation": "undercuts"}
    assert found["open_attacks"] == [attack | {"according_to": "debater"}]
    late = [(row["from"], row["to"]) for row in found["late_attacks"]]
    assert late == [("Proponent 3.1", "Opponent 2.1"), ("Opponent 3.1", "Proponent 2.1")]
    concession = {"from": "Proponent 2.2", "to": "Opponent 1.2", "relation": "concedes"}
    assert found["conceded"] == [concession | {"according_to": "debater"}]
    assert found["contradictions"] == [{"between": ["Proponent", "Opponent"], "attacks": 5, "open": 3}]
    cruxes = {"Proponent 1.1", "Proponent 1.3", "Proponent 2.1", "Opponent 1.1", "Opponent 2.1"}
    assert {row["point"] for row in found["cruxes"]} == cruxes


def test_a_retracted_turn_takes_its_points_out_of_the_graph() -> None:
    at = argue(format="verdict", options={"phases": ["argumentation", "verdict"]})
    points = {row["id"] for row in build_graph_data(at.debate)["points"]}
    assert "Opponent 1.1" in points
    again = simulate(at.debate.setup, at.script).play_to_round(2)
    again.add_events(TurnRetracted(seat="Opponent", turn_round=1, slot_index=0)).play()
    data = build_graph_data(again.debate)
    assert not [row for row in data["points"] if row["id"].startswith("Opponent 1.")]
    assert not [row for row in data["links"] if row["to"].startswith("Opponent 1.")]


def test_what_moved_a_voter_of_another_side_was_conceded_in_private() -> None:
    def script(call: Call) -> str:
        if call.task == "ballot":
            given = {
                "beliefs": {"A": 20, "B": 70, "none": 10},
                "moved_by": "[B1 1.1]",
                "would_check": "The bill.",
            }
            return json.dumps(given)
        return TURNS.get((call.seat, call.round)) or str(default_script(call))

    debate = simulate(build_setup(options={"ballots": "blind"}), script).play().debate
    assert build_analysis(debate)["conceded_in_private"] == [
        {"point": "Opponent 1.1", "by": "Proponent", "holds": "Opponent"}
    ]
    claims = build_verdict(debate).claims
    assert "in private all debaters hold Opponent's position the likeliest" in claims.common_ground


def test_without_cited_points_it_hangs_on_those_of_the_winner() -> None:
    claims = build_verdict(simulate().play().debate).claims
    assert claims.total == 4
    assert [line.rpartition("(")[2] for line in claims.hangs_on] == ["unanswered)", "too late for an answer)"]


def test_a_verdict_for_nobody_hangs_on_nothing() -> None:
    def script(call: Call) -> str:
        finding = {"winner": None, "verdict": "Open.", "beliefs": {"A": 40, "B": 40, "none": 20}}
        return json.dumps(finding) if call.task == "judgment" else str(default_script(call))

    claims = build_verdict(simulate(build_setup(), script).play().debate).claims
    assert (claims.hangs_on, claims.against, claims.total) == ([], [], 4)


def test_a_reading_against_it_speaks_against_it() -> None:
    setup = build_setup(
        options={"judges": {"models": ["scripted"] * 3, "both_orders": False}, "voting": {"kind": "majority"}}
    )

    def script(call: Call) -> str:
        if call.task != "judgment":
            return str(default_script(call))
        side = "B" if call.seat == "judge 3" else "A"
        return json.dumps(
            {"winner": side, "cited": [f"{side}1 1.1"], "verdict": "So.", "beliefs": {side: 90, "none": 10}}
        )

    claims = build_verdict(simulate(setup, script).play().debate).claims
    assert claims.hangs_on[0].endswith("(cited in 2 of 2 readings)")
    assert claims.against[0].endswith("(cited in 1 reading against it)")


def test_hidden_debaters_and_judges_stay_hidden() -> None:
    at = argue(options={"visibility": {"hide_from_client": ["debaters", "judges"]}})
    claims = build_verdict(at.debate).claims
    assert (claims.total, claims.hangs_on, claims.between) == (0, [], [])
    assert build_graph_data(at.debate)["points"] == []
