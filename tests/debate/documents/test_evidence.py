"""How good evidence is: by rule, each factor with how it was obtained, and nothing counted that anybody can write."""

import pytest

from server.debate.commands.requests import DocumentInput
from server.debate.documents.evidence import count_quotes, describe_age, extract_site, weigh_evidence
from server.debate.facts.setup.opened import Opened
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.markdown import format_details
from server.debate.views.rounds import build_analysis
from server.debate.views.verdict import build_report, build_verdict
from tests.support.simulation import (
    DebateSimulation,
    build_setup,
    build_usage,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D15")

AT = "2026-05-31T12:00:00Z"
ONE = {
    "title": "Report",
    "text": "# 1 Summary\nNothing here.\n[page 212]\n## 4.2 Costs\nIn Lyon costs rose by 12 percent in 2024.",
    "url": "https://www.example.co.uk/report",
    "published": "2024-11",
    "reliability": "high",
}
TWO = {
    "title": "Audit",
    "text": "The audit in Lyon confirms the rise of 12 percent.",
    "url": "https://audit.example/x",
}
QUOTES = "“In Lyon costs rose by 12 percent” (doc 1), as “The audit in Lyon confirms the rise” (doc 2)."
SOUP = (
    "According to a 2024 study [1] (Smith, 2023), therefore 87 % of experts agree; for example, evidence shows "
    "“a significant improvement of 45 percent in all 12 trials” (doc 1), DOI 10.1000/182, p < .001 [2]."
)


def play(text: str, *documents: dict[str, str]) -> DebateSimulation:
    return simulate(open_with(*documents), task_script({"argument": text})).play()


def open_with(*documents: dict[str, str]) -> Opened:
    return build_setup(documents=list(documents))


def weigh(text: str, *documents: dict[str, str]) -> tuple[str, dict[str, tuple[str, str]], str]:
    one = weigh_evidence(play(text, *documents).debate)[0]
    return one.level, {f.name: (f.value, f.basis) for f in one.factors}, str(one.coverage)


def test_a_soup_of_keywords_with_false_citations_is_low() -> None:
    level, factors, coverage = weigh(SOUP, ONE, TWO)
    assert level == "LOW"
    assert set(factors.values()) == {("", "unknown")}
    assert coverage == "0"
    assert weigh("Costs rise, therefore they rise.", ONE)[0] == "LOW"


def test_one_quote_that_is_not_found_spoils_the_others() -> None:
    assert weigh(QUOTES, ONE, TWO)[0] == "MEDIUM"
    assert weigh(f"{QUOTES} “In Lyon costs rose by 13 percent” (doc 1)", ONE, TWO)[0] == "LOW"


def test_every_factor_says_how_it_was_obtained() -> None:
    _, factors, coverage = weigh(QUOTES, ONE, TWO)
    assert factors == {
        "reliability": ("", "unknown"),  # nothing was declared of the second
        "recency": ("", "unknown"),
        "relevance": ("", "unknown"),
        "corroboration": ("yes", "computed"),
        "specificity": factors["specificity"],
    }
    assert factors["specificity"][1] == "computed"
    assert coverage == "2/5"
    _, alone, _ = weigh("“In Lyon costs rose by 12 percent in 2024.” (doc 1)", ONE)
    assert alone["reliability"] == ("high", "declared")
    assert alone["recency"] == ("2024-11", "declared")
    assert alone["corroboration"] == ("no", "computed")
    assert alone["specificity"] == ("2 numbers, 1 name", "computed")


def test_a_second_document_corroborates_only_with_another_text_from_another_site() -> None:
    same_site = TWO | {"url": "https://news.example.co.uk/2"}
    nowhere = {"title": TWO["title"], "text": TWO["text"]}
    copied = ONE | {"url": "https://other.example/"}
    both = "“In Lyon costs rose by 12 percent” (doc 1) “In Lyon costs rose by 12 percent” (doc 2)"
    assert weigh(QUOTES, ONE, same_site)[1]["corroboration"] == ("no", "computed")
    assert weigh(QUOTES, ONE, nowhere)[1]["corroboration"] == ("", "unknown")
    assert weigh(both, ONE, copied)[1]["corroboration"] == ("no", "computed")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.example.com/a?b", "example.com"),
        ("HTTPS://user@News.Example.co.uk:8080/", "example.co.uk"),
        ("https://example.com.", "example.com"),
        ("http://127.0.0.1/x", "127.0.0.1"),
        ("https://localhost/", "localhost"),
        ("example.com", ""),
        ("", ""),
    ],
)
def test_sites_are_told_apart_by_their_registrable_part(url: str, site: str) -> None:
    assert extract_site(url) == site


@pytest.mark.parametrize(
    ("published", "age"),
    [
        ("2024-11", "published 2024-11, 18 months before"),
        ("2026-05-02", "published 2026-05-02, 0 months before"),
        ("2025", "published 2025, 1 year before"),
        ("2027", ""),
        ("2026-06", ""),
    ],
)
def test_the_age_of_a_document_is_that_at_the_opening(published: str, age: str) -> None:
    assert describe_age(published, AT) == age
    assert describe_age(published, "") == ""  # nobody knows when the debate was opened


