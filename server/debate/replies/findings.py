"""What prose finds for: one position, none, or nothing that is clear.

A finding counts where a model says it in so many words, and where its clause neither denies nor hedges nor
reports it. English is what the prompts are in; German and Chinese are what models answer such questions in.
"""

import re

from server.debate.replies.extract import normalize_name
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels

MAX_PROSE_LENGTH = 4_000  # characters at the end of a reply in which a finding is looked for
MAX_CLAUSE_LENGTH = 200  # characters before and after a finding that may deny it

NO_SIDE = frozenset(
    {
        *("none", "null", "no", "nobody", "neither", "nothing", "n/a", "na", "tie", "tied", "draw", "even"),
        *("undecided", "abstain", "abstains", "abstention", "no one", "no winner", "no position", "no side"),
        *("none of them", "none of the above", "no clear winner", "no finding", "inconclusive", "a tie"),
        *("a draw", "neither side", "neither position", "it is a tie"),
        *("unentschieden", "keine", "keiner", "enthaltung", "平局", "无", "没有", "弃权"),
    }
)

_BEFORE, _AFTER = r"(?<![^\W\u3040-\u9fff])", r"(?![^\W\u3040-\u9fff])"
"""Where a word begins and ends: beside anything but a letter of a script that sets words apart."""

_GAP = r"[^\w\n]{0,6}"
_SIDE = rf"{_GAP}(?:the |die |der )?(?:position |option |side |seite )?{{side}}"
_NOUN = (
    r"(?:winner|finding|verdict|decision|choice|vote|answer|judge?ment|sieger(?:in)?|gewinner(?:in)?|urteil|votum|"
    r"entscheidung|wahl)(?: (?:of|in|des|der) (?:this|the)? ?\w{1,20})?"
)
_VERB = r"(?:find|found|decide|decided|rule|ruled|vote|voted|side|sided|choose|chose|favou?r|prefer)s?"
_ADVERBS = r"(?:(?:clearly|narrowly|therefore|thus|has|is|was|hat|ist|klar|deutlich|knapp|eindeutig) ){0,3}"
_PRAISE = (
    r"(?:wins|won|prevails|prevailed|the winner|carries|stronger|better supported|better argued|more convincing|"
    r"right(?! (?:that|about|to|on|in|when|where)\b)|more persuasive|more compelling|edges out|edged out|beats|defeats|"
    r"(?:comes|came) out (?:ahead|on top)|(?:has|had|gets|takes) the (?:edge|upper hand)|"
    r"(?:made|makes|had|have|the) (?:the )?(?:better|stronger) (?:case|argument)|gewinnt|gewonnen|siegt|überzeugender|"
    r"setzt sich durch|(?:die|das) (?:besser|stärker)e[nr]? (?:argumente?|position|begründung|seite))"
)
_GOES = r"(?:[:=>\uff1a\u2192\u2013\u2014-]|is|goes|would be|must go|ist|lautet|geht)"
_FOR = r"(?:for|in favou?r of|für|zugunsten(?: von)?)"
_I_DO = r"(?:^|[.,;:!?]\s{0,2}|\b(?:I|we)\b(?:[^.,;!?\n]{0,30}\s)?)"
_ALONE = r"(?=[*_\"”]{0,3}[ \t]*(?:$|[.(:\u2013\u2014-]))"
_CASE_ZH = r"(?:一方|方)?(?:的?(?:立场|观点|论证|论据|理由|主张))?"
_PRAISE_ZH = r"(?:胜出|获胜|胜|赢|优|上风|有力|有说服力|令人信服|合理|充分)"
_FINDINGS = (
    rf"\b{_NOUN}\b{_GAP}{_GOES}{_GAP}(?:{_FOR}|to|an)?{_SIDE}",
    rf"\b(?:my|our|final|meine?) {_NOUN} {_FOR}{_SIDE}",
    rf"^[#*\d. )]{{0,8}}(?:(?:final|my|the) ){{0,2}}{_NOUN}[*_ :\uff1a]{{0,6}}\n(?:[=-]{{3,80}}\n)?\n?{_SIDE}{_ALONE}",
    rf"{_I_DO}{_VERB}\b{_GAP}(?:for|with|in favou?r of)?{_SIDE}",
    rf"\bI(?:['\u2019](?:d|ll|m)| would| will| am)? (?:go|going|went|come down) (?:with|for|on the side of){_SIDE}",
    rf"\b(?:better|stronger) (?:case|argument)s? (?:was|is|were|came|comes) (?:made )?(?:by|from){_SIDE}",
    rf"{{side}}{_GAP}(?:\([^)\n]{{0,60}}\))?{_GAP}{_ADVERBS}{_PRAISE}",
    rf"\b(?:entscheide|stimme|votiere|urteile|bin)(?: mich)?(?: daher| also| klar)? {_FOR}{_SIDE}",
    rf"(?:胜者|赢家|判决|裁决|结论|答案)(?:是|为|\uff1a|:){_GAP}{{side}}",
    rf"我(?:的)?(?:选择|支持|判定|裁定|投票给|倾向于)(?:是|为)?{_GAP}{{side}}",
    rf"{{side}}{_GAP}{_CASE_ZH}(?:明显|显然|略|更|最|较|更为|最为|占){{0,2}}{_PRAISE_ZH}",
)
"""Clear findings in prose; {side} stands for a label."""

