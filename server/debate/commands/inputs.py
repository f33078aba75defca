"""What the arguments of all requests share: how what clients send is read, their types, and those of a seat.

Some clients send JSON as text, or one item for a list.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import pydantic
from pydantic import AfterValidator, BaseModel, Field
from pydantic.fields import FieldInfo

from server.debate.facts.setup.limits import Breakpoint
from server.debate.facts.setup.seats import MAX_PROMPT_LENGTH
from server.debate.facts.text import clean, normalize_topic


def take_one(value: Any) -> Any:
    """A list of one if a single item is given for a list."""
    return [value] if value and isinstance(value, str | dict) else value


LONGEST_ADDRESS = 4096

_EXTENSION = r"\.[a-z][a-z0-9]{0,4}"
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+"  # of a page
    rf"|(?:~|[a-z]:|\\)[\\/](?:\S*|(?!.*[.,;?!] ).*{_EXTENSION})"  # of a file
    rf"|(?=\S*[\\/])\S+{_EXTENSION}"
    r"|[\w.-]+\.(?:csv|docx?|html?|json|log|md|pdf|pptx?|rst|tex|txt|xlsx?|xml|ya?ml)"
    r"|(?:[\\/][^\s\\/]+){2,}[\\/]?"
    rf"|(?:\.{{1,2}}|[\\/][^\s\\/]+)[\\/](?!.*[.,;?!] ).*{_EXTENSION}",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:(?:url|link|source|file|path)\s*:(?!//)\s*)?", re.IGNORECASE
)
_LINK = re.compile(r"""!?\[[^\]]*\]\(\s*(\S+?)(?:\s+["'][^"']*["'])?\s*\)""")
_AROUND = " \t<>'\"`"

MAX_NAME_LENGTH = 40
Name = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
Cleaned = Annotated[str, AfterValidator(clean)]


def is_address(line: str) -> bool:
    """Whether a line is only an address; it may be an item of a list, a link, or follow a label."""
    address = _LABEL.sub("", line.strip(_AROUND)).strip(_AROUND)
    link = _LINK.fullmatch(address) if len(address) <= LONGEST_ADDRESS else None
    address = link[1].strip(_AROUND) if link else address
    return len(address) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(address) is not None


def check_is_text(text: str) -> str:
    """Refuse addresses of documents in place of their text. Raises ValueError."""
    lines = [line for line in text.splitlines() if line.strip(_AROUND)]
    if lines and all(map(is_address, lines)):
        raise ValueError(
            f"{lines[0].strip(_AROUND)[:80]!r} is only where a document lies, and nothing is opened: pass what it says "
            "as `text`, and the address as `url`. In the terminal, --document FILE reads it"
        )
    return text


DocumentText = Annotated[Cleaned, AfterValidator(check_is_text)]
Topic = Annotated[Cleaned, AfterValidator(normalize_topic), Field(max_length=60)]
Text = Annotated[Cleaned, Field(max_length=MAX_PROMPT_LENGTH)]
Stance = Annotated[Cleaned, Field(max_length=500)]
ModelName = Annotated[str, pydantic.StringConstraints(max_length=200, strip_whitespace=True)]
ToolName = Annotated[str, Field(max_length=120)]
SeatTools = Annotated[
    list[ToolName],
    pydantic.BeforeValidator(take_one),
    Field(max_length=20, description="Research servers that it may use"),
]
ReplacesTask = Annotated[bool, Field(description="What it is told stands in place of the usual task")]
TurnTokens = Annotated[int, Field(ge=16, le=32_000)]
ThinkingTokens = Annotated[int, Field(ge=1, le=128_000)]
Seconds = Annotated[int, Field(ge=1, le=3600)]
Tokens = Annotated[int, Field(ge=1, le=10**12)]
Rounds = Annotated[int, Field(ge=0, description="Rounds of talk at most; 0: the format's number")]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1, description="Of what chance decides; 0: another each time")]


def parse_json_text(value: Any) -> Any:
    """The list, object or null in a JSON text; any other value unchanged."""
    try:
        data = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return data if isinstance(data, dict | list | None) else value


def parse_schema_document(value: Any) -> dict[str, Any]:
    """The object, parsed from JSON text if necessary. Raises ValueError."""
    data = parse_json_text(value)
    if not isinstance(data, dict):
        raise ValueError("must be an object, or one as JSON text")  # noqa: TRY004  (pydantic expects it)
    return data


SchemaDocument = Annotated[
    dict[str, Any],
    pydantic.BeforeValidator(parse_schema_document),
    pydantic.WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"type": {"type": "string", "description": "object"}}},
            ],
            "description": "JSON Schema of the result",
        }
    ),
]
"""A JSON Schema, as a text or an object. Some providers refuse an object of which no property is named."""


def check_breakpoint(text: str) -> str:
    """Return its usual form. Raises ValueError."""
    return str(Breakpoint.parse(text))


BREAKPOINTS_HELP = "verdict, failure, contested, unheard, round:2, budget:0.8"
Breakpoints = Annotated[
    list[Annotated[str, AfterValidator(check_breakpoint)]],
    pydantic.BeforeValidator(take_one),
    Field(max_length=20),
]


def build_pairs(key: str, value: str) -> tuple[pydantic.BeforeValidator, pydantic.WithJsonSchema]:
    """Reads a mapping from a list of pairs. Clients see the list: many refuse objects with free keys."""

    def read(data: Any) -> Any:
        if not isinstance(data, list):
            return data
        shape = f"{{{key}, {value}}}"
        pairs: dict[Any, Any] = {}
        for pair in data:
            if not (isinstance(pair, dict) and pair.keys() == {key, value} and isinstance(pair[key], str)):
                raise ValueError(f"must be a list of {shape}")
            if pair[key] in pairs:
                raise ValueError(f"names {str(pair[key])[:40]!r} twice")
            pairs[pair[key]] = pair[value]
        return pairs

    described = {name: {"type": "string", "description": f"The {name}"} for name in (key, value)}
    item = {"type": "object", "properties": described}
    item_schema = item | {"required": [key, value], "additionalProperties": False}
    return pydantic.BeforeValidator(read), pydantic.WithJsonSchema({"type": "array", "items": item_schema})


Tags = Annotated[
    list[Annotated[Cleaned, Field(max_length=60)]],
    pydantic.BeforeValidator(take_one),
    Field(max_length=20, description="By which it is found"),
]


def split_names(value: Any) -> Any:
    """Names from a text with commas between them."""
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    return [name for name in names if name] if isinstance(value, str) else names


ModelNames = Annotated[list[ModelName], pydantic.BeforeValidator(split_names)]
_model_pairs, _stance_pairs, _weight_pairs = (
    build_pairs(key, value)
    for key, value in (("debater", "model"), ("debater", "stance"), ("voter", "weight"))
)
ModelChanges = Annotated[dict[Name, ModelName], *_model_pairs, Field(max_length=26)]
StanceChanges = Annotated[dict[Name, Stance], *_stance_pairs, Field(max_length=26)]
FractionText = Annotated[str, Field(coerce_numbers_to_str=True)]
Weights = Annotated[dict[str, FractionText], *_weight_pairs, Field(max_length=40)]

MirrorChoice = Annotated[
    bool | Literal["if_decided", "if_contested"],
    pydantic.WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["if_decided"]}]}),
    Field(description="Debate it again with the stances swapped"),
]

BOUNDS = {
    "less_than_equal": "must be at most {le}",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt:g}",
    "string_too_short": "must not be empty",
    "string_too_long": "may have {max_length:,} characters at most",
    "too_long": "may have {max_length:,} entries at most, and has {actual_length:,}",
}
"""Texts for pydantic's error types, with placeholders for their details."""


