"""`counterpoint doctor`: checks whether a debate can run here. Names of keys are shown, values never."""

import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter, time

import anyio
import click

from server.cli import session
from server.cli.installation import models, tokens
from server.client_configs.launch import HandshakeError, choose_launch_command, count_tools
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.open import open_debate
from server.debate.facts.errors import DebateError
from server.debate.facts.setup.seats import AWAITED
from server.debate.facts.text import clean_line, format_count
from server.debate.state.debate import Debate
from server.debate.views.progress import estimate_line
from server.models import (
    Message,
    ModelError,
    Prompt,
    PromptSummary,
    Request,
    model_servers,
    registry,
    windows,
)
from server.models.local import model as local
from server.models.local import weights
from server.models.prices import PriceTable
from server.models.providers import keys
from server.models.providers.connections import Connections
from server.optional import optional_import
from server.research import Research
from server.settings import PREFIX, InvalidSettingsError, Settings, package_version
from server.signing import Signer, find_key_id
from storage.addresses import find_name

ASK_TIMEOUT = 30  # seconds for a model to answer with one token; a local one may have to be loaded
OUTPUT_LIMIT = "max_tokens|max_completion_tokens|output limit"
"""Marks the refusal of a model that thinks first and cannot end within one token: the provider took the key."""

REPORTED_PACKAGES = ("counterpoint-mcp", "mcp", "litellm", "aiosqlite", "pydantic")


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    detail: str
    needed: bool = True  # no debate can run without it


async def run_checks(settings: Settings, environ: Mapping[str, str], *, asks: bool = False) -> list[Check]:
    packages = ", ".join(f"{name} {package_version(name, '(not installed)')}" for name in REPORTED_PACKAGES)
    problems = "; ".join(local.list_problems())
    return [
        Check("python", True, f"{platform.python_version()} on {platform.system()}, {sys.executable}"),
        Check("packages", True, packages),
        check_settings(settings, environ),
        *await check_database(settings),
        check_signing_key(settings),
        *await check_keys_and_models(settings, environ),
        await check_model_servers(settings),
        *(await ask_models(settings, environ) if asks else []),
        Check("embedded model", not problems, problems or str(weights.find()), needed=False),
        *check_hooks(settings, environ),
        await check_handshake(settings),
        await check_http(settings),
        *await check_research_servers(settings),
    ]


def check_settings(settings: Settings, environ: Mapping[str, str]) -> Check:
    """Where each setting comes from. Settings that are not named have their defaults."""
    sources = Settings.find_sources(environ)
    if settings.db != Settings.read(environ).db:
        sources["db"] = "--db"
    description = "; ".join(f"{name}: {source}" for name, source in sources.items())
    return Check("settings", True, clean_line(description) or "all by default", needed=False)


async def check_database(settings: Settings) -> list[Check]:
    """Open, read and write the database, and sum today's spending."""
    from server.compose import open_manager  # noqa: PLC0415  (slow)

    try:
        async with open_manager(settings.model_copy(update={"hooks": ""})) as manager:
            newest = await manager.store.find(limit=1)
            await manager.leases.acquire("doctor")  # writes
            await manager.leases.release("doctor")
            (calls, cost), _ = await manager.daily_budget.find_spending()
    except (DebateError, ExceptionGroup) as error:
        return [Check("database", False, clean_line(str(session.find_root_cause(error))))]
    max_calls = f" of {settings.daily_calls} allowed" if settings.daily_calls else ""
    max_cost = f" of ${settings.daily_cost_usd} allowed" if settings.daily_cost_usd else ""
    spending = f"{format_count(calls, 'call')}{max_calls}, ${cost:f}{max_cost} (since midnight, UTC)"
    content = f"newest debate {newest[0].stream} of {newest[0].opened_at[:10]}" if newest else "no debates"
    return [
        Check("database", True, f"{find_name(settings.database)}, {content}"),
        Check("today", True, spending, needed=False),
    ]


