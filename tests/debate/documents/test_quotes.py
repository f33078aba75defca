"""Quotes of documents: which a text holds, and whether they stand in the document, word by word."""

import pytest

from server.debate.documents.folding import SOFT_HYPHEN
from server.debate.documents.quotes import MOST_KNOWN, MOST_QUOTES, find_quote, find_quotes, find_span

pytestmark = pytest.mark.requirement("D15")

REPORT = (
    "The pilot ran for eleven weeks. Costs rose by 12.5 percent -- mostly for staff -- and fell again.\n\n"
    "He said: ``We can 't go on like this.'' Nobody an-\nswered. The well-\nknown rule of thumb did not hold.\n"
    "The ﬁnal ofﬁce report says that naïve plans fail…\n"
)


def find_in_report(text: str) -> list[str | None]:
    """What the report holds of each quote of a text."""
    spans = [find_quote(quote, REPORT) for quote in find_quotes(text)]
    return [REPORT[span.start : span.end] if span else None for span in spans]


@pytest.mark.parametrize(
    "quoted",
    [
        "“{}” (doc 1)",
        '"{}" (doc 1)',
        "„{}“ (Dok. 1)",
        "„{}” (document 1)",
        "”{}” (doc 1)",
        "«{}» (doc 1)",
        "« {} » (doc. 1)",
        "»{}« (Doc 1, p. 4)",
        "‹{}› (doc 1)",
        "‘{}’ (doc 1)",
        "‚{}‘ (doc 1)",
        "'{}' (doc 1)",
        "「{}」（文档1）",
        "『{}』 [doc 1]",
        "``{}'' (doc 1)",
        "“{}”, (doc 1)",
        "**“{}”** (doc #1)",
        "“{}.” (doc 1)",
    ],
)
def test_quotes_are_found_in_the_quotation_marks_of_every_language(quoted: str) -> None:
    words = "The pilot ran for eleven weeks"
    text = f"It's the dogs' 5\" word: so-called “pilots”. {quoted.format(words)} and so on."
    assert [str(found).rstrip(".") for found in find_in_report(text)] == [words]


@pytest.mark.parametrize(
    "quoted",
    [
        "Costs rose by 12.5 percent — mostly for staff – and fell again",
        "weeks.\n> Costs   rose by".replace("> ", ""),
        "He said: “We can ’t go on like this.”",
        'He said: "We can \'t go on like this."',
        "The final office report says",
        "that nai\u0308ve plans fail...",
        "that naïve plans fail\u22ef",
        "that naïve plans fail\u2025",
        f"that na{SOFT_HYPHEN}ïve plans fail",
        "on like this.'' Nobody answered. The well-known",
        "Nobody an- swered. The well- known rule",
    ],
)
def test_typography_makes_no_difference(quoted: str) -> None:
    span = find_span(quoted, REPORT)
    assert span
    assert REPORT[span.start : span.end].split(maxsplit=1)[0][:4] == quoted.split(maxsplit=1)[0][:4].replace(
        "“", "`"
    )


@pytest.mark.parametrize(
    "quoted",
    [
        "The pilot ran for twelve weeks",
        "The pilot ran for eleven week",
        "he pilot ran for eleven weeks",
        "the pilot ran for eleven weeks",
        "The pilot never ran for eleven weeks",
        "Costs rose by 12 percent",
        "Costs rose by 12",
        "5 percent -- mostly for staff",
        "The pilot ran, for eleven weeks",
        "We can go on like this",
        "naive plans fail",
    ],
)
def test_another_word_letter_case_or_number_is_another_quote(quoted: str) -> None:
    assert find_span(quoted, REPORT) is None


def test_a_quote_may_leave_words_out_where_it_says_so() -> None:
    assert find_in_report("“The pilot ran for eleven weeks … and fell again.” (doc 1)") == [None]
    long = "“The pilot ran for eleven weeks. [...] for staff -- and fell again.” (doc 1)"
    assert find_in_report(long) == [REPORT[: REPORT.index("\n\n")]]
    assert find_in_report("“... for staff -- and fell again ...” (doc 1)") == ["for staff -- and fell again"]
    backwards = "“for staff -- and fell again … The pilot ran for eleven” (doc 1)"
    assert find_in_report(backwards) == [None]


