"""Builds models from their names. It imports no client library: a model loads its own at its first call."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from server.debate.facts.errors import DebateError, InvalidRequestError, require
from server.debate.facts.setup.seats import AWAITED, CALLER, CLIENT, HUMAN
from server.debate.votes.families import family as find_family
from server.models import (
    LITELLM_PREFIX,
    KeyMissingError,
    Model,
    ModelError,
    OnText,
    Reply,
    Request,
    WatchAttempt,
    build_attempt,
    watch_nothing,
)
from server.models.client import AbsentModel
from server.models.embeddings import CachedEmbedder, Embedder, VectorCache
from server.models.fakes.chaos import Chaos, FaultyModel, is_faulty, parse_faulty_name, unwrap_faulty_name
from server.models.fakes.scripted import ScriptedEmbedder, ScriptedModel, is_scripted
from server.models.local import model as embedded
from server.models.own import OwnModel, as_model, load_own_model
from server.models.prices import PriceTable
from server.models.providers import keys as stored_keys
from server.models.providers.caches import PromptCache
from server.models.providers.connections import Connections
from server.models.providers.direct import OllamaModel, OpenAIModel
from server.models.providers.embeddings import DirectEmbedder, LitellmEmbedder, ProviderEmbedder
from server.models.providers.endpoints import (
    OLLAMA_PROVIDERS,
    choose_endpoint,
    find_address,
    is_of_known_provider,
    parse_provider,
)
from server.models.providers.litellm import (
    LitellmModel,
    get_litellm,
    has_provider,
    is_importing,
)
from server.models.providers.model import ProviderModel
from server.models.resilience import Guard, GuardedEmbedder, GuardedModel

MAX_NAME_LENGTH = 200
# Their login prints a device code to standard output, which would corrupt the protocol.
UNSUPPORTED_PROVIDERS = ("github_copilot", "chatgpt")


@dataclass(frozen=True, slots=True)
class Provider:
    name: str
    key_variables: tuple[str, ...]  # environment variables for its key; one of them is enough
    default_model: str


PROVIDERS = (  # As of November 2026: one model each, good at reasoning, a few cents a debate.
    Provider("openai", ("OPENAI_API_KEY",), "openai/gpt-5.6-terra"),
    Provider("anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "anthropic/claude-sonnet-5-5"),
    Provider("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini/gemini-3.8-flash"),
    Provider("mistral", ("MISTRAL_API_KEY",), "mistral/mistral-large-latest"),
    Provider("deepseek", ("DEEPSEEK_API_KEY",), "deepseek/deepseek-v4-pro"),
    Provider("xai", ("XAI_API_KEY",), "xai/grok-4.7"),
    Provider("groq", ("GROQ_API_KEY",), "groq/qwen/qwen3.8-27b"),
    Provider("openrouter", ("OPENROUTER_API_KEY",), "openrouter/openrouter/auto"),
)

KEY_VARIABLES = {row.name: row.key_variables[0] for row in PROVIDERS}
"""The variable in which the key of a provider is stored."""


class NoModelError(DebateError):
    """No model is set up for a debate that names none. The text lists what the caller can do.

    found: the model servers on this machine, as a sentence without its full stop; "" for none.
    proposal: models of these servers that a debate could name.
    in_terminal: the text for who types commands.
    """

    def __init__(self, found: str = "", proposal: Sequence[str] = ()) -> None:
        self.found, self.proposal = found, tuple(proposal)
        keys = ", ".join(provider.key_variables[0] for provider in PROVIDERS)
        names = ", ".join(f'"{name}"' for name in proposal)
        offer = (
            f"On this machine {found}: to use what runs here, call again with models=[{names}], or set "
            f"COUNTERPOINT_MODELS={','.join(proposal)} where the server runs. Or do"
        )
        own = " ".join(f"--model {name}" for name in proposal)
        here = f"On this machine {found}: {own}. " if proposal else ""
        providers = ", ".join(provider.default_model.partition("/")[0] for provider in PROVIDERS)
        self.in_terminal = (
            f"No model is set up. {here}With a key of a provider ({providers}): `counterpoint keys set NAME`. Without "
            "a key: `counterpoint models install` (a small model, to try it out), or a model server on this machine, "
            "such as --model ollama/llama3.3. --model scripted is a dry run."
            + (f" {stored_keys.problem}" if stored_keys.problem else "")
        )
        super().__init__(
            f"No model is set up. {offer if proposal else 'Do'} one of these: name models in the `models` argument "
            f'(any litellm name, such as "{PROVIDERS[1].default_model}" or "ollama/llama3.3"); set '
            f"COUNTERPOINT_MODELS; set a provider's key ({keys}), or store it with `counterpoint keys set`; "
            "use the embedded model (models=[\"local\"]; first `pip install 'counterpoint-mcp[local]'`, then "
            f'`counterpoint models install`); write the turns yourself (models=["{CALLER}"], then submit_turn); have '
            f'the own model of your client answer (models=["{CLIENT}"], where it offers sampling); or '
            'use the model "scripted" for a dry run.'
            + (f" {stored_keys.problem}" if stored_keys.problem else "")
        )


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A model, and all that follows from its name.

    `model`: what is asked, with the limits of its provider and the faults that are injected. `provider_model`: what is
    behind these; None for a model of no provider.
    """

    name: str
    model: Model
    watch: WatchAttempt
    provider_model: ProviderModel | None = None
    has_faults: bool = False

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        if self.provider_model:  # it measures each of its attempts itself
            return await self.model.reply(request, on_text)
        attempt = build_attempt(self.name, name_source(self.name), request)
        with self.watch(attempt):
            reply = await self.model.reply(request, on_text)
            if isinstance(reply, Reply):  # code of users may return anything
                attempt.usage, attempt.finish_reason = reply.usage, "length" if reply.cut else "stop"
            return reply

    @property
    def provider(self) -> str:
        """The provider that is asked; "" without one."""
        return self.provider_model.provider if self.provider_model else ""

    @property
    def address(self) -> str:
        """Where its provider is asked; "" without one, and where only litellm knows it."""
        return find_address(self.name) if self.provider_model else ""

    @property
    def cache(self) -> PromptCache | None:
        """What is known of its provider's cache of prompts; None without a provider."""
        return self.provider_model.cache if self.provider_model else None

    def max_reply_seconds(self, timeout: float) -> float:
        """The longest time that it needs, in seconds: a provider's model may queue first.

        A client's model has no limit here: it is asked when its client is there, and keeps its own time.
        """
        if self.name == CLIENT:
            return math.inf
        return 2 * timeout if self.provider_model else timeout

    def find_limit(self, request: Request) -> int:
        """The tokens of a reply that it is asked for at most."""
        return self.provider_model.find_limit(request) if self.provider_model else request.max_tokens


