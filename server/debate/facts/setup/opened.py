"""The set-up of a debate: its first fact."""

from typing import Literal

from server.debate.facts.answers import Usage
from server.debate.facts.beliefs import VotingRule, Weight
from server.debate.facts.earlier import Memory
from server.debate.facts.fact import Count, Fact
from server.debate.facts.setup.documents import Document, Reader
from server.debate.facts.setup.ledger import LedgerExtract, Team
from server.debate.facts.setup.limits import Breakpoint, Limits, Price, Window
from server.debate.facts.setup.options import (
    BallotMode,
    Brief,
    CacheMode,
    ChallengeMode,
    CountingRule,
    Effort,
    MirrorMode,
    StopMode,
    ThinkingMode,
)
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import (
    Answering,
    Debater,
    Framer,
    Framing,
    JudgePanel,
    Meter,
    Moderator,
    Officer,
)


class Opened(Fact):
    """The complete set-up, phases included: a later release cannot change what was agreed."""

    kind: Literal["opened"] = "opened"
    question: str
    format: str
    phases: tuple[Phase, ...]
    debaters: tuple[Debater, ...]
    labels: tuple[str, ...]  # of the debaters in prompts: a letter and two digits
    judges: JudgePanel
    max_rounds: int
    seed: int
    documents: tuple[Document, ...] = ()
    instructions: str = ""
    quorum: int = 2  # with fewer speakers in a round of talk, the debate pauses
    turn_timeout: int = 300  # seconds for one answer, retries included
    max_turn_tokens: int = 1_080  # of the text of a turn: what a model thinks first comes on top
    turn_words: int = 180  # the length of a turn that debaters are asked for
    thinking: ThinkingMode | Literal[""] = ""  # how much models think first; "" for as they please
    run: bool = False  # the server runs it to the verdict unattended
    has_predicate: bool = False  # code of the process that opened it may end the talk
    prompt_functions: tuple[str, ...] = ()  # seats whose prompts such code writes; "" for those without one
    tags: tuple[str, ...] = ()
    brief: Brief = "advocate"  # advocates never concede in public; panel members may change their mind
    moderator: Moderator | None = None
    officers: tuple[Officer, ...] = ()  # who read each round and steer nothing, in the order of their answers
    synthesizer: Officer | None = None
    answering: Answering | None = None  # of the answer format, where the debaters are advisors
    meter: Meter | None = None  # measures whether positions of voters are alike
    ballots: BallotMode = "none"  # when the debaters are asked in private what they hold to be right
    effort: Effort | None = None  # what was left to a preset, and which one
    stop: StopMode = "off"  # whether ballots that move no more end the talk
    challenges: ChallengeMode = "report"  # what follows from signs of hollow agreement
    skip_if_agreed: bool = False  # whether one review may be enough, in the answer format
    mirror: MirrorMode = "off"  # whether the debate is held again with the stances swapped
    output_schema: str = ""  # JSON Schema of the synthesizer's result, as JSON
    voting: VotingRule | None = None  # makes the consensus of a vote, in place of the usual counting
    weights: tuple[Weight, ...] = ()  # of the votes that do not count as one
    counting: CountingRule | Literal[""] = ""  # makes the verdict; "" for the usual rule of these phases
    max_turns: int = 0  # of the whole talk; 0 for as many as its rounds have
    fallback_models: tuple[str, ...] = ()  # tried in order when a seat's own model fails
    reader: Reader | None = None  # digests documents that do not fit every window
    framer: Framer | None = None  # proposes positions in place of those of `debaters`
    framing: Framing | None = None  # how they came about, where that is known
    limits: Limits = Limits()
    prices: tuple[Price, ...] = ()  # of every model that may be called; needed by limits and estimates
    windows: tuple[Window, ...] = ()  # of the models whose window is known
    pause_when: tuple[Breakpoint, ...] = ()
    hidden_from_client: tuple[str, ...] = ()  # kinds of seats, and seats
    hidden_from_seats: tuple[str, ...] = ()
    team: Team | None = None  # how its models were chosen
    ledger: LedgerExtract | None = None  # what is known of the judges; None where there is no ledger
    cache: CacheMode = "off"  # whether answers of other debates to the same request are used again
    memory: Memory | None = None  # what earlier debates concluded; None where nobody asked for it
    forked_from: str = ""  # the debate whose first rounds this one begins with
    forked_root: str = ""  # the first debate of its family: that one, or the one which that one goes back to
    forked_import: str = ""  # the imported debate that it goes back to, whose own origin only its file says
    forked_at_round: Count = 0  # how many rounds were inherited
    forked_hash: str = ""  # of the last inherited entry
    forked_restanced: tuple[str, ...] = ()  # debaters with another stance in the inherited rounds
    mirror_of: str = ""  # the debate of which this one is the mirror

    @property
    def usage(self) -> Usage | None:
        return self.memory.usage if self.memory else None  # what it took to open it

    def find_officer(self, seat: str) -> Officer | None:
        return next((officer for officer in self.officers if officer.seat == seat), None)

    @property
    def needs_framing(self) -> bool:
        return self.framer is not None and self.framing is None
