"""Options of a set-up, and the effort that a preset stands for."""

from typing import Literal

from server.debate.facts.fact import Count, Fact
from server.debate.facts.setup.limits import Price

OnWindow = Literal["refuse", "warn"]
HandoffMode = Literal["structured", "tool", "text"]
Brief = Literal["advocate", "panel"]
BallotMode = Literal["none", "blind", "rounds"]
EffortLevel = Literal["quick", "standard", "assured"]
PresetOption = Literal["debaters", "ballots", "stop", "judges", "mirror", "baseline"]
StopMode = Literal["off", "report", "on"]
CacheMode = Literal["off", "reuse"]
MirrorMode = Literal["off", "on", "if_contested"]
ChallengeMode = Literal["off", "report", "challenge"]
ClaimMode = Literal["asked", "extracted"]


class Challenges(Fact):
    """What follows from signs of hollow agreement."""

    mode: ChallengeMode = "report"
    most: Count = 2  # challenges in the debate
    cooldown: Count = 1  # rounds from a challenge to the round after which the next one may be made
    most_rounds: Count = 0  # of talk, with those that a challenge adds


class Effort(Fact):
    """How much is asked of a debate, by a preset over the options that nobody gave."""

    level: EffortLevel
    open: tuple[PresetOption, ...] = ()  # the options that were left to the preset
    instead_of: EffortLevel | Literal[""] = ""  # the level that the limits do not pay for
    models: tuple[Price, ...] = ()  # those that seats are drawn from, with their prices
