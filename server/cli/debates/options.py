"""The options of `counterpoint debate` and `fork`, and the requests built from them."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from pydantic import BaseModel, ValidationError

from server.cli import session
from server.debate.commands.inputs import describe_bound
from server.debate.commands.requests import ChangesInput, DebateRequest, LimitsInput, OptionsInput
from server.debate.commands.setup.formats import OFFERED_PHASES
from server.debate.facts.earlier import MOST_RECALLED
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.limits import BREAKPOINT_FORMS
from server.debate.facts.setup.options import (
    ChallengeMode,
    ClaimMode,
    EffortLevel,
    ThinkingMode,
)
from server.debate.facts.setup.phases import Order
from server.debate.facts.text import format_count
from server.debate.seats.registry import SEATS
from server.models.fakes.chaos import Chaos
from server.research.documents import read_document

TEAM_OPTIONS = {
    "candidates": "candidates",
    "size": "team_size",
    "topic": "topic",
    "diversity": "diversity",
}
"""Parameters of the command line by the fields of options.team that they fill."""

Decorator = Callable[[Any], Any]
InputModel = TypeVar("InputModel", bound=BaseModel)

TIMEOUT = click.IntRange(1, 3600)
MEMORY = click.Choice(["off", "own", *map(str, range(1, MOST_RECALLED + 1))])


class TextFile(click.Path):
    """A path that becomes {"title": the file's name, "text": its content}. An empty file is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            self.fail(f"{path}: not a readable text file in UTF-8.", param, ctx)
        if not text.strip():
            self.fail(f"{path} is empty.", param, ctx)
        return {"title": path.name, "text": text}


def read_text(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """A text, or the content of the file that "@" stands before."""
    return TEXT_FILE.convert(value[1:], option, ctx)["text"] if value and value.startswith("@") else value


class DocumentFile(click.Path):
    """A path of a text, PDF or HTML file that becomes {"title": the file's name, "text": its text}."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        try:
            document = read_document(path.name, path.read_bytes())
        except (OSError, InvalidRequestError) as error:
            self.fail(str(error), param, ctx)
        if document.unseen:
            passages = format_count(document.unseen, "passage")
            verb = "was" if document.unseen == 1 else "were"
            click.echo(
                f"{path.name}: {passages} that a reader of the page would not see {verb} left out.", err=True
            )
        return {"title": path.name, "text": document.text}


TEXT_FILE = TextFile(exists=True, dir_okay=False)
DOCUMENT_FILE = DocumentFile(exists=True, dir_okay=False)


def combine_options(*options: Decorator) -> Decorator:
    """One decorator that adds several options; the help shows them in this order."""
    return lambda command: reduce(lambda decorated, add: add(decorated), reversed(options), command)


PAUSE_HELP = f"When to pause. Repeatable: {BREAKPOINT_FORMS}."

SEAT_OPTIONS = combine_options(
    click.option(
        "--model", "models", multiple=True, help="A model that takes part. Repeatable: they share the seats."
    ),
    click.option("--judge-model", "judge_models", multiple=True, help="The model of a judge. Repeatable."),
    click.option("--judges", type=click.IntRange(1, 9), help="How many judges."),
    click.option(
        "--document",
        multiple=True,
        type=DOCUMENT_FILE,
        help="A text, PDF or HTML file that all seats read. Repeatable.",
    ),
    click.option("--instructions", help="What to tell every seat that has no prompt of its own."),
    click.option("--pause-when", "pause_when", multiple=True, metavar="WHEN", help=PAUSE_HELP),
    click.option(
        "--seed", type=click.IntRange(0, 2**31 - 1), help="The same number gives the same random orders."
    ),
)
"""Options of `debate` and `fork`."""

CANDIDATE_HELP = "Models to choose debaters and judges from, by the ledger. Repeatable."

DIVERSITY_HELP = "How much to prefer models that make different errors."

CANDIDATE_OPTIONS = combine_options(
    click.option("--candidate", "candidates", multiple=True, help=CANDIDATE_HELP),
    click.option("--topic", help="Choose them by what the ledger knows of this tag."),
    click.option("--diversity", type=click.FloatRange(0, 1), help=DIVERSITY_HELP),
)
"""Options of `debate`: a team that the ledger chooses."""

PHASES_HELP = f"Replaces the format's phases. Repeatable: {OFFERED_PHASES}."
EFFORT_HELP = "quick: 3 calls, standard: 4 to 8, assured: 7 or more.  [standard]"
QUORUM_HELP = "How many debaters have to answer; with fewer it pauses.  [2]"

DEBATE_OPTIONS = combine_options(
    click.option(
        "--my-answer",
        metavar="TEXT|@FILE",
        callback=read_text,
        help="Your own answer: the result says first whether it stands.",
    ),
    click.option("--team-size", type=click.IntRange(2, 26), help="How many debaters to choose models for."),
    click.option("--phase", "phases", multiple=True, help=PHASES_HELP),
    click.option(
        "--moderator",
        type=click.Choice(["opens", "closes", "both"]),
        help="Add a moderator, who opens rounds, closes them, or both.",
    ),
    click.option(
        "--tools", multiple=True, metavar="SERVER", help="A research server for the moderator. Repeatable."
    ),
    click.option("--no-framing", is_flag=True, help="If you name no debaters: one argues for, one against."),
    click.option("--baseline", is_flag=True, help="Compare with a blind vote that takes as many tokens."),
    session.cache_option,
    click.option("--memory", type=MEMORY, help="How many earlier debates to recall; own: 3.  [off]"),
    click.option(
        "--mirror",
        type=click.Choice(["true", "if_decided"]),
        help="Repeat the debate with the stances swapped.",
    ),
    *(click.option(f"--{seat.name}", is_flag=True, help=seat.help) for seat in SEATS if seat.help),
    click.option(
        "--claims",
        type=click.Choice(get_args(ClaimMode)),
        help="Who lists the points: the debaters (asked), or an analyst (extracted).  [asked]",
    ),
    click.option(
        "--challenges",
        type=click.Choice(get_args(ChallengeMode)),
        help="What to do if debaters agree in public but not in private.  [report]",
    ),
    click.option(
        "--effort",
        type=click.Choice(get_args(EffortLevel)),
        help=EFFORT_HELP,
    ),
    click.option(
        "--thinking",
        type=click.Choice(get_args(ThinkingMode)),
        help="How much models think before they write.  [their default]",
    ),
    click.option("--voting", metavar="RULE", help="The rule of consensus: a kind such as majority, or JSON."),
    click.option("--speaking", type=click.Choice(get_args(Order)), help="Who speaks when."),
    click.option("--output-schema", type=TEXT_FILE, help="A file with the JSON Schema of the result."),
    # Limits, named as in `options.limits`
    click.option(
        "--timeout", "turn_timeout", type=TIMEOUT, metavar="SECONDS", help="The most time for one reply."
    ),
    click.option("--round-timeout", type=TIMEOUT, metavar="SECONDS", help="The most time for a round."),
    click.option(
        "--max-seconds", type=click.IntRange(1), metavar="SECONDS", help="The most time for the debate."
    ),
    click.option("--max-turns", type=click.IntRange(1, 1000), help="The most turns in all rounds of talk."),
    click.option(
        "--max-calls", type=click.IntRange(1), help="The most requests to models, retries included."
    ),
    click.option(
        "--thinking-tokens",
        type=click.IntRange(1, 128_000),
        metavar="TOKENS",
        help="The most for thinking in one reply, beside its text.  [8000]",
    ),
    click.option(
        "--max-cost-usd",
        type=click.FloatRange(0, min_open=True),
        metavar="DOLLARS",
        help="The most that all replies together may cost.",
    ),
    click.option(
        "--on-budget",
        type=click.Choice(["conclude", "pause"]),
        help="What to do when a limit is reached.  [conclude]",
    ),
    click.option(
        "--fallback-model", "fallback_models", multiple=True, help="Replaces a model that fails. Repeatable."
    ),
    click.option("--quorum", type=click.IntRange(1, 26), help=QUORUM_HELP),
)
"""Options of `debate` alone: its procedure, its limits, and what happens when models fail."""

OUTPUT_OPTIONS = combine_options(
    click.option("--json", "as_json", is_flag=True, help="Print only the result, as one JSON object."),
    click.option("--quiet", is_flag=True, help="Print only the answer."),
)


def debaters_option(description: str, default_help: str = "") -> Decorator:
    text = f'{description}; "NAME=MODEL: STANCE" also sets its model. Repeatable. {default_help}'.rstrip()
    return click.option("--debater", "debaters", multiple=True, metavar='"NAME: STANCE"', help=text)


def parse_chaos(_: click.Context, _option: click.Parameter, spec: str | None) -> Chaos | None:
    try:
        return None if spec is None else Chaos.parse(spec)
    except InvalidRequestError as error:
        raise click.UsageError(str(error)) from None


def build_debate_request(question: str, arguments: dict[str, Any]) -> DebateRequest:
    """The request of `debate`. Raises UsageError for invalid values; the manager rejects what cannot be debated."""
    options = {name: value for name in OptionsInput.model_fields if (value := arguments.get(name))}
    options |= build_judges(arguments)
    options |= build_team(arguments)
    options["framing"] = not arguments["no_framing"]
    options["limits"] = {name: value for name in LimitsInput.model_fields if (value := arguments.get(name))}
    if duty := arguments["moderator"] or ("opens" if arguments["tools"] else ""):
        duties = {"opens": duty != "closes", "closes": duty != "opens"}
        options["moderator"] = duties | {"tools": arguments["tools"]}
    if arguments["output_schema"]:
        options["output_schema"] = arguments["output_schema"]["text"]
    data = {
        "question": question,
        "format": arguments["format"] or "",
        "debaters": [parse_debater(text) for text in arguments["debaters"]],
        "models": arguments["models"],
        "options": options,
    }
    return validate_input(DebateRequest, data, arguments)


def build_fork_changes(debater_names: Sequence[str], arguments: dict[str, Any]) -> ChangesInput:
    """The changes of `fork`. Raises UsageError for invalid values."""
    rows = [parse_debater(text) for text in arguments["debaters"]]
    models = dict(zip(debater_names, cycle(arguments["models"]), strict=False))
    names = ("moderator", "instructions", "seed", "pause_when")
    data = {name: arguments[name] for name in names if arguments[name]}
    data["models"] = models | {row["name"]: row["model"] for row in rows if row["model"]}
    data["stances"] = {row["name"]: row["stance"] for row in rows}
    return validate_input(ChangesInput, data | build_judges(arguments), arguments)


def build_team(arguments: dict[str, Any]) -> dict[str, Any]:
    values = {key: arguments.get(name) for key, name in TEAM_OPTIONS.items()}
    team = {key: value for key, value in values.items() if value not in (None, "", ())}
    return {"team": team} if team else {}


def build_judges(arguments: dict[str, Any]) -> dict[str, Any]:
    judges = {"count": arguments["judges"] or 0, "models": arguments["judge_models"]}
    return {"judges": judges} if any(judges.values()) else {}


def validate_input(
    input_type: type[InputModel], data: dict[str, Any], arguments: dict[str, Any]
) -> InputModel:
    common: dict[str, Any] = {"documents": arguments["document"], "run": True}
    common |= {} if arguments["rounds"] is None else {"max_rounds": arguments["rounds"]}
    try:
        return input_type.model_validate(data | common)
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        is_unknown = first_error["type"] == "extra_forbidden"
        problem = describe_bound(first_error) or ("it is unknown" if is_unknown else first_error["msg"])
        raise click.UsageError(f"{' '.join(str(part) for part in first_error['loc'])}: {problem}.") from None


def parse_debater(text: str) -> dict[str, str]:
    # A model's name may contain a colon; the one before the stance is followed by a space.
    head, colon, stance = text.partition(": ") if ": " in text else text.partition(":")
    name, _, model = head.partition("=")
    if not (colon and name.strip() and stance.strip()):
        raise click.UsageError(f'--debater {text!r}: write "NAME: STANCE" or "NAME=MODEL: STANCE".')
    return {"name": name.strip(), "model": model.strip(), "stance": stance.strip()}