@pytest.mark.parametrize(
    ("document", "quoted", "omits_words"),
    [
        (
            "We think that Kafka is not the right tool for you",
            "We think that Kafka is … the right tool for you",
            True,
        ),
        (
            "Wir halten Kafka hier für kein gutes Werkzeug im Team",
            "Wir halten Kafka hier … gutes Werkzeug im Team",
            True,
        ),
        ("我们认为这个方案不适合小型团队使用", "我们认为这个方案…适合小型团队使用", True),
        (
            "They pay for it now. Never again. They go on with it",
            "They pay for it now. … They go on with it",
            True,
        ),
        ("They pay for it and go on with it", "... They pay for it … and go on with it …", False),
        ("They pay for it now (and go on with it)", "They pay for it now [...] and go on with it", False),
        ("They pay for it … and go on with it", "They pay for it … and go on with it", False),
    ],
)
def test_a_quote_tells_where_its_ellipsis_leaves_words_out(
    document: str, quoted: str, omits_words: bool
) -> None:
    for _ in range(2):  # the second time from what is known
        span = find_span(quoted, document)
        assert span
        assert span.omits_words == omits_words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`The pilot ran for eleven weeks` (doc 1)", True),
        ("``The pilot ran for twelve weeks`` (doc 1)", False),
        ("It's `so`, and not\n```toml\nThe pilot ran\nfor eleven weeks.\n```\n (doc 1)", True),
        ("```\nNo quote.\n```\nBut:\n~~~\nThe pilot ran for eleven `weeks`.\n~~~ (doc 1)", False),
        ("```\nThe pilot ran for twelve weeks\n``` (doc 1), as ```x``` says", False),
        ("```\n~~~\nThe pilot ran for eleven weeks.\n``` (doc 1)", False),
        ("```\nThe pilot ran for eleven weeks (doc 1)\n```", True),
        ("```\nThe pilot ran for eleven weeks (doc 1)", True),
        ("```\n“The pilot ran for eleven weeks” (doc 1)\n```", True),
        ("1. ```\n   The pilot ran\n   for eleven weeks.\n   ``` (doc 1)", True),
        ("- ```\n  The pilot ran for eleven weeks.\n  ```\n  (doc 1)", True),
        ("- ```\n  - ```\n  The pilot ran for eleven weeks.\n  ``` (doc 1)", False),
        ("> ```\n> The pilot ran\n> for eleven weeks.\n> ```\n> (doc 1)", True),
        ("> ```\n> The pilot ran\n> for eleven weeks (doc 1)\n> ```", True),
    ],
)
def test_code_that_names_a_document_is_a_quote(text: str, found: bool) -> None:
    assert [bool(one) for one in find_in_report(text)] == [found]


@pytest.mark.parametrize(
    "text",
    [
        "```\nThe pilot ran for eleven weeks\n```\nSo the whole report says (doc 1)",
        "```\nThe pilot ran (doc 1) for eleven weeks\n```",
        "The pilot ran for eleven weeks (doc 1):\n```\nso it was said\n```",
        "So the whole report says ``` (doc 1)",
        "```",
    ],
)
def test_code_near_the_name_of_a_document_is_no_quote_of_it(text: str) -> None:
    assert find_quotes(text) == ()


def test_parts_of_a_quote_have_to_stand_near_each_other() -> None:
    far = f"one two three four{' filler' * 400} five six seven eight"
    near = "one two three four filler filler five six seven eight"
    quote = "one two three four … five six seven eight"
    assert find_span(quote, far) is None
    assert find_span(quote, near)
    assert find_span(quote, f"{far}. {near}")
    last = (
        f"one two three four{' filler' * 284} five six seven eight"  # the next part begins within the limit
    )
    assert find_span(quote, last)


def test_short_quotes_and_those_that_name_no_document_are_not_looked_up() -> None:
    assert find_quotes("“The pilot ran” (doc 1), “the pilot ran for weeks”, pilot (doc 1), ” (doc 1)") == ()
    assert find_quotes("『試験運用』（文書 1）") == ()
    assert [quote.text for quote in find_quotes("『試験運用は十一週間続いた』（文書 1）")] == [
        "試験運用は十一週間続いた"
    ]


def test_words_before_an_inner_quotation_are_part_of_the_quote() -> None:
    said = "Everybody knows it fails and “the pilot ran for eleven weeks"
    assert find_in_report(f"“{said}” (doc 1)") == [None]
    assert find_in_report('"Everybody knows "The pilot ran for eleven weeks" (doc 1)') == [None]
    assert find_in_report("“He said: “We can ’t go on like this.” Nobody answered” (doc 1)")[0]
    assert find_in_report("“We can ’t go on like this.” Nobody answered. The well-known rule” (doc 1)")[0]


def test_the_paragraph_before_does_not_begin_a_quote_unless_it_stands_in_the_document() -> None:
    stray = "“An opening that nobody closes.\n\n“The pilot ran for eleven weeks” (doc 1)"
    assert find_in_report(stray) == ["The pilot ran for eleven weeks"]
    across = "“mostly for staff -- and fell again.\n\nHe said: ``We can 't go on” (doc 1)"
    assert find_in_report(across)[0]


def test_every_quote_has_its_own_reference() -> None:
    found = find_quotes("“The pilot ran for eleven weeks” (doc 1) and “Costs rose by 12.5 percent” (doc 12).")
    assert [(quote.text, quote.document) for quote in found] == [
        ("The pilot ran for eleven weeks", 1),
        ("Costs rose by 12.5 percent", 12),
    ]
    assert len(find_quotes("“a b c d” (doc 1) " * (MOST_QUOTES + 5))) == MOST_QUOTES


def test_a_quote_may_run_over_the_end_of_a_page() -> None:
    pages = "[page 1]\nThe first part goes on with-\n[page 2]\nout a break and\n[page 3]\nends here.\n"
    assert find_span("part goes on without a break and ends here.", pages)
    assert find_span("part goes on with 2 out", pages) is None


def test_a_quote_divided_at_a_line_is_found_after_a_place_that_differs_in_a_hyphen() -> None:
    text = "The ill-fated plan re-lied on luck. Then the plan re-\nlied on luck again."
    span = find_span("plan relied on luck", text)
    assert span
    assert text[span.start : span.end] == "plan re-\nlied on luck"


def test_quotes_are_still_told_apart_when_more_were_looked_up_than_are_kept() -> None:
    document = "Costs rose by 12.5 percent, and the count of trials was seven."
    assert find_span("the count of trials", document)
    for number in range(MOST_KNOWN + 1):
        assert find_span(f"the count of trials was {number}", document) is None
    span = find_span("the count of trials", document)
    assert span
    assert document[span.start : span.end] == "the count of trials"
