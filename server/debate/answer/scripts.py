"""Whether a reply is written in another language than the question, as far as its letters tell.

Languages of one script are not told apart: words would have to be known for that. Japanese has letters of its own.
"""

import unicodedata
from collections import Counter

ENOUGH = 40
"""Letters of a reply, by weight, that tell its script: names alone, or figures, are in any language."""

WEIGHTS = {"CJK": 3, "HANGUL": 2}
"""How many letters of an alphabet one of these is worth."""

FEW = 12
"""Letters of a text in Chinese or Japanese that hardly tell which."""

CLEARLY = 0.2
"""Of the letters of a text, for a script that it is written in, terms in Latin letters apart."""

_KANA = ("HIRAGANA", "KATAKANA")


def is_foreign(question: str, reply: str) -> bool:
    """Whether a reply is certainly not of the script of the question.

    Names and terms in Latin letters stand in all languages: a question is of the script that half of it is, and a reply
    in Chinese about Postgres may have more Latin letters than others.
    """
    asked, told = weigh_scripts(question), weigh_scripts(reply)
    if told.total() < ENOUGH or not asked:
        return False
    script = max(asked, key=lambda one: (asked[one], one))
    share, kept = asked[script] / asked.total(), told[script] / told.total()
    if script == "LATIN":
        return share > 1 - CLEARLY and kept < 1 / 2
    is_kana_alone = is_japanese(question, reply) or is_japanese(reply, question)
    return share > 1 / 2 and (kept < CLEARLY or (script == "CJK" and is_kana_alone))


def weigh_scripts(text: str) -> Counter[str]:
    """The letters of a text by script, by weight."""
    weights: Counter[str] = Counter()
    for letter, number in Counter(filter(str.isalpha, text)).items():
        script = name_script(letter)
        weights[script] += number * WEIGHTS.get(script, 1)
    return weights


def name_script(letter: str) -> str:
    """The first word of a letter's name is its script: "LATIN", "ARABIC"; "CJK" for the letters of Japanese too."""
    script = unicodedata.name(letter, "OTHER").split()[0]
    return "CJK" if script.startswith(_KANA) else script


def is_japanese(text: str, other: str) -> bool:
    """Whether a text is in Japanese, and the other certainly is not: long enough, and without any kana."""
    share = count_kana(text) / max(sum(map(str.isalpha, text)), 1)
    return share > CLEARLY and not count_kana(other) and sum(map(str.isalpha, other)) >= FEW


def count_kana(text: str) -> int:
    """The letters that only Japanese has."""
    return sum(unicodedata.name(letter, "").startswith(_KANA) for letter in text)
