"""Checks a debate to be opened against what this process can use: models, prices, windows, research servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server.debate.commands.open import add_prompt_functions, add_windows
from server.debate.facts.errors import require
from server.debate.facts.events import Opened
from server.debate.rules.advance import CallerCode
from server.debate.rules.seats import find_models, find_officers
from server.models.registry import ModelRegistry
from server.models.windows import WindowTable
from server.redaction import MODEL_FIELDS, redact_model
from server.research import Research


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

    async def check_models(self, names: Sequence[str]) -> None:
        """Raises InvalidRequestError for a model that cannot answer, as far as that can be known without asking it."""
        for name in dict.fromkeys(names):
            self.models.check(name, self.environ)
        await self.models.check_known(names)
        problem = await self.windows.find_missing(names)
        require(not problem, problem)
