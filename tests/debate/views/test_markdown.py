import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.debate.facts.events import Intervened, Paused
from server.debate.facts.text import shortened, size
from server.debate.replies.extract import Reply
from server.debate.replies.interpret import LONGEST_FIELD
from server.debate.rules.decide import Call
from server.debate.views import markdown
from server.debate.views.markdown import VERDICT_LIMIT, cost_line, heading, indent
from server.debate.views.state import usage_sum
from tests.support.playing import (
    BOUNDED,
    BREAKS,
    QUESTION,
    Answer,
    Fails,
    Table,
    debaters,
    finding,
    judges_say,
    paid,
    setup,
    table,
    talk,
)

pytestmark = pytest.mark.requirement("D2")


WHOLE = f"""\
# {QUESTION}
- **A. Proponent**: for
- **B. Opponent**: against

Format second_opinion, opened 2026-12-01T10:00:01.000Z.

## Round 1: opening

### B. Opponent (against)

Opponent in 1.

### A. Proponent (for)

Proponent in 1.

### Note to everybody

Mind the costs.

## Round 2: rebuttal

### B. Opponent (against)

Opponent in 2.

### A. Proponent (for)

Proponent in 2.

## Round 3: verdict

### judge 1, reading 1: for Proponent, margin 2

It is not worth it.

### judge 1, reading 2: for Proponent, margin 2

It is not worth it.

## Verdict: Decided: for (A. Proponent)

It is not worth it.

Costs were never answered.

**Judges**
- judge 1 (scripted): Proponent, margin 2 of 3

**Keep in mind**
- One model argued every side (scripted): count it as one voice.
- The judges' models also debated, and models lean towards their own words.

2 rounds of talk, 4 turns. The talk ended: the last round was held. \
6 calls, 600 tokens in (360 cached), 120 out, $0.006.
"""


def plainly(call: Call) -> Answer:
    return finding() if call.reading else f"{call.seat} in {call.round}."


def transcript(at: Table, since: int = 0) -> str:
    return markdown.transcript(at.debate, at.log, since)


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


class TestTranscript:
    def test_a_whole_transcript_reads_like_this(self) -> None:
        at = table(setup(seed=1), plainly).do(Intervened(action="inject", text="Mind the costs.")).play()
        assert transcript(at) == WHOLE

    def test_it_can_begin_at_a_round(self) -> None:
        later = transcript(table(script=plainly).play(), 2)
        assert later.startswith(f"# {QUESTION}\n\n## Round 2: rebuttal\n")
        assert "## Verdict" in later

    def test_a_debate_that_is_paused_says_why(self) -> None:
        at = table().to_round(1).do(Paused(reason="lunch"))
        assert transcript(at).endswith("\n## Round 1: opening\n\n*paused: lunch*\n")

    def test_a_debate_on_its_way_ends_where_it_is(self) -> None:
        assert transcript(table().to_round(1)).endswith("\n## Round 1: opening\n")

    def test_notes_stand_in_their_round_and_say_whom_they_are_for(self) -> None:
        at = (
            table()
            .through(1)
            .do(Intervened(action="inject", text="Mind.", round=1, to="Opponent"))
            .to_round(2)
        )
        first, second = transcript(at).split("## Round 2")
        assert "### Note to Opponent\n\nMind.\n" in first
        assert "Mind." not in second

    def test_a_turn_that_was_cut_says_so(self) -> None:
        at = table(script=lambda _: Reply("Because of", paid(), cut=True)).through(1)
        assert transcript(at).count("Because of *(cut at the length limit)*") == 2

    @pytest.mark.requirement("D3")
    def test_every_failure_is_shown(self) -> None:
        at = table(
            setup(debaters=debaters(3)), lambda c: Fails("timeout") if c.seat[-1] == "2" else "x"
        ).through(2)
        assert transcript(at).count("*Speaker 2 failed: no answer in time*") == 2

    def test_a_finding_for_no_side_says_so(self) -> None:
        at = table(script=lambda call: finding(None) if call.reading else "x").play()
        assert "### judge 1, reading 2: for no side" in transcript(at)


