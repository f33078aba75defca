"""Debates whose words are examined: by an observer, and against a document that was digested."""

from server.debate.commands.setup.documents import add_windows
from server.debate.facts.events import Event
from server.debate.facts.setup.limits import Window
from server.debate.rules.calls import Call
from tests.support.golden_plays.setups import build_setup
from tests.support.seats import ALL_SEATS, read_everything
from tests.support.simulation import simulate, task_script


def play_observed() -> list[Event]:
    """A debate with an observer, a straw man of two places, and a mark that the accused contests."""
    turns = {"Proponent": "Żółć: wait until June.", "Opponent": "So never — they say “never”. 日本語で。"}

    def speak(call: Call) -> str:
        return turns[call.seat] if call.round == 1 else "As I said.\nCONTEST 1: I asked, and did not say so."

    never = {"pattern": "straw man", "speaker": "Opponent", "words": 'they say "never"', "why": "Żółć."}
    marks = [
        never | {"of": "Proponent", "original_words": "wait until June"},
        never | {"words": "nobody said this"},
    ]
    script = task_script(
        {"argument": speak, "observation": lambda c: {"marks": marks if c.round == 1 else []}}
    )
    options = {"observer": {"shown": True, "prompt": "Mind the straw men."}}
    return simulate(build_setup(format="verdict", options=options), script).play().events


def play_read() -> list[Event]:
    """A debate with every seat of `debate.seats`, whichever these are."""
    setup = build_setup(format="verdict", options=dict(ALL_SEATS))
    return simulate(setup, read_everything(setup)).play().events


def play_extracted() -> list[Event]:
    """A debate with an analyst: a turn without numbers, links, what is left out; and a round that it cannot read."""
    turns = {
        "Proponent": "Żółć: wait until June. 日本語で。 It may fail.",
        "Opponent": "[1] So never. [Proponent 1.1]",
    }
    said = {
        "speaker": "Proponent",
        "words": "wait until June",
        "claim": "Żółć waits until June.",
        "kind": "value",
    }
    never = {"speaker": "Opponent", "words": "So never", "claim": "It never comes.", "kind": "forecast"}
    claims = [
        said | {"evidence": "日本語"},
        said | {"words": "日本語で", "claim": "In 日本語.", "kind": "fact"},
        never | {"links": [{"relation": "undercuts", "to": "#1"}, {"relation": "attacks", "to": "#9"}]},
        never | {"same_as": ["Proponent 1.2"]},
        said | {"words": "nobody said this"},
    ]
    left_out = [{"speaker": "Proponent", "words": "It may fail", "why": "The wait, or Żółć."}]

    def extract(call: Call) -> object:
        return {"claims": claims, "left_out": left_out} if call.round == 1 else "Nothing to be read."

    script = task_script({"argument": lambda call: turns[call.seat], "extraction": extract})
    options = {"claims": "extracted", "analyst": {"prompt": "Mind the numbers."}}
    return simulate(build_setup(format="verdict", options=options), script).play().events


def play_digested() -> list[Event]:
    """A document that the window does not hold: its digest with a quote, a passage, and a request for nothing."""
    text = "".join(f"[page {n}]\nŻółć of line {n}: it was closed for {n} weeks.\n" * 24 for n in range(1, 25))
    turns = {
        "Proponent": "“it was closed for 7 weeks” (doc 1)\n[read doc 1: page 7]",
        "Opponent": "[read doc 1: 日本]",
    }
    digest = {
        "summary": "Closures, by 日本語.",
        "quotes": ["it was closed for 7 weeks", "nobody wrote this here"],
    }
    script = task_script({"argument": lambda call: turns[call.seat], "digest": digest})
    opened = build_setup(format="verdict", documents=[{"title": "Closures", "text": text.strip()}])
    return simulate(add_windows(opened, [Window(model="scripted", tokens=6_000)]), script).play().events
