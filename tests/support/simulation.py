"""Debates for tests of the core, played without an engine: a script replies, in any order of arrival."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Any, Self, TypeVar

from server.debate.ballots.convergence import build_measurement, list_round_ballots
from server.debate.commands.fork import fork as build_fork
from server.debate.commands.requests import ChangesInput, DebateRequest
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import open_debate
from server.debate.facts.answers import Usage
from server.debate.facts.causes import FailureCause
from server.debate.facts.escalation import MirrorOpened
from server.debate.facts.events import Event, PhaseEntered, Recorded, Resumed
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import Debater
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.debate.machine.decide import Ask, Over, Record, Wait, decide, status
from server.debate.machine.interpret import interpret
from server.debate.machine.render import render
from server.debate.machine.transitions import apply, replay
from server.debate.prompts.prompt import Prompt
from server.debate.replies.extract import Reply, build_failure
from server.debate.rules.budget import NO_ELAPSED_TIME
from server.debate.rules.caller_code import CallerCode, PromptFunction, TerminateWhen
from server.debate.rules.calls import Call, acceptable_slots, build_call, pending_calls
from server.debate.rules.escalation import Mirror, build_mirror_held, build_mirror_setup
from server.debate.seats.registry import name_task
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import label_debaters, side_labels
from server.debate.views.rounds import build_analysis
from server.debate.views.state import StoredDebate, sum_usage
from server.debate.views.verdict import build_result, build_verdict
from server.models.fakes.scripted import count_words

LINE_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Every character that `str.splitlines` splits at."""

QUESTION = "Should a small team write its own scheduler?"

ARGUED_FORMATS = [name for name, row in FORMATS.items() if not row.is_advice]
"""Those whose debaters argue for stances."""


@dataclass(frozen=True)
class ProviderFailure:
    """Returned by a script in place of a text: the provider fails."""

    cause: FailureCause
    detail: str = "no answer in time"


ScriptAnswer = str | ProviderFailure | Reply
Script = Callable[[Call], ScriptAnswer]
ArrivalOrder = Callable[[Sequence[Call]], Iterable[Call]]


def acceptable_calls(debate: Debate) -> tuple[Call, ...]:
    """The calls whose answers would be accepted now, due or not."""
    return tuple(build_call(debate, slot) for slot in acceptable_slots(debate))


def build_usage(model: str = "scripted", cost: str = "0.001") -> Usage:
    return Usage(model=model, input_tokens=100, cached_tokens=60, output_tokens=20, cost_usd=cost)


def render_finding(winner: Any = "A1", margin: Any = 2, **fields: Any) -> str:
    """A judge's reply as requested."""
    defaults = {"reasoning": "Costs were never answered.", "verdict": "It is not worth it."}
    return json.dumps({**defaults, "winner": winner, "margin": margin, **fields})


def build_ballot(
    choice: str | None, position: str = "Costs were never answered.", percent: int = 80
) -> dict[str, Any]:
    """A ballot as requested: this much belief in the choice and the rest in none, or all of it in none."""
    beliefs = {choice: percent, "none": 100 - percent} if choice else {"none": 100}
    return {"position": position, "beliefs": beliefs, "moved_by": None, "would_check": "The price."}


FIRST_DEBATERS = {"Proponent", "Speaker 1", "Zebulon", "Ada"}
"""Names of first debaters in the debates of the tests."""


def default_script(call: Call) -> ScriptAnswer:
    """Every seat replies as requested: debaters argue, judges and ballots choose A.

    The texts contain no names: tests of anonymity depend on it.
    """
    text = f"Argument {call.key.encode().hex()} of round {call.round}."
    data: dict[str, Any] = {
        "framing": {"kind": "yes_no", "positions": ["Write it", "Do not write it"], "assumption": ""},
        "judgment": json.loads(render_finding()),
        "message": {"to": "B1" if call.seat in FIRST_DEBATERS else "A1", "kind": "question", "text": text},
        "ballot": build_ballot("A1"),
        "opening": {"next_speakers": ["A1", "B1"], "briefing": None, "new_angle": None, "done": False},
        "closing": {"summary": f"So far {call.round}.", "status": "CONTINUE", "decision": ""},
        "comparison": {"groups": [[f"R{number}" for number in range(1, 30)]]},
        "observation": {"marks": []},
        "deliverable": {"result": "It is not worth it."},
    }
    task = name_task(call)
    return json.dumps(data[task]) if task in data else text


def judge_script(answers: dict[tuple[str, int], ScriptAnswer]) -> Script:
    """As `default_script`, with given replies of judges: {(judge, reading): reply}."""
    return lambda call: answers[call.seat, call.reading] if call.reading else default_script(call)


