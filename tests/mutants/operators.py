"""What a mutant changes: for each kind of expression and statement, the texts that can stand in its place.

An operator yields a list for each thing that can be changed; the texts in the list are the ways of changing it.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}
ARITHMETIC = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
}
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
SEQUENCES = ast.List | ast.Tuple | ast.ListComp | ast.JoinedStr | ast.Set


@dataclass(frozen=True)
class Replacement:
    """Other text for the bytes from `start` to `end`."""

    start: int
    end: int
    text: str


Operator = Callable[[ast.AST, "Source"], Iterator[list[Replacement]]]


class Source:
    """A file's text, in the bytes that the columns of a syntax tree count."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def find_span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno
        assert node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def read(self, start: int, end: int) -> str:
        return self.text[start:end].decode()

    def replace(self, node: ast.expr | ast.stmt, *texts: str) -> list[Replacement]:
        return [Replacement(*self.find_span(node), text) for text in texts]

    def replace_between(self, left: ast.expr, right: ast.expr, pattern: str, text: str) -> list[Replacement]:
        """Replace an operator; parentheses and comments may stand beside it."""
        start, end = self.find_span(left)[1], self.find_span(right)[0]
        gap = self.read(start, end)
        return [Replacement(start, end, re.sub(pattern, text, gap, count=1))]

    def apply(self, replacement: Replacement) -> bytes:
        return self.text[: replacement.start] + replacement.text.encode() + self.text[replacement.end :]


def swap_comparisons(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.Compare)
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, node.comparators, strict=False):
        yield source.replace_between(left, right, *COMPARISONS[type(operator)])
    for operand in operands:
        yield from change_strings(operand, source)


def change_strings(node: ast.AST | None, source: Source) -> Iterator[list[Replacement]]:
    """Of a constant that is compared or is a key, or of several of them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield source.replace(node, repr(f"{node.value}?"))
    elif isinstance(node, ast.Tuple | ast.Set | ast.List):
        for element in node.elts:
            yield from change_strings(element, source)


def swap_and_with_or(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.BoolOp)
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    start, end = source.find_span(node)
    parts = [source.read(start, source.find_span(node.values[0])[1])]
    for left, right in zip(node.values, node.values[1:], strict=False):
        (gap,) = source.replace_between(left, right, rf"\b{old}\b", new)
        parts += [gap.text, source.read(*source.find_span(right))]
    parts.append(source.read(source.find_span(node.values[-1])[1], end))  # a parenthesis
    yield [Replacement(start, end, "".join(parts))]


def drop_not(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not):
        text = source.read(*source.find_span(node))
        yield source.replace(node, text.removeprefix("not").lstrip())


def swap_arithmetic(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.BinOp)
    sides = (node.left, node.right)
    is_of_texts = any(isinstance(one, ast.Constant) and isinstance(one.value, str | bytes) for one in sides)
    if (
        type(node.op) in ARITHMETIC
        and not is_of_texts
        and not any(isinstance(one, SEQUENCES) for one in sides)
    ):
        yield source.replace_between(*sides, *ARITHMETIC[type(node.op)])


def change_augmented(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    """Leave the statement out, or count the other way."""
    assert isinstance(node, ast.AugAssign)
    replacements = source.replace(node, "pass")
    if isinstance(node.op, ast.Add | ast.Sub) and not isinstance(node.value, SEQUENCES):
        replacements += source.replace_between(node.target, node.value, *ARITHMETIC[type(node.op)])
    yield replacements


def change_constant(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.Constant)
    if isinstance(node.value, bool):
        yield source.replace(node, str(not node.value))
    elif isinstance(node.value, int | float):
        texts = [repr(node.value + 1)]
        if node.value:
            texts.append(repr(type(node.value)()))
        yield source.replace(node, *texts)


def force_condition(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.If | ast.IfExp | ast.While)
    if not isinstance(node.test, ast.Constant):
        texts = ["False"] if isinstance(node, ast.While) else ["True", "False"]
        yield source.replace(node.test, *texts)


def force_filters(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.comprehension)
    for test in node.ifs:
        yield source.replace(test, "True", "False")


def force_guard(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.match_case)
    if node.guard:
        yield source.replace(node.guard, "True", "False")


def return_none(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    """Except for what is as false as None is: few callers tell the two apart."""
    assert isinstance(node, ast.Return)
    value = node.value
    is_false = isinstance(value, ast.Constant) and not value.value
    is_empty = isinstance(value, ast.List | ast.Tuple) and not value.elts
    if value and not is_false and not is_empty and not (isinstance(value, ast.Dict) and not value.keys):
        yield source.replace(value, "None")


def delete_statement(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.stmt)
    value = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(value, ast.Constant | ast.Yield | ast.YieldFrom):
        yield source.replace(node, "pass")


def change_call(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Name) and node.func.id in OPPOSITES:
        yield source.replace(node.func, OPPOSITES[node.func.id])
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop", "setdefault"):
        yield from change_strings(node.args[0] if node.args else None, source)


def change_keys(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    """But for what is a sentence: a problem, with the condition under which it holds."""
    assert isinstance(node, ast.Dict)
    for key in node.keys:
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str) and " " in key.value):
            yield from change_strings(key, source)


def change_index(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.Subscript)
    if isinstance(node.slice, ast.Constant):
        yield from change_strings(node.slice, source)


def drop_bounds(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.Slice)
    for bound in (node.lower, node.upper):
        if bound:
            yield source.replace(bound, "")


def change_matched(node: ast.AST, source: Source) -> Iterator[list[Replacement]]:
    assert isinstance(node, ast.MatchValue)
    yield from change_strings(node.value, source)


OPERATORS: dict[type[ast.AST], Operator] = {
    ast.AugAssign: change_augmented,
    ast.BinOp: swap_arithmetic,
    ast.BoolOp: swap_and_with_or,
    ast.Break: delete_statement,
    ast.Call: change_call,
    ast.Compare: swap_comparisons,
    ast.Constant: change_constant,
    ast.Continue: delete_statement,
    ast.Dict: change_keys,
    ast.Expr: delete_statement,
    ast.If: force_condition,
    ast.IfExp: force_condition,
    ast.MatchValue: change_matched,
    ast.Raise: delete_statement,
    ast.Return: return_none,
    ast.Slice: drop_bounds,
    ast.Subscript: change_index,
    ast.UnaryOp: drop_not,
    ast.While: force_condition,
    ast.comprehension: force_filters,
    ast.match_case: force_guard,
}
