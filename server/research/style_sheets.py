"""Style sheets of a web page, read as what they say of its elements. What they say only under a condition is apart."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import tinycss2
from cssselect2 import ElementWrapper, Matcher, SelectorError, compile_selector_list
from tinycss2.color4 import parse_color

KEYWORDS = {
    "display": "none block inline inline-block flex inline-flex grid inline-grid table inline-table table-row "
    "table-cell table-row-group table-header-group table-footer-group table-column table-column-group "
    "table-caption list-item contents flow-root flow ruby ruby-text ruby-base -webkit-box -webkit-inline-box",
    "visibility": "visible hidden collapse inherit",
    "content-visibility": "visible hidden auto",
    "position": "static relative absolute fixed sticky -webkit-sticky",
    "overflow-x": "visible hidden clip scroll auto",
    "overflow-y": "visible hidden clip scroll auto",
}
"""The values of properties that browsers know: another one leaves an earlier declaration in force."""

SIDES = ("top", "right", "bottom", "left")
MARGINS, PADDINGS = ([f"{name}-{side}" for side in SIDES] for name in ("margin", "padding"))
SIDES_OF = {"inset": SIDES, "margin": MARGINS, "padding": PADDINGS}

SIZES = (
    "width",
    "height",
    "max-width",
    "max-height",
    "min-width",
    "min-height",
    "min-inline-size",
    "min-block-size",
)
LENGTHS = frozenset((*SIZES, *SIDES, *MARGINS, *PADDINGS, "text-indent"))
NOT_BELOW_ZERO = frozenset((*SIZES, *PADDINGS, "font-size"))
COLORS = frozenset(("color", "background-color", "-webkit-text-fill-color"))
GROWTH = ("flex", "flex-grow", "flex-basis")
CHANGES = ("animation", "animation-name", "transition", "transition-property")
OUTLINES = ("text-shadow", "-webkit-text-stroke", "-webkit-text-stroke-width")
OTHERS = frozenset(
    (
        *("opacity", "filter", "font-size", "background-image", "background-clip", "-webkit-background-clip"),
        *("clip", "clip-path", "transform", "translate", *GROWTH, *CHANGES, *OUTLINES),
    )
)
NAMES = frozenset((*KEYWORDS, *LENGTHS, *COLORS, *OTHERS))
INHERITED = frozenset(("color", "-webkit-text-fill-color", "font-size", "visibility", "text-indent"))
NO_VALUE = frozenset(("inherit", "initial", "unset", "revert", "revert-layer"))

CONDITIONS = frozenset(("media", "supports", "layer", "container", "scope"))
LONGEST_NESTED = 1000
"""Characters of the selectors of a nested rule: they grow with each level."""

SPACE, COMMA = ("whitespace", "comment"), ","
SIBLINGS = re.compile("~(?!=)")

PIXELS = {"px": 1, "pt": 4 / 3, "pc": 16, "in": 96, "cm": 37.8, "mm": 3.78, "rem": 16, "vw": 12.8, "vh": 8}
RELATIVE = {"em": 1.0, "ex": 0.5, "ch": 0.5}

TRANSPARENT, INHERIT = map(tinycss2.parse_one_component_value, ("transparent", "inherit"))

Tokens = Sequence[Any]


class Declaration(NamedTuple):
    name: str
    value: Tokens  # without white space; () where it is not told
    important: bool = False


class Rules:
    """What sheets say: for certain, and of properties that may as well have other values."""

    def __init__(self) -> None:
        self.told, self.untold = Matcher(), Matcher()
        self.has_others = False  # whether they take other sheets from elsewhere

    def add_sheet(self, css: str, *, is_told: bool = True) -> None:
        waiting = [(rule, is_told) for rule in reversed(parse_rules(css))]
        while waiting:
            rule, is_told = waiting.pop()
            if rule.type == "qualified-rule":
                self._add_rule(tinycss2.serialize(rule.prelude), rule.content, is_told=is_told)
            elif rule.type == "at-rule":
                self.has_others |= rule.lower_at_keyword == "import"
                is_told &= rule.lower_at_keyword == "media" and applies(tinycss2.serialize(rule.prelude))
                if rule.lower_at_keyword in CONDITIONS and rule.content is not None:
                    waiting += ((inner, is_told) for inner in reversed(parse_rules(rule.content)))

    def _add_rule(self, selectors: str, content: Tokens, *, is_told: bool) -> None:
        """Add a rule. What is nested in it is not told, nor what is said of siblings.

        The library keeps all siblings before each element for `a ~ b`: too much for long pages.
        """
        waiting = [(selectors, content, is_told)]
        while waiting:
            selectors, content, is_told = waiting.pop()
            if SIBLINGS.search(selectors):
                is_told = False
                selectors = ",".join(SIBLINGS.split(one)[-1] for one in selectors.split(","))
            add_selectors(self.told if is_told else self.untold, selectors, list(parse_declarations(content)))
            for inner in tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True):
                if inner.type == "at-rule" and inner.lower_at_keyword in CONDITIONS and inner.content:
                    waiting.append((selectors, inner.content, False))
                elif inner.type == "qualified-rule" and len(selectors) <= LONGEST_NESTED:
                    waiting.append((nest(selectors, tinycss2.serialize(inner.prelude)), inner.content, False))


def parse_rules(css: str | Tokens) -> list[Any]:
    parse = tinycss2.parse_stylesheet if isinstance(css, str) else tinycss2.parse_rule_list
    return list(parse(css, skip_comments=True, skip_whitespace=True))


def applies(media: str) -> bool:
    """Whether a sheet is for any screen. What is for some only is not told."""
    return any(
        " ".join(one.split()) in ("", "all", "screen", "only screen") for one in media.lower().split(",")
    )


def nest(outer: str, inner: str) -> str:
    around = f":is({outer.strip()})"
    return inner.replace("&", around) if "&" in inner else f"{around} {inner}"


def add_selectors(matcher: Matcher, selectors: str, declarations: list[Declaration]) -> None:
    try:
        compiled = compile_selector_list(selectors) if declarations else []
    except SelectorError:
        return
    for selector in compiled:
        if selector.pseudo_element is None:
            matcher.add_selector(selector, declarations)


def list_matching(matcher: Matcher, element: ElementWrapper) -> list[Declaration]:
    return [declaration for *_, declarations in matcher.match(element) for declaration in declarations]


def parse_declarations(css: str | Tokens) -> Iterator[Declaration]:
    """The declarations that say what is seen, shorthands as what they stand for, without those that are no CSS."""
    for found in tinycss2.parse_blocks_contents(css, skip_comments=True, skip_whitespace=True):
        if found.type != "declaration":
            continue
        for name, tokens in list_longhands(found.lower_name, drop_space(found.value)):
            if name in INHERITED and read_keyword(tokens) in ("inherit", "unset"):
                yield Declaration(name, [INHERIT], found.important)
            elif is_untold(tokens):
                yield Declaration(name, (), found.important)
            elif is_valid(name, tokens):
                yield Declaration(name, tokens, found.important)


def list_longhands(name: str, value: Tokens) -> Iterator[tuple[str, Tokens]]:
    if name == "all":
        yield from ((one, value) for one in NAMES if is_untold(value))
    elif name == "background":
        yield "background-image", value
        colors = [token for token in value if parse_color(token) is not None]
        yield "background-color", colors[:1] or (value if is_untold(value) else [TRANSPARENT])
    elif name == "font":
        sizes = [token for token in value if to_pixels(token, 16) is not None or token.type == "percentage"]
        yield "font-size", value if is_untold(value) else sizes[:1] or value[:1]
    elif name == "overflow" and value:
        yield from (("overflow-x", value[:1]), ("overflow-y", value[-1:]))
    elif name in SIDES_OF and value:
        yield from zip(SIDES_OF[name], ([side] for side in spread(value)), strict=True)
    elif name in NAMES:
        yield name, value


def spread(value: Tokens) -> Tokens:
    """What is given for all sides, as top, right, bottom, left."""
    places = {1: (0, 0, 0, 0), 2: (0, 1, 0, 1), 3: (0, 1, 2, 1)}.get(len(value), (0, 1, 2, 3))
    return [value[place] for place in places] if value else []


def is_untold(tokens: Tokens) -> bool:
    """Whether the value comes from elsewhere, as the parent's or a variable's."""
    return any(
        read_keyword([token]) in NO_VALUE or getattr(token, "lower_name", "") in ("var", "env")
        for token in tokens
    )


def is_valid(name: str, tokens: Tokens) -> bool:
    if not tokens or (name in NOT_BELOW_ZERO and is_below_zero(tokens[0])):
        return False
    if name in KEYWORDS:
        return all(read_keyword([token]) in KEYWORDS[name].split() for token in tokens)
    if name in COLORS:
        return len(tokens) == 1 and (tokens[0].type == "function" or parse_color(tokens[0]) is not None)
    if name in LENGTHS:
        return all(
            token.type in ("dimension", "percentage", "ident", "function")
            or (token.type == "number" and token.value == 0)
            for token in tokens
        )
    if name in ("opacity", "font-size"):
        return len(tokens) == 1 and tokens[0].type != "string"
    return True


def is_below_zero(token: Any) -> bool:
    return token.type in ("number", "dimension", "percentage") and token.value < 0


def read_keyword(tokens: Tokens) -> str:
    """The first word of a value; "" where it is none."""
    return str(getattr(tokens[0], "lower_value", "")) if tokens else ""


def to_pixels(token: Any, font_size: float) -> float | None:
    """A length; None for what is none, or depends on what is not known."""
    if token.type == "number":
        return 0.0 if token.value == 0 else None
    if token.type != "dimension":
        return None
    unit = token.lower_unit
    scale = RELATIVE[unit] * font_size if unit in RELATIVE else PIXELS.get(unit)
    return None if scale is None else float(token.value) * scale


def drop_space(tokens: Iterable[Any]) -> list[Any]:
    """The tokens without what stands between them."""
    return [token for token in tokens if token.type not in SPACE and getattr(token, "value", "") != COMMA]
