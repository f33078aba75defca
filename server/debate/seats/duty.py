"""What a seat is asked for in one call, and how its reply is read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from server.debate.facts.events import AnswerEvent
from server.debate.prompts.response_schemas import ask_for_json
from server.debate.prompts.transcript import render_preamble
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate


class Duty(ABC):
    task: ClassVar[str]  # as people call it
    fact: ClassVar[type[AnswerEvent]]  # records its answer

    is_data: ClassVar[bool] = (
        False  # it counts only if the whole prompt was read, and quotations are not part of it
    )
    is_prose: ClassVar[bool] = False  # it is no JSON object, even if it contains one
    is_strict: ClassVar[bool] = True  # models must keep to its schema, because the schema is ours
    template: ClassVar[str]  # of the JSON asked for, in words; "" for prose

    def render_material(self, debate: Debate, call: Call) -> str:
        """The beginning of the prompt: question, documents, positions."""
        return render_preamble(debate, call)

    @abstractmethod
    def render_steps(self, debate: Debate, call: Call) -> Iterator[str]:
        """Who the seat is and what it must do now, unless it has a prompt of its own."""

    def render_format(self, debate: Debate, call: Call) -> Iterator[str]:
        """The last words: the names or positions to choose from, and the form of the answer."""
        del debate, call
        if self.template:
            yield ask_for_json(self.template)

    @abstractmethod
    def build_schema(self, debate: Debate) -> dict[str, Any] | None:
        """The JSON Schema of the answer, or None. Our strings have a `maxLength`: small models need grammars."""

    @abstractmethod
    def parse(self, debate: Debate, call: Call, text: str, reply: Reply) -> dict[str, Any]:
        """The fields of the fact.

        Raises:
            ValueError: the reply is unusable; the text tells the model what to correct. It is asked once more.
        """
