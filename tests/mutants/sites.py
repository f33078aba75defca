"""Where mutants are made: all places in the measured files that an operator applies to, and a random choice of them."""

import ast
import random
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.operators import OPERATORS, Replacement, Source
from tests.mutants.trees import Change

LOGGERS = ("logger", "hook_logger", "logging")
UNREACHABLE = ("assert_never", "NotImplementedError")
OPTIONS = ("frozen", "slots", "repr", "kw_only", "strict", "description", "title", "examples")
"""Arguments that change nothing which a test should see, or are texts for people."""
OPTION_CALLS = ("ConfigDict", "TypeVar", "NewType")
NOT_MUTATED = (ast.Import, ast.ImportFrom, ast.Assert, ast.JoinedStr)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Site:
    """A place that can be changed, in one of several ways.

    `lines`: its own, then those of the statements around it in the function. `names`: where it is executed on
    import, what the rest of the code calls the thing that it belongs to.
    """

    file: str
    replacements: tuple[Replacement, ...]
    lines: tuple[range, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    old: str
    new: str
    change: Change
    site: Site

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is known by, wherever its line stands."""
        return self.file, self.old, self.new


@dataclass(frozen=True)
class Place:
    """What is around a node."""

    lines: tuple[range, ...] = ()
    names: tuple[str, ...] = ()
    is_in_function: bool = False


def find_sites(project: Path, folders: list[str]) -> list[Site]:
    """In an order that depends on nothing but the code."""
    files = sorted({path for folder in folders for path in (project / folder).rglob("*.py")})
    return [
        site
        for path in files
        for site in find_file_sites(path.relative_to(project).as_posix(), path.read_bytes())
    ]


def find_file_sites(file: str, text: bytes) -> Iterator[Site]:
    source = Source(text)
    for node, place in walk(source.tree, Place()):
        operator = OPERATORS.get(type(node))
        for replacements in operator(node, source) if operator else ():
            line = text.count(b"\n", 0, replacements[0].start) + 1
            end = text.count(b"\n", 0, replacements[0].end) + 1
            names = () if place.is_in_function else place.names
            yield Site(file, tuple(replacements), (range(line, end + 1), *place.lines), names)


def walk(node: ast.AST, place: Place) -> Iterator[tuple[ast.AST, Place]]:
    """The nodes that may be changed, from the outside in."""
    if is_left_out(node) or is_interface(node):
        return
    if isinstance(node, ast.stmt):
        place = enter_statement(node, place)
    yield node, place
    if isinstance(node, ast.Raise):
        return  # what is raised consists of texts
    for child in find_children(node):
        is_body = isinstance(node, (*FUNCTIONS, ast.Lambda)) and not isinstance(child, ast.arguments)
        inner = Place(() if isinstance(node, FUNCTIONS) else place.lines, (), is_in_function=True)
        yield from walk(child, inner if is_body else place)


def find_children(node: ast.AST) -> Iterator[ast.AST]:
    """Without annotations, decorators and options."""
    hidden: tuple[str, ...] = ("annotation", "returns", "decorator_list", "bases", "type_params")
    if isinstance(node, ast.ClassDef):
        hidden += ("keywords",)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            is_option = isinstance(child, ast.keyword) and child.arg in OPTIONS
            if name not in hidden and isinstance(child, ast.AST) and not is_option:
                yield child


def enter_statement(node: ast.stmt, place: Place) -> Place:
    """Its first lines, up to the body that it may have, count for what is in it; on import, the name that it gives."""
    body = getattr(node, "body", None)
    end = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
    lines = (range(node.lineno, max(end, node.lineno) + 1), *place.lines)
    if place.is_in_function:
        return Place(lines, (), is_in_function=True)
    names = place.names
    if isinstance(node, FUNCTIONS):
        names = (node.name,)  # of its defaults
    elif not names:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = tuple(
            one.id for target in targets if target for one in ast.walk(target) if isinstance(one, ast.Name)
        )
        names = (node.name,) if isinstance(node, ast.ClassDef) else names
    return Place(lines, names)


def is_left_out(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Name(id=name) | ast.Attribute(attr=name) | ast.Compare(left=ast.Name(id=name))):
            return name in ("TYPE_CHECKING", "__name__")
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in LOGGERS
        case (
            ast.Expr(value=ast.Call(func=ast.Name(id=name)))
            | ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name)))
        ):
            return name in UNREACHABLE
        case ast.Call(func=ast.Name(id=name)):
            return name in OPTION_CALLS
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in ("__all__", "__slots__", "model_config")
    is_literal = isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal"
    return is_literal or isinstance(node, NOT_MUTATED)


def is_interface(node: ast.AST) -> bool:
    """Whether it is a method that has a text or an ellipsis for a body: others are called in its place."""
    return isinstance(node, FUNCTIONS) and all(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in node.body
    )


def choose_mutants(
    project: Path, sites: list[Site], number: int, seed: int, equivalent: Container[tuple[str, str, str]] = ()
) -> tuple[list[Mutant], list[Mutant]]:
    """So many mutants, and those that came up and are known to be `equivalent`.

    Each site is as likely as any other, and so is each change of it.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    mutants: list[Mutant] = []
    left_out: list[Mutant] = []
    for site in chance.sample(sites, len(sites)):
        if len(mutants) == number:
            break
        mutant = make_mutant(project, site, chance.choice(site.replacements))
        if is_other_program(mutant.change.text, (project / site.file).read_bytes()):
            (left_out if mutant.key in equivalent else mutants).append(mutant)
    return mutants, left_out


def is_other_program(text: bytes, unchanged: bytes) -> bool:
    """Whether it can be compiled, and is not the same but for its layout."""
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return ast.dump(ast.parse(text)) != ast.dump(ast.parse(unchanged))


def make_mutant(project: Path, site: Site, replacement: Replacement) -> Mutant:
    source = Source((project / site.file).read_bytes())
    text = source.apply(replacement)
    start = source.text.rfind(b"\n", 0, replacement.start) + 1
    end = source.text.find(b"\n", replacement.end)
    old = source.text[start:end]
    new = text[start : end + len(text) - len(source.text)]
    line = source.text.count(b"\n", 0, replacement.start) + 1
    return Mutant(site.file, line, join_lines(old), join_lines(new), Change(site.file, text), site)


def join_lines(text: bytes) -> str:
    return " ".join(text.decode().split())
