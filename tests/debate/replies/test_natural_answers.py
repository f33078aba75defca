"""Answers as models give them that were offered no schema: what is clear is understood, what is not is asked again."""

from time import process_time
from typing import Any

import pytest

from server.debate.facts.events import Failed, Judged, RoundClosed
from server.debate.replies.extract import Reply
from server.debate.replies.interpret import interpret
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
LABELS = ("Sorrel", "Walnut", "Medlar")
NOBODY = ""
MADE = "a position made of the others"


def hold(**options: Any) -> DebateSimulation:
    opened = build_setup(debaters=DEBATERS, **options)
    return simulate(opened.model_copy(update={"labels": LABELS}), task_script({"ballot": build_ballot(None)}))


JUDGING = hold().play_to_round(3)
VOTING = hold(options={"phases": ["opening", "voting"]}).play_to_round(2)
MODERATED = hold(format="settle").play(lambda debate: len(debate.turns) == len(DEBATERS))


def read(at: DebateSimulation, text: str) -> object:
    return interpret(at.debate, at.pending_calls()[0], Reply(text, build_usage()))


def find(text: str) -> tuple[str, int]:
    """(the winner's name, the margin); `MADE` for a synthesis."""
    event = read(JUDGING, text)
    assert isinstance(event, Judged), event
    return (MADE if event.common_position else event.winner), event.margin


SOMEBODY_ELSE = '{"winner": "Walnut", "beliefs": {"Walnut": 99, "Sorrel": 1}, "verdict": "Walnut."}'
OWN = '{"beliefs": {"Sorrel": 80, "Walnut": 15, "Medlar": 5}, "winner": "Sorrel", "verdict": "Costs."}'

FINDINGS = [
    # JSON, and what winners are called in it
    (OWN, "Ada Lovelace", 2),
    ('{"winner": "Sorrel. Keep the old scheduler", "margin": 2}', "Ada Lovelace", 2),
    ('{"winner": "Option Walnut", "margin": 3}', "Ben", 3),
    ('{"winner": "Walnut (Ben)", "margin": "margin: 1"}', "Ben", 1),
    ('{"winner": "Position Medlar: Buy one", "margin": "2 of 3"}', "Cleo", 2),
    ('{"winner": "the position of Walnut", "margin": 3}', "Ben", 3),
    ('{"winner": "**Sorrel**", "margin": 2}', "Ada Lovelace", 2),
    ('{"winner": "Write a new one", "margin": 2}', "Ben", 2),
    ('{"winner": "tie", "margin": 0}', NOBODY, 0),
    ('{"winner": "neither", "verdict": "No."}', NOBODY, 0),
    ('{"winner": "None of the above", "verdict": "No."}', NOBODY, 0),
    ('{"winner": "both", "verdict": "Keep it, and buy what is missing."}', MADE, 1),
    ('{"winner": "synthesis", "verdict": "Keep it, and buy what is missing."}', MADE, 1),
    ('{"beliefs": {"Sorrel": "70%", "Walnut": "20 %", "none": 10}}', "Ada Lovelace", 2),
    ('{"beliefs": {"Sorrel": 0.9, "Walnut": 0.05, "Medlar": 0.05}}', "Ada Lovelace", 3),
    ('{"beliefs": {"Sorrel": 45, "Walnut": 40, "Medlar": 15}}', NOBODY, 0),
    # where the JSON stands
    (f"```json\n{OWN}\n```\nI hope this helps!", "Ada Lovelace", 2),
    (f"The record quotes {SOMEBODY_ELSE}\nThat is not mine. Mine:\n{OWN}", "Ada Lovelace", 2),
    (f"One turn says:\n```json\n{SOMEBODY_ELSE}\n```\nI find otherwise.\n\n{OWN}", "Ada Lovelace", 2),
    (f"{OWN}\n\nNote: {{this}} is final.", "Ada Lovelace", 2),
    ('{\n  "winner": "Sorrel",  // on costs\n  "margin": 2,\n}', "Ada Lovelace", 2),
    (
        '```json\n{"winner": "Sorrel", /* narrowly */ "beliefs": {"Sorrel": 60, "Walnut": 40,},}\n```',
        "Ada Lovelace",
        1,
    ),
    ('{"result": {"winner": "Sorrel", "margin": 2}}', "Ada Lovelace", 2),
    ('{"Winner": "Sorrel", "Margin": 2, "Verdict": "Costs."}', "Ada Lovelace", 2),
    # labelled lines
    ("Winner: Sorrel\nMargin: 3\nVerdict: Costs were never answered.", "Ada Lovelace", 3),
    ("**Winner:** Walnut\n**Margin:** 1", "Ben", 1),
    ("## Winner\nSorrel\n## Reasoning\nCosts.", "Ada Lovelace", 1),
    ("1) REASONING: Costs. 2) WINNER: Walnut 3) MARGIN: 2", "Ben", 2),
    ("WINNER = Sorrel; MARGIN = 2", "Ada Lovelace", 2),
    ("Winner\uff1aMedlar\nMargin\uff1a2", "Cleo", 2),
    ("FINAL VERDICT: Sorrel", "Ada Lovelace", 1),
    ("Winner: none\nReasoning: It rests on facts outside.", NOBODY, 0),
    # nothing but the choice
    ("Sorrel", "Ada Lovelace", 1),
    ("Walnut. Write a new one", "Ben", 1),
    ("Option Medlar.", "Cleo", 1),
    ("**Walnut (Ben)**", "Ben", 1),
    ("Tie.", NOBODY, 0),
    ("Neither.", NOBODY, 0),
    # under other names, and after what was quoted or only thought
    ('{"decision": "Walnut", "confidence": 80}', "Ben", 1),
    ("Beliefs:\n- Sorrel: 70%\n- Walnut: 20%\n- none: 10%", "Ada Lovelace", 2),
    ('> {"winner": "Walnut", "margin": 3}\nSorrel.', "Ada Lovelace", 1),
    ("> Winner: Walnut\n\nThe quotation is of Ben. Winner: Sorrel", "Ada Lovelace", 1),
    ("<think>\nI find for Walnut at first.\n</think>\nSorrel.", "Ada Lovelace", 1),
    ('The quotes say Walnut.</think>\n{"winner": "Sorrel", "margin": 2}', "Ada Lovelace", 2),
]