def task_script(answers: dict[str, Any], fallback: Script = default_script) -> Script:
    """As `default_script`, with given replies by task: a text, data, or a function of the call."""

    def script(call: Call) -> ScriptAnswer:
        task = name_task(call)
        if task not in answers:
            return fallback(call)
        answer = answers[task]
        answer = answer(call) if callable(answer) else answer
        return answer if isinstance(answer, str | ProviderFailure | Reply) else json.dumps(answer)

    return script


def build_request(**fields: Any) -> DebateRequest:
    """A request whose positions nobody has to name, and with little effort, unless its options say so."""
    given = fields.pop("options", {})
    options = {
        "framing": False,
        "effort": "quick",
        **(given if isinstance(given, dict) else given.model_dump(exclude_unset=True)),
    }
    asked = {"question": QUESTION, "format": "advocates", **fields, "options": options}
    return DebateRequest.model_validate(asked)


def build_setup(models: Sequence[str] = ("scripted",), seed: int = 7, **fields: Any) -> Opened:
    """A setup whose positions are labelled A1, B1 …: prompts are easier to read than with labels that are drawn."""
    return letter_positions(open_debate(build_request(**fields), models=models, seed=seed))


def letter_positions(opened: Opened) -> Opened:
    if opened.answering:
        return opened
    labels = tuple(f"{letter}1" for letter in ascii_uppercase[: len(opened.debaters)])
    return opened.model_copy(update={"labels": labels})


def label_positions(opened: Opened) -> Opened:
    """The setup with the labels that `open_debate` draws. Those of advisors are as opened."""
    if opened.answering:
        return opened
    return opened.model_copy(update={"labels": label_debaters(opened, opened.debaters)})


def build_debaters(count: int, **fields: str) -> list[dict[str, str]]:
    return [{"name": f"Speaker {n}", "stance": f"stance {n}", **fields} for n in range(1, count + 1)]


def replace_debaters(opened: Opened, *seats: Debater) -> Opened:
    """A setup that `open_debate` would refuse, but a journal may hold."""
    return letter_positions(opened.model_copy(update={"debaters": seats}))


def use_labels(debate: Debate, call: Call, text: str) -> str:
    """A reply in JSON with the labels that its prompt shows: scripts name sides by letter, whatever the reading."""
    labels = list(side_labels(debate, call.reading).values())
    letters = {
        f"{letter}{digit}": label
        for letter, label in zip(ascii_uppercase, labels, strict=False)
        for digit in ("", "1")
    }

    def translate(value: Any) -> Any:
        return letters.get(value, value) if isinstance(value, str) else value

    try:
        data = json.loads(text)
    except ValueError:
        return text
    if not isinstance(data, dict):
        return text
    for key in data.keys() & {"winner", "choice", "to", "holds"}:
        data[key] = translate(data[key])
    if isinstance(data.get("next_speakers"), list):
        data["next_speakers"] = [translate(name) for name in data["next_speakers"]]
    if isinstance(data.get("beliefs"), dict):
        data["beliefs"] = {translate(name): percent for name, percent in data["beliefs"].items()}
    return json.dumps(data)


MIRROR_ID = "m4k7q2x9w3pr"
E = TypeVar("E", bound=Event)


