"""What is asked for on the command line: options, and what they come to as a proposal or a fork's changes."""

import json
from collections.abc import Callable, Sequence
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
    """Several options as one, in the order in which the help shows them."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


SEAT_OPTIONS = combine_options(
    click.option("--model", "models", multiple=True, help="Handed out to the debaters in turn. Repeatable."),
    click.option("--judge-model", "judge_models", multiple=True, help="Repeatable: each is one judge."),
    click.option("--judges", type=click.IntRange(1, 9), help="How many judges."),
    click.option(
        "--document",
        "documents",
        multiple=True,
        type=READABLE_FILE,
        help="A text file for everybody to read. Repeatable.",
    ),
    click.option("--instructions", help="For every seat that has no prompt of its own."),
    click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Draws the same orders again."),
)
"""What a debate and a fork can both be asked for."""

PROCEDURE_OPTIONS = combine_options(
    click.option("--phase", "phases", multiple=True, help=f"In place of the format's: {', '.join(PHASES)}."),
    click.option("--moderator", type=click.Choice(["opens", "closes", "both"]), help="What one does."),
    click.option("--tools", multiple=True, metavar="SERVER", help="Research servers for the moderator."),
    click.option("--referee", is_flag=True, help="Somebody audits the arguments of each round."),
    click.option("--speaking", type=click.Choice(get_args(Order)), help="Who speaks when."),
    click.option("--handoff", type=click.Choice(get_args(HandoffMode)), help="How a hand-off is read."),
    click.option(
        "--output-schema", type=READABLE_FILE, help="A JSON Schema that the result is put into the shape of."
    ),
)
"""How a debate goes."""

LIMIT_OPTIONS = combine_options(
    click.option("--timeout", "turn_timeout", type=TIMEOUT_RANGE, metavar="SECONDS", help="For an answer."),
    click.option("--round-timeout", type=TIMEOUT_RANGE, metavar="SECONDS", help="For a round."),
    click.option("--max-seconds", type=click.IntRange(1), metavar="SECONDS", help="For the whole debate."),
    click.option("--max-turns", type=click.IntRange(1, 1000), help="Of the whole talk."),
    click.option("--max-calls", type=click.IntRange(1), help="Requests to models, retries included."),
    click.option("--max-cost-usd", type=DOLLAR_AMOUNT, metavar="DOLLARS", help="For all answers."),
    click.option(
        "--on-budget", type=click.Choice(["conclude", "pause"]), help="When it is spent.  [conclude]"
    ),
)
"""What a debate may take. Each parameter is named as in `options.limits`."""

FAILURE_OPTIONS = combine_options(
    click.option("--fallback-model", "fallback_models", multiple=True, help="For seats whose model fails."),
    click.option("--quorum", type=click.IntRange(1, 26), help="Debaters a round needs, or it pauses.  [2]"),
)

OUTPUT_OPTIONS = combine_options(
    click.option("--json", "as_json", is_flag=True, help="Only the outcome, as one JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="Only the verdict."),
)

FORMAT_OPTION = click.option(
    "--format", type=click.Choice(list(FORMATS)), default="second_opinion", show_default=True
)


def debaters_option(description: str, default_help: str = "") -> Decorator:
    told = f'{description}; "NAME=MODEL: STANCE" also names its model. Repeatable. {default_help}'.rstrip()
    return click.option("--debater", "debaters", multiple=True, metavar='"NAME: STANCE"', help=told)


def build_debate_request(
    question: str, documents: tuple[Path, ...], debaters: tuple[str, ...], **option_values: Any
) -> DebateRequest:
    """Raises click.UsageError for what cannot be understood; what cannot be debated, the hall refuses."""
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
    """The options of a proposal: those that were given."""
    simple = (
        "instructions",
        "seed",
        "speaking",
        "handoff",
        "referee",
        "phases",
        "fallback_models",
        "quorum",
    )
    given = {name: option_values[name] for name in simple if option_values[name]}
    given["limits"] = {
        name: option_values[name] for name in LimitsInput.model_fields if option_values.get(name)
    }
    if judges := build_judges(**option_values):
        given["judges"] = judges
    if does := option_values["moderator"] or ("opens" if option_values["tools"] else ""):
        opens, closes = does in ("opens", "both"), does in ("closes", "both")
        given["moderator"] = {"opens": opens, "closes": closes, "tools": list(option_values["tools"])}
    if option_values["output_schema"]:
        given["output_schema"] = read_schema(option_values["output_schema"])
    return given


def build_fork_changes(
    debater_names: Sequence[str], models: Sequence[str], debaters: Sequence[str], **option_values: Any
) -> ChangesInput:
    """What a fork is to do otherwise. Raises click.UsageError for what cannot be understood."""
    moved = [parse_debater(text) for text in debaters]
    handed_out = (
        {name: models[index % len(models)] for index, name in enumerate(debater_names)} if models else {}
    )
    given = {
        name: option_values[name] for name in ("moderator", "instructions", "seed") if option_values[name]
    }
    if judges := build_judges(**option_values):
        given["judges"] = judges
    return validate_input(
        ChangesInput,
        {
            **given,
            "models": handed_out | {one["name"]: one["model"] for one in moved if one["model"]},
            "stances": {one["name"]: one["stance"] for one in moved},
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
    # A model's name may hold a colon; one that ends it has a space behind it.
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
        raise click.UsageError(f"{option} {path}: it is no text in UTF-8, or cannot be read.") from None
