"""Styles of a web page, as far as they say whether a reader sees a text.

Sheets in the page, `style` attributes, and what browsers do by themselves; cascaded as in browsers. What stands in
other files, follows from scripts or from the size of a window is not known, and hides nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element

import tinycss2
from cssselect2 import ElementWrapper
from tinycss2.color4 import parse_color

from server.research.style_sheets import (
    CHANGES,
    GROWTH,
    MARGINS,
    OUTLINES,
    SIDES,
    Declaration,
    Rules,
    Tokens,
    applies,
    drop_space,
    list_matching,
    parse_declarations,
    read_keyword,
    spread,
    to_pixels,
)

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

FAR, VERY_FAR = 1500.0, 4000.0
"""Pixels: off the page to the left or above; to the right, where a reader could scroll, or above its usual place."""

PERCENT = 12.8
"""Pixels of a percent of the width of a page."""

SAME_COLOR = 12 / 255
"""The largest difference of a channel between colours that cannot be told apart."""

BOXES = frozenset(
    "html body address article aside blockquote button center dd details dialog dir div dl dt fieldset figcaption "  # noqa: SIM905
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup li main menu nav ol p pre search section select summary "
    "textarea ul".split()
)
"""Elements with the size that is given to them. Those in a line have that of their text, and so have tables."""

AXES = {
    "width": ("min-width", "min-inline-size", "padding-left", "padding-right"),
    "height": ("min-height", "min-block-size", "padding-top", "padding-bottom"),
}
"""A size, and what makes a box larger than that."""

SHIFTS = (*SIDES, *MARGINS, "padding-left", "padding-top", "position", "transform", "translate")

SVG = "{http://www.w3.org/2000/svg}"

HEX = re.compile("[0-9a-f]{6}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Style:
    """How the text of an element is shown. Colours are None where the page does not tell them."""

    is_shown: bool = True  # False: nothing in it is
    is_visible: bool = True
    opacity: float = 1.0
    font_size: float = USUAL_FONT  # pixels
    color: Color | None = (0.0, 0.0, 0.0)
    backdrop: Color | None = (1.0, 1.0, 1.0)
    is_transparent: bool = False
    is_filled: bool = False  # with a colour that stands before `color`
    is_outlined: bool = False  # by a shadow or a stroke, which show letters of any colour
    indent: float = 0.0  # pixels, as the next
    across: float = 0.0  # how far it is moved to the right
    down: float = 0.0
    is_away: bool = False  # off the page
    is_cut: bool = False  # from what its box shows
    is_anchored: bool = False  # what is positioned in it is as far away, or as cut

    @property
    def is_seen(self) -> bool:
        return (
            self.is_shown
            and self.is_visible
            and not self.is_away
            and not self.is_cut
            and -FAR < self.indent < VERY_FAR
            and self.opacity > FAINTEST
            and self.font_size > SMALLEST_FONT
            and (self.is_outlined or not (self.is_transparent or is_same_color(self.color, self.backdrop)))
        )


class PageStyles:
    def __init__(self, root: Element) -> None:
        self._browser, self._page = Rules(), Rules()
        self._browser.add_sheet(BROWSER_SHEET)
        in_templates = {id(style) for template in root.iter("template") for style in template.iter("style")}
        for sheet in (style for style in root.iter("style") if id(style) not in in_templates):
            self._page.add_sheet("".join(sheet.itertext()), is_told=applies(sheet.get("media", "")))
        has_others = self._page.has_others or any(
            "stylesheet" in link.get("rel", "").lower().split() for link in root.iter("link")
        )
        # What another file says of colours is not known.
        self.root = Style(color=None, backdrop=None) if has_others else Style()

    def build_style(self, element: ElementWrapper, parent: Style) -> Style:
        """The style of an element, in a parent with that style."""
        if not parent.is_shown:
            return parent
        declared = Declared(self._list_declarations(element))
        style = declared.set_place(declared.set_text(parent), element.local_name)
        if not element.etree_element.tag.startswith(SVG):
            return style
        around = style if element.local_name == "svg" else parent
        return replace(  # drawings have other colours, and another scale
            around,
            is_shown=style.is_shown,
            is_visible=style.is_visible,
            opacity=style.opacity,
            color=None,
            is_transparent=False,
            font_size=USUAL_FONT,
        )

    def _list_declarations(self, element: ElementWrapper) -> Iterator[Declaration]:
        """What is said of an element, the strongest last."""
        of_browser = list_matching(self._browser.told, element)
        of_page = list_matching(self._page.told, element)
        own = list(parse_declarations(element.etree_element.get("style", "")))
        yield from (one for one in of_browser if not one.important)
        yield from list_attributes(element.etree_element)
        for important in (False, True):
            yield from (one for one in (*of_page, *own) if one.important == important)
        yield from (Declaration(one.name, ()) for one in list_matching(self._page.untold, element))
        yield from (one for one in of_browser if one.important)


class Declared:
    """The declarations of an element that are in force."""

    def __init__(self, declarations: Iterable[Declaration]) -> None:
        self._values: dict[str, Tokens] = {one.name: one.value for one in declarations}

    def find(self, name: str) -> Tokens:
        return self._values.get(name, ())

    def find_keyword(self, name: str) -> str:
        return read_keyword(self.find(name))

    def find_functions(self, name: str) -> dict[str, Tokens]:
        functions = (token for token in self.find(name) if token.type == "function")
        return {token.lower_name: drop_space(token.arguments) for token in functions}

    def is_untold(self, *names: str) -> bool:
        return any(name in self._values and not self._values[name] for name in names)

    def is_in_change(self) -> bool:
        """Whether it may look otherwise in a moment, or after one."""
        return self.is_untold(*CHANGES) or any(
            self.find_keyword(name) not in ("", "none") for name in CHANGES
        )

    def set_text(self, parent: Style) -> Style:
        """The style with what concerns the letters."""
        is_visible = parent.is_visible
        if "visibility" in self._values and self.find_keyword("visibility") != "inherit":
            is_visible = self.find_keyword("visibility") in ("", "visible")
        font_size, indent = self.find_font_size(parent.font_size), parent.indent
        if "text-indent" in self._values and self.find_keyword("text-indent") != "inherit":
            indent = sum(to_pixels(token, font_size) or 0 for token in self.find("text-indent"))
        style = replace(
            parent,
            is_visible=is_visible,
            opacity=parent.opacity * self.find_opacity(),
            font_size=font_size,
            indent=indent,
            backdrop=self.find_backdrop(parent.backdrop),
            is_outlined=self.is_outlined()
            or (parent.is_outlined and self.find_keyword("text-shadow") != "none"),
        )
        return self.set_color(style)

    def find_font_size(self, inherited: float) -> float:
        if "font-size" not in self._values or self.find_keyword("font-size") in (
            "inherit",
            "larger",
            "smaller",
        ):
            return inherited
        value = self.find("font-size")
        if value and value[0].type == "percentage":
            return inherited * float(value[0].value) / 100
        size = to_pixels(value[0], inherited) if value else None
        return USUAL_FONT if size is None else size

    def find_opacity(self) -> float:
        if self.is_in_change():
            return 1
        share = 1.0
        for token in (*self.find("opacity")[:1], *self.find_functions("filter").get("opacity", ())[:1]):
            if token.type in ("number", "percentage"):
                share *= min(max(token.value / (100 if token.type == "percentage" else 1), 0), 1)
        return share

    def is_outlined(self) -> bool:
        return self.is_untold(*OUTLINES) or any(
            self.find_keyword(name) != "none"
            and any(getattr(token, "value", 1) != 0 for token in self.find(name))
            for name in OUTLINES
        )

    def set_place(self, parent: Style, tag: str) -> Style:
        """The style with what concerns the box and where it is."""
        position = self.find_keyword("position")
        is_positioned = position not in ("", "static") or bool(self.find("transform"))
        is_apart = position in ("absolute", "fixed")
        if position == "fixed" or (is_apart and not parent.is_anchored) or self.is_untold("position"):
            parent = replace(parent, is_cut=False, is_away=False, across=0.0, down=0.0)
        across, down = self.find_shift(parent)
        height = FAR if is_apart or parent.is_away else VERY_FAR
        is_away = across <= -FAR or across >= VERY_FAR or down <= -height
        is_cut = parent.is_cut or self.is_cut_away(parent.font_size, tag)
        begins = is_away > parent.is_away or is_cut > parent.is_cut
        return replace(
            parent,
            is_shown=not self.hides_all(),
            across=across,
            down=down,
            is_away=is_away,
            is_cut=is_cut,
            is_anchored=is_positioned or (parent.is_anchored and not begins),
        )

    def hides_all(self) -> bool:
        scale = self.find_functions("transform").get("scale", ())
        path = self.find_functions("clip-path")
        inset, circle = path.get("inset", ()), path.get("circle", ())
        return (
            self.find_keyword("display") == "none"
            or self.find_keyword("content-visibility") == "hidden"
            or (not self.is_in_change() and any(getattr(token, "value", 1) == 0 for token in scale))
            or (bool(inset) and leaves_nothing(inset))
            or (bool(circle) and to_pixels(circle[0], USUAL_FONT) == 0)
        )

    def find_shift(self, parent: Style) -> tuple[float, float]:
        """How far it is moved (to the right, down), with what it is in. What is not told may move it back."""
        values = [token for name in (*SIDES, *MARGINS) for token in self.find(name)]
        if (
            self.is_untold(*SHIFTS)
            or self.is_in_change()
            or any(token.type == "function" for token in values)
        ):
            return 0.0, 0.0
        across = self._sum_lengths("margin-left", "padding-left", font_size=parent.font_size)
        down = self._sum_lengths("margin-top", "padding-top", font_size=parent.font_size)
        if self.find_keyword("position") in ("relative", "absolute", "fixed"):
            for one, other, is_across in (("left", "right", True), ("top", "bottom", False)):
                has_one = self.find_keyword(one) != "auto" and bool(self.find(one))
                shift = self._sum_lengths(one if has_one else other, font_size=parent.font_size)
                across += (shift if has_one else -shift) if is_across else 0
                down += 0 if is_across else (shift if has_one else -shift)
        for name, arguments in (
            *self.find_functions("transform").items(),
            ("translate", self.find("translate")),
        ):
            lengths = [to_pixels(token, parent.font_size) or 0 for token in arguments[:2]]
            if name in ("translate", "translate3d", "translatex"):
                across += lengths[0] if lengths else 0
                down += lengths[1] if len(lengths) > 1 else 0
            elif name == "translatey":
                down += lengths[0] if lengths else 0
        return parent.across + across, parent.down + down

    def _sum_lengths(self, *names: str, font_size: float) -> float:
        tokens = [token for name in names for token in self.find(name)]
        shares = sum(max(token.value, 0) * PERCENT for token in tokens if token.type == "percentage")
        return float(shares + sum(to_pixels(token, font_size) or 0 for token in tokens))

    def is_cut_away(self, font_size: float, tag: str) -> bool:
        """Whether its box has no size and shows nothing outside, or is clipped to nothing."""
        is_apart = self.find_keyword("position") in ("absolute", "fixed")
        rect = [to_pixels(token, font_size) for token in self.find_functions("clip").get("rect", ())]
        if is_apart and rect and all(side is not None and side <= SMALLEST_BOX for side in rect):
            return True
        display = self.find_keyword("display")
        is_box = tag in BOXES and not self.is_untold("display") if not display else display != "inline"
        if display.startswith(("table", "inline-table", "ruby", "contents")) or not (is_box or is_apart):
            return False
        overflow = [self.find_keyword(name) for name in ("overflow-x", "overflow-y")]
        clips = "hidden" in overflow or overflow == ["clip", "clip"]
        grows = self.is_untold(*GROWTH) or any(
            token.value != 0 and read_keyword([token]) != "none"
            for name in GROWTH
            for token in self.find(name)
            if hasattr(token, "value")
        )
        return clips and any(
            not self._is_large(*larger, font_size=font_size)
            and (self._is_small(f"max-{axis}", font_size) or (not grows and self._is_small(axis, font_size)))
            for axis, larger in AXES.items()
        )

    def _is_small(self, name: str, font_size: float) -> bool:
        lengths = [to_pixels(token, font_size) for token in self.find(name)]
        return any(length is not None and length <= SMALLEST_BOX for length in lengths)

    def _is_large(self, *names: str, font_size: float) -> bool:
        """Whether any of these may be larger than nothing."""
        return self.is_untold(*names) or any(
            not self._is_small(name, font_size)
            for name in names
            if self.find_keyword(name) != "auto" and self.find(name)
        )

    def find_backdrop(self, behind: Color | None) -> Color | None:
        """What its text stands on, as far as can be told."""
        if self.find_keyword("position") in ("absolute", "fixed") or self.is_untold("position"):
            behind = None  # it may lie on anything
        if self.is_untold("background-image") or any(
            token.type in ("function", "url") for token in self.find("background-image")
        ):
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
        clips, fill = ("background-clip", "-webkit-background-clip"), "-webkit-text-fill-color"
        unknown = replace(style, color=None, is_transparent=False)
        if self.is_untold(*clips) or any(self.find_keyword(name) == "text" for name in clips):
            return unknown  # the letters show the background
        if fill in self._values:
            style = replace(style, is_filled=self.find_keyword(fill) != "currentcolor")
        name = fill if style.is_filled else "color"
        if name not in self._values or self.find_keyword(name) in ("inherit", "currentcolor"):
            return style
        if self.is_untold(name):
            return unknown
        color, alpha = read_color(self.find(name)[0])
        if color and style.backdrop:
            color = mix(color, style.backdrop, alpha)
        return replace(style, color=color, is_transparent=alpha <= FAINTEST)


def leaves_nothing(inset: Tokens) -> bool:
    """Whether `inset(… round …)` cuts all of a box away."""
    words = [read_keyword([token]) for token in inset]
    sides = spread(inset[: words.index("round")] if "round" in words else inset)
    shares = [side.value if side.type == "percentage" else 0 for side in sides]
    return any(one + other >= 100 for one, other in zip(shares[:2], shares[2:], strict=True))  # noqa: PLR2004


def list_attributes(element: Element) -> Iterator[Declaration]:
    """Colours that attributes give, as in older pages and mails."""
    given: Mapping[str, str] = {
        "background-color": element.get("bgcolor", ""),
        "color": element.get({"body": "text", "font": "color"}.get(element.tag, ""), ""),
    }
    for name, text in given.items():
        written = f"#{text.strip()}" if HEX.fullmatch(text.strip()) else text.strip()
        if tokens := tinycss2.parse_component_value_list(written):
            yield Declaration(name, tokens[:1])
    if element.get("background"):
        yield Declaration("background-image", tinycss2.parse_component_value_list("url(a)"))


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