def test_a_clear_answer_of_a_judge_is_understood() -> None:
    found = {text: find(text) for text, *_ in FINDINGS}
    assert found == {text: (winner, margin) for text, winner, margin in FINDINGS}


UNCLEAR = [
    ('{"winner": "Sorrel or Walnut"}', "names more than one position"),
    ('{"winner": "not Sorrel"}', "says more than a position"),
    ('{"winner": "Sorrel, perhaps"}', "says more than a position"),
    ('{"winner": "Hazel"}', "names no position"),
    ('{"winner": ["Sorrel", "Walnut"]}', "names more than one position"),
    ('{"winner": "Sorrel", "beliefs": {"Sorrel": 20, "Walnut": 70}}', "the beliefs are highest for Walnut"),
    ('{"verdict": "Costs were never answered."}', '"winner"'),
    ("Winner: Sorrel and Walnut", "names more than one position"),
    ("I find for Sorrel.", "is prose"),
    ("{'winner': 'Sorrel', 'margin': 2}", "is prose"),
    ("I do not find for Sorrel.", "is prose"),
    ("Sorrel. Its costs were never answered.", "is prose"),
    ("Not Sorrel.", "is prose"),
    ("Sorrel or Walnut?", "is prose"),
    ("Sorrel?", "is prose"),
    ("Sieger ist Walnut.", "is prose"),
    ("判决\uff1aWalnut 胜出。", "is prose"),
    ("Sorrel " * 1_000, "is prose"),
    ("Winner: Sorrel?", "says more than a position"),
    ('{"verdict": "Walnut ignores the costs"}', 'no "winner"'),
    ("<think>\nI find for Walnut, and I am still thinking", "said nothing"),
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


@pytest.mark.parametrize(
    "text",
    [
        "All agree.",
        "STATUS: perhaps\nSUMMARY: Costs.",
        "STATUS: SETTLED\nSUMMARY: Agreed.",
        '{"summary": "Agreed.", "status": "done"}',
        '```json\n["SETTLED"]\n```',
    ],
)
def test_an_unclear_closing_is_asked_again(text: str) -> None:
    assert isinstance(read(MODERATED, text), Failed)


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
    "labels": "Sorrel ",
    "praise": "Sorrel has been ",
    "nots": "not ",
    "findings": "I find for ",
    "objects": '{"winner":',
    "empty objects": '{"a":1}',
    "parentheses": "Sorrel (",
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
