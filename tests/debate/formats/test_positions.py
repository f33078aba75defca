"""What a debate is about: positions that are named by a model."""

from collections.abc import Sequence
from typing import Any

import pytest

from server.debate.commands.setup.estimate import estimate
from server.debate.commands.setup.open import open_debate
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import PositionsFramed, Resumed
from server.debate.facts.setup.limits import Price
from server.debate.machine.transitions import apply, replay
from server.debate.replies.extract import Reply
from server.debate.rules.budget import compute_spending
from server.debate.state.debate import Debate
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import list_tasks
from server.debate.views.state import build_state, framing_line
from server.debate.views.verdict import build_verdict
from server.debate.views.warnings import list_setup_warnings, list_verdict_warnings
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    build_debaters,
    build_request,
    build_setup,
    build_usage,
    render_finding,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N24")

DATABASES = ["Use PostgreSQL with an outbox table", "Use Kafka", "Use EventStoreDB"]
OFFERED = ["PostgreSQL", "Kafka", "Redis"]  # the last one is not in the question, and counts for nothing
WHICH = "Which database should we use for events?"


def answer(
    *positions: str, kind: str = "open", assumption: str = "", alternatives: Sequence[str] = ()
) -> dict[str, Any]:
    given = {"alternatives": list(alternatives), "positions": list(positions)}
    return {"kind": kind, **given, "assumption": assumption}


def frame(
    said: Any, question: str = WHICH, models: tuple[str, ...] = ("m",), **fields: Any
) -> DebateSimulation:
    """A debate whose framer says this, up to the first round."""
    options = {"framing": True, **fields.pop("options", {})}
    opened = build_setup(models, question=question, options=options, **fields)
    return simulate(opened, task_script({"framing": said})).play(lambda debate: bool(debate.rounds))


def stances(at: DebateSimulation) -> list[str]:
    return [debater.stance for debater in at.debate.setup.debaters]


def framer_prompts(at: DebateSimulation) -> list[str]:
    """What the framer read who named the positions, without the answers before it."""
    return [render_prompt_text(prompt) for call, prompt in at.calls_made if call.task == "framing"]


def kinds(at: DebateSimulation) -> list[str]:
    return [event.kind for event in at.events]


class TestQuestions:
    def test_an_open_question_is_debated_between_answers_and_never_for_and_against(self) -> None:
        at = frame(answer(*DATABASES), models=("x", "y")).play()

        assert stances(at) == DATABASES
        assert at.debate.names == ("Debater 1", "Debater 2", "Debater 3")
        assert [debater.model for debater in at.debate.setup.debaters] == ["x", "y", "x"]
        assert {turn.seat for turn in at.debate.turns} == set(at.debate.names)
        assert build_verdict(at.debate).winner_stance in DATABASES
        for seat in (*at.debate.names, "judge 1"):
            for prompt in at.prompts(seat):
                assert all(stance in prompt for stance in DATABASES)

    def test_a_yes_or_no_question_is_debated_between_what_each_side_recommends(self) -> None:
        at = frame(answer("Ship on Friday", "Do not ship on Friday", kind="yes_no"), "Ship on Friday?")

        assert [(d.name, d.stance) for d in at.debate.setup.debaters] == [
            ("Proponent", "Ship on Friday"),
            ("Opponent", "Do not ship on Friday"),
        ]

    def test_what_the_question_leaves_open_is_taken_for_given_by_every_seat(self) -> None:
        at = frame(answer(*DATABASES, assumption="A team of five, 1,000 events a second.")).play()

        for seat in ("Debater 1", "judge 1"):
            assert "> A team of five, 1,000 events a second." in at.prompts(seat)[0]
        assert "1,000 events" in framing_line(at.debate.setup)

    @pytest.mark.parametrize("said", ["yes/no", "Yes-No", "YES_NO", "binary"])
    def test_the_kind_may_be_written_in_other_ways(self, said: str) -> None:
        assert stances(frame(answer("Ship", "Do not ship", kind=said))) == ["Ship", "Do not ship"]

    def test_the_framer_reads_question_and_documents_and_no_positions(self) -> None:
        documents = [{"title": "Load", "text": "Nine events a day."}]
        at = frame(answer(*DATABASES), documents=documents)
        tasks = [(call.seat, call.round, call.task) for call, _ in at.calls_made]
        (prompt,) = framer_prompts(at)

        assert tasks == [("framer", 0, "blind_answer"), ("framer", 0, "framing")]
        assert WHICH in prompt
        assert "> Nine events a day." in prompt
        assert "# Positions" not in prompt
        assert "> for" not in prompt

    def test_a_neutral_seat_of_the_format_stays(self) -> None:
        at = frame(answer(*DATABASES), format="handoff").play()

        assert at.debate.names == ("Debater 1", "Debater 2", "Debater 3", "Neutral")
        assert stances(at)[-1] == "neutral"
        assert at.status == "concluded"

    @pytest.mark.parametrize("format_name", ["verdict", "settle", "round_robin", "oxford", "full"])
    def test_positions_are_named_in_every_format(self, format_name: str) -> None:
        at = frame(answer(*DATABASES), format=format_name).play()

        assert stances(at) == DATABASES
        assert at.status == "concluded"


