"""Whether another prompt on the same model begins as that of a call does: beforehand, from the set-up."""

import pytest

from server.debate.commands.setup.documents import add_windows
from server.debate.facts.setup.limits import Window
from server.debate.replies.extract import Reply
from server.debate.rules.sharing import find_sharing
from tests.support.advisors import MODELS, begin_advice, open_advice
from tests.support.simulation import DebateSimulation, build_setup, build_usage, simulate

pytestmark = pytest.mark.requirement("N11")


def list_shared(at: DebateSimulation) -> dict[str, bool]:
    """Whether the prompt of each call that is due is shared, by task and model."""
    return {
        f"{call.task} {call.model}": find_sharing(at.debate, call).is_shared for call in at.pending_calls()
    }


def test_the_calls_of_a_second_opinion_that_read_the_documents_share_them_by_model() -> None:
    quick, standard = (begin_advice(open_advice(effort=effort)) for effort in ("quick", "standard"))

    assert list_shared(quick.play_to_round(1)) == {f"advice {MODELS[0]}": False, f"advice {MODELS[1]}": True}
    assert list_shared(standard.play_to_round(1)) == {
        f"advice {MODELS[0]}": True,
        f"advice {MODELS[1]}": True,
    }
    assert list_shared(standard.play_to_round(2)) == {
        f"review {MODELS[0]}": True,
        f"review {MODELS[1]}": True,
    }
    assert list_shared(standard.play_to_round(3)) == {f"report {MODELS[0]}": False}


def test_sections_of_a_long_document_are_read_once() -> None:
    documents = [{"title": "Book", "text": "All bridges are closed in winter. " * 4_000}]
    windows = [Window(model=model, tokens=8_000) for model in MODELS[:2]]
    opened = add_windows(open_advice(documents=documents), windows)

    assert set(list_shared(simulate(opened)).values()) == {False}


def test_a_transcript_is_shared_by_those_who_are_asked_together_or_later() -> None:
    def open_debate(judge: str) -> DebateSimulation:
        judges = {"models": [judge], "both_orders": False}
        options = {"ballots": "none", "judges": judges}
        return simulate(build_setup(models=("x/m", "y/m"), max_rounds=2, options=options))

    assert list_shared(open_debate("z/m").play_to_round(1)) == {"argument x/m": True, "argument y/m": True}
    assert list_shared(open_debate("z/m").play_to_round(2)) == {"argument x/m": False, "argument y/m": False}
    assert list_shared(open_debate("x/m").play_to_round(2)) == {"argument x/m": True, "argument y/m": False}
    assert list_shared(open_debate("z/m").play_to_round(3)) == {"judgment z/m": False}


def test_a_model_whose_reply_could_not_be_read_is_sent_the_schema_again() -> None:
    at = begin_advice(open_advice(effort="standard")).play_to_round(2)
    one, other = at.pending_calls()
    at.script = lambda _: Reply("Well, no.", build_usage(one.model))

    at.add_events(at.answer(one))

    assert [failure.cause for failure in at.debate.failures] == ["unreadable"]
    assert [find_sharing(at.debate, call).may_omit_schema for call in (one, other)] == [False, True]
