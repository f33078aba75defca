from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.events import Paused
from server.debate.facts.interventions import NoteAdded
from server.debate.facts.quoting import quote_heading
from server.debate.facts.setup.seats import CALLER
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call, pending_calls
from server.debate.views.markdown import format_report, render_transcript, render_verdict
from server.debate.views.verdict import build_report, build_verdict
from server.engine.database.summaries import build_search_text
from tests.support.searches import search_briefly
from tests.support.simulation import (
    LINE_BREAKS,
    QUESTION,
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    judge_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("D2")


PANEL = ["mistral/large", "groq/llama", "xai/grok"]
"""Models of three families."""

PARTS = [
    f'# "{QUESTION}"\n- **Proponent**: "for"\n- **Opponent**: "against"\n',
    "\nFormat advocates, opened 2026-12-01T10:00:01.000Z.\n",
    "\n## Round 1: opening\n\n### Note to everybody\n\n> Mind the costs.\n",
    '\n### Opponent ("against")\n\n[Opponent 1.1]\n> Opponent in 1.\n',
    '\n## Round 2: rebuttal\n\n### Opponent ("against")\n\n[Opponent 2.1]\n> Opponent in 2.\n',
    "\n## Round 3: verdict\n\n### judge 1, reading 1: for Proponent, margin 2\n\n> It is not worth it.\n",
    f'\n## Verdict\n\n**Question**: "{QUESTION}"\n\n',
    '**Leaning (1 of 1 judge, 1 family)**: "for: It is not worth it."\n**Because**: "Costs were never answered."\n',
    (
        "**How sure**: 1 of 1 judge for Proponent's position, of one model family (scripted): its models "
        "make the same mistakes. Not "
    ),
    "**Keep in mind**: One model argued every side (scripted): count it as one voice.\n",
    "**Cost**: 6 calls, 600 tokens in (360 cached), 120 out, $0.006.\n",
    '\n**Everybody\'s words**\n- judge 1, for Proponent: "It is not worth it."\n',
    "\n**Votes**\n- judge 1 (scripted): Proponent, margin 2 of 3\n- ahead: Proponent\n",
    "- counted: 1 asked, 1 voted, 0 abstained, 0 failed; support 1 of the weight, against 0; 1.0 independent voices\n",
    '\n**Positions**\n- Proponent (scripted): "for"\n- Opponent (scripted): "against"\n',
    "\n2 rounds of talk, 4 turns. The talk ended: the last round was held. ",
    "Effort quick: no private ballots, 1 judge (scripted).\n",
]
"""What a transcript consists of, in this order."""


def plainly(call: Call) -> ScriptAnswer:
    return render_finding() if call.reading else f"{call.seat} in {call.round}."


def transcript(at: DebateSimulation, since: int = 0) -> str:
    return render_transcript(at.debate, at.log, since)


def hold(*findings: str) -> DebateSimulation:
    """A debate with a judge of another model for each finding, who gives it in both readings."""
    opened = build_setup(options={"judges": {"models": PANEL[: len(findings)]}})
    answers = {(f"judge {n}", reading): f for n, f in enumerate(findings, start=1) for reading in (1, 2)}
    return simulate(opened, judge_script({**answers})).play()


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


class TestTranscript:
    def test_a_whole_transcript_reads_like_this(self) -> None:
        at = simulate(build_setup(seed=1), plainly).add_events(NoteAdded(text="Mind the costs.")).play()
        text = transcript(at)
        places = [text.find(part) for part in PARTS]
        assert -1 not in places
        assert places == sorted(places)
        assert places[0] == 0
        assert text.endswith(PARTS[-1])

    def test_it_can_begin_at_a_round(self) -> None:
        at = simulate(script=plainly).play()
        whole, later = transcript(at), transcript(at, 2)
        assert "## Round 1: opening" in whole
        assert later.startswith(f'# "{QUESTION}"\n\n## Round 2: rebuttal\n')
        assert "## Verdict" in later

    def test_a_debate_that_is_paused_says_why(self) -> None:
        at = simulate().play_to_round(1).add_events(Paused(reason="lunch"))
        assert transcript(at).endswith('\n## Round 1: opening\n\n*paused: on request: "lunch"*\n')

    def test_notes_stand_in_their_round_and_say_whom_they_are_for(self) -> None:
        at = (
            simulate()
            .play_through_round(1)
            .add_events(NoteAdded(text="Mind.", round=1, to="Opponent"))
            .play_to_round(2)
        )
        first, second = transcript(at).split("## Round 2")
        assert "### Note to Opponent\n\n> Mind.\n" in first
        assert "Mind." not in second

    def test_a_turn_that_was_cut_says_so(self) -> None:
        at = simulate(script=lambda _: Reply("Because of", build_usage(), cut=True)).play_through_round(1)
        assert transcript(at).count("> Because of\n\n*(cut at the length limit)*") == 2

    @pytest.mark.requirement("D3")
    def test_every_failure_is_shown(self) -> None:
        at = simulate(
            build_setup(debaters=build_debaters(3)),
            lambda c: ProviderFailure("timeout") if c.seat[-1] == "2" else "x",
        ).play_on()
        assert transcript(at).count("*Speaker 2 failed: no answer in time*") == 3


class TestVerdict:
    @pytest.mark.requirement("N2", "C8")
    @pytest.mark.parametrize(
        ("findings", "head"),
        [
            ([render_finding("A")] * 3, "Agreed (3 of 3 judges, 3 families)"),
            ([render_finding("B")], "Leaning (1 of 1 judge, 1 family)"),
            ([render_finding("A"), render_finding("B")], "Divided"),
            ([render_finding(None)], "Open"),
            (
                [render_finding(None, recommendation="Half, then the rest.")] * 2,
                "None of the positions (2 of 2 judges)",
            ),
        ],
    )
    def test_its_first_line_says_how_sure_it_is_and_no_other(self, findings: list[str], head: str) -> None:
        at = hold(*findings)
        for shown in (render_verdict(at.debate), transcript(at).partition("\n## Verdict\n")[2]):
            assert shown.count(f"\n**{head}**: ") == 1
            assert f"Verdict: {head}" not in shown
            assert "Outcome" not in shown

    @pytest.mark.requirement("N2")
    def test_what_caps_the_verdict_stands_in_its_headline_and_first_among_the_cautions(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            if call.seat == "Speaker 3":
                return ProviderFailure("timeout")
            return render_finding("A") if call.reading else "x"

        judges = {"models": PANEL, "both_orders": False}
        at = simulate(build_setup(debaters=build_debaters(3), options={"judges": judges}), script).play_on()
        caps = [
            "Never heard: Speaker 3. Nobody argued their side.",
            "Each judge read once: an order of reading could have decided.",
        ]
        assert build_verdict(at.debate).headline.endswith(f'It is not worth it." {" ".join(caps)}')
        kept = [f"**Keep in mind**: {cap}\n" for cap in caps]
        assert "".join(kept) in format_report(build_report(at.debate))
        assert build_verdict(at.debate).cautions[:2] == caps
        assert sum("Never heard" in caution for caution in build_verdict(at.debate).cautions) == 1

    @pytest.mark.requirement("D3")
    def test_dissent_and_failures_are_told(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            if call.seat == "Speaker 3":
                return ProviderFailure("timeout")
            if call.seat == "judge 4":
                return render_finding("B", verdict="B, really.")
            return render_finding("A") if call.reading else "x"

        judges = {"models": [*PANEL, "z-ai/glm"]}
        opened = build_setup(debaters=build_debaters(3), options={"judges": judges})
        text = render_verdict(simulate(opened, script).play_on().debate)
        assert '\n**Dissent**\n- judge 4: "B, really."\n' in text
        assert "\n**Failures**\n- Speaker 3 (scripted): no answer in time (timeout, 3 times)\n" in text
        assert "**Keep in mind**: 2 answers failed; see failures.\n" in text


PIECES = st.sampled_from(
    [
        *LINE_BREAKS,
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


@pytest.mark.full
@search_briefly(3)
@given(FORGED)
def test_headings_cannot_be_forged_by_anybody(said: str) -> None:
    def script(call: Call) -> ScriptAnswer:
        if call.seat == "Speaker 3":
            return ProviderFailure("unavailable", said)
        return render_finding(verdict=f"x{said}", reasoning=f"x\n{said}") if call.reading else f"x\n{said}"

    opened = build_setup(
        question=f"x\n{said}",
        debaters=[{"name": f"Speaker {n}", "stance": f"{n}\n{said}"} for n in (1, 2, 3)],
        options={"judges": {"count": 2}},
    )
    at = simulate(opened, script).add_events(NoteAdded(text=f"x\n{said}")).play_on()
    talk = [[seat for seat in entered.order if seat != "Speaker 3"] for entered in at.debate.rounds[:2]]
    ours = [
        f"# {quote_heading(at.debate.setup.question)}",
        "## Round 1: opening",
        "### Note to everybody",
        *talk[0],
    ]
    ours += ["## Round 2: rebuttal", *talk[1], "## Round 3: verdict", *["### judge"] * 2, "## Verdict"]
    found = [line for line in transcript(at).splitlines() if poses(line)]
    assert len(found) == len(ours)
    assert all(
        line.removeprefix("### ").startswith(own.removeprefix("### "))
        for line, own in zip(found, ours, strict=True)
    )


@pytest.mark.parametrize("reason", ["x\n## Verdict: Decided", "x\n\n# So it is"])
def test_the_reason_of_a_pause_is_no_heading(reason: str) -> None:
    at = simulate().add_events(Paused(reason=reason))
    assert headings(transcript(at)) == [f'# "{QUESTION}"']


def test_a_search_finds_a_debate_by_everything_said_in_it() -> None:
    opened = build_setup(
        debaters=[{"name": "Ada", "stance": "yes", "role": "economist"}, {"name": "Bob", "stance": "no"}],
        documents=[{"title": "Costs of 2026", "text": "hidden"}],
        options={"tags": ["tagged"]},
    )
    at = simulate(opened, plainly)
    before = build_search_text(at.debate, [at.debate.setup])
    after = build_search_text(at.play().debate, [entry.event for entry in at.log])
    for word in (QUESTION, "Ada yes economist", "Bob no", "Costs of 2026", "tagged"):
        assert word in before
        assert word in after
    for word in ("Ada in 1.", "Bob in 2.", "It is not worth it.", "Costs were never answered."):
        assert word not in before
        assert word in after
    assert "hidden" not in after


@pytest.mark.parametrize("model", ["scripted", CALLER])
def test_a_search_finds_turns_as_soon_as_they_are_shown(model: str) -> None:
    opened = build_setup(
        debaters=[{"name": "Ada", "stance": "yes"}, {"name": "Bob", "stance": "no", "model": model}]
    )
    at = simulate(opened, plainly)
    at.play_to_round(1)
    ada, bob = sorted(pending_calls(at.debate), key=attrgetter("seat"))
    said = at.answer(ada)
    at.add_events(said)
    assert ("Ada in 1." in build_search_text(at.debate, [said])) is (model != CALLER)

    shown = len(at.log)
    at.add_events(at.answer(bob)).play_to_round(2)
    rest = build_search_text(at.debate, [entry.event for entry in at.log[shown:]])
    assert "Bob in 1." in rest
    assert ("Ada in 1." in rest) is (model == CALLER)