@dataclass
class DebateSimulation:
    """A debate in progress. As in the runner, each step is `decide`, `render`, `interpret`, `apply`."""

    debate: Debate
    script: Script = default_script
    arrival_order: ArrivalOrder = iter
    terminate_when: TerminateWhen | None = None
    prompt_functions: Mapping[str, PromptFunction] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    calls_made: list[tuple[Call, Prompt]] = field(default_factory=list)

    def add_events(self, *events: Event) -> Self:
        for event in events:
            self.debate = apply(self.debate, event)
            self.events.append(event)
        return self

    def answer(self, call: Call) -> Event:
        answer = self.script(call)
        if isinstance(answer, ProviderFailure):
            return build_failure(call, answer.cause, answer.detail)
        if call.task == "measurement":
            return self.measure(call)
        if isinstance(answer, str):
            answer = Reply(answer, build_usage(call.model))
        reply = replace(answer, text=use_labels(self.debate, call, answer.text))
        return interpret(self.debate, call, reply)

    def measure(self, call: Call) -> Event:
        """How alike positions are, by the words that they share."""
        ballots = list_round_ballots(self.debate)
        vectors = [count_words(ballot.position) for ballot in ballots]
        return build_measurement(self.debate, call.seen, ballots, vectors, build_usage(call.model))

    def step(self) -> bool:
        """Carry out the next decision. False if the debate waits or has ended."""
        match decide(self.debate, CallerCode(self.terminate_when, self.prompt_functions)):
            case Record(events):
                self.add_events(*events)
            case Ask(calls) as asking:
                calls = calls[: asking.max_in_flight]
                prompted = (call for call in calls if call.task != "measurement")
                self.calls_made += [(call, render(self.debate, call)) for call in prompted]
                for call in self.arrival_order(calls):
                    self.add_events(self.answer(call))
            case Wait() | Over() | Mirror():
                return False
        return True

    def play(self, until: Callable[[Debate], bool] = lambda _: False) -> Self:
        while not until(self.debate) and self.step():
            pass
        return self

    def play_mirror(self, script: Script) -> "DebateSimulation":
        """Hold the mirror that this debate asks for, and record what its judges found. The mirror is returned."""
        step = decide(self.debate)
        assert isinstance(step, Mirror), step
        opened = MirrorOpened(round=self.debate.round, debate_id=MIRROR_ID, because=step.because)
        self.add_events(opened)
        mirror = simulate(build_mirror_setup(self.debate, "k3x9w2m4p7qr", NO_ELAPSED_TIME), script).play()
        self.add_events(build_mirror_held(self.debate, MIRROR_ID, f"{3:064x}", mirror.debate))
        return mirror

    def play_on(self) -> Self:
        """Play to the end, going on without debaters who are never heard."""
        while (paused := self.play().debate.paused) and paused.cause == "unheard":
            self.add_events(Resumed())
        return self

    def play_through_round(self, round_number: int) -> Self:
        """Play until the round has all its answers."""
        return self.play(lambda debate: debate.round >= round_number and not self.pending_calls())

    def play_to_round(self, round_number: int) -> Self:
        """Play until the round is entered, before its first call."""
        return self.play(lambda debate: debate.round >= round_number)

    def pending_calls(self) -> tuple[Call, ...]:
        step = decide(self.debate, CallerCode(self.terminate_when, self.prompt_functions))
        return step.calls if isinstance(step, Ask) else ()

    def due_calls(self) -> tuple[Call, ...]:
        """Those of seats that are written by hand, too."""
        return pending_calls(self.debate)

    def intervene(self, action: str, **wish: Any) -> str:
        """Record an intervention; return the sentence that says when it takes effect."""
        made = build_intervention(self.debate, action, InterventionRequest(**wish))
        self.add_events(*made.events)
        return made.effect

    def fork(self, at_round: int, script: Script = default_script, **changes: Any) -> "DebateSimulation":
        """A fork at play. What it inherits counts as recorded of it."""
        wanted = ChangesInput.model_validate(changes)
        setup, past = build_fork("parent", self.debate, self.log, at_round, wanted)
        return DebateSimulation(replay([setup, *past]), script, events=[setup, *past])

    def before(self, kind: type[E]) -> tuple[Debate, E]:
        """The debate before the first fact of a kind, and that fact."""
        index, event = next((i, event) for i, event in enumerate(self.events) if isinstance(event, kind))
        return replay(self.events[:index]), event

    def prompts(self, seat: str) -> list[str]:
        return [render_prompt_text(prompt) for call, prompt in self.calls_made if call.seat == seat]

    @property
    def status(self) -> str:
        return status(self.debate)

    @property
    def log(self) -> tuple[Recorded, ...]:
        return tuple(
            Recorded(seq, f"2026-12-01T10:00:{seq:02}.000Z", "tester", f"{seq:064x}", event)
            for seq, event in enumerate(self.events, start=1)
        )

    def stored(self, debate_id: str = "d-1") -> StoredDebate:
        return StoredDebate(debate_id, self.debate, self.log)


def simulate(
    opened: Opened | None = None, script: Script = default_script, **options: Any
) -> DebateSimulation:
    """A debate that has just been opened, by default that of `build_setup`."""
    setup = opened or build_setup()
    return DebateSimulation(replay([setup]), script, events=[setup], **options)


def render_prompt_text(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)


def build_phase_entered(debate: Debate, phase: str, round_number: int | None = None) -> PhaseEntered:
    """The event of a round of that phase, in the declared order of seats."""
    participants = next((row.participants for row in debate.setup.phases if row.name == phase), "debaters")
    names = {"debaters": debate.names, "judges": judge_seats(debate.setup), "synthesizer": ("synthesizer",)}[
        participants
    ]
    return PhaseEntered(phase=phase, round=round_number or debate.round + 1, order=tuple(names))


def summarize_debate(debate: Debate) -> dict[str, Any]:
    """The outcome of a debate, independent of the order of arrival."""
    return {
        "result": build_result(debate),
        "verdict": build_verdict(debate).model_dump(),
        "analysis": build_analysis(debate),
        "usage": sum_usage(debate.usage),
    }


def nest_in_lists(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def build_reference_chain(length: int, build_link: Any) -> dict[str, Any]:
    """A schema of `length` definitions, each of which refers to the next."""
    links = {f"a{n}": build_link({"$ref": f"#/$defs/a{n + 1}"}) for n in range(length)}
    return {"$ref": "#/$defs/a0", "$defs": {**links, f"a{length}": {}}}
