"""What advisors wrote, as people read it while a debate runs."""

import pytest

from server.debate.facts.advice import Advised, Checked, Exchanged, Reported
from server.debate.views.advice import describe_advice
from tests.support.advisors import open_advice, play_advice
from tests.support.panels import APART, NOBODY

pytestmark = pytest.mark.requirement("N28", "N32")


def test_advice_in_short_says_what_is_advised_and_leaves_out_what_stands_at_the_end() -> None:
    divided = play_advice(
        open_advice(effort="assured"), blind="AB", finals=APART, exchange=[NOBODY, NOBODY]
    ).debate
    assert {Exchanged, Reported, Checked} <= {type(event) for event in divided.advice}
    for event in divided.advice:
        title, short = describe_advice(divided, event, is_short=True)
        whole_title, whole = describe_advice(divided, event)
        assert title == whole_title
        assert set(short.splitlines()) <= set(whole.splitlines())
        assert getattr(event, "recommendation", "") in short
    texts = [
        (describe_advice(divided, event)[1], describe_advice(divided, event, is_short=True)[1])
        for event in divided.advice
    ]
    assert sum(whole != short for whole, short in texts) > 1


@pytest.mark.parametrize("is_short", [False, True])
def test_a_quote_of_a_document_is_marked_once_in_every_text(is_short: bool) -> None:
    words = "The queue is idle on most days"
    told = f"Keep it: \u201c{words}\u201d (doc 1)."
    replies = {"advice": {"recommendation": told, "probability": 90}, "report": f"{told}\n\nSo it is."}
    setup = open_advice(documents=[{"title": "Report", "text": f"{words} of the week."}])
    played = play_advice(setup, replies=replies).debate
    texts = [
        describe_advice(played, event, is_short=is_short)[1]
        for event in played.advice
        if isinstance(event, Advised | Reported)
    ]
    assert len(texts) > 2
    for text in texts:
        assert text.startswith(f"Keep it: \u201c{words}\u201d (doc 1) [checked].")
        assert text.count("checked") == 1