def test_the_analysis_has_each_quote_with_its_place() -> None:
    at = play(QUOTES, ONE, TWO)
    rows = build_analysis(at.debate, AT)["evidence"]
    assert [(row["point"], row["level"], row["coverage"]) for row in rows] == [
        (f"{turn.seat} {turn.round}.1", "MEDIUM", "2/5") for turn in at.debate.turns
    ]
    first, second = rows[0]["quotes"]
    assert ONE["text"][first["start"] : first["end"]] == first["quote"] == "In Lyon costs rose by 12 percent"
    assert (first["doc"], first["mark"], first["place"]) == (1, "[checked]", "page 212, section 4.2 Costs")
    assert (second["doc"], second["place"]) == (2, "")
    for published, value, basis in (
        ("2024-11", "published 2024-11, 18 months before", "computed"),
        ("2030", "2030", "declared"),
    ):
        one = play("“In Lyon costs rose by 12 percent in 2024.” (doc 1)", ONE | {"published": published})
        (row, *_) = build_analysis(one.debate, AT)["evidence"]
        assert {"factor": "recency", "value": value, "basis": basis} in row["factors"]
    lost = build_analysis(play(SOUP, ONE).debate, AT)["evidence"][0]["quotes"]
    assert lost == [
        {
            "doc": 1,
            "quote": "a significant improvement of 45 percent in all 12 trials",
            "mark": "[not found in doc 1]",
        }
    ]


def test_the_verdict_counts_quotes_and_warns_where_the_winner_rests_on_lost_ones() -> None:
    lost = play(SOUP, ONE).debate
    report = build_report(lost)
    assert (report.claims.checked_quotes, report.claims.failed_quotes) == (0, 4)
    caution = "2 of 2 quotes in the winner's case were not found in the documents."
    assert caution in report.cautions
    assert "0 checked, 4 not found" in format_details(report)
    found = build_verdict(play(QUOTES, ONE, TWO).debate)
    assert (found.claims.checked_quotes, found.claims.failed_quotes) == (8, 0)
    assert not [line for line in found.cautions if "quote" in line]
    assert "quote" not in format_details(build_report(simulate(open_with()).play().debate)).casefold()


def test_quotes_of_retracted_turns_and_of_hidden_debaters_are_not_counted() -> None:
    at = simulate(open_with(ONE), task_script({"argument": SOUP})).play_to_round(2)
    at.intervene("retract", to=at.debate.names[0], round=1)
    at.play()
    assert count_quotes(at.debate) == (0, 3)
    opened = build_setup(documents=[ONE], options={"visibility": {"hide_from_client": ["debaters"]}})
    hidden = simulate(opened, task_script({"argument": SOUP})).play().debate
    assert build_verdict(hidden).claims.failed_quotes == 0
    assert build_analysis(hidden, AT)["evidence"] == []


def test_what_is_declared_of_a_document_has_a_form() -> None:
    for wrong in ({"published": "yesterday"}, {"published": "2024-13"}, {"reliability": "best"}):
        with pytest.raises(ValueError, match=r"published|reliability"):
            DocumentInput.model_validate({"title": "x", "text": "y", **wrong})


def test_each_point_has_the_evidence_of_its_own_quotes() -> None:
    numbered = f"First of all:\n[1] Costs rose. {QUOTES}\n[2] {SOUP}\n[3] So there."
    rows = weigh_evidence(play(numbered, ONE, TWO).debate)[:3]
    assert [(row.point.id.point, row.level, len(row.quotes)) for row in rows] == [
        (1, "MEDIUM", 2),
        (2, "LOW", 1),
        (3, "LOW", 0),
    ]


@pytest.mark.parametrize(("readings", "level"), [((1, 2), "HIGH"), ((1,), "MEDIUM")])
def test_relevance_is_what_a_judge_names_in_every_reading(readings: tuple[int, ...], level: str) -> None:
    opened = open_with(ONE, TWO)

    def judge(call: Call) -> str:
        label = opened.labels[call.reading - 1]  # those of the second reading are turned
        return render_finding(cited=[f"{label} 1.1"] if call.reading in readings else [])

    at = simulate(opened, task_script({"argument": QUOTES, "judgment": judge})).play()
    first, *others = weigh_evidence(at.debate)
    relevance = next(factor for factor in first.factors if factor.name == "relevance")
    assert first.level == level
    assert relevance.value == ("named by judge 1" if level == "HIGH" else "")
    assert [one.level for one in others] == ["MEDIUM"] * 3


@pytest.mark.parametrize(
    ("words", "level"),
    [("In Lyon costs rose, as all say", "HIGH"), ("In Lyon costs rose … no more than 12 percent", "MEDIUM")],
)
def test_a_quote_that_leaves_words_out_is_no_evidence_of_high_quality(words: str, level: str) -> None:
    opened = open_with(ONE | {"text": "In Lyon costs rose, as all say, by no more than 12 percent."})

    def judge(call: Call) -> str:
        return render_finding(cited=[f"{opened.labels[call.reading - 1]} 1.1"])

    at = simulate(opened, task_script({"argument": f"“{words}” (doc 1)", "judgment": judge})).play()
    assert weigh_evidence(at.debate)[0].level == level


def test_what_a_model_too_small_to_judge_names_makes_no_point_relevant() -> None:
    def weigh_judged(*, informative: bool) -> str:
        opened = open_with(ONE, TWO)

        def judge(call: Call) -> Reply:
            text = render_finding(cited=[f"{opened.labels[call.reading - 1]} 1.1"])
            return Reply(text, build_usage(), informative=informative)

        at = simulate(opened, task_script({"argument": QUOTES, "judgment": judge})).play()
        return weigh_evidence(at.debate)[0].level

    assert weigh_judged(informative=True) == "HIGH"
    assert weigh_judged(informative=False) == "MEDIUM"
