"""The options of `debate` and `fork`, and the requests that are built from them."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar, get_args

from click import Choice, Context, FloatRange, IntRange, Parameter, UsageError, option
from click import Path as ClickPath
from pydantic import BaseModel, ValidationError

from server.debate.commands.formats import PHASES
from server.debate.commands.requests import ChangesInput, DebateRequest, LimitsInput
from server.debate.facts.config import HandoffMode, Order

Decorator = Callable[[Any], Any]
InputModel = TypeVar("InputModel", bound=BaseModel)

TIMEOUT = IntRange(1, 3600)
DOLLAR_AMOUNT = FloatRange(0, min_open=True)


class TextFile(ClickPath):
    """Gives {"title": the file's name, "text": what it contains}."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        try:
            return {"title": path.name, "text": path.read_text(encoding="utf-8")}
        except (OSError, UnicodeDecodeError):
            self.fail(f"{path}: not a readable text file in UTF-8.", param, ctx)


TEXT_FILE = TextFile(exists=True, dir_okay=False)


def combine_options(*options: Decorator) -> Decorator:
    """One decorator that adds several options; the help shows them in this order."""
    return lambda command: reduce(lambda decorated, add: add(decorated), reversed(options), command)


SEAT_OPTIONS = combine_options(
    option("--model", "models", multiple=True, help="Given to the debaters in turn. Repeatable."),
    option("--judge-model", "judge_models", multiple=True, help="Repeatable: each is one judge."),
    option("--judges", type=IntRange(1, 9), help="How many judges."),
    option("--document", multiple=True, type=TEXT_FILE, help="A text file that all seats read. Repeatable."),
    option("--instructions", help="For every seat without its own prompt."),
    option("--seed", type=IntRange(0, 2**31 - 1), help="Repeats the random choices of orders."),
)
"""Options of `debate` and `fork`."""

PHASES_HELP = f"Replaces the format's phases. Repeatable: {', '.join(PHASES)}."
QUORUM_HELP = "Debaters that a round needs, or the debate pauses.  [2]"

DEBATE_OPTIONS = combine_options(
    option("--phase", "phases", multiple=True, help=PHASES_HELP),
    option("--moderator", type=Choice(["opens", "closes", "both"]), help="What the moderator does."),
    option("--tools", multiple=True, metavar="SERVER", help="Research servers for the moderator."),
    option("--referee", is_flag=True, help="A referee audits the arguments of each round."),
    option("--speaking", type=Choice(get_args(Order)), help="Who speaks when."),
    option("--handoff", type=Choice(get_args(HandoffMode)), help="How speakers name the next one."),
    option("--output-schema", type=TEXT_FILE, help="A file with the JSON Schema of the result."),
    # Limits, named as in `options.limits`
    option("--timeout", "turn_timeout", type=TIMEOUT, metavar="SECONDS", help="Limit of one reply."),
    option("--round-timeout", type=TIMEOUT, metavar="SECONDS", help="Limit of a round."),
    option("--max-seconds", type=IntRange(1), metavar="SECONDS", help="Limit of the debate."),
    option("--max-turns", type=IntRange(1, 1000), help="Turns in all rounds of talk."),
    option("--max-calls", type=IntRange(1), help="Requests to models, retries included."),
    option("--max-cost-usd", type=DOLLAR_AMOUNT, metavar="DOLLARS", help="Cost of all replies."),
    option("--on-budget", type=Choice(["conclude", "pause"]), help="When a limit is reached.  [conclude]"),
    option(
        "--fallback-model", "fallback_models", multiple=True, help="Replaces a model that fails. Repeatable."
    ),
    option("--quorum", type=IntRange(1, 26), help=QUORUM_HELP),
)
"""Options of `debate` alone: its procedure, its limits, and what happens when models fail."""

OUTPUT_OPTIONS = combine_options(
    option("--json", "as_json", is_flag=True, help="Print only the result, as one JSON object."),
    option("--quiet", is_flag=True, help="Print only the verdict."),
)


def debaters_option(description: str, default_help: str = "") -> Decorator:
    text = f'{description}; "NAME=MODEL: STANCE" also sets its model. Repeatable. {default_help}'.rstrip()
    return option("--debater", "debaters", multiple=True, metavar='"NAME: STANCE"', help=text)


def build_debate_request(question: str, given: dict[str, Any]) -> DebateRequest:
    """Raises UsageError for invalid values; the manager rejects what cannot be debated."""
    names = ["instructions", "seed", "speaking", "handoff", "referee", "phases", "fallback_models", "quorum"]
    options = {name: given[name] for name in names if given[name]} | build_judges(given)
    options["limits"] = {name: value for name in LimitsInput.model_fields if (value := given.get(name))}
    if duty := given["moderator"] or ("opens" if given["tools"] else ""):
        options["moderator"] = {"opens": duty != "closes", "closes": duty != "opens", "tools": given["tools"]}
    if given["output_schema"]:
        options["output_schema"] = given["output_schema"]["text"]
    data = {
        "question": question,
        "format": given["format"],
        "debaters": [parse_debater(text) for text in given["debaters"]],
        "models": given["models"],
        "options": options,
    }
    return validate_input(DebateRequest, data, given)


def build_fork_changes(debater_names: Sequence[str], given: dict[str, Any]) -> ChangesInput:
    """Raises UsageError for invalid values."""
    changed = [parse_debater(text) for text in given["debaters"]]
    models = dict(zip(debater_names, cycle(given["models"]), strict=False))
    data = {name: given[name] for name in ("moderator", "instructions", "seed") if given[name]}
    data["models"] = models | {row["name"]: row["model"] for row in changed if row["model"]}
    data["stances"] = {row["name"]: row["stance"] for row in changed}
    return validate_input(ChangesInput, data | build_judges(given), given)


def build_judges(given: dict[str, Any]) -> dict[str, Any]:
    judges = {"count": given["judges"] or 0, "models": given["judge_models"]}
    return {"judges": judges} if any(judges.values()) else {}


def validate_input(input_type: type[InputModel], data: dict[str, Any], given: dict[str, Any]) -> InputModel:
    common = {"documents": given["document"], "max_rounds": given["rounds"] or 0, "run": True}
    try:
        return input_type.model_validate(data | common)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{' '.join(str(part) for part in first['loc'])}: {first['msg']}.") from None


def parse_debater(text: str) -> dict[str, str]:
    # A model's name may contain a colon; the one before the stance is followed by a space.
    head, colon, stance = text.partition(": ") if ": " in text else text.partition(":")
    name, _, model = head.partition("=")
    if not (colon and name.strip() and stance.strip()):
        raise UsageError(f'--debater {text!r}: write "NAME: STANCE" or "NAME=MODEL: STANCE".')
    return {"name": name.strip(), "model": model.strip(), "stance": stance.strip()}
