"""The options of `debate` and `fork`, and the requests that are built from them."""

import json
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from pydantic import BaseModel, ValidationError

from server.debate.commands.formats import FORMATS, PHASES
from server.debate.commands.requests import ChangesInput, DebateRequest, LimitsInput
from server.debate.facts.config import HandoffMode, Order

Decorator = Callable[[Any], Any]
InputModel = TypeVar("InputModel", bound=BaseModel)

TIMEOUT_RANGE = click.IntRange(1, 3600)
DOLLAR_AMOUNT = click.FloatRange(0, min_open=True)
READABLE_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def combine_options(*options: Decorator) -> Decorator:
    """One decorator that adds several options; the help shows them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


SEAT_OPTIONS = combine_options(
    click.option("--model", "models", multiple=True, help="Given to the debaters in turn. Repeatable."),
    click.option("--judge-model", "judge_models", multiple=True, help="Repeatable: each is one judge."),
    click.option("--judges", type=click.IntRange(1, 9), help="How many judges."),
    click.option(
        "--document",
        "documents",
        multiple=True,
        type=READABLE_FILE,
        help="A text file that all seats read. Repeatable.",
    ),
    click.option("--instructions", help="For every seat without its own prompt."),
    click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Repeats the random choices of orders."),
)
"""Options of `debate` and `fork`."""

PROCEDURE_OPTIONS = combine_options(
    click.option(
        "--phase",
        "phases",
        multiple=True,
        help=f"Replaces the format's phases. Repeatable: {', '.join(PHASES)}.",
    ),
    click.option(
        "--moderator", type=click.Choice(["opens", "closes", "both"]), help="What the moderator does."
    ),
    click.option("--tools", multiple=True, metavar="SERVER", help="Research servers for the moderator."),
    click.option("--referee", is_flag=True, help="A referee audits the arguments of each round."),
    click.option("--speaking", type=click.Choice(get_args(Order)), help="Who speaks when."),
    click.option(
        "--handoff", type=click.Choice(get_args(HandoffMode)), help="How speakers name the next one."
    ),
    click.option("--output-schema", type=READABLE_FILE, help="A file with the JSON Schema of the result."),
)
"""The procedure of a debate."""

LIMIT_OPTIONS = combine_options(
    click.option(
        "--timeout", "turn_timeout", type=TIMEOUT_RANGE, metavar="SECONDS", help="Limit of one reply."
    ),
    click.option("--round-timeout", type=TIMEOUT_RANGE, metavar="SECONDS", help="Limit of a round."),
    click.option("--max-seconds", type=click.IntRange(1), metavar="SECONDS", help="Limit of the debate."),
    click.option("--max-turns", type=click.IntRange(1, 1000), help="Turns in all rounds of talk."),
    click.option("--max-calls", type=click.IntRange(1), help="Requests to models, retries included."),
    click.option("--max-cost-usd", type=DOLLAR_AMOUNT, metavar="DOLLARS", help="Cost of all replies."),
    click.option(
        "--on-budget", type=click.Choice(["conclude", "pause"]), help="When a limit is reached.  [conclude]"
    ),
)
"""Limits of a debate, named as in `options.limits`."""

FAILURE_OPTIONS = combine_options(
    click.option(
        "--fallback-model", "fallback_models", multiple=True, help="Replaces a model that fails. Repeatable."
    ),
    click.option(
        "--quorum", type=click.IntRange(1, 26), help="Debaters that a round needs, or the debate pauses.  [2]"
    ),
)

OUTPUT_OPTIONS = combine_options(
    click.option("--json", "as_json", is_flag=True, help="Print only the result, as one JSON object."),
    click.option("--quiet", is_flag=True, help="Print only the verdict."),
)

FORMAT_OPTION = click.option(
    "--format", type=click.Choice(list(FORMATS)), default="second_opinion", show_default=True
)


def debaters_option(description: str, default_help: str = "") -> Decorator:
    text = f'{description}; "NAME=MODEL: STANCE" also sets its model. Repeatable. {default_help}'.rstrip()
    return click.option("--debater", "debaters", multiple=True, metavar='"NAME: STANCE"', help=text)


def build_debate_request(
    question: str, documents: tuple[Path, ...], debaters: tuple[str, ...], **option_values: Any
) -> DebateRequest:
    """Raises click.UsageError for invalid values; the manager rejects what cannot be debated."""
    return validate_input(
        DebateRequest,
        {
            "question": question,
            "format": option_values["format"],
            "debaters": [parse_debater(text) for text in debaters],
            "documents": read_documents(documents),
            "models": list(option_values["models"]),
            "max_rounds": option_values["rounds"] or 0,
            "options": build_options(**option_values),
            "run": True,
        },
    )


def build_options(**option_values: Any) -> dict[str, Any]:
    """The given options of a request."""
    names = ["instructions", "seed", "speaking", "handoff", "referee", "phases", "fallback_models", "quorum"]
    given: dict[str, Any] = {name: option_values[name] for name in names if option_values[name]}
    given["limits"] = {name: value for name in LimitsInput.model_fields if (value := option_values.get(name))}
    if judges := build_judges(**option_values):
        given["judges"] = judges
    tools = list(option_values["tools"])
    if duty := option_values["moderator"] or ("opens" if tools else ""):
        given["moderator"] = {"opens": duty != "closes", "closes": duty != "opens", "tools": tools}
    if option_values["output_schema"]:
        given["output_schema"] = read_schema(option_values["output_schema"])
    return given


def build_fork_changes(
    debater_names: Sequence[str], models: Sequence[str], debaters: Sequence[str], **option_values: Any
) -> ChangesInput:
    """The changes of a fork. Raises click.UsageError for invalid values."""
    changed = [parse_debater(text) for text in debaters]
    new_models = dict(zip(debater_names, cycle(models), strict=False))
    given = {
        name: option_values[name] for name in ("moderator", "instructions", "seed") if option_values[name]
    }
    if judges := build_judges(**option_values):
        given["judges"] = judges
    return validate_input(
        ChangesInput,
        {
            **given,
            "models": new_models | {row["name"]: row["model"] for row in changed if row["model"]},
            "stances": {row["name"]: row["stance"] for row in changed},
            "documents": read_documents(option_values["documents"]),
            "max_rounds": option_values["rounds"] or 0,
            "run": True,
        },
    )


def validate_input(input_type: type[InputModel], data: dict[str, Any]) -> InputModel:
    try:
        return input_type.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise click.UsageError(f"{' '.join(str(part) for part in first['loc'])}: {first['msg']}.") from None


def build_judges(judges: int | None, judge_models: Sequence[str], **_other_values: Any) -> dict[str, Any]:
    return {"count": judges or 0, "models": list(judge_models)} if judges or judge_models else {}


def parse_debater(text: str) -> dict[str, str]:
    # A model's name may contain a colon; the one before the stance is followed by a space.
    head, colon, stance = text.partition(": ") if ": " in text else text.partition(":")
    name, _, model = head.partition("=")
    if not (colon and name.strip() and stance.strip()):
        raise click.UsageError(f'--debater {text!r}: write "NAME: STANCE" or "NAME=MODEL: STANCE".')
    return {"name": name.strip(), "model": model.strip(), "stance": stance.strip()}


def read_documents(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [{"title": path.name, "text": read_text_file(path)} for path in paths]


def read_schema(path: Path) -> Any:
    try:
        return json.loads(read_text_file(path, "--output-schema"))
    except ValueError as error:
        raise click.UsageError(f"--output-schema {path}: {error}.") from None


def read_text_file(path: Path, option: str = "--document") -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise click.UsageError(f"{option} {path}: not a readable text file in UTF-8.") from None
