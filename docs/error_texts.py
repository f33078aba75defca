"""The error texts that people meet, found in the code: `…` stands for what differs from case to case.

A text of the code that is only the reason within a sentence is put into that sentence, with what helps.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

AREAS = {
    "Settings, keys and clients": (
        "server/settings.py server/signing.py server/startup.py server/optional.py "
        "server/client_configs server/models/providers/key "
        "server/cli/installation/install.py server/cli/installation/keys.py counterpoint"
    ),
    "Models and providers": "server/models server/cli/installation/models.py server/cli/debates/demo.py",
    "Opening and steering a debate": (
        "server/debate/commands server/debate/schemas server/debate/documents server/debate/votes "
        "server/debate/facts server/debate/state server/debate/prompts server/debate/replies server/debate/rules "
        "server/debate/ballots server/debate/arguments server/debate/machine server/debate/seats server/debate/answer "
        "server/engine/debates.py server/tools server/mcp"
    ),
    "Reading, importing and verifying": (
        "server/debate/records server/debate/views server/debate/analysis server/engine/queries.py "
        "server/engine/transfer.py server/engine/receipts.py server/engine/verification.py server/web "
        "server/cli/debates/export.py server/cli/debates/verify.py server/cli/debates/watch.py"
    ),
    "The database": "server/engine/database server/engine server/upkeep storage server/cli/installation/databases.py",
    "Research and hooks": "server/research server/hooks server/http.py",
    "Evaluating": "server/evaluation server/cli/debates/evaluate.py server/cli/debates/ledger.py",
    "The terminal": "server/cli",
}
"""Where the texts of each area stand: beginnings of paths. The first that fits counts."""

HELP = {
    "Settings, keys and clients": "Nothing was started or changed. `counterpoint doctor` says where each setting "
    "and key comes from.",
    "Models and providers": "The reason stands behind the seat or the call that failed. The debate goes on without the "
    "seat, or pauses; when the cause is gone, resume it with `intervene`, or `counterpoint debate --continue ID`.",
    "Opening and steering a debate": "What was asked for is not possible, and nothing has changed. Call again "
    "with what the text names.",
    "Reading, importing and verifying": "Nothing was written. A file that was altered is not read in part.",
    "The database": "What was recorded before is kept. `counterpoint db check` looks at a database as a whole.",
    "Research and hooks": "Debates go on without research and hooks; the text says what to change in the settings "
    "or in the file of hooks.",
    "Evaluating": "Nothing was asked, and nothing was spent.",
    "The terminal": "The command line is not as the command takes it, and nothing was done. `--help` behind a command "
    "shows its options.",
}
"""What all the texts of an area have in common."""


@dataclass(frozen=True)
class Frame:
    """A sentence that people read around the reasons that some modules give, and what helps.

    `paths`: beginnings of paths, separated by spaces.
    """

    paths: str
    sentence: str
    help: str


ALTERED = (
    "The file is not as it was exported, or a later release wrote it. Export the debate again, or update "
    "counterpoint-mcp."
)
FRAMES = (
    Frame(
        "server/client_configs",
        "… was not changed: {}. Change by hand what `counterpoint install … --print` shows.",
        "The file of the client is not as this client reads it. Mend it, and run the command again.",
    ),
    Frame(
        "server/settings.py",
        "The setting … (COUNTERPOINT_…): {}.",
        "The text names the setting and where it stands: a variable, or a line of the settings file. "
        "[Settings](settings.md) lists what each may be.",
    ),
    Frame(
        "server/debate/commands/requests.py server/debate/commands/input server/debate/facts/setup",
        "`…` {}.",
        "The text begins with the argument that it is about. [Tools](tools.md) lists what each may be.",
    ),
    Frame(
        "server/debate/schemas/plain_json.py",
        "`output_schema` cannot be read as JSON: {}. Change that.",
        "Pass the schema as JSON has it.",
    ),
    Frame(
        "server/debate/schemas",
        "The result does not satisfy `output_schema`: {}.",
        "The synthesizer is asked once more, with this reason. If it cannot, the verdict has no deliverable and says "
        "why; the finding stands. A simpler schema helps.",
    ),
    Frame(
        "server/debate/replies server/debate/seats server/debate/machine/interpret.py server/debate/facts/beliefs.py "
        "server/debate/prompts/prompt.py server/debate/machine/advice.py server/debate/answer",
        "The answer of … could not be used: {}.",
        "The model is asked once more, with this reason. If that fails, too, the seat counts as failed in this round "
        '(`failures` in `read_debate(view="round")`). Where it happens often, give the seat a larger model: '
        '`intervene(action="replace_model")`.',
    ),
    Frame("server/debate/records/setup.py", "Entry 1 (opened) opens no debate: {}.", ALTERED),
    Frame("server/debate/records", "Entry … (…) cannot follow those before it: {}.", ALTERED),
    Frame(
        "storage",
        "The debates' database cannot be used: {}.",
        "Nothing is recorded, and no model is asked, until it can be used. "
        "[Troubleshooting](troubleshooting.md#the-database) has what helps in each case.",
    ),
    Frame(
        "server/research/transports.py",
        "The call failed: it sent {}.",
        "A research server sent what is not taken. The debater reads so, and the debate goes on; mend or remove that "
        "server.",
    ),
    Frame(
        "server/evaluation/questions.py",
        "Line …: …: {}. Write …",
        "Change the line of the file of questions that it names, and run the command again.",
    ),
    Frame(
        "server/hooks",
        "The hooks file … (COUNTERPOINT_HOOKS) cannot be used: line …: …: {}.",
        "Change the line that it names, as [Hooks](hooks.md) describes it, and start again: no server starts with a "
        "file of hooks that cannot be used.",
    ),
)
"""The first that fits a path counts."""

DEFECTS = (
    "storage/chain.py",
    "storage/errors.py",
    "storage/journal.py",
    "server/models/fakes/instances.py",
    "server/models/fakes/chaos.py",
    "server/signing.py",
    "server/web/page.py",
)
"""Where reasons go to other parts of the code, and to no person."""

_WHOLE = re.compile(r"(?:[A-Z`]|max_cost_usd).*[.?!…]")
_SENTENCE = re.compile(
    r"(?:[A-Z\"`…{-]|(?:options|limits|changes)\.|(?:max_cost_usd|request_id|offset|prompts|pause_when|litellm|local|scripted)\b)"
    r".*[.?!…)\"'`]"
)
"""A whole sentence begins with a capital letter, or with what it is about: a name, an argument, a value."""

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


Found = dict[str, dict[Frame | None, set[str]]]
"""Whole sentences by area, and by the frame that they have from it."""


@cache
def find_sentences() -> Found:
    """Raises ValueError for a text that is no sentence, and has no frame."""
    found: Found = {area: {} for area in AREAS}
    for top in ("counterpoint", "server", "storage"):
        for path in sorted((ROOT / top).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if area := find_area(name):
                for text in texts_of_module(ast.parse(path.read_text(encoding="utf-8"))):
                    if framed := complete(name, text):
                        found[area].setdefault(framed[0], set()).add(framed[1])
    return found


def complete(path: str, text: str) -> tuple[Frame | None, str] | None:
    """The frame that a text has, and the sentence that people read; None if nobody does."""
    if path in DEFECTS and not _WHOLE.fullmatch(text):
        return None
    frame = next((frame for frame in FRAMES if is_among(path, frame.paths)), None)
    if frame is None:
        if not _SENTENCE.fullmatch(text):
            raise ValueError(f"{path}: {text!r} is no sentence. Make it one, or give it a frame.")
        return None, text
    return (None, text) if _WHOLE.fullmatch(text) else (frame, frame.sentence.format(text.rstrip(".")))


def find_texts() -> list[str]:
    """Every sentence."""
    return [text for framed in find_sentences().values() for texts in framed.values() for text in texts]


def find_area(path: str) -> str:
    return next((area for area, starts in AREAS.items() if is_among(path, starts)), "")


def is_among(path: str, starts: str) -> bool:
    return any(path.startswith(start) for start in starts.split())


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
    """The text of `raise SomeError(text)`, of `require(condition, text)` and its like, and of a failed option.

    And what a terminal says in place of the text of an error.
    """
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        name = name_of(node.exc.func)
        if name not in INTERNAL and name[:1].isupper():
            yield from node.exc.args[1:2] if name == "ModelError" else node.exc.args[:1]
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
        yield from node.args[:1]
    elif isinstance(node, ast.Assign) and name_of(node.targets[0]) == "in_terminal":
        yield node.value
    elif isinstance(node, ast.Call) and name_of(node.func) == "require":
        yield from node.args[1:2]
    elif isinstance(node, ast.Call) and name_of(node.func) == "require_at":
        yield ast.BinOp(ast.Constant("`output_schema` at …: "), ast.Add(), node.args[2])
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
    for area, framed in find_sentences().items():
        parts.append(f"### {area}\n\n{HELP[area]}")
        for frame, texts in sorted(framed.items(), key=lambda item: (item[0] is not None, str(item[0]))):
            parts += [f"{frame.help}"] if frame else []
            parts.append("\n".join(f"- {quote(text)}" for text in sorted(texts)))
    return "\n\n".join(parts)


def quote(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def has_words(template: str, quoted: str) -> bool:
    """Whether a text of the code holds these words; `…` at their ends is not compared."""
    return quoted.strip("…. ") in template
