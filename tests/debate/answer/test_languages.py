"""The words of the server in an answer: in the language of the answer, where there is an entry for it."""

# ruff: noqa: RUF001  (marks of Japanese)

import re
from collections.abc import Mapping

import pytest

from server.debate.answer.languages import LANGUAGES, find_language, name_head, tell, tell_caution
from server.debate.answer.lines import AnswerLines, format_lines, list_lines
from server.debate.facts.advice import Branch

pytestmark = [pytest.mark.requirement("N37")]

TEXTS: Mapping[str, str] = {
    "de": "Nein. Lassen Sie die Warteschlange in Postgres, und messen Sie eine Woche, wie alt der älteste Auftrag ist.",
    "es": "No. Deje la cola en Postgres y mida una semana cuántos trabajos esperan, pero no los que están en curso.",
    "fr": "Non. Gardez la file dans Postgres et mesurez pendant une semaine, avec des alertes, ce qui attend.",
    "ja": "いいえ。キューはPostgresに残し、最も古いジョブの待ち時間を一週間測ってください。",
    "zh": "不。把任务队列留在Postgres里。先测量一周最旧任务的等待时间、每秒任务数再决定。",
    "en": "No. Keep the queue in Postgres, and measure for a week how old the oldest job is before you decide on it.",
}
"""One advice, by language."""

OTHERS = (
    "No. Lasciate la coda in Postgres e misurate per una settimana quanto aspetta il lavoro più vecchio della coda.",
    "Não. Mantenha a fila no Postgres e meça durante uma semana quanto tempo espera o trabalho mais antigo.",
    "Nee. Laat de wachtrij in Postgres en meet een week lang hoe oud de oudste taak is voordat je beslist.",
    "Нет. Оставьте очередь в Postgres и неделю измеряйте, сколько ждёт самая старая задача.",
    "لا. أبقِ قائمة الانتظار في Postgres وقِس أسبوعًا كاملًا قبل أن تقرر.",
    "SELECT count(*) FROM jobs WHERE state = 'waiting' AND created_at < now() - interval '1 hour';",
    "",
)


@pytest.mark.parametrize("language", TEXTS)
def test_heads_are_in_the_language_of_the_answer(language: str) -> None:
    answer = AnswerLines(
        head="Agreed", recommendation=TEXTS[language], changes_if="p99 > 1 s", cost="5 calls."
    )
    expected = [
        LANGUAGES[language].heads[head] if language in LANGUAGES else head
        for head in ("Agreed", "Changes if", "Cost")
    ]
    assert [line.head for line in list_lines(answer)] == expected


def test_whether_the_own_answer_stands_is_told_in_the_language_of_the_answer() -> None:
    told = list_lines(AnswerLines(recommendation=TEXTS["de"], mine="It does not stand."))[0]
    assert (told.head, told.text) == ("Ihre Antwort", "Sie hält nicht stand.")


@pytest.mark.parametrize("text", OTHERS)
def test_heads_are_english_where_the_language_has_no_table(text: str) -> None:
    assert find_language(text) == "en"


def test_every_language_has_every_text_and_keeps_what_stands_in_it() -> None:
    assert name_head("If {0}", "zh", "{1} 3 %") == "如果{1} 3 %"
    assert name_head("2 of 3 advise", "ja") == "3人中2人が助言"
    first = LANGUAGES["de"]
    for language, known in LANGUAGES.items():
        for texts, others in zip(known[:3], first[:3], strict=True):
            assert texts.keys() == others.keys(), language
            for english, text in texts.items():
                slots = {*re.findall(r"\{\d\}", english)}
                assert text, (language, english)
                assert {*re.findall(r"\{\d\}", text)} == slots, (language, english)


TOLD_COST = (
    "1 call, 2 reused, 12,192 tokens in (200 cached), 330 out (20 thinking), 3 min, $1,234.01. Debate k3x9"
)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "de",
            (
                "1 Aufruf, 2 wiederverwendet, 12.192 Tokens gelesen (200 aus dem Cache), 330 geschrieben "
                "(20 fürs Nachdenken), 3 min, $1,234.01. Debatte k3x9"
            ),
        ),
        (
            "fr",
            (
                "1 appel, 2 d'un autre débat, 12\u202f192 jetons lus (200 en cache), 330 écrits (20 de réflexion), "
                "3 min, $1,234.01. Débat k3x9"
            ),
        ),
        (
            "ja",
            (
                "呼び出し1回、再利用2件、入力12,192トークン（うちキャッシュ200）、出力330（うち思考20）、3分、"
                "$1,234.01。討論 k3x9"
            ),
        ),
        ("en", TOLD_COST),
    ],
)
def test_the_cost_is_told_in_the_language_of_the_answer(language: str, told: str) -> None:
    assert tell(TOLD_COST, language) == told


def test_numbers_agree_with_their_nouns() -> None:
    assert tell("1 call, 2 calls of unknown price.", "es") == "1 llamada, 2 llamadas de precio desconocido."
    told = [tell(f"{held} of 3 had answered otherwise.", "de") for held in (1, 2)]
    assert told == ["1 von 3 hatte zuerst anders geantwortet.", "2 von 3 hatten zuerst anders geantwortet."]


def test_a_caution_keeps_the_words_of_a_provider() -> None:
    told = "Advisor 1 gave no answer: openai/gpt-5 timed out after 30 s and 2 calls."
    assert (
        tell_caution(told, "es") == "Advisor 1 no respondió: openai/gpt-5 timed out after 30 s and 2 calls."
    )
    assert tell_caution("One caller wrote for Ada and Ben.", "es") == "One caller wrote for Ada and Ben."
    assert tell_caution("Its receipt is not signed.", "zh") == "凭证没有签名。"
    assert tell_caution(told, "en") == told


def test_how_sure_and_cautions_stand_below_an_answer_in_its_language() -> None:
    answer = AnswerLines(
        head="Agreed",
        recommendation=TEXTS["es"],
        how_sure="2 model families (alpha, beta) agree after checking; 1 of 2 had answered otherwise.",
        keep_in_mind=["Advisor 1 gave no review: x"],
        cost="4 calls, 9 s.",
    )
    assert [line.text for line in list_lines(answer, "k3x9")][1:] == [
        "2 familias de modelos (alpha, beta): de acuerdo tras revisar; 1 de 2 había respondido otra cosa.",
        "Advisor 1 no revisó: x",
        "4 llamadas, 9 s. Debate k3x9",
    ]


def test_a_head_of_judges_stays_as_it_is() -> None:
    assert name_head("Leaning (1 of 1 judge)", "de") == "Leaning (1 of 1 judge)"


def test_a_case_is_quoted_in_every_language() -> None:
    answer = AnswerLines(
        head="Divided",
        recommendation=TEXTS["ja"],
        branches=[Branch(condition="待ち時間が1秒", advice="移す。")],
    )
    assert '\n- もし"待ち時間が1秒": "移す。"' in format_lines(answer)