_NO_FINDING = re.compile(
    r"\b(?:no (?:clear )?winner|it is a (?:tie|draw)|a tie\b|both (?:sides|positions) (?:are|were) (?:equally|right)|"
    r"(?:no (?:position|side|party)|neither)\b[^.;!?\n]{0,80}\b(?:wins|won|prevails|prevailed|carries)\b|"
    r"(?:decline|refuse) to (?:name|choose|pick|declare) (?:a|any|one) (?:winner|side|position)|I abstain\b|"
    r"unentschieden|kein(?:e[nr]?)? (?:klare[rn]? )?(?:sieger|gewinner)|enthalte mich)"
    r"|平局|没有(?:明确的?)?(?:胜者|赢家)|不分胜负|我弃权",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|never|cannot|nor|hardly|unless|if|whether|or|could|might|may|perhaps|maybe|possibly|probably|unclear|"
    r"unlikely|doubt\w{0,5}|loses|lost|fails|failed|falls short|nicht|nie|kein\w{0,2}|weder|kaum|falls|wenn|ob|oder|"
    r"könnte\w{0,2}|vielleicht|möglicherweise|wahrscheinlich|unklar|verliert|unterliegt|scheitert)\b|n['\u2019]t\b"
    r"|不|没|未|并非|如果|若|是否|或|也许|可能|恐怕|落败",
    re.IGNORECASE,
)
_HEARSAY = re.compile(
    r"\b(?:says?|said|claim(?:s|ed)|argue[sd]|according|quote[sd]?|sagte?|behauptet|laut|meint)\b|声称|说|称|(?<!我)认为",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,;!?\n\u3002\uff0c\uff1b\uff01\uff1f\u2014]")
_FILLERS = re.compile(
    r"\b(?:the|my|final|option|position|side|answer|choice|winner|vote|finding|verdict|decision|is|for|to|of|i|boxed)\b",
    re.IGNORECASE,
)


def find_prose_finding(debate: Debate, text: str, reading: int) -> str:
    """The position that prose finds for; "" where it finds for none.

    Raises:
        ValueError: it does not say, or it says so of several.
    """
    own = text[-MAX_PROSE_LENGTH:]
    if normalize_name(own) in NO_SIDE:
        return ""
    found = find_findings(debate, own, reading)
    if not found:
        mentioned, rest = find_mentioned(debate, own, reading)
        found = set() if re.search(r"\w", _FILLERS.sub("", rest)) else mentioned
    if len(found) != 1:
        labels = ", ".join(debate.setup.labels)
        problem = "finds for more than one position" if found else "holds no clear finding"
        raise ValueError(f"the reply {problem}; answer with JSON, and with one of {labels} or null")
    return next(iter(found), "")


def find_findings(debate: Debate, text: str, reading: int) -> set[str]:
    """The debaters for whom prose finds in so many words, "" for nobody."""
    found = {"" for match in _NO_FINDING.finditer(text) if is_own_finding(text, match.start(), match.end())}
    for name, label in side_labels(debate, reading).items():
        side = rf"[*_\"“]{{0,3}}{_BEFORE}{label}{_AFTER}(?!['\u2019]s\b)"
        for finding in _FINDINGS:
            pattern = re.compile(finding.replace("{side}", side), re.IGNORECASE | re.MULTILINE)
            for match in pattern.finditer(text):
                if not _DOUBT.search(match[0]) and is_own_finding(text, match.start(), match.end()):
                    found.add(name)
    return found


def is_own_finding(text: str, start: int, end: int) -> bool:
    """Whether the clause of a finding neither denies nor hedges nor reports it."""
    before = _CLAUSE_END.split(text[max(start - MAX_CLAUSE_LENGTH, 0) : start])[-1]
    after, *rest = _CLAUSE_END.split(text[end : end + MAX_CLAUSE_LENGTH], maxsplit=1)
    is_question = bool(rest) and text[end + len(after)] in "?\uff1f"
    return not (is_question or _DOUBT.search(before) or _DOUBT.search(after) or _HEARSAY.search(before))


def is_doubtful(text: str) -> bool:
    """Whether words around the name of a position may deny or hedge it."""
    return bool(_DOUBT.search(text)) or "?" in text or "\uff1f" in text


def find_mentioned(debate: Debate, text: str, reading: int) -> tuple[set[str], str]:
    """(the debaters whose label, or else whose name or stance, occurs in a choice; what else it says).

    For example "Option Sorrel", "Sorrel (Ada)", "Sorrel. Keep it".
    """
    stances = {d.name: d.stance for d in debate.setup.debaters}
    for words in (side_labels(debate, reading), {name: name for name in debate.names}, stances):
        patterns = {
            name: re.compile(rf"{_BEFORE}{re.escape(word)}{_AFTER}", re.IGNORECASE)
            for name, word in words.items()
        }
        if found := {name for name, pattern in patterns.items() if pattern.search(text)}:
            for name in found:
                for word in (words[name], stances[name], name):
                    text = re.sub(re.escape(word), " ", text, flags=re.IGNORECASE)
            return found, text
    return set(), text
