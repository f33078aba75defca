"""Styles of a web page, as far as they say whether a reader sees a text.

Sheets in the page, `style` attributes, and what browsers do by themselves; cascaded as in browsers. What stands in
other files, follows from scripts or from the size of a window is not known, and hides nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import tinycss2
from cssselect2 import ElementWrapper, Matcher, SelectorError, compile_selector_list
from tinycss2.color4 import parse_color

Color = tuple[float, float, float]

BROWSER_SHEET = """
[hidden], [popover], dialog:not([open]), template, noscript, noframes, noembed, datalist, rp,
iframe, video, audio, canvas { display: none }
[aria-hidden="true" i] { display: none !important }
a[href] { color: #0000ee }
mark { color: black; background-color: yellow }
"""

USUAL_FONT = 16.0  # pixels

SMALLEST_BOX, SMALLEST_FONT, FAINTEST = 1.0, 2.0, 0.05
"""What is no larger (in pixels), or no more opaque, is not seen."""

FAR, VERY_FAR = 900.0, 4000.0
"""Pixels: to the left of the page or above it; to the right of it, where a reader would have to scroll."""

SAME_COLOR = 12 / 255
"""The largest difference of a channel between colours that cannot be told apart."""

PIXELS = {"px": 1, "pt": 4 / 3, "pc": 16, "in": 96, "cm": 37.8, "mm": 3.78, "rem": 16, "vw": 12.8, "vh": 8}
RELATIVE = {"em": 1.0, "ex": 0.5, "ch": 0.5}

KEYWORDS = {
    "display": "none block inline inline-block flex inline-flex grid inline-grid table inline-table table-row "
    "table-cell table-row-group table-header-group table-footer-group table-column table-column-group "
    "table-caption list-item contents flow-root flow ruby ruby-text ruby-base -webkit-box -webkit-inline-box",
    "visibility": "visible hidden collapse",
    "content-visibility": "visible hidden auto",
    "position": "static relative absolute fixed sticky -webkit-sticky",
    "overflow": "visible hidden clip scroll auto",
    "overflow-x": "visible hidden clip scroll auto",
    "overflow-y": "visible hidden clip scroll auto",
}
"""The values of properties that browsers know: another one leaves an earlier declaration in force."""

LENGTHS = frozenset(
    (
        *("width", "height", "max-width", "max-height", "top", "left", "right", "bottom", "inset"),
        *("margin", "margin-left", "margin-top", "margin-right", "margin-bottom", "text-indent"),
    )
)
COLORS = frozenset(("color", "background-color", "-webkit-text-fill-color"))
OTHERS = frozenset(
    (
        *("opacity", "font-size", "background-image", "background-clip", "-webkit-background-clip"),
        *("clip", "clip-path", "transform"),
    )
)
NO_VALUE = frozenset(("inherit", "initial", "unset", "revert", "revert-layer"))

SPACE, COMMA = ("whitespace", "comment"), ","
SIBLINGS = re.compile("~(?!=)")

Tokens = Sequence[Any]


class Declaration(NamedTuple):
    name: str
    value: Tokens  # without white space; () where it is not told, or that of the parent
    important: bool


@dataclass(frozen=True, slots=True)
class Style:
    """How the text of an element is shown. Colours are None where the page does not tell them."""

    is_shown: bool = True  # False: nothing in it is
    is_visible: bool = True
    font_size: float = USUAL_FONT  # pixels
    color: Color | None = (0.0, 0.0, 0.0)
    backdrop: Color | None = (1.0, 1.0, 1.0)
    is_transparent: bool = False

    @property
    def is_seen(self) -> bool:
        return (
            self.is_shown
            and self.is_visible
            and self.font_size > SMALLEST_FONT
            and not self.is_transparent
            and not is_same_color(self.color, self.backdrop)
        )


class PageStyles:
    def __init__(self, root: Element) -> None:
        self._browser, self._page = Matcher(), Matcher()
        add_rules(self._browser, BROWSER_SHEET)
        in_templates = {id(style) for template in root.iter("template") for style in template.iter("style")}
        sheets = [style for style in root.iter("style") if id(style) not in in_templates]
        has_others = any("stylesheet" in link.get("rel", "").lower().split() for link in root.iter("link"))
        for sheet in sheets:
            if applies(sheet.get("media", "")):
                has_others |= add_rules(self._page, "".join(sheet.itertext()))
        # What another file says of colours is not known.
        self.root = Style(color=None, backdrop=None) if has_others else Style()

    def build_style(self, element: ElementWrapper, parent: Style) -> Style:
        """The style of an element, in a parent with that style."""
        if not parent.is_shown:
            return parent
        declared = Declared(self._list_declarations(element))
        font_size = declared.find_font_size(parent.font_size)
        is_shown = not declared.hides_box(font_size)
        visibility = declared.find_keyword("visibility")
        is_visible = visibility == "visible" if visibility else parent.is_visible
        backdrop = declared.find_backdrop(parent.backdrop)
        style = replace(
            parent, is_shown=is_shown, is_visible=is_visible, font_size=font_size, backdrop=backdrop
        )
        return declared.set_color(style)

    def _list_declarations(self, element: ElementWrapper) -> Iterator[Declaration]:
        """What is said of an element, the strongest last."""
        of_browser = list_matching(self._browser, element)
        of_page = list_matching(self._page, element)
        own = list(parse_declarations(element.etree_element.get("style", "")))
        yield from (one for one in of_browser if not one.important)
        yield from list_attributes(element.etree_element)
        for important in (False, True):
            yield from (one for one in (*of_page, *own) if one.important == important)
        yield from (one for one in of_browser if one.important)


class Declared:
    """The declarations of an element that are in force."""

    def __init__(self, declarations: Iterable[Declaration]) -> None:
        self._values: dict[str, Tokens] = {one.name: one.value for one in declarations}

    def find_keyword(self, name: str) -> str:
        value = self._values.get(name, ())
        return value[0].lower_value if value else ""

    def find_lengths(self, *names: str, font_size: float) -> list[float]:
        """The lengths of these properties that can be told, in pixels."""
        lengths = (to_pixels(token, font_size) for name in names for token in self._values.get(name, ()))
        return [length for length in lengths if length is not None]

    def find_functions(self, name: str) -> dict[str, Tokens]:
        functions = (token for token in self._values.get(name, ()) if token.type == "function")
        return {token.lower_name: drop_space(token.arguments) for token in functions}

    def find_font_size(self, inherited: float) -> float:
        value = self._values.get("font-size", ())
        if value and value[0].type == "percentage":
            return inherited * float(value[0].value) / 100
        if not value or getattr(value[0], "lower_value", "") in ("larger", "smaller"):
            return inherited
        size = to_pixels(value[0], inherited)
        return USUAL_FONT if size is None else size

    def hides_box(self, font_size: float) -> bool:
        return (
            self.find_keyword("display") == "none"
            or self.find_keyword("content-visibility") == "hidden"
            or self.is_faint()
            or self.is_cut_away(font_size)
            or self.is_far_away(font_size)
        )

    def is_faint(self) -> bool:
        value = self._values.get("opacity", ())
        share = 100 if value and value[0].type == "percentage" else 1
        return any(token.value <= FAINTEST * share for token in value if hasattr(token, "value"))

    def is_cut_away(self, font_size: float) -> bool:
        """Whether its box has no size and shows nothing outside, or is clipped to nothing."""
        clips = any(
            token.lower_value in ("hidden", "clip")
            for name in ("overflow", "overflow-x", "overflow-y")
            for token in self._values.get(name, ())
        )
        sizes = self.find_lengths("width", "height", "max-width", "max-height", font_size=font_size)
        if clips and any(size <= SMALLEST_BOX for size in sizes):
            return True
        rect = [to_pixels(token, font_size) for token in self.find_functions("clip").get("rect", ())]
        if rect and all(side is not None and side <= SMALLEST_BOX for side in rect):
            return True
        path = self.find_functions("clip-path")
        inset, circle = path.get("inset", ()), path.get("circle", ())
        return (bool(inset) and inset[0].type == "percentage" and inset[0].value >= 50) or (  # noqa: PLR2004
            bool(circle) and to_pixels(circle[0], font_size) == 0
        )

    def is_far_away(self, font_size: float) -> bool:
        moved = self.find_functions("transform")
        if any(getattr(token, "value", 1) == 0 for token in moved.get("scale", ())):
            return True
        across, down = ["margin-left", "margin", "text-indent"], ["margin-top", "margin"]
        if self.find_keyword("position") not in ("", "static"):
            across += ("left", "right", "inset")
            down += ("top", "bottom", "inset")
        sideways = self.find_lengths(*across, font_size=font_size)
        upwards = self.find_lengths(*down, font_size=font_size)
        for name in ("translate", "translate3d", "translatex", "translatey"):
            lengths = (to_pixels(token, font_size) for token in moved.get(name, ()))
            (upwards if name == "translatey" else sideways).extend(filter(None, lengths))
        return any(length <= -FAR for length in (*sideways, *upwards)) or any(
            length >= VERY_FAR for length in sideways
        )

    def find_backdrop(self, behind: Color | None) -> Color | None:
        """What its text stands on, as far as can be told."""
        if self.find_keyword("position") in ("absolute", "fixed"):
            behind = None  # it may lie on anything
        if any(token.type in ("function", "url") for token in self._values.get("background-image", ())):
            return None
        value = self._values.get("background-color")
        if not value:
            return behind if value is None else None
        color, alpha = read_color(value[0])
        if alpha == 1 or color is None:
            return color
        return behind and mix(color, behind, alpha)

    def set_color(self, style: Style) -> Style:
        """The style with the colour of its text."""
        clip = (*self._values.get("background-clip", ()), *self._values.get("-webkit-background-clip", ()))
        if any(token.lower_value == "text" for token in clip):
            return replace(style, color=None, is_transparent=False)  # the letters show the background
        value = self._values.get("-webkit-text-fill-color") or self._values.get("color")
        if not value:
            return style if value is None else replace(style, color=None, is_transparent=False)
        if getattr(value[0], "lower_value", "") == "currentcolor":
            return style
        color, alpha = read_color(value[0])
        if color and style.backdrop:
            color = mix(color, style.backdrop, alpha)
        return replace(style, color=color, is_transparent=alpha <= FAINTEST)


def applies(media: str) -> bool:
    """Whether a sheet is for any screen. What is for some only is not told."""
    return any(
        " ".join(one.split()) in ("", "all", "screen", "only screen") for one in media.lower().split(",")
    )


def add_rules(matcher: Matcher, css: str) -> bool:
    """Add the rules of a sheet; True where it takes others from elsewhere."""
    has_others = False
    waiting = list(reversed(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)))
    while waiting:
        rule = waiting.pop()
        if rule.type == "at-rule":
            has_others |= rule.lower_at_keyword == "import"
            is_open = rule.lower_at_keyword == "layer" or (
                rule.lower_at_keyword == "media" and applies(tinycss2.serialize(rule.prelude))
            )
            if is_open and rule.content is not None:
                inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
                waiting += reversed(inner)
        # The library keeps all siblings before each element for `a ~ b`: too much for long pages.
        elif rule.type == "qualified-rule" and not SIBLINGS.search(tinycss2.serialize(rule.prelude)):
            add_rule(matcher, rule.prelude, list(parse_declarations(rule.content)))
    return has_others


def add_rule(matcher: Matcher, prelude: Tokens, declarations: list[Declaration]) -> None:
    try:
        selectors = compile_selector_list(prelude) if declarations else []
    except SelectorError:
        return
    for selector in selectors:
        if selector.pseudo_element is None:
            matcher.add_selector(selector, declarations)


def list_matching(matcher: Matcher, element: ElementWrapper) -> list[Declaration]:
    return [declaration for *_, declarations in matcher.match(element) for declaration in declarations]


def list_attributes(element: Element) -> Iterator[Declaration]:
    """Colours that attributes give, as in older pages and mails."""
    given: Mapping[str, str] = {
        "background-color": element.get("bgcolor", ""),
        "color": element.get({"body": "text", "font": "color"}.get(element.tag, ""), ""),
    }
    for name, text in given.items():
        if text and (tokens := tinycss2.parse_component_value_list(text.strip())):
            yield Declaration(name, tokens[:1], important=False)
    if element.get("background"):
        yield Declaration("background-image", tinycss2.parse_component_value_list("url(a)"), important=False)


def parse_declarations(css: str | Tokens) -> Iterator[Declaration]:
    """The declarations that say what is seen, shorthands as what they stand for, without those that are no CSS."""
    for found in tinycss2.parse_blocks_contents(css, skip_comments=True, skip_whitespace=True):
        if found.type != "declaration":
            continue
        value = drop_space(found.value)
        for name, tokens in list_longhands(found.lower_name, value):
            if is_untold(tokens):
                yield Declaration(name, (), found.important)
            elif is_valid(name, tokens):
                yield Declaration(name, tokens, found.important)


def list_longhands(name: str, value: Tokens) -> Iterator[tuple[str, Tokens]]:
    if name == "background":
        yield "background-image", value
        colors = [token for token in value if parse_color(token) is not None]
        yield "background-color", colors[:1] or value if is_untold(value) else colors[:1] or [TRANSPARENT]
    elif name == "font":
        sizes = [token for token in value if to_pixels(token, 16) is not None or token.type == "percentage"]
        yield "font-size", sizes[:1]
    elif name in KEYWORDS or name in LENGTHS or name in COLORS or name in OTHERS:
        yield name, value


def is_untold(tokens: Tokens) -> bool:
    """Whether the value comes from elsewhere, as the parent's or a variable's."""
    return any(
        getattr(token, "lower_value", "") in NO_VALUE or getattr(token, "lower_name", "") == "var"
        for token in tokens
    )


def is_valid(name: str, tokens: Tokens) -> bool:
    if not tokens:
        return False
    if name in KEYWORDS:
        return all(getattr(token, "lower_value", "") in KEYWORDS[name].split() for token in tokens)
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


def read_color(token: Any) -> tuple[Color | None, float]:
    """(a colour, None where it cannot be told; how opaque it is)."""
    found = parse_color(token)
    if found is None or found == "currentcolor":
        return None, 1.0
    try:
        red, green, blue = found.to("srgb").coordinates
    except NotImplementedError:
        return None, float(found.alpha)
    return (float(red), float(green), float(blue)), float(found.alpha)


def mix(color: Color, behind: Color, alpha: float) -> Color:
    red, green, blue = (alpha * one + (1 - alpha) * other for one, other in zip(color, behind, strict=True))
    return red, green, blue


def is_same_color(color: Color | None, backdrop: Color | None) -> bool:
    if color is None or backdrop is None:
        return False
    return all(abs(one - other) <= SAME_COLOR for one, other in zip(color, backdrop, strict=True))


TRANSPARENT = tinycss2.parse_one_component_value("transparent")
