"""For inspect_ai (the extra `inspect`): the solver `debate`, and the task `counterpoint_questions` with it.

inspect_ai imports this module at its start, whatever it evaluates: what is ours is imported when a sample is solved,
so that a `server` of another project stays what it is.
"""

from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ModelOutput
from inspect_ai.scorer import choice
from inspect_ai.solver import Generate, Solver, TaskState, solver

from counterpoint import put_code_first_on_path

if TYPE_CHECKING:
    from server.debate.facts.setup.options import EffortLevel
    from server.evaluation.single import Finding

__all__ = ["counterpoint_questions", "debate"]

MODEL_NAME = "counterpoint"


@solver
def debate(
    models: str | list[str] | None = None,
    judges: str | list[str] | None = None,
    format: str = "second_opinion",  # noqa: A002  (the name that it has everywhere)
    effort: "EffortLevel | None" = None,
    rounds: int = 0,
    seed: int = 1,
) -> Solver:
    """Hold a debate on a sample: its input is the question, and each of its choices the position of a debater.

    The rounds and the verdict become messages. The winner is the choice, as with `multiple_choice`; without a winner
    none is. `outcome`, `confidence`, `debate_id`, `calls` and `cost_usd` (a decimal as text; None: unknown) stand in
    the sample's metadata. An identical debate of an earlier run is read, not paid for again; each epoch has its own.

    models, judges: of Counterpoint, not of inspect_ai; by default those of its settings.
    rounds: 0 for the format's.
    seed: another one asks anew.

    Raises, when a sample is solved:
        InvalidRequestError: a model, the format, the question or the choices are not possible.
        DebateStoppedError: the debate could not go on, as with a model that is down.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  (inspect_ai's signature)
        put_code_first_on_path()
        from server.evaluation.plan import Plan  # noqa: PLC0415
        from server.evaluation.questions import Question  # noqa: PLC0415
        from server.evaluation.single import hold_debate  # noqa: PLC0415
        from server.settings import Settings  # noqa: PLC0415

        options = tuple(option.value for option in state.choices)
        question = Question(str(state.sample_id), state.input_text, options, answer=0)
        names, judging = list_names(models), list_names(judges)
        plan = Plan(names, judging, (format,), rounds, seed + state.epoch - 1, effort, votes=False)
        found = await hold_debate(Settings.read(), plan, question)
        write_finding(state, found)
        return state

    return solve


def write_finding(state: TaskState, found: "Finding") -> None:
    """Put what was found into the sample: its choice, messages, output and metadata."""
    for index in range(len(state.choices)):
        state.choices.mark_choice(index, index == found.chosen)
    letter = "none" if found.chosen is None else ascii_uppercase[found.chosen]
    state.messages += [ChatMessageAssistant(content=text, model=MODEL_NAME) for text in found.rounds]
    state.output = ModelOutput.from_content(MODEL_NAME, f"{found.verdict}\n\nANSWER: {letter}")
    state.messages.append(state.output.message)
    state.metadata |= {
        "outcome": found.outcome,
        "confidence": found.confidence,
        "debate_id": found.debate_id,
        "calls": found.calls,
        "cost_usd": None if found.cost_usd is None else f"{found.cost_usd:f}",
    }


@task
def counterpoint_questions(
    path: str,
    models: str | list[str] | None = None,
    judges: str | list[str] | None = None,
    format: str = "second_opinion",  # noqa: A002
    effort: "EffortLevel | None" = None,
    rounds: int = 0,
    seed: int = 1,
) -> Task:
    """The questions of a file for `counterpoint evaluate`, each debated. The other arguments are those of `debate`.

    Raises:
        InvalidRequestError: something is wrong with a line of the file; the text has its number.
    """
    put_code_first_on_path()
    from server.evaluation.questions import parse_questions  # noqa: PLC0415

    samples = [
        Sample(
            id=question.id,
            input=question.text,
            choices=list(question.options),
            target=ascii_uppercase[question.answer],
        )
        for question in parse_questions(Path(path).read_bytes())
    ]
    return Task(
        dataset=MemoryDataset(samples, name=Path(path).stem, location=path),
        solver=debate(models, judges, format, effort, rounds, seed),
        scorer=choice(),
    )


def list_names(given: Any) -> tuple[str, ...]:
    """One name, several, or none."""
    return (given,) if isinstance(given, str) else tuple(given or ())
