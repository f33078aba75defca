"""Context windows: how many tokens texts take, and whether a prompt fits what a model can read.

The windows of a debate's models are facts of its setup; where one is unknown, nothing is refused.
"""

import re
from collections.abc import Iterable

from server.debate.documents.digests import count_digest_characters
from server.debate.facts.setup.opened import Opened
from server.debate.rules.schedule import count_turns
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.state.seats import find_models

CHARACTERS_PER_TOKEN = 4

PROMPT_OVERHEAD_TOKENS = 400
"""Approximate size of the fixed parts of a prompt."""

ANSWER_TOKENS = 600
"""The room that an answer needs, unless it may have fewer tokens."""

TOKENS_PER_WORD = 1.4

SMALLEST_WINDOW = 500
"""Counts below this are no window's: what reports them counts something else."""

READ_SHARE = 0.6
"""A prompt of which less was read, by a low estimate, was cut."""

_SIGNS = re.compile(r"\W+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


def estimate_tokens(texts: Iterable[str]) -> int:
    """The likely number: a token for four letters, one for each Chinese, Japanese or Korean character."""
    characters = extra_bytes = 0
    for text in texts:
        characters += len(text)
        if not text.isascii():  # of a whole debate, in no time
            extra_bytes += len(text.encode("utf-8", "replace")) - len(text)  # 2 for each of those characters
    return characters // CHARACTERS_PER_TOKEN + extra_bytes * 3 // 8


def count_fewest_tokens(text: str) -> int:
    """A number that no tokenizer in use stays far below: words are not merged, and long ones are split."""
    other_text = text if text.isascii() else _CJK.sub("", text)
    return (
        max(len(other_text.split()), len(_SIGNS.sub("", other_text)) // 10)
        + (len(text) - len(other_text)) // 2
    )


def count_at_most(text: str) -> int:
    """A number that `count_fewest_tokens` never exceeds, found ten times as fast. Of a text that was cleaned."""
    spaces = sum(map(text.count, " \n\t"))
    # At least one for each character beyond ASCII.
    extra_bytes = 0 if text.isascii() else len(text.encode("utf-8", "replace")) - len(text)
    return max(spaces + 1, len(text) // 10) + extra_bytes


def find_unread_prompt(text: str, input_tokens: int, window: int = 0) -> int:
    """The least number of tokens of a prompt if the model read only a part of it; 0 if it read all.

    `input_tokens`: those read, as the provider reports them. `window`: 0 where unknown.
    """
    if input_tokens < SMALLEST_WINDOW:
        return 0
    is_short = input_tokens < READ_SHARE * count_at_most(text)
    if is_short and input_tokens < READ_SHARE * (fewest := count_fewest_tokens(text)):
        return fewest
    # Full to the last token, without room for an answer: what did not fit was cut.
    return max(estimate_tokens([text]), window + 1) if input_tokens == window else 0


@once
def estimate_prompt(debate: Debate) -> int:
    """The tokens of a prompt that quotes the debate so far."""
    setup = debate.setup
    undigested_texts = [
        document.text
        for index, document in enumerate(setup.documents, start=1)
        if setup.reader is None or not setup.reader.has_digest(index)
    ]
    earlier_texts = [
        text for earlier in (setup.memory.in_force if setup.memory else ()) for text in earlier.texts
    ]
    texts = estimate_tokens(
        [setup.question, *undigested_texts, *earlier_texts, *(turn.text for turn in debate.turns)]
    )
    return texts + count_digest_characters(debate) // CHARACTERS_PER_TOKEN + PROMPT_OVERHEAD_TOKENS


def describe_misfit(model: str, window: int, prompt_tokens: int, max_tokens: int) -> str:
    """Why a prompt does not fit a model's window; "" where it does, or the window is unknown."""
    room = min(max_tokens, ANSWER_TOKENS)
    if not window or prompt_tokens + room <= window:
        return ""
    return (
        f"{model} reads {window:,} tokens, and {prompt_tokens + room:,} are needed ({room:,} for its answer)"
    )


def find_misfits(setup: Opened) -> list[str]:
    """Each model of a seat whose window the first prompts do not fit, with tokens."""
    windows = Debate(setup).windows
    prompt_tokens = estimate_prompt(Debate(setup))
    misfits = (
        describe_misfit(name, windows.get(name, 0), prompt_tokens, setup.max_turn_tokens)
        for name in find_models(setup)
    )
    return [misfit for misfit in misfits if misfit]


def find_outgrown_windows(setup: Opened) -> list[str]:
    """Each model of a seat whose window the whole talk, at the length asked for, is likely to outgrow."""
    debate = Debate(setup)
    debate_tokens = estimate_prompt(debate) + int(count_turns(debate) * setup.turn_words * TOKENS_PER_WORD)
    return [
        f"{name} reads {window:,} tokens, and the whole debate may have {debate_tokens:,}"
        for name in find_models(setup)
        if (window := debate.windows.get(name, 0)) and debate_tokens + ANSWER_TOKENS > window
    ]
