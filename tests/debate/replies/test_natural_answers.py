"""Answers as models give them that were offered no schema: what is clear is understood, what is not is asked again."""

from time import process_time
from typing import Any

import pytest

from server.debate.facts.events import Failed, Judged, RoundClosed
from server.debate.machine.interpret import interpret
from server.debate.replies.extract import Reply
from tests.support.simulation import (
    DebateSimulation,
    build_ballot,
    build_setup,
    build_usage,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C8")

DEBATERS = [
    {"name": "Ada Lovelace", "stance": "Keep the old scheduler"},
    {"name": "Ben", "stance": "Write a new one"},
    {"name": "Cleo", "stance": "Buy one"},
]
LABELS = ("K73", "W45", "M62")
NOBODY = ""
MADE = "a position made of the others"


def hold(**options: Any) -> DebateSimulation:
    opened = build_setup(debaters=DEBATERS, **options)
    return simulate(opened.model_copy(update={"labels": LABELS}), task_script({"ballot": build_ballot(None)}))


JUDGING = hold().play_to_round(3)
MODERATED = hold(format="settle").play(lambda debate: len(debate.turns) == len(DEBATERS))


def read(at: DebateSimulation, text: str) -> object:
    return interpret(at.debate, at.pending_calls()[0], Reply(text, build_usage()))


def find(text: str) -> tuple[str, int]:
    """(the winner's name, the margin); `MADE` for a synthesis."""
    event = read(JUDGING, text)
    assert isinstance(event, Judged), event
    return (MADE if event.recommendation else event.winner), event.margin


SOMEBODY_ELSE = '{"winner": "W45", "beliefs": {"W45": 99, "K73": 1}, "verdict": "W45."}'
OWN = '{"beliefs": {"K73": 80, "W45": 15, "M62": 5}, "winner": "K73", "verdict": "Costs."}'

FINDINGS = [
    # JSON, and what winners are called in it
    (OWN, "Ada Lovelace", 2),
    ('{"winner": "K73. Keep the old scheduler", "margin": 2}', "Ada Lovelace", 2),
    ('{"winner": "Option W45", "margin": 3}', "Ben", 3),
    ('{"winner": "W45 (Ben)", "margin": "margin: 1"}', "Ben", 1),
    ('{"winner": "Position M62: Buy one", "margin": "2 of 3"}', "Cleo", 2),
    ('{"winner": "the position of W45", "margin": 3}', "Ben", 3),
    ('{"winner": "None of the above", "verdict": "No."}', NOBODY, 0),
    ('{"winner": "both", "verdict": "Keep it, and buy what is missing."}', MADE, 0),
    ('{"winner": "synthesis", "verdict": "Keep it, and buy what is missing."}', MADE, 0),
    ('{"beliefs": {"K73": "70%", "W45": "20 %", "none": 10}}', "Ada Lovelace", 2),
    ('{"beliefs": {"K73": 0.9, "W45": 0.05, "M62": 0.05}}', "Ada Lovelace", 3),
    ('{"beliefs": {"K73": 45, "W45": 40, "M62": 15}}', "Ada Lovelace", 0),
    # where the JSON stands
    (f"The record quotes {SOMEBODY_ELSE}\nThat is not mine. Mine:\n{OWN}", "Ada Lovelace", 2),
    (f"One turn says:\n```json\n{SOMEBODY_ELSE}\n```\nI find otherwise.\n\n{OWN}", "Ada Lovelace", 2),
    (f"{OWN}\n\nNote: {{this}} is final.", "Ada Lovelace", 2),
    ('{\n  "winner": "K73",  // on costs\n  "margin": 2,\n}', "Ada Lovelace", 2),
    (
        '```json\n{"winner": "K73", /* narrowly */ "beliefs": {"K73": 60, "W45": 40,},}\n```',
        "Ada Lovelace",
        1,
    ),
    ('{"result": {"winner": "K73", "margin": 2}}', "Ada Lovelace", 2),
    # labelled lines
    ("Winner: K73\nMargin: 3\nVerdict: Costs were never answered.", "Ada Lovelace", 3),
    ("**Winner:** W45\n**Margin:** 1", "Ben", 1),
    ("## Winner\nK73\n## Reasoning\nCosts.", "Ada Lovelace", 1),
    ("1) REASONING: Costs. 2) WINNER: W45 3) MARGIN: 2", "Ben", 2),
    ("WINNER = K73; MARGIN = 2", "Ada Lovelace", 2),
    ("Winner\uff1aM62\nMargin\uff1a2", "Cleo", 2),
    ("FINAL VERDICT: K73", "Ada Lovelace", 1),
    ("Winner: none\nReasoning: It rests on facts outside.", NOBODY, 0),
    # nothing but the choice
    ("K73", "Ada Lovelace", 1),
    ("W45. Write a new one", "Ben", 1),
    ("Option M62.", "Cleo", 1),
    ("**W45 (Ben)**", "Ben", 1),
    ("Tie.", NOBODY, 0),
    ("Neither.", NOBODY, 0),
    # under other names, and after what was quoted or only thought
    ('{"decision": "W45", "confidence": 80}', "Ben", 1),
    ("Beliefs:\n- K73: 70%\n- W45: 20%\n- none: 10%", "Ada Lovelace", 2),
    ('> {"winner": "W45", "margin": 3}\nK73.', "Ada Lovelace", 1),
    ("> Winner: W45\n\nThe quotation is of Ben. Winner: K73", "Ada Lovelace", 1),
    ("<think>\nI find for W45 at first.\n</think>\nK73.", "Ada Lovelace", 1),
    ('The quotes say W45.</think>\n{"winner": "K73", "margin": 2}', "Ada Lovelace", 2),
]


def test_a_clear_answer_of_a_judge_is_understood() -> None:
    found = {text: find(text) for text, *_ in FINDINGS}
    assert found == {text: (winner, margin) for text, winner, margin in FINDINGS}


UNCLEAR = [
    ('{"winner": "K73, perhaps"}', "says more than a position"),
    ('{"verdict": "Costs were never answered."}', '"winner"'),
    ("Winner: K73 and W45", "names more than one position"),
    ("I find for K73.", "is prose"),
    ("{'winner': 'K73', 'margin': 2}", "is prose"),
    ("K73. Its costs were never answered.", "is prose"),
    ("K73?", "is prose"),
    ("Sieger ist W45.", "is prose"),
    ("判决\uff1aW45 胜出。", "is prose"),
    ("Winner: K73?", "says more than a position"),
    ('{"verdict": "W45 ignores the costs"}', 'no "winner"'),
    ("<think>\nI find for W45, and I am still thinking", "said nothing"),
]


@pytest.mark.parametrize(("text", "why"), UNCLEAR)
@pytest.mark.requirement("D3")
def test_an_unclear_answer_of_a_judge_is_never_guessed_at(text: str, why: str) -> None:
    event = read(JUDGING, text)
    assert isinstance(event, Failed), event
    assert event.cause in ("unreadable", "empty")
    assert why in event.detail


CLOSINGS = [
    ('{"summary": "Costs are open.", "status": "CONTINUE"}', False, ""),
    ('```json\n{"summary": "Agreed.", "status": "SETTLED", "decision": "Buy."}\n```\nThanks!', True, "Buy."),
    ("SUMMARY: Costs.\nSTATUS: CONTINUE\nDECISION:", False, ""),
    ("Summary: Agreed.\nStatus: Settled\nDecision: Buy.", True, "Buy."),
    ("1) SUMMARY: Agreed. 2) STATUS: SETTLED 3) DECISION: Buy.", True, "Buy."),
    ("SUMMARY: Agreed. STATUS=SETTLED DECISION=Buy.", True, "Buy."),
    ("**Summary:** Agreed.\n\n**Status:** **SETTLED**\n\n**Final decision:** Buy.", True, "Buy."),
    ("## Summary\nAgreed.\n\n## Status\nSETTLED\n\n## FINAL DECISION\nBuy.", True, "Buy."),
    ("SUMMARY\uff1aAgreed.\nSTATUS\uff1aSETTLED\nFINAL DECISION\uff1aBuy.", True, "Buy."),
    ("Both agree on costs.\n\nStatus: not settled", False, ""),
    ("Summary - Costs.\nStatus - CONTINUE", False, ""),
    ("The summary is long.\nSTATUS: SETTLED\nDECISION: Buy.", True, "Buy."),
    ('{"summary": "Agreed.", "status": "settled", "decision": "Buy.",}', True, "Buy."),
    ('> {"status": "SETTLED", "decision": "Mine!"}\n{"summary": "Costs.", "status": "continue"}', False, ""),
    ("SUMMARY: one said STATUS: SETTLED DECISION: Mine!\nSTATUS: CONTINUE\nDECISION: none", False, "none"),
    ("> STATUS: SETTLED\n> DECISION: Mine!\n\nSUMMARY: Open.\nSTATUS: CONTINUE", False, ""),
    ("| Summary | Agreed. |\n| Status | SETTLED |\n| Decision | Buy. |", True, "Buy."),
    ("Summary\n=======\nAgreed.\n\nStatus\n======\nSettled\n\nDecision\n========\nBuy.", True, "Buy."),
    ("The status is CONTINUE. Summary: costs are open.", False, ""),
    ("Status: \u2705 SETTLED\nSummary: Agreed.\nFinal decision: Buy.", True, "Buy."),
    ("<think>SETTLED?</think>SUMMARY: Open. STATUS: CONTINUE", False, ""),
    ('{"Status": "SETTLED", "Final Decision": "Buy.", "SUMMARY": "Agreed."}', True, "Buy."),
    ('{"summary": "Agreed.", "settled": true, "decision": "Buy."}', True, "Buy."),
    ('{"summary": "Open.", "settled": false}', False, ""),
]


@pytest.mark.parametrize(("text", "is_settled", "decision"), CLOSINGS)
def test_a_clear_closing_of_a_moderator_is_understood(text: str, is_settled: bool, decision: str) -> None:
    event = read(MODERATED, text)
    assert isinstance(event, RoundClosed), event
    assert (event.settled, event.decision) == (is_settled, decision)
    assert event.summary


MEGABYTE = 1_000_000
RUBBISH = {
    "braces": "{",
    "fences": "```",
    "blanks": " ",
    "lines": "\n",
    "quotes": '"',
    "escaped quotes": '\\"',
    "comments": "/*",
    "headings": "winner ",
    "numbered headings": "1) ",
    "marks": "**",
    "dashes": "- ",
    "labels": "K73 ",
    "praise": "K73 has been ",
    "nots": "not ",
    "findings": "I find for ",
    "objects": '{"winner":',
    "empty objects": '{"a":1}',
    "parentheses": "K73 (",
    "colons": "\uff1a",
}


@pytest.mark.parametrize("piece", RUBBISH.values(), ids=RUBBISH)
def test_a_megabyte_of_rubbish_is_read_in_no_time(piece: str) -> None:
    text = piece * (MEGABYTE // len(piece)) + "x"
    for at in (JUDGING, MODERATED):
        call = at.pending_calls()[0]
        started = process_time()
        interpret(at.debate, call, Reply(text, build_usage()))
        assert (
            process_time() - started < 5
        )  # 0.05 s on an idle machine; what grows with the square takes minutes
