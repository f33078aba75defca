"""Judges who misbehave on purpose. They are given the text of their prompt and nothing else, as a model is."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import permutations, product
from typing import Any

import pytest

from server.debate.commands.open import open_debate
from server.debate.facts.labels import side_labels
from server.debate.facts.state import Debate
from server.debate.prompts.render import render
from server.debate.rules.counting import Seat, count_votes
from server.debate.rules.decide import Call
from server.debate.views.verdict import build_verdict
from tests.support.simulation import DebateSimulation, build_request, render_prompt_text, simulate

pytestmark = pytest.mark.requirement("C8", "N2")

SEEDS = range(6)
NAMES = ("Ada", "Ben", "Cleo", "Dov")
STANCES = ("Keep the old one", "Write a new one", "Buy one", "Do without")
DIFFERENT = ("openai/gpt-5", "anthropic/claude", "mistral/large", "gemini/pro", "deepseek/chat")
PANELS = {
    "one": DIFFERENT[:1],
    "three of one model": DIFFERENT[:1] * 3,
    "three models": DIFFERENT[:3],
    "five of one model": DIFFERENT[:1] * 5,
    "five models": DIFFERENT,
}
TURNED: dict[str, dict[str, Any]] = {"second_opinion": {}, "full": {}, "verdict": {"speaking": "together"}}
"""Formats, with options, whose first and last rounds of talk are written together."""
SEQUENTIAL: dict[str, dict[str, Any]] = {
    "verdict": {},
    "handoff": {},
    "second_opinion": {"speaking": "declared"},
}
MARKER = "according to the audit"


@dataclass(frozen=True)
class PromptText:
    """What a model can see: the positions to choose from, and the turns with the side that made each."""

    text: str

    @property
    def positions(self) -> dict[str, str]:
        """Stance by key, as listed in the last words."""
        runs: list[dict[str, str]] = [{}]
        for line in self.text.splitlines():
            if found := re.fullmatch(r"(\w+)\. (.+)", line):
                runs[-1][found[1]] = found[2]
            elif runs[-1]:
                runs.append({})
        return next(run for run in reversed(runs) if run)

    @property
    def keys(self) -> list[str]:
        return list(self.positions)

    @property
    def turns(self) -> list[tuple[str, str]]:
        """(key, text) of each turn. A message belongs to who sent it."""
        parts = re.split(r"^\[(.+)\]$", self.text, flags=re.MULTILINE)[1:]
        blocks = [
            (re.match(r"\w*", heading), body) for heading, body in zip(parts[::2], parts[1::2], strict=True)
        ]
        quoted = [
            (word[0], "\n".join(re.findall(r"^> .*", body, re.MULTILINE))) for word, body in blocks if word
        ]
        return [(key, body) for key, body in quoted if key in self.keys]

    def count_characters(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for key, body in self.turns:
            counts[key] += len(body)
        return counts


Judge = Callable[[PromptText, str], str]
"""From the text of a prompt, and the name of the model that reads it, to a key."""


def throw_dice(prompt: PromptText, model: str) -> str:
    return prompt.keys[int(sha256((model + prompt.text).encode()).hexdigest(), 16) % len(prompt.keys)]


def choose_longest(prompt: PromptText, _model: str) -> str:
    counts = prompt.count_characters()
    return max(counts, key=lambda key: counts[key])


def choose_fixed(prompt: PromptText, _model: str) -> str:
    return min(prompt.keys, key=lambda key: sha256(key.encode()).digest())


BIASED: dict[str, Judge] = {
    "the first listed": lambda prompt, _: prompt.keys[0],
    "the last listed": lambda prompt, _: prompt.keys[-1],
    "the middle": lambda prompt, _: prompt.keys[len(prompt.keys) // 2],
    "a fixed key": choose_fixed,
    "the alphabetically first key": lambda prompt, _: min(prompt.keys),
    "the side that spoke first": lambda prompt, _: prompt.turns[0][0],
    "the side that spoke last": lambda prompt, _: prompt.turns[-1][0],
    "the first of equally long sides": choose_longest,
}
BY_LABEL = (
    "the first listed",
    "the last listed",
    "the middle",
    "a fixed key",
    "the alphabetically first key",
)
BY_PLACE_OF_TURN = ("the side that spoke first", "the side that spoke last")
BY_CONTENT: dict[str, Judge] = {
    "a word in a turn": lambda prompt, _: next(key for key, body in prompt.turns if MARKER in body),
    "a word in a stance": lambda prompt, _: next(
        key for key, stance in prompt.positions.items() if "new" in stance
    ),
}


def answer_finding(prompt: PromptText, winner: str) -> str:
    beliefs = {key: 96 if key == winner else 1 for key in prompt.keys}
    return json.dumps(
        {"reasoning": "So it is.", "beliefs": beliefs, "winner": winner, "verdict": f"{winner} it is."}
    )


def answer_talk(debate: Debate, call: Call, prompt: PromptText, speeches: dict[str, str]) -> str:
    """A turn of a debater, of one length for all unless `speeches` has a longer one."""
    speech = speeches.get(call.seat, f"Point {sha256(call.key.encode()).hexdigest()[:12]} stands.")
    following = debate.names[(debate.names.index(call.seat) + 1) % len(debate.names)]
    match call.task:
        case "message":
            return json.dumps({"to": side_labels(debate)[following], "kind": "question", "text": speech})
        case "ballot":
            return json.dumps({"choice": prompt.keys[0], "reasoning": "So it is."})
        case "argument" if debate.round_phase(call.round).order == "handoff":
            return json.dumps({"response": speech, "next_agent_name": following})
    return speech


def hold(
    format_name: str = "second_opinion",
    *,
    judge: Judge,
    seed: int = 1,
    sides: Sequence[int] = (0, 1),
    panel: Sequence[str] = DIFFERENT[:3],
    speeches: dict[str, str] | None = None,
    interrupted: str = "",
    max_rounds: int = 0,
    **options: Any,
) -> DebateSimulation:
    """A debate to its end, with code words as labels. `sides`: which of the names debate, in that order.

    `interrupted`: a debater whose first answer is empty, and who is asked again after a challenge.
    """
    judges = options.pop("judges", {})
    options |= {} if judges is None else {"judges": {"models": list(panel), **judges}}
    request = build_request(
        format=format_name,
        debaters=[{"name": NAMES[n], "stance": STANCES[n], "model": f"vendor{n}/debater"} for n in sides],
        options=options,
        max_rounds=max_rounds,
    )
    at = simulate(open_debate(request, models=["vendor/m"], seed=seed))

    def reply(call: Call) -> str:
        prompt = PromptText(render_prompt_text(render(at.debate, call)))
        if call.task == "judgment" or (call.task == "ballot" and call.seat not in at.debate.names):
            winner = judge(prompt, call.model)
            is_vote = call.task == "ballot"
            return json.dumps({"choice": winner}) if is_vote else answer_finding(prompt, winner)
        if call.seat == interrupted and call.attempt == 1:
            at.intervene("challenge", text="What does it cost?")
            return ""
        return answer_talk(at.debate, call, prompt, speeches or {})

    at.script = reply
    return at.play()


def list_cautions(at: DebateSimulation) -> str:
    return " ".join(build_verdict(at.debate).cautions)


def assert_nobody_won(debates: Iterable[DebateSimulation]) -> None:
    for at in debates:
        found = build_verdict(at.debate)
        assert found.outcome in ("contested", "undecided"), (found.votes, at.debate.setup.labels)
        assert (found.winner, found.winner_stance) == ("", "")
        assert not re.search("wins|won|it is|prevail", found.verdict)


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS)
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("bias", BIASED)
def test_judges_who_go_by_place_or_label_find_for_nobody(bias: str, count: int, panel: Sequence[str]) -> None:
    assert_nobody_won(hold(judge=BIASED[bias], seed=seed, sides=range(count), panel=panel) for seed in SEEDS)


@pytest.mark.parametrize("format_name", TURNED)
@pytest.mark.parametrize("bias", BIASED)
def test_they_find_for_nobody_in_any_format_that_ends_with_a_round_written_together(
    bias: str, format_name: str
) -> None:
    options = TURNED[format_name]
    assert_nobody_won(
        hold(format_name, judge=BIASED[bias], seed=seed, sides=range(count), **options)
        for seed, count in product(range(2), (2, 3))
    )


@pytest.mark.parametrize("format_name", SEQUENTIAL)
@pytest.mark.parametrize("bias", BY_LABEL)
def test_labels_and_places_in_the_list_are_turned_in_debates_of_one_speaker_at_a_time_too(
    bias: str, format_name: str
) -> None:
    options = SEQUENTIAL[format_name]
    assert_nobody_won(
        hold(format_name, judge=BIASED[bias], seed=seed, sides=range(count), **options)
        for seed, count in product(range(2), (2, 3))
    )


@pytest.mark.parametrize("format_name", SEQUENTIAL)
@pytest.mark.parametrize("bias", BY_PLACE_OF_TURN)
def test_who_spoke_last_one_at_a_time_cannot_be_turned_and_is_at_most_leaning_with_a_caution(
    bias: str, format_name: str
) -> None:
    for seed in SEEDS:
        at = hold(
            format_name,
            judge=BIASED[bias],
            seed=seed,
            sides=range(3),
            panel=DIFFERENT,
            **SEQUENTIAL[format_name],
        )
        assert build_verdict(at.debate).outcome == "leaning"
        assert "Who spoke first and last was the same in both readings" in list_cautions(at)


def test_judges_asked_to_read_once_can_be_led_by_the_list_and_are_at_most_leaning_with_a_caution() -> None:
    for seed in SEEDS:
        at = hold(judge=BIASED["the first listed"], seed=seed, panel=DIFFERENT, judges={"both_orders": False})
        assert build_verdict(at.debate).outcome == "leaning"
        assert "Each judge read once" in list_cautions(at)


@pytest.mark.parametrize("both_know_names", [False, True])
@pytest.mark.parametrize("bias", BIASED)
def test_knowing_the_names_gives_no_side_a_fixed_place(bias: str, both_know_names: bool) -> None:
    judges = {"anonymize": not both_know_names, "shuffle": False}
    assert_nobody_won(hold(judge=BIASED[bias], seed=seed, sides=range(3), judges=judges) for seed in SEEDS)


def test_the_list_of_who_is_who_is_turned_as_well() -> None:
    def choose_first_introduced(prompt: PromptText, _model: str) -> str:
        introduced: list[str] = re.findall(r"(\w+) is (?:Ada|Ben|Cleo)\b", prompt.text)
        return next(key for key in introduced if key in prompt.keys)

    for count, seed in product((2, 3), SEEDS):
        judges = {"anonymize": False}
        assert_nobody_won([hold(judge=choose_first_introduced, seed=seed, sides=range(count), judges=judges)])


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS)
@pytest.mark.parametrize("content", BY_CONTENT)
def test_judges_who_go_by_content_find_the_same_winner_in_whatever_order_and_seed(
    content: str, panel: Sequence[str]
) -> None:
    for sides in [*permutations((0, 1)), *permutations((0, 1, 2)), (3, 1, 0, 2), (2, 0, 1, 3)]:
        for seed in range(2):
            speeches = {"Ben": f"It costs less, {MARKER}."}
            at = hold(judge=BY_CONTENT[content], seed=seed, sides=sides, panel=panel, speeches=speeches)
            found = build_verdict(at.debate)
            is_several = len(set(panel)) > 1
            assert (found.outcome, found.winner) == ("decided" if is_several else "leaning", "Ben")
            assert found.winner_stance == "Write a new one"
            assert found.verdict == "Ben it is."


def test_a_side_that_really_is_longer_can_win_for_its_length_which_no_order_of_reading_reveals() -> None:
    speeches = {"Cleo": "There is much to say. " * 40}
    for sides in permutations((0, 1, 2)):
        at = hold(judge=choose_longest, sides=sides, speeches=speeches)
        found = build_verdict(at.debate)
        assert found.winner == "Cleo"
        assert "Cleo wrote" in list_cautions(at)
        assert found.outcome == "leaning"


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize(
    ("panel", "most_won", "most_decided"), [("one", 0.65, 0), ("three models", 0.4, 0.08)]
)
def test_a_judge_who_throws_dice_agrees_with_itself_as_often_as_chance_has_it_and_no_more(
    count: int, panel: str, most_won: float, most_decided: float
) -> None:
    outcomes = Counter(
        build_verdict(
            hold(judge=throw_dice, seed=seed, sides=range(count), panel=PANELS[panel]).debate
        ).outcome
        for seed in range(40)
    )
    assert outcomes["leaning"] + outcomes["decided"] <= most_won * 40
    assert outcomes["decided"] <= most_decided * 40


def test_three_dice_decide_one_debate_in_thirty_two_by_chance() -> None:
    votes = ("a", "b", "", "")  # both readings name a, both b, or they differ
    decided = [
        count_votes(
            [
                Seat(f"judge {n}", model, side)
                for n, (model, side) in enumerate(zip(DIFFERENT, cast, strict=False))
            ]
        )
        for cast in product(votes, repeat=3)
    ]
    assert sum(found.outcome == "decided" for found in decided) == len(decided) // 32


def vote(
    format_name: str, *, judge: Judge, panel: Sequence[str], seed: int, sides: Sequence[int]
) -> DebateSimulation:
    """A debate that an audience decides: as in Oxford, or by one vote at its end."""
    phases: dict[str, Any] = {} if format_name == "oxford" else {"phases": ["opening", "audience_vote"]}
    return hold(format_name, judge=judge, panel=panel, seed=seed, sides=sides, **phases)


MIXED = {
    **PANELS,
    "one model among others": ("a/x", "b/y", "c/z", "b/y", "d/w"),
    "nine": (*DIFFERENT[:4], *DIFFERENT),
}


@pytest.mark.parametrize("format_name", ["oxford", "second_opinion"])
@pytest.mark.parametrize("panel", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("bias", ["the first listed", "the last listed", "the middle"])
def test_an_electorate_that_goes_by_the_list_wins_nothing_for_anybody(
    bias: str, panel: Sequence[str], format_name: str
) -> None:
    for seed, count in product(range(2), (2, 3, 4)):
        at = vote(format_name, judge=BIASED[bias], panel=panel, seed=seed, sides=range(count))
        found = build_verdict(at.debate)
        if len(panel) > 1 or format_name == "oxford":
            assert (found.outcome in ("contested", "undecided"), found.winner) == (True, "")
        else:
            assert found.outcome == "leaning"  # a vote of one cannot be turned


def test_an_electorate_that_goes_by_one_label_is_at_most_leaning_with_a_caution_since_all_read_the_same() -> (
    None
):
    for bias in ("a fixed key", "the side that spoke last"):
        at = vote("second_opinion", judge=BIASED[bias], panel=DIFFERENT, seed=1, sides=(0, 1, 2))
        assert build_verdict(at.debate).outcome == "leaning"
        assert "Each voter read once" in list_cautions(at)


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS)
@pytest.mark.parametrize("bias", ["a fixed key", *BY_PLACE_OF_TURN])
def test_an_oxford_audience_whose_voters_all_move_to_one_place_or_label_is_at_most_leaning(
    bias: str, panel: Sequence[str]
) -> None:
    def follow(prompt: PromptText, model: str) -> str:
        return BIASED[bias if prompt.turns else "the first listed"](prompt, model)

    for seed, count in product(range(2), (2, 3)):
        found = build_verdict(vote("oxford", judge=follow, panel=panel, seed=seed, sides=range(count)).debate)
        assert found.outcome in ("leaning", "undecided")
        assert "Each voter read once" in " ".join(found.cautions)


def test_debaters_who_vote_for_the_first_listed_elect_nobody() -> None:
    for seed, count in product(range(2), (2, 3, 4)):
        phases = ["opening", "voting"]
        at = hold(judge=BIASED["the first listed"], seed=seed, sides=range(count), phases=phases, judges=None)
        assert build_verdict(at.debate).outcome == "contested"


@pytest.mark.parametrize(
    ("bias", "outcome"), [("the side that spoke first", "undecided"), ("the side that spoke last", "leaning")]
)
def test_turns_on_either_side_of_a_challenge_are_turned_and_one_alone_is_at_most_leaning(
    bias: str, outcome: str
) -> None:
    """Cleo is asked again after the challenge, which the others did not see: hers stands last in both readings."""
    at = hold(judge=BIASED[bias], sides=range(3), panel=DIFFERENT, interrupted="Cleo", max_rounds=1)
    found = build_verdict(at.debate)
    assert found.outcome == outcome
    assert "Who spoke last was the same" in list_cautions(at)
