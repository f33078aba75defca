"""Code that asks which member of a closed set it has, a kind of event, a cause or a task, has an answer for each.

Mypy holds `match` statements that end in `assert_never`; these tests hold that they do, and the mappings.
"""

import ast
import pkgutil
import typing
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest

import server
import server.debate
from server.debate.facts.answers import Reading
from server.debate.facts.interventions import InterventionFact
from server.debate.interventions.action import Action
from server.debate.interventions.registry import REGISTRY
from server.debate.seats.registry import DUTIES, SEATS
from server.debate.seats.seat import Duty
from server.debate.views.verdict import VerdictFields
from tests.support.import_graph import FILES, parse_module

pytestmark = pytest.mark.requirement("M7")

OPEN = {
    "server/debate/documents/folding.py": "groups of a regular expression",
    "server/debate/schemas/plain_json.py": "values of JSON",
    "server/debate/schemas/output_schema.py": "keywords of JSON Schema, and values",
    "server/debate/seats/synthesizer.py": "values of JSON",
    "server/debate/views/progress.py": "tasks of the answer format: any other has its own name",
    "server/hooks/yaml_with_lines.py": "nodes of YAML",
    "server/models/fakes/instances.py": "types of JSON Schema",
    "server/models/fakes/scripted.py": "tasks: any other than these has a general answer",
    "server/models/local/prompting.py": "tasks, likewise",
    "server/models/providers/litellm.py": "words of a provider",
    "server/research/connection.py": "errors of libraries",
    "server/tools/arguments/refusals.py": "errors of pydantic",
}
"""Files that dispatch over a set that is not ours, or has no end."""


def list_modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.endswith("__main__"):
            yield import_module(found.name)


def find_members(kind: Any) -> set[Any] | None:
    """The members of a closed set: of `Literal`, of unions of such, with None; None for any other type."""
    if get_origin(kind) is Literal:
        return {*get_args(kind)}
    if kind is type(None):
        return {None}
    if get_origin(kind) in (typing.Union, UnionType):
        parts = [find_members(part) for part in get_args(kind)]
        return None if None in parts else set().union(*(part for part in parts if part is not None))
    return None


def find_closed_sets(package: ModuleType) -> dict[str, Any]:
    """The types of closed sets that the modules of a package define, by name."""
    named = (vars(module).items() for module in list_modules(package))
    return {name: value for names in named for name, value in names if len(find_members(value) or ()) > 1}


class Found(NamedTuple):
    """A mapping that a module defines at its top. `members`: of the type of its keys; None where that is open."""

    path: str
    name: str
    keys: set[Any]
    members: set[Any] | None


def find_mappings(package: ModuleType) -> list[Found]:
    types = find_closed_sets(package)  # some are imported for type checkers alone
    found: dict[int, Found] = {}  # by identity: a mapping that others import has its type where it is defined
    for module in list_modules(package):
        path = f"{module.__name__.replace('.', '/')}.py"
        hints = typing.get_type_hints(module, localns=types)
        for name, value in vars(module).items():
            if isinstance(value, Mapping) and not name.startswith("__"):
                is_typed = get_origin(hints.get(name)) in (dict, Mapping)
                members = find_members(get_args(hints[name])[0]) if is_typed else None
                if members or id(value) not in found:
                    found[id(value)] = Found(path, name, {*value}, members)
    return [*found.values()]


PACKAGES = pytest.mark.parametrize("package", [server.debate, pytest.param(server, marks=pytest.mark.full)])


@PACKAGES
def test_a_mapping_over_a_closed_set_has_each_of_its_members(package: ModuleType) -> None:
    found = find_mappings(package)
    assert [one for one in found if one.members and one.keys != one.members] == []


@PACKAGES
def test_a_mapping_over_members_of_a_closed_set_says_so_in_its_type(package: ModuleType) -> None:
    types = find_closed_sets(package)
    untyped = [
        (found, closed)
        for found in find_mappings(package)
        for closed, kind in types.items()
        if found.members is None
        and len(found.keys) > 1
        and found.keys <= (find_members(kind) or set())
        and found.path not in OPEN
    ]
    assert untyped == []


def list_leaves(base: type) -> set[type]:
    """The classes of ours below a class, without those that others are made of."""
    below: list[type] = base.__subclasses__()
    leaves = {base} if not below and base.__module__.startswith("server.") else set()
    return leaves.union(*map(list_leaves, below))


@pytest.mark.parametrize(
    ("base", "rows"),
    [
        (Duty, map(type, (*SEATS, *DUTIES.values()))),
        (Reading, (seat.fact for seat in SEATS)),
        (Action, map(type, REGISTRY)),
        (InterventionFact, (fact for action in REGISTRY for fact in action.facts)),
    ],
    ids=["duties", "readings", "actions", "interventions"],
)
def test_each_seat_and_action_and_fact_of_theirs_has_its_row(base: type, rows: Iterable[type]) -> None:
    assert [*list_modules(server.debate)]
    assert list_leaves(base) - {*rows} == set()


@pytest.mark.parametrize("method", ["rebuild", "describe"])
def test_an_action_reads_what_its_fact_says(method: str) -> None:
    """By `rebuild` it is imported, by `describe` shown."""
    silent = [
        action.name
        for action in REGISTRY
        for fact in action.facts
        if issubclass(fact, InterventionFact)
        and any(field.is_required() for field in fact.model_fields.values())
        and getattr(type(action), method) is getattr(Action, method)
    ]
    assert silent == []


SAID_OTHERWISE = {"headline": "answer.head", "reasoning": "answer.because", "winner_stance": "positions"}
"""Fields of a verdict that its Markdown has in another field."""


def test_the_markdown_of_a_verdict_has_each_of_its_fields() -> None:
    tree = parse_module(Path("server/debate/views/markdown.py"))
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert VerdictFields.model_fields.keys() - SAID_OTHERWISE.keys() - attributes == set()


@pytest.mark.full  # it parses all of our code
def test_a_match_over_a_closed_set_ends_in_assert_never() -> None:
    silent = [
        f"{path}:{node.lineno}"
        for path in FILES
        if str(path) not in OPEN
        for node in ast.walk(parse_module(path))
        if isinstance(node, ast.Match) and not ends_in_assert_never(node)
    ]
    assert silent == []


def ends_in_assert_never(node: ast.Match) -> bool:
    last = node.cases[-1]
    is_wildcard = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and not last.guard
    match last.body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="assert_never")))]:
            return is_wildcard
        case _:
            return False