class TestWhoAsks:
    def test_nobody_is_asked_where_debaters_are_named(self) -> None:
        at = simulate(build_setup(debaters=build_debaters(2), options={"framing": True})).play_to_round(1)

        assert kinds(at) == ["opened", "phase_entered"]
        assert framing_line(at.debate.setup) == ""

    def test_nobody_is_asked_where_framing_is_off(self) -> None:
        at = simulate(build_setup(options={"framing": False})).play_to_round(1)

        assert stances(at) == ["for", "against"]
        assert list_setup_warnings(at.debate.setup, 2) == []

    @pytest.mark.parametrize("models", [("local",), ("caller",), ("caller", "local")])
    def test_a_model_that_cannot_is_not_asked_and_that_is_said(self, models: tuple[str, ...]) -> None:
        opened = build_setup(models, options={"framing": True})

        assert opened.framer is None
        (warning, *_) = list_setup_warnings(opened, 2)
        assert warning.startswith('The positions are "for" and "against": no model here names them')
        assert framing_line(opened) == warning
        assert warning in list_verdict_warnings(simulate(opened).debate)

    def test_a_larger_model_beside_it_is_asked(self) -> None:
        opened = build_setup(("caller", "x", "y"), options={"framing": True})
        assert opened.framer is not None
        assert opened.framer.model == "x"

        judged = build_setup(("local",), options={"framing": True, "judges": {"models": ["z"]}})
        assert judged.framer is not None
        assert judged.framer.model == "z"


class TestBlindAnswers:
    def play(self, *models: str, **answers: Any) -> DebateSimulation:
        said = {
            "blind_answer": lambda call: f"{call.model} says so.",
            "framing": answer(*DATABASES),
            **answers,
        }
        opened = build_setup(models, question=WHICH, options={"framing": True})
        return simulate(opened, task_script(said)).play()

    def test_positions_are_made_of_what_models_answered_apart(self) -> None:
        at = self.play("x", "y")
        asked = [(call, render_prompt_text(prompt)) for call, prompt in at.calls_made]
        blind = [(call.model, text) for call, text in asked if call.task == "blind_answer"]

        assert [model for model, _ in blind] == ["x", "y"]
        assert all("Answer the question yourself" in text for _, text in blind)
        assert not any("says so" in text or "# Positions" in text for _, text in blind)
        assert "[1]\n> x says so.\n[2]\n> y says so." in framer_prompts(at)[0]
        assert "what the answers advise, each once" in framer_prompts(at)[0]
        later = [text for call, text in asked if call.task not in ("blind_answer", "framing")]
        assert later
        assert not any("says so" in text for text in later)

    def test_three_models_are_asked_at_most(self) -> None:
        at = self.play(*"vwxyz")
        assert [answer.usage.model for answer in at.debate.blind_answers] == ["v", "w", "x"]

    def test_people_read_them_before_the_first_round(self) -> None:
        at = self.play("x", "y")
        shown = render_transcript(at.debate, at.log)
        assert "### Answer of x, before positions were named\n\n> x says so." in shown

    def test_a_model_that_gives_none_is_done_without(self) -> None:
        at = self.play(
            "x", "y", blind_answer=lambda call: ProviderFailure("timeout") if call.model == "x" else "Kafka."
        )
        assert at.status == "concluded"
        assert "[1]\n> Kafka." in framer_prompts(at)[0]

        failed = next(task for task in list_tasks(at.debate) if task["state"] == "failed")
        assert (failed["task"], failed["model"]) == ("blind_answer", "x")

    def test_without_any_the_framer_names_what_somebody_informed_would_answer(self) -> None:
        at = self.play("x", blind_answer="")
        assert stances(at) == DATABASES
        assert "what somebody informed would advise and act on" in framer_prompts(at)[0]
        assert "# Answers" not in framer_prompts(at)[0]

    def test_a_finding_that_hangs_on_what_is_assumed_says_if(self) -> None:
        assumed = "A team of five."
        at = self.play(
            "x", framing=answer(*DATABASES, assumption=assumed), judgment=lambda _: render_finding()
        )
        lines = build_verdict(at.debate).answer
        assert lines.assumed == assumed
        assert lines.head.endswith(", if what is assumed holds")
        assert 'begin the verdict and the recommendation with "if"' in at.prompts("judge 1")[0]

        plain = self.play("x")
        assert "if what is assumed" not in build_verdict(plain.debate).answer.head
        assert "Taken for given" not in plain.prompts("judge 1")[0]