class TestVerdict:
    @pytest.mark.parametrize(
        ("first", "second", "head"),
        [
            (finding("A"), finding("A"), "Decided: for (A. Proponent)"),
            (finding("B", 1), finding("B", 1), "Leaning: against (B. Opponent)"),
            (finding("A", 0), finding("A", 0), "Contested: no side prevailed"),
            (finding("A"), finding("B"), "Undecided"),
        ],
    )
    def test_its_heading_says_how_sure_it_is(self, first: str, second: str, head: str) -> None:
        at = table(script=judges_say({("judge 1", 1): first, ("judge 1", 2): second})).play()
        assert headings(markdown.verdict(at.debate)) == [f"## Verdict: {head}"]

    @pytest.mark.requirement("D3")
    def test_dissent_and_failures_are_told(self) -> None:
        votes = {("judge 1", 1): finding("A"), ("judge 1", 2): finding("A")}
        votes |= {("judge 2", reading): finding("A") for reading in (1, 2)}
        votes |= {("judge 3", reading): finding("B", verdict="B, really.") for reading in (1, 2)}

        def script(call: Call) -> Answer:
            return Fails("timeout") if call.seat == "Speaker 3" else judges_say({**votes})(call)

        opened = setup(debaters=debaters(3), options={"judges": {"count": 3}})
        text = markdown.verdict(table(opened, script).play().debate)
        assert "\n**Dissent**\n- judge 3: B, really.\n" in text
        assert "\n**Failures**\n- Speaker 3 (scripted): no answer in time (timeout, 2 times)\n" in text
        assert "\n- 2 answers failed; see failures.\n" in text

    @pytest.mark.requirement("D3")
    @pytest.mark.parametrize("piece", ["word ", "# ", "#\n", "<b>\n", "\u4e00"])
    def test_it_stays_under_its_limit_whatever_was_said(self, piece: str) -> None:
        huge = piece * 2000

        def script(call: Call) -> Answer:
            if not call.reading:
                return (
                    Fails("timeout", huge + call.seat)
                    if call.seat[-1] == "3"
                    else Reply(huge, paid(), cut=True)
                )
            if call.seat == "judge 9":
                return Fails("unavailable", huge)
            winner = "C" if call.seat < "judge 7" else "A"
            return finding(winner, verdict=huge[:LONGEST_FIELD], reasoning=huge)

        who = [{"name": f"{'N' * 36} {n}", "stance": "s" * 500} for n in range(1, 27)]
        models = ["m" * 199 + str(n) for n in range(9)]
        opened = setup(["d" * 200], debaters=who, options={"judges": {"models": models}})
        at = table(opened, script).play()
        text = markdown.verdict(at.debate)
        assert size(text) < VERDICT_LIMIT
        assert size(markdown.verdict(at.debate, 3000)) < 3000
        assert text.startswith("## Verdict: Leaning: sss")
        assert len(headings(text)) == 1
        assert text.endswith(
            "2 rounds of talk, 46 turns. The talk ended: the last round was held. "
            + cost_line(usage_sum(at.debate.usage))
        )

    def test_a_long_reasoning_gets_the_room_that_is_left(self) -> None:
        at = table(script=lambda c: finding(reasoning="word " * 790) if c.reading else talk(c)).play()
        text = markdown.verdict(at.debate)
        assert VERDICT_LIMIT - 100 < size(text) < VERDICT_LIMIT
        assert "…\n\n**Judges**" in text

    def test_without_a_finding_it_says_why(self) -> None:
        script = judges_say({("judge 1", 1): finding("A"), ("judge 1", 2): finding("B")})
        text = markdown.verdict(table(script=script).play().debate)
        why = "No finding: judge 1 found for another side when the order changed."
        assert f"\n\n{why}\n\n**Judges**" in text


class TestCost:
    @pytest.mark.parametrize(
        ("costs", "said"),
        [
            ([], "No calls yet."),
            ([""], "1 call, 100 tokens in (60 cached), 20 out, price unknown."),
            (["0.5"], "1 call, 100 tokens in (60 cached), 20 out, $0.5."),
            (["0"], "1 call, 100 tokens in (60 cached), 20 out, $0."),
            (
                ["0.1", "", "0.2"],
                "3 calls, 300 tokens in (180 cached), 60 out, $0.3 and 1 call of unknown price.",
            ),
            ([""] * 20, "20 calls, 2,000 tokens in (1,200 cached), 400 out, price unknown."),
        ],
    )
    def test_an_unknown_price_is_said_to_be_unknown(self, costs: list[str], said: str) -> None:
        assert cost_line(usage_sum([paid(cost=cost) for cost in costs])) == said