def check_signing_key(settings: Settings) -> Check:
    """Without the key debates run, but are neither signed nor resumed by another process."""
    signer = Signer(settings.signing_key, settings.signing_key_file)
    detail = signer.problem or f"{signer.source}, id {find_key_id(signer.key.public_key)}"
    return Check("signing key", not signer.problem, detail, needed=False)


def check_keys(environ: Mapping[str, str]) -> Check:
    """The keys that are set, and where each comes from. `check_database` has loaded those that are stored."""
    names = [key for row in registry.PROVIDERS for key in row.key_variables if environ.get(key)]
    names += [name for name in keys.origins if name not in names and environ.get(name)]
    sources = ", ".join(f"{name} (from {keys.origins.get(name, 'the environment')})" for name in names)
    detail = f"{sources}. {keys.problem}" if sources and keys.problem else sources or keys.problem
    return Check("keys", bool(names) and not keys.problem, detail or "no provider's key is set", needed=False)


async def check_keys_and_models(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    key_check = check_keys(environ)
    try:
        models_in_use = models.list_models_in_use(settings, environ)
        for name, _ in models_in_use:
            registry.ModelRegistry().check(name, environ)
    except registry.NoModelError as error:
        return [key_check, Check("models", False, error.in_terminal)]
    except DebateError as error:
        return [key_check, Check("models", False, str(error))]
    find_price = PriceTable(settings.prices).find_price
    setup = open_debate(
        DebateRequest(question="?"), models=[name for name, _ in models_in_use], seed=1, find_price=find_price
    )
    estimate = estimate_line(Debate(setup)).removeprefix("Estimate: ")
    sizes = await models.describe_windows(settings, [name for name, _ in models_in_use])
    names = "; ".join(f"{name} ({reason}{sizes.get(name, '')})" for name, reason in models_in_use)
    return [key_check, Check("models", True, names), Check("a debate", True, estimate, needed=False)]


async def check_model_servers(settings: Settings) -> Check:
    """The model servers on this machine, and how a debate would name their models."""
    servers = await model_servers.find_servers(windows.WindowTable(settings.windows))
    description = "; ".join(map(str, servers)) or "none found on this machine"
    pair = ",".join(model_servers.choose_pair(servers))
    use = f". To use: {PREFIX}MODELS={pair}" if pair and not settings.models else ""
    return Check("model servers", bool(servers), clean_line(description + use), needed=False)


async def ask_models(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    """Ask every model of a debate that names none for one token, all together."""
    try:
        names = [name for name, _ in models.list_models_in_use(settings, environ) if name not in AWAITED]
    except DebateError:
        return []  # reported by `check_keys_and_models`
    checks: dict[str, Check] = {}

    async def ask(name: str) -> None:
        checks[name] = await ask_model(model_registry, name)

    async with Connections() as connections, anyio.create_task_group() as tasks:
        model_registry = registry.ModelRegistry(connections=connections)
        for name in names:
            tasks.start_soon(ask, name)
    return [checks[name] for name in names]


async def ask_model(model_registry: registry.ModelRegistry, name: str) -> Check:
    prompt = Prompt((Message("user", "Say yes."),), PromptSummary("argument", "Say yes.", 1, "yes"))
    request = Request(prompt, seat="doctor", max_tokens=1, timeout=ASK_TIMEOUT, seed=1)
    start = perf_counter()
    try:
        await model_registry.get(name).reply(request)
    except (DebateError, ModelError) as error:
        problem = error.detail if isinstance(error, ModelError) else str(error)
        if not re.search(OUTPUT_LIMIT, problem):
            told = problem if problem.startswith(name) else f"{name}: {problem}"
            return Check("asked", False, clean_line(told))
    milliseconds = (perf_counter() - start) * 1000
    return Check("asked", True, clean_line(f"{name} answered in {milliseconds:,.0f} ms"))


def check_hooks(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    """The file of hooks, if there is one: a server with an invalid one does not start."""
    if not settings.hooks:
        return []
    try:
        with optional_import():
            from server.hooks.config import load_hooks_config  # noqa: PLC0415  (imports YAML and an HTTP client)
        count = len(load_hooks_config(settings.hooks, environ).hooks)
    except InvalidSettingsError as error:
        return [Check("hooks", False, str(error))]
    return [Check("hooks", True, f"{format_count(count, 'hook')} in {settings.hooks}")]


async def check_handshake(settings: Settings) -> Check:
    """Start a server as a client would, and list its tools."""
    launch = choose_launch_command()
    try:
        count, seconds = await count_tools(
            launch.command, launch.args, {**launch.env, f"{PREFIX}DB": settings.database}
        )
    except HandshakeError as error:
        return Check("mcp", False, f"the server did not answer: {error}")
    return Check("mcp", True, f"{count} tools, {seconds * 1000:.0f} ms from start to end")


async def check_http(settings: Settings) -> Check:
    """Check who could use `counterpoint serve --http`."""
    try:
        with optional_import():
            from server.access.hosts import find_public_host  # noqa: PLC0415
            from server.access.oidc import OidcTokens  # noqa: PLC0415  (imports the SDK of MCP)
            from server.access.tokens import is_good  # noqa: PLC0415
        oidc = OidcTokens.find(settings)
        async with tokens.open_tokens(settings, makes_database=True) as store:
            stored_tokens = await store.read()
    except DebateError as error:
        return Check("http", False, clean_line(str(error)), needed=False)
    if not (stored_tokens or oidc or settings.tokens):
        if host := find_public_host(settings.http_hosts):
            problem = f"without tokens {host} is not served: counterpoint token new OWNER makes one"
            return Check("http", False, clean_line(problem), needed=False)
        return Check(
            "http", True, "without tokens: serve --http 127.0.0.1:8080, to this machine alone", needed=False
        )
    good_tokens = [token for token in stored_tokens if is_good(token, time())]
    owners = ", ".join(dict.fromkeys(token.owner for token in good_tokens))
    detail = f"{format_count(len(good_tokens), 'good token')} in {settings.tokens or 'the database'}"
    detail += f", of {owners}" if owners else ""
    detail += f"; tokens of {oidc.issuer} for {oidc.audience}" if oidc else ""
    return Check("http", True, clean_line(detail), needed=False)


async def check_research_servers(settings: Settings) -> list[Check]:
    """Start or connect to all research servers at once, and list their tools."""
    checks: dict[str, Check] = {}

    async def check(name: str) -> None:
        count = await research.count_tools(name)
        detail = count if isinstance(count, str) else format_count(count, "tool")
        checks[name] = Check("research", detail is not count, f"{name}: {detail}", needed=False)

    async with Research(settings.mcp_servers) as research, anyio.create_task_group() as tasks:
        for name in settings.mcp_servers:
            tasks.start_soon(check, name)
    return [checks[name] for name in settings.mcp_servers]


@click.command()
@click.option("--ask", is_flag=True, help="Ask each model that a debate would use for one token.")
@session.json_option
@click.pass_obj
def doctor(settings: Settings, as_json: bool, ask: bool) -> None:
    """Check what works here and what does not. Exit code 0 if a debate can run.

    Nothing is sent to a provider, unless you give --ask: then you learn before a debate whether a provider refuses a
    key.

    Example: counterpoint doctor --ask
    """
    checks = anyio.run(partial(run_checks, settings, os.environ, asks=ask))
    can_debate = all(check.ok for check in checks if check.needed)
    if as_json:
        click.echo(session.format_json({"ok": can_debate, "checks": [asdict(check) for check in checks]}))
        sys.exit(not can_debate)
    out = session.open_terminal()
    for check in checks:
        word, colour = ("ok", "green") if check.ok else ("FAIL", "red") if check.needed else ("-", "yellow")
        out.print_wrapped(check.detail, f"{word:5} {check.name:15} ", lead_style=colour)
    click.echo("\nA debate can run." if can_debate else "\nA debate cannot run: see what failed above.")
    sys.exit(not can_debate)
