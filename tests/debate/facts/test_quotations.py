import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from server.debate.facts.quoting import disarm_markup, quote, quote_inline, quote_verbatim
from server.debate.facts.text import clean, clean_line, count_bytes, remove_invisible
from tests.support.simulation import LINE_BREAKS

pytestmark = pytest.mark.requirement("D2")


PIECES = [
    *LINE_BREAKS,
    *"\\`~<>[]()!&;:\"'*_#|",
    "]( http://x)",
    "![x](http://x/y)",
    "[x][y]",
    "[y]: http://x",
    "<http://x>",
    "<img src=x>",
    "</b>",
    "<!-- ",
    "&lt;",
    "&#x202e;",
    "```mermaid",
    "~~~",
    "http://x.org/a",
    "www.x.org",
    "a@x.org",
    "- ",
    "    ",
    "\u202e",
    "\U000e0041",
]
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map("".join)


def parse(text: str) -> list[Token]:
    """All tokens of a text as Markdown, those inside lines too."""
    blocks = MarkdownIt("commonmark").parse(text)
    return [token for block in blocks for token in (block, *(block.children or []))]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07here", "here"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jx", "x"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x1b]never closed", "never closed"),
        ("a\rb\x08c\x00", "a\nbc"),
        ("one\r\n\ttwo", "one\n\ttwo"),
        ("ab\u202edc\u2066\u200f\u061c", "abdc"),
        ("se\u00adcret\u200b \u2060x\ufeff", "secret x"),
        ("hi\U000e0068\U000e0069\U000e0100\ufe01", "hi"),
        ("one\u2028two\u2029three\x85four", "one\ntwo\nthree\nfour"),
        ("\ud800", "?"),
        ("日本 é ½ ﷺ 👩💻", "日本 é ½ ﷺ 👩💻"),
    ],
)
def test_what_cannot_be_seen_is_removed(text: str, shown: str) -> None:
    assert remove_invisible(text) == shown
    assert remove_invisible(shown) == shown


@pytest.mark.parametrize("piece", ["\x1b", "\x9d", "\x1b]", "\x1b[0", "\\", "<", "&a", "]", "`", "\u202e"])
def test_long_hostile_text_is_cleaned_in_time_that_grows_with_its_length(piece: str) -> None:
    assert len(quote(piece * 200_000).splitlines()) == 1


@given(HOSTILE)
def test_every_line_of_a_quotation_is_marked_as_one(text: str) -> None:
    for block in (quote(text), quote_verbatim(text)):
        assert all(line.startswith("> ") for line in block.splitlines())
    assert [line.removeprefix("> ") for line in quote_verbatim(text).split("\n")] == clean(text).split("\n")


@given(HOSTILE)
def test_a_quotation_shows_its_words_and_does_nothing(text: str) -> None:
    for shown in (quote(text), quote_inline(text, 10_000)):
        tokens = parse(f"{shown}\n\nOurs, [y] and [x].\n\n[ours]: http://ours")
        assert not {token.type for token in tokens} & {
            "link_open",
            "image",
            "html_inline",
            "html_block",
            "fence",
        }
        assert [token.content for token in tokens if token.type == "text"][-1] == "Ours, [y] and [x]."


def test_a_quotation_is_read_as_it_was_written() -> None:
    text = "AT&T <b>&lt;</b> a[0](x) [y]: http://x.org www.x.org a@x.org \\<i>"
    assert "".join(t.content for t in parse(quote(text)) if t.type == "text") == text.replace("\\<", "<")
    assert disarm_markup("a < b, x[1], R&D: 50 % & more @ noon") == "a < b, x[1], R&D: 50 % & more @ noon"


@given(HOSTILE)
def test_a_text_cannot_close_the_quotation_marks_around_it(text: str) -> None:
    line = quote_inline(text, 60)
    assert line[0] == line[-1] == '"'
    assert not {*line[1:-1]} & {*'"“”„«»「」\uff02'}
    assert len(line.splitlines()) == 1
    assert count_bytes(line) <= 60


@given(HOSTILE)
def test_a_clean_line_is_one_line_that_can_be_seen(text: str) -> None:
    line = clean_line(text)
    assert line == remove_invisible(line) == " ".join(line.split())
