"""Plans debates to be opened, with what this process can use: models, prices, windows, research servers."""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from anyio import to_thread

from server.debate.commands.fork import fork
from server.debate.commands.requests import ChangesInput, DebateRequest
from server.debate.commands.setup.documents import add_windows
from server.debate.commands.setup.open import add_prices, add_prompt_functions, open_debate
from server.debate.commands.setup.team import list_models, plan_team
from server.debate.facts.errors import require
from server.debate.facts.events import Event
from server.debate.facts.setup.ledger import Team
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import EffortLevel
from server.debate.interventions.action import InterventionRequest
from server.debate.rules.caller_code import CallerCode
from server.debate.state.seats import find_models, find_officers
from server.debate.votes.teams import TeamRequest
from server.engine.database.ledger import find_team
from server.engine.database.snapshots import DebateSnapshot
from server.models.model_servers import choose_models
from server.models.registry import ModelRegistry
from server.models.windows import WindowTable
from server.redaction import MODEL_FIELDS, redact_model
from server.research import Research
from storage.ledger import Ledger


@dataclass(frozen=True, slots=True)
class SetupPlanner:
    """What debates of this process can use, and what they get where their request does not say.

    `configured_models`: if empty, the API keys in `environ` decide. `embeddings`: the model that says whether voters
    hold alike what they hold; "" for none.
    """

    models: ModelRegistry
    research: Research = field(default_factory=lambda: Research({}))
    windows: WindowTable = field(default_factory=WindowTable)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    configured_models: Sequence[str] = ()
    effort: EffortLevel = "standard"
    embeddings: str = ""

    def find_price(self, model: str) -> Price:
        return self.models.prices.find_price(model)

    async def plan(self, request: DebateRequest, ledger: Ledger, owner: str) -> Opened:
        """The set-up of a requested debate: with the models that it names, the usual ones, or a team of these.

        `ledger`, `owner`: by whose knowledge of models a team is chosen.

        Raises:
            InvalidRequestError: the debate cannot be held as requested.
            NoModelError: it names no model, and none is configured.
        """
        requested_models = list_models(request)
        models = requested_models or await self._choose_models(
            [debater.model for debater in request.debaters]
        )
        build = partial(
            open_debate,
            request,
            models=models,
            seed=secrets.randbelow(2**31 - 1) + 1,
            find_price=self.find_price,
            effort=self.effort,
            embeddings=self.embeddings,
        )
        is_slow = request.options.output_schema is not None  # some patterns take half a second to compile
        setup = await to_thread.run_sync(build) if is_slow else build()
        team_request = plan_team(request, models, setup)
        return (
            build(team=await self._find_team(team_request, setup.seed, ledger, owner))
            if team_request
            else setup
        )

    def plan_fork(
        self, parent: DebateSnapshot, at_round: int, changes: ChangesInput
    ) -> tuple[Opened, tuple[Event, ...]]:
        """The set-up of a fork and the events that it inherits. Raises InvalidRequestError."""
        setup, inherited_events = fork(parent.id, parent.debate, parent.entries, at_round, changes)
        return add_prices(setup, self.find_price), inherited_events

    async def _choose_models(self, debater_models: Sequence[str]) -> Sequence[str]:
        return await choose_models(self.configured_models, self.environ, self.windows, debater_models)

    async def _find_team(self, request: TeamRequest, seed: int, ledger: Ledger, owner: str) -> Team:
        """Choose a team of these candidates. Raises InvalidRequestError if one of them cannot be asked."""
        await self.check_models(request.candidates)
        return await find_team(request, seed, ledger=ledger, owner=owner, find_price=self.find_price)

    async def complete(self, setup: Opened, code: CallerCode) -> Opened:
        """The setup as it is recorded. Raises InvalidRequestError for what cannot be used here."""
        setup = redact_model(setup, MODEL_FIELDS)
        setup = setup.model_copy(update={"has_predicate": code.terminate_when is not None})
        setup = add_prompt_functions(setup, code.prompts) if code.prompts else setup
        names = find_models(setup)
        await self.check_models((*names, *setup.fallback_models))
        self.models.prepare(names)
        for tools in (setup.judges.tools, *(seat.tools for seat in find_officers(setup).values())):
            self.research.check(tools)
        for debater in setup.debaters:
            self.research.check(debater.tools, for_debater=True)
        return add_windows(setup, await self.windows.find((*names, *setup.fallback_models)))

    async def complete_replacement(self, request: InterventionRequest) -> InterventionRequest:
        """The request with what is known of the model that it names for a seat. Raises InvalidRequestError."""
        if not (model := request.model.strip()):
            return request
        await self.check_models([model])
        window = sum(row.tokens for row in await self.windows.find([model]))
        return replace(request, price=self.find_price(model), window=window)

    async def check_models(self, names: Sequence[str]) -> None:
        """Raises InvalidRequestError for a model that cannot answer, as far as that can be known without asking it."""
        for name in dict.fromkeys(names):
            self.models.check(name, self.environ)
        await self.models.check_known(names)
        problem = await self.windows.find_missing(names)
        require(not problem, problem)
