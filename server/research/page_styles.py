"""Styles of a web page, as far as they decide whether a reader sees a text.

Read are the sheets in the page, `style` attributes and a few styles of browsers. Whatever is set under a condition, in
another file or in a way that is not read here is unknown, and hides nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import tinycss2
from cssselect2 import ElementWrapper, Matcher, SelectorError, compile_selector_list
from tinycss2.color4 import parse_color

Color = tuple[float, ...]
Tokens = Sequence[Any]

BROWSER_SHEET = """
[hidden], [popover], dialog:not([open]), template, noscript, noframes, noembed, datalist, rp,
iframe, video, audio, canvas { display: none }
[aria-hidden="true" i] { display: none !important }
annotation, annotation-xml { display: none }
a[href] { color: #0000ee }
mark { color: black; background-color: yellow }
"""

MAX_HIDDEN_FONT, MAX_HIDDEN_OPACITY = 2.0, 0.05
"""The largest font (in pixels) and the highest opacity that a reader does not see."""

SMALLEST_BOX = 1.0  # pixels
FAR, VERY_FAR = -1500.0, 4000.0
"""Pixels that move a text off the page, and away from the other side of it."""

HALF = 50  # percent

SAME_COLOR = 12 / 255
"""The largest difference of a channel between two colours that look the same."""

SVG = "{http://www.w3.org/2000/svg}"

USUAL_FONT = 16.0
PIXELS = {"px": 1.0, "pt": 4 / 3, "em": USUAL_FONT, "rem": USUAL_FONT, "vw": 12.8, "vh": 8.0}

SIDES = ("top", "right", "bottom", "left")

CHANGES = frozenset(("animation", "animation-name", "transition", "transition-property"))
"""What may change how an element looks later."""

PAINTS = frozenset(("background-image", "background-clip", "text-shadow", "-webkit-text-fill-color"))
"""What shows letters in any colour."""


BOXES = frozenset(
    "address article aside blockquote body div dl dd dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "  # noqa: SIM905
    "header li main nav ol p pre section ul".split()
)
"""Elements with the size that is given to them. Those in a line have that of their text."""

ROOM = {
    "width": (
        "min-width",
        "min-inline-size",
        "padding-left",
        "padding-right",
        "flex",
        "flex-grow",
        "flex-basis",
    ),
    "height": (
        "min-height",
        "min-block-size",
        "padding-top",
        "padding-bottom",
        "flex",
        "flex-grow",
        "flex-basis",
    ),
}
"""A size, and what makes a box larger than that."""

SHORTHANDS = {
    "margin": [f"margin-{side}" for side in SIDES],
    "padding": [f"padding-{side}" for side in SIDES],
    "inset": [*SIDES],
}

CONDITIONS = frozenset(("media", "supports", "layer", "container"))


class Declaration(NamedTuple):
    name: str
    value: Tokens  # without white space; () if it is unknown
    important: bool = False


@dataclass(frozen=True, slots=True)
class Style:
    """How the text of an element is shown. A colour is None if it is unknown."""

    is_shown: bool = True  # False: nothing in the element is
    is_visible: bool = True
    is_cut: bool = False  # its box has no size, and shows nothing outside
    opacity: float = 1.0
    font_size: float = USUAL_FONT  # pixels
    color: Color | None = (0.0, 0.0, 0.0)
    backdrop: Color | None = (1.0, 1.0, 1.0)

    @property
    def is_seen(self) -> bool:
        is_large = self.opacity > MAX_HIDDEN_OPACITY and self.font_size > MAX_HIDDEN_FONT
        is_told_apart = (
            self.color is None
            or self.backdrop is None
            or any(abs(a - b) > SAME_COLOR for a, b in zip(self.color, self.backdrop, strict=True))
        )
        return self.is_shown and self.is_visible and not self.is_cut and is_large and is_told_apart


class PageStyles:
    def __init__(self, root: Element) -> None:
        self._browser, self._page, self._conditional = Matcher(), Matcher(), Matcher()
        self._has_other_files = any(
            "stylesheet" in link.get("rel", "").lower().split() for link in root.iter("link")
        )
        self._add_rules(self._browser, tinycss2.parse_stylesheet(BROWSER_SHEET))
        in_templates = {id(style) for template in root.iter("template") for style in template.iter("style")}
        for sheet in (style for style in root.iter("style") if id(style) not in in_templates):
            is_certain = sheet.get("media", "").strip().lower() in ("", "all", "screen")
            matcher = self._page if is_certain else self._conditional
            self._add_rules(matcher, tinycss2.parse_stylesheet("".join(sheet.itertext())))
        # Other files may set any colour.
        self.root = Style(color=None, backdrop=None) if self._has_other_files else Style()

    def _add_rules(self, matcher: Matcher, rules: Tokens) -> None:
        for rule in rules:
            prelude = tinycss2.serialize(rule.prelude).strip() if hasattr(rule, "prelude") else ""
            if rule.type == "qualified-rule":
                # For `a ~ b` the library would keep all earlier siblings of each element: too much for long pages.
                is_certain = "~" not in prelude.replace("~=", "")
                selectors = prelude if is_certain else prelude.rpartition("~")[2]
                self._add_rule(matcher if is_certain else self._conditional, selectors, rule.content)
            elif rule.type == "at-rule" and rule.lower_at_keyword in CONDITIONS and rule.content is not None:
                always = matcher if prelude in ("screen", "all") else self._conditional
                self._add_rules(always, tinycss2.parse_rule_list(rule.content))
            elif rule.type == "at-rule":
                self._has_other_files |= rule.lower_at_keyword == "import"

    def _add_rule(self, matcher: Matcher, selectors: str, content: Tokens) -> None:
        declarations = list(read_declarations(content))
        try:
            compiled_selectors = compile_selector_list(selectors) if declarations else []
        except SelectorError:
            return
        for selector in compiled_selectors:
            if selector.pseudo_element is None:
                matcher.add_selector(selector, declarations)

    def build_style(self, element: ElementWrapper, parent: Style) -> Style:
        """The style of an element in a parent with this style."""
        if not parent.is_shown:
            return parent
        values = {row.name: row.value for row in self._list_declarations(element)}
        visibility, size = read_keyword(values, "visibility"), values.get("font-size")
        opacity = values.get("opacity", ()) if CHANGES.isdisjoint(values) else ()
        style = replace(
            parent,
            is_shown=read_keyword(values, "display") != "none"
            and read_keyword(values, "content-visibility") != "hidden"
            and not is_far(values)
            and not is_clipped(values),
            is_cut=(parent.is_cut and not is_apart(values)) or has_no_size(values, element.local_name),
            is_visible=parent.is_visible
            if visibility == "inherit" or "visibility" not in values
            else visibility not in ("hidden", "collapse"),
            opacity=parent.opacity * read_share(opacity, 1.0) * read_filter(values),
            font_size=parent.font_size if size is None else read_font_size(size, parent.font_size),
            backdrop=read_backdrop(values, parent),
        )
        color = read_color(values, style)
        return replace(style, color=None if element.local_name in ("svg", "text") else color)

    def _list_declarations(self, element: ElementWrapper) -> Iterator[Declaration]:
        """The declarations for an element, in the order of the cascade: the strongest last."""
        of_browser = list_matching(self._browser, element)
        of_attribute = list(read_declarations(element.etree_element.get("style", "")))
        of_page = [*list_matching(self._page, element), *of_attribute]
        yield from (row for row in of_browser if not row.important)
        yield from list_attributes(element.etree_element)
        yield from sorted(of_page, key=lambda row: row.important)
        yield from (Declaration(row.name, ()) for row in list_matching(self._conditional, element))
        yield from (row for row in of_browser if row.important)


def list_matching(matcher: Matcher, element: ElementWrapper) -> list[Declaration]:
    return [declaration for *_, declarations in matcher.match(element) for declaration in declarations]


def read_declarations(css: str | Tokens) -> Iterator[Declaration]:
    """The declarations of a rule. Those of rules nested in it are unknown."""
    for part in tinycss2.parse_blocks_contents(css, skip_comments=True, skip_whitespace=True):
        if part.type == "declaration":
            value = [token for token in part.value if token.type not in ("whitespace", "comment")]
            is_unknown = any(getattr(token, "lower_name", "") in ("var", "env", "calc") for token in value)
            name = part.lower_name
            if name == "background":
                colors = [token for token in value if parse_color(token) is not None]
                yield Declaration("background-color", colors[:1], part.important)
                images = [
                    token for token in value if token.type in ("url", "function") and token not in colors
                ]
                name = "background-image" if images else ""
            elif name == "font":
                name, value = "font-size", [token for token in value if read_length(token) is not None][:1]
            elif name == "all":
                yield from (
                    Declaration(each, (), part.important)
                    for each in ("display", "font-size", "color", "overflow")
                )
            elif name in SHORTHANDS:
                yield from spread(name, () if is_unknown else value, part.important)
            if name:
                yield Declaration(name, () if is_unknown else value, part.important)
        elif part.type in ("qualified-rule", "at-rule") and part.content:
            yield from (Declaration(row.name, ()) for row in read_declarations(part.content))


def spread(shorthand: str, value: Tokens, important: bool) -> Iterator[Declaration]:
    """What a value says of the four sides; () if it is none."""
    last = len(value) - 1
    for index, name in enumerate(SHORTHANDS[shorthand]):
        place = index if index <= last else max(index - 2, 0) if index - 2 <= last else 0
        yield Declaration(name, value[place : place + 1], important)


def list_attributes(element: Element) -> Iterator[Declaration]:
    """Colours from attributes, as in older pages and mails."""
    names = {"bgcolor": "background-color", {"body": "text", "font": "color"}.get(element.tag, ""): "color"}
    for attribute, name in names.items():
        text = element.get(attribute, "").strip()
        for value in (text, f"#{text}"):
            tokens = tinycss2.parse_component_value_list(value)
            if len(tokens) == 1 and parse_color(tokens[0]) is not None:
                yield Declaration(name, tokens)
    if element.get("background"):
        yield Declaration("background-image", ())
    if element.tag.startswith(SVG):
        for name in ("display", "visibility", "opacity"):
            yield from read_declarations(f"{name}:{element.get(name, '')}")


def read_keyword(values: Mapping[str, Tokens], name: str) -> str:
    value = values.get(name)
    return str(getattr(value[0], "lower_value", "")) if value else ""


def read_length(token: Any) -> float | None:
    """A length in pixels; None if it is not a length, or depends on something unknown."""
    if token.type == "number" and token.value == 0:
        return 0.0
    scale = PIXELS.get(token.lower_unit) if token.type == "dimension" else None
    return None if scale is None else float(token.value) * scale


def read_share(value: Tokens, usual: float) -> float:
    if not value or value[0].type not in ("number", "percentage"):
        return usual
    return min(max(float(value[0].value) / (100 if value[0].type == "percentage" else 1), 0.0), 1.0)


def read_font_size(value: Tokens, inherited: float) -> float:
    if value and (value[0].type == "percentage" or getattr(value[0], "lower_unit", "") == "em"):
        return inherited * float(value[0].value) / (100 if value[0].type == "percentage" else 1)
    size = read_length(value[0]) if value else None
    return USUAL_FONT if size is None else size


def is_apart(values: Mapping[str, Tokens]) -> bool:
    return read_keyword(values, "position") in ("absolute", "fixed")


def is_far(values: Mapping[str, Tokens]) -> bool:
    """Whether an element is moved off the page, and may not come back."""
    position = read_keyword(values, "position")
    names = ["text-indent", "margin-left", "margin-top"]
    names += ["left", "top"] if position in ("absolute", "fixed", "relative") else []
    moves = [token for name in names for token in values.get(name, ())[:1]]
    is_unknown = any(token.type == "percentage" for token in moves) or "transform" in values
    is_unknown |= any(name in values and not values[name] for name in names)
    is_moved = any((read_length(token) or 0) <= FAR for token in moves)
    # Nobody can scroll to what is fixed.
    others = ["right"] if is_apart(values) else []
    others += SIDES if position == "fixed" else []
    lengths = [read_length(token) or 0 for name in others for token in values.get(name, ())[:1]]
    is_moved |= any(length >= VERY_FAR or (position == "fixed" and length <= FAR) for length in lengths)
    return is_moved and not is_unknown and CHANGES.isdisjoint(values)


def is_clipped(values: Mapping[str, Tokens]) -> bool:
    """Whether nothing is left of an element: it is clipped, or scaled to nothing."""
    sides = [
        token
        for token in read_arguments(values, "clip", "rect")
        if is_apart(values) and token.type in ("number", "dimension")
    ]
    inset = read_arguments(values, "clip-path", "inset")
    circle = read_arguments(values, "clip-path", "circle")
    scale = read_arguments(values, "transform", "scale")
    return CHANGES.isdisjoint(values) and (
        (bool(sides) and all(side.value <= 1 for side in sides))
        or (bool(inset) and all(one.type == "percentage" and one.value >= HALF for one in inset))
        or read_length_of(circle) == 0
        or any(getattr(one, "value", 1) == 0 for one in scale)
    )


def has_no_size(values: Mapping[str, Tokens], tag: str) -> bool:
    """Whether an element has a box without size that shows nothing outside."""
    overflow = [getattr(token, "lower_value", "") for token in values.get("overflow", ())]
    display = read_keyword(values, "display")
    is_box = display in ("block", "flex", "grid", "inline-block", "flow-root") or is_apart(values)
    if not overflow or not {*overflow} <= {"hidden", "clip"} or not CHANGES.isdisjoint(values):
        return False
    return (is_box or ("display" not in values and tag in BOXES)) and any(
        any(is_small(values.get(name)) for name in (axis, f"max-{axis}"))
        and all(name not in values or is_small(values[name]) for name in larger)
        for axis, larger in ROOM.items()
    )


def is_small(value: Tokens | None) -> bool:
    length = read_length_of(value or ())
    return length is not None and length <= SMALLEST_BOX


def read_length_of(value: Tokens) -> float | None:
    return read_length(value[0]) if value else None


def read_arguments(values: Mapping[str, Tokens], name: str, function: str) -> list[Any]:
    """The arguments of a function in a value, as `inset(50%)`, as far as they are separate."""
    return [
        token
        for part in values.get(name, ())
        if getattr(part, "lower_name", "") == function
        for token in getattr(part, "arguments", ())
        if token.type not in ("whitespace", "comment", "literal")
    ]


def read_filter(values: Mapping[str, Tokens]) -> float:
    """What a filter leaves of the opacity."""
    return read_share(read_arguments(values, "filter", "opacity"), 1.0) if CHANGES.isdisjoint(values) else 1.0


def read_backdrop(values: Mapping[str, Tokens], parent: Style) -> Color | None:
    """The colour behind the text; None if it is unknown."""
    # What is apart may lie on another element than its parent.
    if is_apart(values) or not PAINTS.isdisjoint(values):
        return None
    value = values.get("background-color")
    if value is None:
        return parent.backdrop
    color, alpha = read_components(value)
    return color if alpha == 1 else parent.backdrop if alpha == 0 else None


def read_color(values: Mapping[str, Tokens], style: Style) -> Color | None:
    value = values.get("color")
    if not PAINTS.isdisjoint(values):
        return None
    if value is None or read_keyword(values, "color") in ("inherit", "currentcolor"):
        return style.color
    color, alpha = read_components(value)
    return style.backdrop if alpha <= MAX_HIDDEN_OPACITY else color


def read_components(value: Tokens) -> tuple[Color | None, float]:
    """(the colour, None if it is unknown; its opacity)."""
    color = parse_color(value[0]) if value else None
    if color is None or color == "currentcolor":
        return None, 1.0
    try:
        return tuple(map(float, color.to("srgb").coordinates)), float(color.alpha)
    except NotImplementedError:
        return None, float(color.alpha)
