"""The error texts that people meet, found in the code: `…` stands for what differs from case to case."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

AREAS = {
    "Settings, keys and clients": (
        "server/settings.py server/signing.py server/startup.py server/client_configs server/models/providers/key "
        "server/cli/installation/install.py server/cli/installation/keys.py counterpoint"
    ),
    "Models and providers": "server/models server/cli/installation/models.py server/cli/debates/demo.py",
    "Opening and steering a debate": (
        "server/debate/commands server/debate/schemas server/debate/documents server/debate/votes "
        "server/debate/facts server/debate/prompts server/debate/replies server/debate/rules server/debate/ballots "
        "server/debate/arguments server/engine/debates.py server/tools server/mcp"
    ),
    "Reading, importing and verifying": (
        "server/debate/records server/debate/views server/debate/analysis server/engine/queries.py "
        "server/engine/transfer.py server/engine/receipts.py server/engine/verification.py server/web "
        "server/cli/debates/export.py server/cli/debates/verify.py server/cli/debates/view.py"
    ),
    "The database": "server/engine/database server/engine server/upkeep storage server/cli/installation/databases.py",
    "Research and hooks": "server/research server/hooks server/http.py",
    "Evaluating": "server/evaluation server/cli/debates/evaluate.py server/cli/debates/ledger.py",
    "The terminal": "server/cli",
}
"""Where the texts of each area stand: beginnings of paths. The first that fits counts."""

INTERNAL = {
    "KeyError",
    "IndexError",
    "AttributeError",
    "TypeError",
    "AssertionError",
    "IllegalEvent",
    "ImportError",
}
"""Errors that no person is shown as they are."""

MIN_LETTERS = 15  # of a text that can be looked up
MOST_NAMES = 5  # one put into the other, that are followed

Assignments = dict[str, ast.expr]


def find_texts() -> dict[str, list[str]]:
    """By area, each text once, sorted."""
    found: dict[str, set[str]] = {area: set() for area in AREAS}
    for top in ("counterpoint", "server", "storage"):
        for path in sorted((ROOT / top).rglob("*.py")):
            area = find_area(path.relative_to(ROOT).as_posix())
            if area:
                found[area].update(texts_of_module(ast.parse(path.read_text(encoding="utf-8"))))
    return {area: sorted(texts) for area, texts in found.items()}


def find_area(path: str) -> str:
    return next(
        (area for area, starts in AREAS.items() if any(path.startswith(start) for start in starts.split())),
        "",
    )


def texts_of_module(tree: ast.Module) -> Iterator[str]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    shared = find_assignments(tree.body)
    for function in functions:
        known = shared | find_assignments(list(ast.walk(function)))
        for node in ast.walk(function):
            for expression in find_error_texts(node):
                text = re.sub(r"(?:…\s*)+…|…+", "…", " ".join(flatten(expression, known).split()))
                if len(re.findall(r"[A-Za-z]", text)) >= MIN_LETTERS and " " in text.strip("… "):
                    yield text


def find_assignments(nodes: list[ast.AST] | list[ast.stmt]) -> Assignments:
    return {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def find_error_texts(node: ast.AST) -> Iterator[ast.expr]:
    """The text of `raise SomeError(text)`, of `require(condition, text)`, and of a failed option."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        name = name_of(node.exc.func)
        if name not in INTERNAL and name[:1].isupper():
            yield from node.exc.args[1:2] if name == "ModelError" else node.exc.args[:1]
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
        yield from node.args[:1]
    elif isinstance(node, ast.Call) and name_of(node.func) == "require":
        yield from node.args[1:2]
    elif isinstance(node, ast.Call) and name_of(node.func) == "fail" and node.args:
        yield node.args[0]


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def flatten(expression: ast.expr, known: Assignments, depth: int = 0) -> str:
    """A text as far as the code spells it out."""
    match expression:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(flatten(part, known, depth) for part in parts)
        case ast.FormattedValue(value=value):
            return flatten(value, known, depth)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return flatten(left, known, depth) + flatten(right, known, depth)
        case ast.Name(id=name) if name in known and depth < MOST_NAMES:
            return flatten(known[name], {key: one for key, one in known.items() if key != name}, depth + 1)
    return "…"


def render_error_texts() -> str:
    parts = []
    for area, texts in find_texts().items():
        rows = "\n".join(f"- {quote(text)}" for text in texts)
        parts.append(f"### {area}\n\n{rows}")
    return "\n\n".join(parts)


def quote(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def has_words(template: str, quoted: str) -> bool:
    """Whether a text of the code holds these words; `…` at their ends is not compared."""
    return quoted.strip("…. ") in template