def describe_bound(details: Mapping[str, Any]) -> str:
    """What is told of a value out of its bounds, by one of pydantic's errors; "" for another error."""
    kind, context = details["type"], details.get("ctx", {})
    if kind == "too_long" and isinstance(details["input"], str):  # a text that was cleaned before the check
        kind = "string_too_long"
    elif kind == "greater_than_equal" and 0 < context["ge"] < 1:  # the least part of a dollar
        kind, context = "greater_than", {"gt": 0}
    return BOUNDS[kind].format(**context) if kind in BOUNDS else ""


def takes_text(field: FieldInfo) -> bool:
    """Whether any text is a value of the field, also one that looks like JSON."""
    return field.annotation is str or Text in get_args(field.annotation)


class Input(BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_substitutes(cls, data: Any) -> Any:
        """Read null or "" as an argument left out, and JSON text as a list or object: some clients send these."""
        if not isinstance(data, dict):
            return data
        fields: dict[Any, Any] = {}
        for key, text in data.items():
            field, value = cls.model_fields.get(key), text
            if field:
                value = text if takes_text(field) else parse_json_text(text)
                means_empty = field.is_required() or (takes_text(field) and not field.default)
                if value is None or (value == "" and not means_empty):
                    continue
            fields[key] = value
        return fields

    @pydantic.field_validator("*", mode="before")
    @classmethod
    def check_number(cls, value: Any, info: pydantic.ValidationInfo) -> Any:
        """Refuse booleans as numbers: pydantic would accept them as 0 and 1."""
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation in (int, float):
            raise ValueError("must be a number, not a boolean")
        return value


class OfficerInput(Input):
    """A seat that is neither a debater's nor a judge's: the referee, the analyst, the synthesizer."""

    model: Annotated[ModelName, Field(description="Its own model")] = ""
    prompt: Annotated[Text, Field(description="What else it is told")] = ""
    replaces_task: ReplacesTask = False
    tools: SeatTools = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_model(cls, value: Any) -> Any:
        """Read a model name as a seat with it, and true as a seat with any model."""
        if value is True:
            return {}
        return {"model": value} if isinstance(value, str) else value
