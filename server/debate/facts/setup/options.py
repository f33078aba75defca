"""Options of a set-up, and the effort that a preset stands for."""

from typing import Literal

from server.debate.facts.fact import Fact
from server.debate.facts.setup.limits import Price

Brief = Literal["advocate", "panel"]
BallotMode = Literal["none", "blind", "rounds"]
EffortLevel = Literal["quick", "standard", "assured"]
PresetOption = Literal["debaters", "ballots", "stop", "judges", "mirror", "baseline"]
StopMode = Literal["off", "on"]
CacheMode = Literal["off", "reuse"]
MirrorMode = Literal["off", "on", "if_decided"]
ChallengeMode = Literal["off", "report", "challenge"]
CountingRule = Literal["judges", "moderator", "ballots", "swing"]
"""Whose votes make the verdict, and how they are counted."""

ClaimMode = Literal["asked", "extracted"]
ThinkingMode = Literal["low", "medium", "high", "off"]


class Effort(Fact):
    """How much is asked of a debate, by a preset over the options that nobody gave."""

    level: EffortLevel
    open: tuple[PresetOption, ...] = ()  # the options that were left to the preset
    instead_of: EffortLevel | Literal[""] = ""  # the level that the limits do not pay for
    models: tuple[Price, ...] = ()  # those that seats are drawn from, with their prices
