"""Checks a debate to be opened against what this process can use: models, prices, windows, research servers."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from server.debate.commands.forks.fork import fork
from server.debate.commands.forks.teams import plan_fork_team
from server.debate.commands.requests import ChangesInput, DebateRequest
from server.debate.commands.setup.documents import add_windows
from server.debate.commands.setup.open import add_prompt_functions
from server.debate.commands.setup.team import list_candidates, list_models, plan_team
from server.debate.facts.errors import require
from server.debate.facts.events import Event
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.team import Team
from server.debate.rules.advance import CallerCode
from server.debate.state.seats import find_models, find_officers
from server.debate.votes.teams import TeamRequest
from server.engine.database.ledger import find_team
from server.engine.database.snapshots import DebateSnapshot
from server.models.registry import ModelRegistry
from server.models.windows import WindowTable
from server.redaction import MODEL_FIELDS, redact_model
from server.research import Research
from storage.contract.ledger import Ledger

ChooseModels = Callable[[Sequence[str]], Awaitable[Sequence[str]]]
"""The usual models, beside those that are named."""

FindTeam = Callable[[TeamRequest, int], Awaitable[Team]]


async def plan_setup(
    request: DebateRequest,
    build: Callable[..., Opened],
    choose_models: ChooseModels,
    find_team: FindTeam,
) -> Opened:
    """The setup of a requested debate: with the models that it names, the usual ones, or a team of these.

    `build`: `open_debate` with what it needs of this process. `find_team`: with a request and a seed.

    Raises:
        InvalidRequestError: the debate cannot be held as requested.
        NoModelError: it names no model, and none is configured.
    """
    models = list_models(request) or await choose_models([debater.model for debater in request.debaters])
    build = partial(build, request, models=models, seed=secrets.randbelow(2**31 - 1) + 1)
    is_slow = request.options.output_schema is not None  # some patterns take half a second to compile
    setup = await to_thread.run_sync(build) if is_slow else build()
    asked = plan_team(request, models, setup)
    return build(team=await find_team(asked, setup.seed)) if asked else setup


async def plan_fork(
    parent: DebateSnapshot,
    at_round: int,
    changes: ChangesInput,
    choose_models: ChooseModels,
    find_team: FindTeam,
) -> tuple[Opened, tuple[Event, ...]]:
    """The setup of a fork and the events that it inherits: with the models of its parent, or another team.

    Without candidates the team is chosen of the parent's, or of the usual models.

    Raises:
        InvalidRequestError, NoModelError: as `plan_setup`.
    """
    debate, team = parent.debate, None
    build = partial(fork, parent.id, debate, parent.entries, at_round, changes)
    if changes.team:
        build()  # what cannot be forked is refused before anything is chosen
        models: Sequence[str] = changes.team.candidates or list_candidates(debate.setup.team)
        models = models or await choose_models([])
        asked = plan_fork_team(debate, at_round, changes, models)
        team = await find_team(asked, changes.seed or debate.setup.seed)
    return build(team)


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
        await self.check_models((*names, *setup.fallback_models))
        self.models.prepare(names)
        for tools in (setup.judges.tools, *(seat.tools for seat in find_officers(setup).values() if seat)):
            self.research.check(tools)
        for debater in setup.debaters:
            self.research.check(debater.tools, for_debater=True)
        return add_windows(setup, await self.windows.find((*names, *setup.fallback_models)))

    async def find_team(
        self,
        ledger: Ledger,
        owner: str | None,
        find_price: Callable[[str], Price],
        asked: TeamRequest,
        seed: int,
    ) -> Team:
        """The team of these candidates, of whom none is chosen unless all can be asked."""
        await self.check_models(asked.candidates)
        return await find_team(asked, seed, ledger=ledger, owner=owner, find_price=find_price)

    async def check_models(self, names: Sequence[str]) -> None:
        """Raises InvalidRequestError for a model that cannot answer, as far as that can be known without asking it."""
        for name in dict.fromkeys(names):
            self.models.check(name, self.environ)
        await self.models.check_known(names)
        problem = await self.windows.find_missing(names)
        require(not problem, problem)