def name_source(name: str) -> str:
    """What measurements name in place of a provider."""
    plain = unwrap_faulty_name(name)
    return "scripted" if is_scripted(plain) else plain if plain in ("local", CLIENT) else "own"


class ModelRegistry:
    """The models of this process by name, and their prices. `own_models` come from code and win over every other name.

    Models of providers share one `guard`. `chaos` applies to all models but those whose turns people or clients write.
    `watch`: measures every request to a model.
    """

    def __init__(
        self,
        own_models: Mapping[str, OwnModel] | None = None,
        guard: Guard | None = None,
        chaos: Chaos | None = None,
        prices: PriceTable | None = None,
        connections: Connections | None = None,
        watch: WatchAttempt | None = None,
        vectors: VectorCache | None = None,
    ) -> None:
        self._own_models = {name: as_model(name, model) for name, model in (own_models or {}).items()}
        self.prices = prices or PriceTable()
        self._connections = connections or Connections()
        self.guard = guard or Guard()
        self._models: dict[str, NamedModel] = {}
        self._embedders: dict[str, tuple[Embedder, str]] = {}
        self._vectors = vectors
        self._chaos, self._watch = chaos, watch or watch_nothing

    def get(self, name: str) -> NamedModel:
        """The model of that name, the same object every time.

        Raises InvalidRequestError if no model can have the name, ModelError if its entry point fails.
        """
        if name not in self._models:
            is_own = name in self._own_models
            model = NamedModel(name, self._own_models[name], self._watch) if is_own else self._build(name)
            if self._chaos and name not in AWAITED:
                model = add_faults(model, name, self._chaos)
            self._models[name] = model
        return self._models[name]

    def _build(self, name: str) -> NamedModel:
        no_name = f'"{name[:MAX_NAME_LENGTH]}" is not a model name'
        example = f'"{PROVIDERS[1].default_model}", "local" or "scripted"'
        limits = f"without spaces, at most {MAX_NAME_LENGTH} characters"
        is_written_right = 0 < len(name) <= MAX_NAME_LENGTH and name.isprintable() and " " not in name
        require(is_written_right, f"{no_name}. Write one such as {example}: {limits}.")
        if is_faulty(name):
            inner, chaos = parse_faulty_name(name)
            require(inner not in AWAITED, f'{no_name}: faults cannot be injected into "{inner}".')
            return add_faults(replace(self._build(inner), name=name), inner, chaos)
        if model := build_local_model(name):
            return NamedModel(name, model, self._watch)
        plain_name = name.removeprefix(LITELLM_PREFIX)
        provider = parse_provider(plain_name)
        problem = "cannot be used here, because their login writes to standard output"
        choice = f"{name}: models of {provider} {problem}. Choose another provider."
        require(provider not in UNSUPPORTED_PROVIDERS, choice)
        is_direct = provider not in OLLAMA_PROVIDERS or name == plain_name
        require(is_direct, f"{no_name}. Ollama is asked without litellm: write {plain_name}.")
        for word, meaning in (
            ("local", "The embedded model is called"),
            (CALLER, "A seat of your own has the model"),
            (HUMAN, "A person's seat has the model"),
            (CLIENT, "The client's own model is called"),
        ):
            require(not name.startswith((f"{word}/", f"{word}?")), f'{no_name}. {meaning} "{word}".')
        if model := load_own_model(name):
            return NamedModel(name, model, self._watch)
        provider = choose_provider(name)
        inner_model = self._build_provider_model(name, provider)
        return NamedModel(
            name, GuardedModel(name, provider, inner_model, self.guard), self._watch, inner_model
        )

    def _build_provider_model(self, name: str, provider: str) -> ProviderModel:
        options = self._build_caller_options(provider) | {"price": self.prices.own_prices.get(name)}
        endpoint = choose_endpoint(name)
        if endpoint is None:
            return LitellmModel(name, **options)
        kind = OllamaModel if endpoint.is_ollama else OpenAIModel
        return kind(name, **options, endpoint=endpoint, connections=self._connections)

    def _build_caller_options(self, provider: str) -> dict[str, Any]:
        """The options that models and embedders of a provider have in common."""
        return {
            "provider": provider,
            "watch": self._watch,
            "sleep": self.guard.sleep,
            "cooldown": self.guard.cooldown(provider),
        }

    def get_embedder(self, name: str, owner: str = "") -> Embedder:
        """The model of that name that embeds texts: "scripted", or one of a provider. `owner`: whose texts."""
        if name not in self._embedders:
            self._embedders[name] = self._build_embedder(name)
        embedder, address = self._embedders[name]
        return CachedEmbedder(name, embedder, self._vectors, address, owner) if self._vectors else embedder

    def _build_embedder(self, name: str) -> tuple[Embedder, str]:
        """(the embedder, the address where it is asked)."""
        if name == "scripted":
            return ScriptedEmbedder(), ""
        provider = choose_provider(name)
        inner = self._build_provider_embedder(name, provider)
        return GuardedEmbedder(name, provider, inner, self.guard), find_address(name, mode="embedding")

    def _build_provider_embedder(self, name: str, provider: str) -> ProviderEmbedder:
        options = self._build_caller_options(provider) | {"price": self.prices.find_price(name)}
        endpoint = choose_endpoint(name, mode="embedding")
        if endpoint is None:
            return LitellmEmbedder(name, **options)
        return DirectEmbedder(name, **options, endpoint=endpoint, connections=self._connections)

    def check(self, name: str, environ: Mapping[str, str]) -> None:
        """Raises InvalidRequestError if the model cannot answer: its name, entry point or key is wrong."""
        try:
            provider = self.get(name).provider
        except ModelError as error:
            raise InvalidRequestError(error.detail) from None
        keys = next((row.key_variables for row in PROVIDERS if row.name == provider), ())
        if keys and not any(environ.get(key) for key in keys):
            problem = f"needs a key, and {keys[0]} is not set where the server runs"
            store = f"store it (`counterpoint keys set {provider}`, or the page of `counterpoint view`)"
            store_problem = f" {stored_keys.problem}" if stored_keys.problem else ""
            raise KeyMissingError(
                f"The model {name} {problem}. Set it there, {store}, or name other models.{store_problem}"
            )

    async def check_known(self, names: Iterable[str]) -> None:
        """Raises InvalidRequestError for a model whose provider litellm does not know."""
        for name in names:
            model = self.get(name).provider_model
            if not isinstance(model, LitellmModel) or is_of_known_provider(model.litellm_name):
                continue
            try:
                is_known = has_provider(await get_litellm(), model.litellm_name)
            except ModelError as error:
                raise InvalidRequestError(error.detail) from None
            example = f'"{PROVIDERS[1].default_model}" or "ollama/llama3.3"'
            variable = f"{parse_provider(name)}_API_BASE".upper()
            server_hint = f", or set {variable} if it is a server of your own" if "/" in name else ""
            require(
                is_known,
                f'No provider is known for the model "{name}". Write PROVIDER/MODEL, as {example}{server_hint}.',
            )

    def prepare(self, names: Iterable[str]) -> None:
        """Begin to load what these models need for their first call. Never raises: the call reports errors."""
        for model in self._list_provider_models(names):
            model.start_loading()

    def find_loading(self, names: Iterable[str]) -> str:
        """The library that is being loaded and that one of these models needs; "" if there is none."""
        is_needed = is_importing() and any(
            isinstance(model, LitellmModel) for model in self._list_provider_models(names)
        )
        return "litellm" if is_needed else ""

    def _list_provider_models(self, names: Iterable[str]) -> Iterator[ProviderModel]:
        """The models of providers among these names. Invalid names are skipped."""
        for name in names:
            with suppress(DebateError, ModelError):
                if model := self.get(name).provider_model:
                    yield model


