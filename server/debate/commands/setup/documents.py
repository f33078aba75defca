"""Documents of a set-up: within bounds, and digested if they do not fit everybody's window."""

from collections.abc import Iterable, Sequence

from server.debate.commands.requests import DocumentInput
from server.debate.documents.digests import compute_section_length
from server.debate.documents.sections import split_document
from server.debate.facts.errors import require, require_length
from server.debate.facts.setup.documents import Document, Reader, Section
from server.debate.facts.setup.limits import Window
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import EMBEDDED, WRITTEN
from server.debate.rules.budget import find_first_round, find_round_shortfall
from server.debate.rules.course import build_phase_entered
from server.debate.rules.schedule import count_turns
from server.debate.rules.windows import (
    ANSWER_TOKENS,
    CHARACTERS_PER_TOKEN,
    PROMPT_OVERHEAD_TOKENS,
    TOKENS_PER_WORD,
    estimate_tokens,
    find_misfits,
)
from server.debate.state.debate import Debate
from server.debate.state.seats import count_framing_calls, find_models

MOST_WORDS, LEAST_WORDS = 150, 10
"""Words of the digest of a section."""

WHOLE_SHARE, DIGEST_SHARE, PASSAGE_SHARE = 0.2, 0.55, 0.25
"""Parts of the smallest window's room for documents: for short ones in full, for digests, for passages."""

SAFE_SHARE, ROOM_SHARE = 0.8, 0.95
"""Parts of a window, and of the room left by the talk, that estimated tokens may fill, as estimates are rough."""

JUDGMENT_TOKENS = 500
"""What a judge reads beside the record: criteria, positions and the form of its answer."""


def plan_digests(setup: Opened) -> Opened:
    """The set-up with a reader for documents that do not fit everybody's window; unchanged where a reader cannot help.

    Raises:
        InvalidRequestError: the limits do not pay for the reading and one round of talk.
    """
    readers = [name for name in find_models(setup) if name not in (*WRITTEN, EMBEDDED)]
    windows = Debate(setup).windows
    known_windows = [window for name in find_models(setup) if (window := windows.get(name))]
    if not (setup.documents and readers and known_windows):
        return setup
    model = max(readers, key=lambda name: windows.get(name, 0))
    room = compute_room(setup, min(known_windows))
    long_documents = choose_digested(setup, int(room * WHOLE_SHARE))
    longest = int((windows.get(model, 0) - PROMPT_OVERHEAD_TOKENS - ANSWER_TOKENS) * SAFE_SHARE)
    if room <= 0 or longest <= 0:
        return setup
    sections = tuple(list_sections(setup, long_documents, longest))
    characters = int(room * DIGEST_SHARE) * CHARACTERS_PER_TOKEN // len(sections)
    words = next((n for n in range(MOST_WORDS, 0, -1) if compute_section_length(n) <= characters), 0)
    if words < LEAST_WORDS:
        return setup
    passages = int(room * PASSAGE_SHARE) * CHARACTERS_PER_TOKEN
    reader = Reader(model=model, sections=sections, words=words, passage_characters=passages)
    planned_setup = setup.model_copy(update={"reader": reader})
    check_budget(planned_setup)
    return planned_setup


def compute_room(setup: Opened, window: int) -> int:
    """The tokens that documents may take in a window, beside the whole talk and an answer."""
    talk = int(count_turns(Debate(setup)) * setup.turn_words * TOKENS_PER_WORD)
    answer = min(setup.max_turn_tokens, ANSWER_TOKENS)
    fixed = PROMPT_OVERHEAD_TOKENS + JUDGMENT_TOKENS + estimate_tokens([setup.question])
    return int((window - answer - fixed - talk) * ROOM_SHARE)


def choose_digested(setup: Opened, room: int) -> list[int]:
    """The numbers of the documents that are not shown in full: all but the shortest, as far as these fit."""
    sizes = [estimate_tokens([document.text]) for document in setup.documents]
    numbers = []
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        if sizes[index] <= room:
            room -= sizes[index]
        else:
            numbers.append(index + 1)
    return sorted(numbers) or [sizes.index(max(sizes)) + 1]


def list_sections(setup: Opened, numbers: Iterable[int], tokens: int) -> Iterable[Section]:
    """The sections of these documents, of at most so many tokens each."""
    for index in numbers:
        text = setup.documents[index - 1].text
        tokens_per_character = max(estimate_tokens([text]), 1) / max(len(text), 1)  # higher without spaces
        for start, end in split_document(text, int(tokens / tokens_per_character)):
            yield Section(document=index, start=start, end=end)


def check_budget(setup: Opened) -> None:
    debate, reader = Debate(setup), setup.reader
    first_phase = find_first_round(setup)
    section_count = len(reader.sections) if reader else 0
    entry = build_phase_entered(debate, first_phase, None)
    reason = find_round_shortfall(debate, entry, calls_before=section_count + count_framing_calls(setup))
    require(
        not reason,
        f"The documents take {section_count} calls to read, and the limits do not allow them and one round of talk "
        f"({reason}). Raise them, or pass the parts that matter.",
    )


MAX_TOTAL_DOCUMENT_LENGTH = 3_000_000


def add_windows(setup: Opened, windows: Sequence[Window]) -> Opened:
    """The set-up with the windows of its models, as far as known.

    Raises:
        InvalidRequestError: the first prompts do not fit a seat's model.
    """
    setup = setup.model_copy(update={"windows": tuple(windows)})
    if not setup.reader and not setup.forked_at_round and find_misfits(setup):
        setup = plan_digests(setup)
    misfits = "; ".join(find_misfits(setup))
    advice = (
        "Choose models with a larger window, or pass only the parts of the documents that matter. If a model's window "
        "is larger than this, say so in the setting `windows`."
    )
    require(not misfits, f"Question and documents are too long: {misfits}. {advice}")
    return setup


def build_documents(
    inputs: Sequence[DocumentInput], existing: Sequence[Document] = (), after_round: int = 0
) -> tuple[Document, ...]:
    """Return `existing` and the documents added after a round. Raises InvalidRequestError if they are too long."""
    documents = (
        *existing,
        *(Document(**document.model_dump(), after_round=after_round) for document in inputs),
    )
    total = sum(len(document.text) for document in documents)
    require_length(
        "The documents together have", total, MAX_TOTAL_DOCUMENT_LENGTH, "Pass the parts that matter."
    )
    return documents
