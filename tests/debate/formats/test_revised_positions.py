"""Positions confirmed in other words, and equal ones that are refused."""

from typing import Any

import pytest

from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Event
from server.debate.facts.interventions import PositionsRevised
from server.debate.interventions.action import Intervention, InterventionRequest
from server.debate.interventions.positions import DeclinePositions, PositionsDeclined, RevisePositions
from server.debate.machine.transitions import apply
from server.debate.views.warnings import list_setup_warnings
from tests.support.simulation import DebateSimulation, build_setup, simulate, task_script

pytestmark = pytest.mark.requirement("N24")

DATABASES = ["Use PostgreSQL with an outbox table", "Use Kafka", "Use EventStoreDB"]
WHICH = "Which database should we use for events?"


def answer(*positions: str, kind: str = "open", assumption: str = "") -> dict[str, Any]:
    return {"kind": kind, "positions": list(positions), "assumption": assumption}


def stances(at: DebateSimulation) -> list[str]:
    return [debater.stance for debater in at.debate.setup.debaters]


class TestOtherWords:
    def revise(self, at: DebateSimulation, **stances: str) -> list[Event]:
        given = {name.replace("_", " "): stance for name, stance in stances.items()}
        return list(RevisePositions().take(at.debate, InterventionRequest(stances=given)).events)

    def framed(self) -> DebateSimulation:
        at = simulate(
            build_setup(question=WHICH, options={"framing": True}),
            task_script({"framing": answer(*DATABASES)}),
        )
        return at.play(lambda debate: debate.framed is not None)

    def test_they_are_what_is_debated(self) -> None:
        at = self.framed()
        at.add_events(*self.revise(at, Debater_2="Use NATS JetStream", Debater_3="")).play()

        assert stances(at) == [DATABASES[0], "Use NATS JetStream", DATABASES[2]]
        (made,) = at.debate.find_interventions(PositionsRevised)
        assert RevisePositions().describe(made) == ("", "Debater 2: Use NATS JetStream")
        assert "Use Kafka" not in "\n".join(at.prompts("Debater 1") + at.prompts("judge 1"))

    def test_the_labels_occur_in_none_of_them(self) -> None:
        at = self.framed()
        first, *_ = at.debate.setup.labels
        at.add_events(*self.revise(at, Debater_1=f"Use {first}"))

        assert first not in at.debate.setup.labels

    def test_the_same_words_are_no_fact(self) -> None:
        assert self.revise(self.framed(), Debater_2="Use Kafka") == []

    def test_what_is_too_long_is_refused(self) -> None:
        with pytest.raises(InvalidRequestError, match="501"):
            self.revise(self.framed(), Debater_1="x" * 501)

    def test_they_come_too_late_in_the_first_round(self) -> None:
        at = self.framed().play_to_round(1)

        with pytest.raises(InvalidRequestError, match="the first round has begun"):
            self.revise(at, Debater_1="Use NATS")
        with pytest.raises(IllegalEvent, match="no positions wait"):
            apply(at.debate, PositionsRevised(stances=(), labels=at.debate.setup.labels))

    def test_a_record_with_impossible_ones_is_refused(self) -> None:
        at = self.framed()
        (event,) = self.revise(at, Debater_1="Use NATS")
        assert isinstance(event, PositionsRevised)
        stranger = event.stances[0].model_copy(update={"debater": "Zoe"})
        empty = event.stances[0].model_copy(update={"stance": ""})
        for changes in ({"stances": (stranger,)}, {"stances": (empty,)}, {"labels": ("x", "x", "x")}):
            with pytest.raises(IllegalEvent):
                apply(at.debate, event.model_copy(update=changes))


class TestDeclined:
    def framed(self, *, run: bool = True) -> DebateSimulation:
        asked = build_setup(question=WHICH, options={"framing": True}, run=run)
        at = simulate(asked, task_script({"framing": answer(*DATABASES)}))
        return at.play(lambda debate: debate.framed is not None)

    def decline(self, at: DebateSimulation) -> Intervention:
        return DeclinePositions().take(at.debate, InterventionRequest())

    def test_the_debate_is_left_to_whoever_steps_it(self) -> None:
        at = self.framed()
        at.add_events(*self.decline(at).events)

        assert not at.debate.is_unattended
        assert at.fork(0, run=True).debate.setup.run
        assert at.play().status == "concluded"  # by somebody who steps it

    def test_it_is_possible_before_the_first_round_of_a_debate_that_runs(self) -> None:
        for at in (self.framed(run=False), self.framed().play_to_round(1)):
            with pytest.raises(InvalidRequestError, match="its first round has begun"):
                self.decline(at)
            with pytest.raises(IllegalEvent, match="nobody runs it"):
                apply(at.debate, PositionsDeclined())


class TestSameStance:
    @pytest.mark.parametrize("second", ["Ship it", "ship  IT", " SHIP\nit "])
    def test_it_is_held_with_a_warning(self, second: str) -> None:
        who = [{"name": "Ada", "stance": "Ship it"}, {"name": "Bob", "stance": second}]

        warnings = list_setup_warnings(build_setup(debaters=who), family_count=2)
        assert 'Ada and Bob stand for the same: "' in " ".join(warnings)

    def test_equal_roles_are_no_equal_stances(self) -> None:
        who = [{"name": name, "role": "engineer"} for name in ("Ada", "Bob")]

        setup = build_setup(format="round_robin", debaters=who)
        assert not any("stand for the same" in warning for warning in list_setup_warnings(setup, 2))