def add_faults(model: NamedModel, name: str, chaos: Chaos) -> NamedModel:
    """`name`: which model the errors name."""
    return replace(model, model=FaultyModel(model.model, chaos, name=name), has_faults=True)


def build_local_model(name: str) -> Model | None:
    """The model of a name that no provider and no package has; None for all others."""
    if is_scripted(name):
        return ScriptedModel.from_name(name)
    if name in AWAITED:
        return AbsentModel() if name == CLIENT else CallerModel()
    return embedded.LocalModel() if name == "local" else None


class CallerModel:
    """The caller's seat. Its turns are submitted, so a request to it is an error."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        raise ModelError("bad_request", f"{request.seat} writes its own turns, with `submit_turn`.")


def choose_default_models(
    configured: Sequence[str], environ: Mapping[str, str], debater_models: Sequence[str] = ()
) -> tuple[str, ...]:
    """The models of a debate that names none: `configured`, one of each provider whose key is set, or `local`.

    configured: the value of COUNTERPOINT_MODELS.
    debater_models: one for each debater, "" for none. They win over `local`, which is no better judge.
    Raises NoModelError if there is none.
    """
    has_key = [any(environ.get(key) for key in provider.key_variables) for provider in PROVIDERS]
    names = tuple(configured) or tuple(row.default_model for row in compress(PROVIDERS, has_key))
    if not names and all(debater_models):
        names = tuple(debater_models)
    if not names and not embedded.is_available():
        raise NoModelError
    return names or ("local",)


def choose_provider(name: str) -> str:
    """The provider whose limits a name counts towards. litellm takes OpenAI and Anthropic models without a provider."""
    plain = name.removeprefix(LITELLM_PREFIX)
    return parse_provider(plain) if "/" in plain else family(name)


def family(name: str) -> str:
    """The family of a model (who trained it), behind any injected faults. Models of one family count as one voice."""
    return find_family(unwrap_faulty_name(name))
