"""Documents of a set-up: within bounds, and digested where they do not fit the windows of all seats."""

from collections.abc import Iterable, Sequence

from server.debate.commands.requests import DocumentInput
from server.debate.documents.digests import compute_section_length
from server.debate.documents.sections import split_document
from server.debate.facts.errors import require, require_length
from server.debate.facts.setup.documents import Document, Reader, Section
from server.debate.facts.setup.limits import Window
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import EMBEDDED, WRITTEN
from server.debate.rules.advance import build_phase_entered
from server.debate.rules.budget import find_round_shortfall
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
from server.debate.state.seats import find_models

MOST_WORDS, LEAST_WORDS = 150, 10
"""Words of the digest of a section."""

WHOLE_SHARE, DIGEST_SHARE, PASSAGE_SHARE = 0.2, 0.55, 0.25
"""The parts of the room for documents in the smallest window: for short ones whole, for digests, for passages."""

SAFE_SHARE, ROOM_SHARE = 0.8, 0.95
"""The parts of a window, and of what the talk leaves of it, that estimated tokens may fill. Texts differ."""

JUDGMENT_TOKENS = 500
"""What a judge is told beside the record: its criteria, positions and the shape of its answer."""


def plan_digests(setup: Opened) -> Opened:
    """The setup with a reader for the documents that do not fit the windows of all seats; itself where that is no help.

    Raises:
        InvalidRequestError: the limits do not pay for reading them and one round of talk.
    """
    readers = [name for name in find_models(setup) if name not in (*WRITTEN, EMBEDDED)]
    windows = Debate(setup).windows
    known = [window for name in find_models(setup) if (window := windows.get(name))]
    if not (setup.documents and readers and known):
        return setup
    model = max(readers, key=lambda name: windows.get(name, 0))
    room = compute_room(setup, min(known))
    digested = choose_digested(setup, int(room * WHOLE_SHARE))
    longest = int((windows.get(model, 0) - PROMPT_OVERHEAD_TOKENS - ANSWER_TOKENS) * SAFE_SHARE)
    if room <= 0 or longest <= 0:
        return setup
    sections = tuple(list_sections(setup, digested, longest))
    characters = int(room * DIGEST_SHARE) * CHARACTERS_PER_TOKEN // len(sections)
    words = next((n for n in range(MOST_WORDS, 0, -1) if compute_section_length(n) <= characters), 0)
    if words < LEAST_WORDS:
        return setup
    passages = int(room * PASSAGE_SHARE) * CHARACTERS_PER_TOKEN
    reader = Reader(model=model, sections=sections, words=words, passage_characters=passages)
    planned = setup.model_copy(update={"reader": reader})
    check_budget(planned)
    return planned


def compute_room(setup: Opened, window: int) -> int:
    """The tokens that documents may take in a window, beside the whole talk and an answer."""
    talk = int(count_turns(Debate(setup)) * setup.turn_words * TOKENS_PER_WORD)
    answer = min(setup.max_turn_tokens, ANSWER_TOKENS)
    fixed = PROMPT_OVERHEAD_TOKENS + JUDGMENT_TOKENS + estimate_tokens([setup.question])
    return int((window - answer - fixed - talk) * ROOM_SHARE)


def choose_digested(setup: Opened, room: int) -> list[int]:
    """The places of the documents that are not shown whole: all but the shortest, as far as these fit."""
    sizes = [estimate_tokens([document.text]) for document in setup.documents]
    digested = []
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        if sizes[index] <= room:
            room -= sizes[index]
        else:
            digested.append(index + 1)
    return sorted(digested) or [sizes.index(max(sizes)) + 1]


def list_sections(setup: Opened, digested: Iterable[int], tokens: int) -> Iterable[Section]:
    """The sections of these documents, of at most so many tokens each."""
    for index in digested:
        text = setup.documents[index - 1].text
        each = max(estimate_tokens([text]), 1) / max(len(text), 1)  # more for scripts without spaces
        for start, end in split_document(text, int(tokens / each)):
            yield Section(document=index, start=start, end=end)


def check_budget(setup: Opened) -> None:
    debate, reader = Debate(setup), setup.reader
    first = next(phase for phase in setup.phases if phase.is_talk)
    before = len(reader.sections) if reader else 0
    entered = build_phase_entered(debate, first, None)
    reason = find_round_shortfall(debate, entered, before=before + setup.needs_framing)
    require(
        not reason,
        f"The documents take {before} calls to read, and the limits do not allow them and one round of talk "
        f"({reason}). Raise them, or pass the parts that matter.",
    )


MAX_TOTAL_DOCUMENT_LENGTH = 3_000_000


def add_windows(setup: Opened, windows: Sequence[Window]) -> Opened:
    """The setup with the windows of its models, as far as known.

    Raises:
        InvalidRequestError: the first prompts do not fit a seat's model, and are not to be sent all the same.
    """
    setup = setup.model_copy(update={"windows": tuple(windows)})
    if setup.on_window == "refuse" and not setup.reader and not setup.forked_at_round and find_misfits(setup):
        setup = plan_digests(setup)
    misfits = "; ".join(find_misfits(setup)) if setup.on_window == "refuse" else ""
    advice = (
        "Choose models with a larger window, pass only the parts of the documents that matter, or send it all the "
        "same with options.on_window=warn. A window that is larger in truth belongs in the setting `windows`."
    )
    require(not misfits, f"Question and documents are too long: {misfits}. {advice}")
    return setup


def build_documents(
    added: Sequence[DocumentInput], existing: Sequence[Document] = (), after_round: int = 0
) -> tuple[Document, ...]:
    """Return `existing` and those added after a round; InvalidRequestError where they are too long together."""
    documents = (
        *existing,
        *(Document(**document.model_dump(), after_round=after_round) for document in added),
    )
    total = sum(len(document.text) for document in documents)
    require_length(
        "The documents together have", total, MAX_TOTAL_DOCUMENT_LENGTH, "Pass the parts that matter."
    )
    return documents