class TestBadAnswers:
    @pytest.mark.parametrize(
        ("said", "problem"),
        [
            ("Postgres, I think.", "no JSON object"),
            (answer("Use Kafka"), "2 to 5 are wanted for open, and there are 1"),
            (answer(*"abcdef"), "2 to 5 are wanted for open, and there are 6"),
            (answer(*DATABASES, kind="yes_no"), "the yes and the no are wanted for yes_no, and there are 3"),
            (answer("Use Kafka", " use  KAFKA "), "two of them are the same"),
            (answer("Use Kafka", " "), "must not be empty"),
            (answer("Use Kafka", "Use Redis", kind="maybe"), '"kind" must be yes_no or open'),
            (
                answer("Use files", "Use no files", kind="yes_no", alternatives=OFFERED),
                'asks to choose among "postgresql", "kafka": kind is open',
            ),
            (answer("for", "against", alternatives=OFFERED), "none of them is an answer that the question"),
        ],
    )
    def test_one_is_asked_for_again_once_with_what_was_wrong(self, said: Any, problem: str) -> None:
        answers = [said, answer(*DATABASES, alternatives=OFFERED)]
        at = frame(lambda _: answers.pop(0), "Which database for events: PostgreSQL, Kafka?")

        assert problem in framer_prompts(at)[1]
        assert stances(at) == DATABASES

    def test_two_pause_the_debate_with_how_to_name_positions(self) -> None:
        at = frame("Postgres, I think.")

        assert len(framer_prompts(at)) == 2
        assert at.debate.paused is not None
        assert "could not be named (" in at.debate.paused.reason
        assert "start another debate with debaters=[{name, stance}, …]" in at.debate.paused.reason
        assert at.debate.rounds == ()

    def test_a_model_is_asked_again_when_the_debate_is_resumed(self) -> None:
        answers = ["Postgres.", "Kafka.", answer(*DATABASES)]
        at = frame(lambda _: answers.pop(0)).add_events(Resumed()).play()

        assert stances(at) == DATABASES
        assert at.status == "concluded"

    @pytest.mark.parametrize("cause", ["timeout", "late", "unauthorized", "refused"])
    def test_a_model_that_fails_pauses_the_debate(self, cause: Any) -> None:
        assert kinds(frame(ProviderFailure(cause)))[1:] == ["answered_blind", "failed", "paused"]

    def test_a_model_that_is_too_small_names_no_positions(self) -> None:
        said = Reply('{"kind": "open", "positions": ["a", "b"]}', build_usage(), informative=False)

        assert frame(said).status == "paused"


class TestRecord:
    def test_the_call_is_counted_estimated_and_listed(self) -> None:
        at = frame(answer(*DATABASES))
        without = build_setup(debaters=build_debaters(3))

        assert compute_spending(at.debate).calls == 2
        assert estimate(at.debate).calls == estimate(Debate(without)).calls + 2
        blind, task, *_ = list_tasks(at.debate)
        assert (blind["seat"], blind["task"], blind["state"]) == ("framer", "blind_answer", "done")
        assert (task["seat"], task["task"], task["state"], task["phase"]) == ("framer", "framing", "done", "")

    def test_a_failed_call_is_listed_as_one(self) -> None:
        _, task, *_ = list_tasks(frame(ProviderFailure("timeout")).debate)
        assert (task["seat"], task["task"], task["state"]) == ("framer", "framing", "failed")

    def test_a_budget_without_room_for_it_is_refused(self) -> None:
        limits = {"limits": {"max_calls": 4}}  # two speakers, and two readings of the judge

        assert build_setup(options=limits).limits.max_calls == 4
        with pytest.raises(InvalidRequestError, match="do not allow one round"):
            build_setup(options={**limits, "framing": True})

    @pytest.mark.parametrize(("max_calls", "most"), [(6, 2), (7, 3), (8, 4), (9, 5), (10, 5)])
    def test_there_are_no_more_positions_than_the_budget_can_have_argued(
        self, max_calls: int, most: int
    ) -> None:
        at = frame(answer(*"abcde"[:most]), options={"limits": {"max_calls": max_calls}}).play()

        assert len(at.debate.round_turns(1)) == most
        assert at.debate.verdict is not None
        assert f"open has 2{f' to {most}' if most > 2 else ''} positions" in framer_prompts(at)[0]

        beyond = frame(answer(*"abcdef"[: most + 1]), options={"limits": {"max_calls": max_calls}})
        assert len(framer_prompts(beyond)) == 2

    def test_prices_of_all_models_that_may_get_a_seat_are_kept(self) -> None:
        request = build_request(options={"framing": True})
        opened = open_debate(request, models="xyzw", seed=1, find_price=lambda name: Price(model=name))

        assert {price.model for price in opened.prices} == {*"xyzw"}

    def test_state_and_transcript_show_nobody_before_and_everybody_after(self) -> None:
        at = simulate(build_setup(question=WHICH, options={"framing": True}))
        before = build_state(at.stored())
        assert before["debaters"] == []
        assert "**Proponent**" not in render_transcript(at.debate, at.log)

        at = frame(answer(*DATABASES))
        after = build_state(at.stored())
        assert [debater["stance"] for debater in after["debaters"]] == DATABASES
        assert after["framing"] == "The question was read as an open question."
        assert '- **Debater 2**: "Use Kafka"' in render_transcript(at.debate, at.log)

    def test_what_the_models_could_not_have_named_is_refused(self) -> None:
        at = frame(answer(*DATABASES))
        opened, blind, framed = at.events[:3]
        assert isinstance(framed, PositionsFramed)
        stranger = framed.debaters[0].model_copy(update={"name": "Judge"})
        for changes in (
            {"debaters": (stranger, *framed.debaters[1:])},
            {"debaters": framed.debaters[:1], "labels": framed.labels[:1]},
            {"labels": framed.labels[:2]},
            {"question_kind": "yes_no"},
        ):
            with pytest.raises(IllegalEvent, match="not the seats of this debate"):
                apply(replay([opened, blind]), framed.model_copy(update=changes))

    def test_positions_are_named_once(self) -> None:
        at = frame(answer(*DATABASES))
        with pytest.raises(IllegalEvent, match="is open for it"):
            apply(replay(at.events[:3]), at.events[2].model_copy(update={"seen": 3}))


