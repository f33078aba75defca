"""The seats beside debaters and judges: those requested, a reader for long documents; and challenges of agreement."""

from collections.abc import Iterable, Sequence

from server.debate.commands import requests
from server.debate.commands.requests import OptionsInput
from server.debate.commands.setup.formats import FORMATS, Format
from server.debate.documents.digests import compute_section_length
from server.debate.documents.sections import split_document
from server.debate.facts.config import (
    EMBEDDED,
    WRITTEN,
    Challenges,
    Meter,
    Moderator,
    Observer,
    Officer,
    Reader,
    Section,
)
from server.debate.facts.errors import require
from server.debate.facts.events import Opened
from server.debate.facts.state import Debate
from server.debate.rules.advance import build_phase_entered
from server.debate.rules.budget import find_round_shortfall
from server.debate.rules.schedule import count_turns
from server.debate.rules.seats import find_models
from server.debate.rules.windows import (
    ANSWER_TOKENS,
    CHARACTERS_PER_TOKEN,
    PROMPT_OVERHEAD_TOKENS,
    TOKENS_PER_WORD,
    estimate_tokens,
)

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


def build_moderator(options: OptionsInput, row: Format, pool: Sequence[str]) -> Moderator | None:
    """Return the moderator, if any. It opens rounds where the request does not say what it does."""
    requested = options.moderator or requests.ModeratorInput()
    moderated = options.speaking == "moderated"
    if not (options.moderator or row.has_closing_moderator or moderated):
        return None
    closes = row.has_closing_moderator if requested.closes is None else requested.closes
    opens = (moderated or not closes) if requested.opens is None else requested.opens
    require(opens or closes, "options.moderator must open rounds, close them, or be left out.")
    require(opens or not moderated, "options.speaking=moderated needs options.moderator.opens=true.")
    problem = (
        f"A moderator who opens the rounds chooses who speaks: leave options.speaking={options.speaking} out,"
    )
    is_free = moderated or not (opens and options.speaking)
    require(is_free, f"{problem} or set options.moderator.opens=false.")
    require(opens or not requested.tools, "options.moderator.tools needs options.moderator.opens=true.")
    seat = build_officer(requested, pool).model_dump()
    return Moderator(**seat, opens=opens, closes=closes)


def build_officer(requested: bool | requests.OfficerInput | None, pool: Sequence[str]) -> Officer:
    officer = requested if isinstance(requested, requests.OfficerInput) else requests.OfficerInput()
    return Officer(
        **officer.model_dump(include=set(Officer.model_fields)) | {"model": officer.model or pool[0]}
    )


def build_readers(options: OptionsInput, pool: Sequence[str]) -> dict[str, Officer | None]:
    """The seats that read each round and steer nothing, by field of the set-up.

    Raises:
        InvalidRequestError: an analyst without anything to do.
    """
    is_extracted = options.claims == "extracted"
    require(is_extracted or not options.analyst, "options.analyst needs options.claims=extracted.")
    referee, observer = options.referee, options.observer
    shown = isinstance(observer, requests.ObserverInput) and observer.shown
    seat = build_officer(observer, pool).model_dump()
    return {
        "referee": build_officer(referee, pool) if referee else None,
        "observer": Observer(**seat, shown=shown) if observer else None,
        "analyst": build_officer(options.analyst, pool) if is_extracted else None,
    }


def add_challenges(setup: Opened, options: OptionsInput) -> Opened:
    """The set-up with its rules for challenges.

    Raises:
        InvalidRequestError: no challenge could ever be made in this debate.
    """
    limits = options.limits
    rules = Challenges(
        mode=options.challenges,
        most=limits.max_challenges,
        cooldown=limits.challenge_cooldown,
        most_rounds=FORMATS[setup.format].max_allowed_rounds,
    )
    setup = setup.model_copy(update={"challenges": rules})
    check_challenges(setup)
    return setup


def check_challenges(setup: Opened) -> None:
    """Raises InvalidRequestError where challenges are asked for, and none could ever be made."""
    if setup.challenges.mode != "challenge":
        return
    panels = ", ".join(row.name for row in FORMATS.values() if row.brief == "panel")
    problem = "options.challenges=challenge is for seats that may change their mind in public, and advocates never do"
    require(setup.brief == "panel", f"{problem}. Formats: {panels}. Or pass report.")
    require(
        setup.ballots != "none",
        "options.challenges=challenge needs private ballots: leave options.ballots out.",
    )


def add_meter(setup: Opened, model: str) -> Opened:
    """The setup with an embedding model, if ballots after its rounds may end the talk."""
    is_needed = bool(model) and setup.stop != "off" and setup.ballots != "none"
    return setup.model_copy(update={"meter": Meter(model=model)}) if is_needed else setup