PIECES = st.sampled_from(
    [
        *BREAKS,
        "\r\n",
        "# x",
        "## Verdict: Decided",
        " # x",
        "   ### x",
        "===",
        "---",
        "  = ",
        "-",
        "x",
        " ",
        "\t",
        "<h1>",
    ]
)
FORGED = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


def poses(line: str) -> bool:
    """Whether a line of Markdown begins a heading or makes one of the line before it."""
    bare = line.lstrip(" ")
    if len(line) - len(bare) > 3:
        return False
    return bare.startswith(("#", "<")) or (bare.strip() != "" and set(bare.rstrip(" \t")) in ({"="}, {"-"}))


@given(FORGED)
@example(" # x")
@example("x\n===")
@example("x\n---")
@example("<h1>Verdict</h1>")
@BOUNDED
def test_no_line_of_a_models_text_is_a_heading(said: str) -> None:
    assert not [line for line in indent(said).splitlines() if poses(line)]


@pytest.mark.parametrize("opens", ["```", "~~~", "<!--", "<script>", "   ```python"])
def test_no_line_of_a_models_text_opens_what_would_swallow_the_rest(opens: str) -> None:
    assert indent(f"So:\n{opens}\nx").splitlines()[1].lstrip()[0] == "\\"


@given(FORGED)
@BOUNDED
def test_a_text_keeps_its_words(said: str) -> None:
    assert indent(said).replace("\\", "") == "\n".join(said.splitlines()).replace("\\", "")


@given(FORGED)
@BOUNDED
def test_headings_cannot_be_forged_by_anybody(said: str) -> None:
    def script(call: Call) -> Answer:
        if call.seat == "Speaker 3":
            return Fails("unavailable", said)
        return finding(verdict=f"x{said}", reasoning=f"x\n{said}") if call.reading else f"x\n{said}"

    opened = setup(
        question=f"x\n{said}",
        debaters=[{"name": f"Speaker {n}", "stance": f"x\n{said}"} for n in (1, 2, 3)],
        options={"judges": {"count": 2}},
    )
    at = table(opened, script).do(Intervened(action="inject", text=f"x\n{said}")).play()
    letters = {"Speaker 1": "A.", "Speaker 2": "B."}
    talk = [[letters[seat] for seat in entered.order if seat in letters] for entered in at.debate.rounds]
    ours = [
        f"# {heading(at.debate.setup.question)}",
        "## Round 1: opening",
        *talk[0],
        "### Note to everybody",
    ]
    ours += [
        "## Round 2: rebuttal",
        *talk[1],
        "## Round 3: verdict",
        *["### judge"] * 4,
        "## Verdict: Decided:",
    ]
    found = [line for line in transcript(at).splitlines() if poses(line)]
    assert len(found) == len(ours)
    assert all(
        line.removeprefix("### ").startswith(own.removeprefix("### "))
        for line, own in zip(found, ours, strict=True)
    )


@pytest.mark.parametrize("reason", ["x\n## Verdict: Decided", "x\n\n# So it is"])
def test_the_reason_of_a_pause_is_no_heading(reason: str) -> None:
    at = table().do(Paused(reason=reason))
    assert headings(transcript(at)) == [f"# {QUESTION}"]


class TestPieces:
    def test_a_heading_is_one_line(self) -> None:
        assert heading(" So\n is\u2028it ") == "So is it"

    def test_a_long_heading_is_shortened(self) -> None:
        assert heading("x" * 200) == "x" * 200
        assert heading("x" * 201) == "x" * 199 + "…"

    def test_a_text_is_shortened_only_where_it_is_too_long(self) -> None:
        assert shortened("12345", 5) == "12345"
        assert shortened("123456", 5) == "12…"
        assert shortened("猫" * 3, 8) == "猫…"
        assert shortened("1 3456", 5) == "1…"


def test_a_search_finds_a_debate_by_everything_said_in_it() -> None:
    opened = setup(
        debaters=[{"name": "Ada", "stance": "yes", "role": "economist"}, {"name": "Bob", "stance": "no"}],
        documents=[{"title": "Costs of 2026", "text": "hidden"}],
        options={"tags": ["tagged"]},
    )
    at = table(opened, plainly)
    before = markdown.words(at.debate)
    after = markdown.words(at.play().debate)
    for word in (QUESTION, "Ada yes economist", "Bob no", "Costs of 2026", "tagged"):
        assert word in before
        assert word in after
    for word in ("Ada in 1.", "Bob in 2.", "It is not worth it.", "Costs were never answered."):
        assert word in after
    assert "hidden" not in after
