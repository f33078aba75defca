"""Checks a debate to be opened against what this process can use: models, prices, windows, research servers."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.documents import add_windows
from server.debate.commands.setup.open import add_prompt_functions
from server.debate.commands.setup.team import list_candidates, list_models
from server.debate.facts.errors import require
from server.debate.facts.events import Opened
from server.debate.facts.team import Team
from server.debate.rules.advance import CallerCode
from server.debate.state.seats import find_models, find_officers
from server.models.registry import ModelRegistry
from server.models.windows import WindowTable
from server.redaction import MODEL_FIELDS, redact_model
from server.research import Research


async def plan_setup(
    request: DebateRequest,
    build: Callable[..., Opened],
    choose_models: Callable[[Sequence[str]], Awaitable[Sequence[str]]],
    find_team: Callable[..., Awaitable[Team | None]],
) -> Opened:
    """The setup of a requested debate: with the models that it names, the usual ones, or a team of these.

    `build`, `find_team`: `open_debate` and `find_team` with what they need of this process.

    Raises:
        InvalidRequestError: the debate cannot be held as requested.
        NoModelError: it names no model, and none is configured.
    """
    models = list_models(request) or await choose_models([debater.model for debater in request.debaters])
    build = partial(build, request, models=models, seed=secrets.randbelow(2**31 - 1) + 1)
    is_slow = request.options.output_schema is not None  # some patterns take half a second to compile
    setup = await to_thread.run_sync(build) if is_slow else build()
    team = await find_team(request, models, setup)
    return build(team=team) if team else setup


@dataclass(frozen=True, slots=True)
class SetupCheck:
    models: ModelRegistry
    research: Research
    windows: WindowTable
    environ: Mapping[str, str]

    async def complete(self, setup: Opened, code: CallerCode) -> Opened:
        """The setup as it is recorded. Raises InvalidRequestError for what cannot be used here."""
        setup = redact_model(setup, MODEL_FIELDS)
        setup = setup.model_copy(update={"has_predicate": code.terminate_when is not None})
        setup = add_prompt_functions(setup, code.prompts) if code.prompts else setup
        names = find_models(setup)
        candidates = () if setup.forked_from else list_candidates(setup.team)  # a fork chooses nobody
        await self.check_models((*names, *setup.fallback_models, *candidates))
        self.models.prepare(names)
        for tools in (setup.judges.tools, *(seat.tools for seat in find_officers(setup).values() if seat)):
            self.research.check(tools)
        for debater in setup.debaters:
            self.research.check(debater.tools, for_debater=True)
        return add_windows(setup, await self.windows.find((*names, *setup.fallback_models)))

    async def check_models(self, names: Sequence[str]) -> None:
        """Raises InvalidRequestError for a model that cannot answer, as far as that can be known without asking it."""
        for name in dict.fromkeys(names):
            self.models.check(name, self.environ)
        await self.models.check_known(names)
        problem = await self.windows.find_missing(names)
        require(not problem, problem)