class TestForks:
    @pytest.mark.parametrize("at_round", [0, 1])
    def test_a_fork_inherits_positions_and_asks_nobody_again(self, at_round: int) -> None:
        at = frame(answer(*DATABASES, assumption="Five people.")).play_through_round(1)
        forked = at.fork(at_round).play()

        assert stances(forked) == DATABASES
        assert framer_prompts(forked) == []
        assert forked.debate.framed is None
        assert "> Five people." in forked.prompts("judge 1")[0]
        assert framing_line(forked.debate.setup) == framing_line(at.debate.setup)

    def test_a_fork_does_without_the_first_try_to_name_the_positions(self) -> None:
        said = iter(["Postgres.", answer(*DATABASES)])
        opened = build_setup(("m",), question=WHICH, options={"framing": True})
        at = simulate(opened, task_script({"framing": lambda _: next(said)})).play_through_round(1)
        assert "failed" in kinds(at)
        assert "failed" not in kinds(at.fork(1))

    def test_a_fork_of_a_debate_that_could_not_be_framed_asks_anew(self) -> None:
        forked = frame("Postgres.").fork(0)

        assert forked.debate.setup.needs_framing
        assert forked.debate.failures == ()

    def test_a_fork_with_stances_of_its_own_needs_nobody_to_name_them(self) -> None:
        at = simulate(build_setup(question=WHICH, options={"framing": True}))

        assert stances(at.fork(0, stances={"Proponent": "Use Kafka", "Opponent": "Use Redis"}).play()) == [
            "Use Kafka",
            "Use Redis",
        ]


class TestInterventions:
    @pytest.mark.parametrize("action", ["inject", "challenge", "instruct"])
    def test_nobody_can_be_addressed_before_who_debates_is_known(self, action: str) -> None:
        at = simulate(build_setup(options={"framing": True}))

        with pytest.raises(InvalidRequestError, match="is not known before the positions are named"):
            at.intervene(action, text="Mind the costs.", to="Proponent")
        assert at.intervene(action, text="Mind the costs.")

    def test_weights_of_debaters_wait_for_them_too(self) -> None:
        at = simulate(build_setup(options={"framing": True, "phases": ["opening", "voting"]}))

        with pytest.raises(InvalidRequestError, match="is not known before"):
            at.intervene("weights", weights={"Proponent": "2"})

    def test_the_framer_s_model_can_be_replaced_as_long_as_it_is_asked(self) -> None:
        at = simulate(build_setup(options={"framing": True}))
        at.intervene("replace_model", to="framer", model="better")
        assert at.pending_calls()[0].model == "scripted"  # whose answer is wanted
        at.play(lambda debate: bool(debate.blind_answers))
        assert at.pending_calls()[0].model == "better"

        at.play_to_round(1)
        with pytest.raises(InvalidRequestError, match="Nobody here is called 'framer'"):
            at.intervene("replace_model", to="framer", model="better")

    def test_a_caller_who_takes_the_seat_names_them(self) -> None:
        at = simulate(build_setup(options={"framing": True}))
        at.intervene("replace_model", to="framer", model="caller")

        assert at.status == "running"  # models answer the question first
        assert at.play().status == "waiting"
