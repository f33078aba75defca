"""The heads of the lines: in the language of the answer, where there is a table for it."""

from collections.abc import Mapping

import pytest

from server.debate.answer.heads import HEADS, find_language, name_head
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
        HEADS[language][head] if language in HEADS else head for head in ("Agreed", "Changes if", "Cost")
    ]
    assert [line.head for line in list_lines(answer)] == expected


def test_whether_the_own_answer_stands_is_told_in_the_language_of_the_answer() -> None:
    told = list_lines(AnswerLines(recommendation=TEXTS["de"], mine="It does not stand."))[0]
    assert (told.head, told.text) == ("Ihre Antwort", "Sie hält nicht stand.")


@pytest.mark.parametrize("text", OTHERS)
def test_heads_are_english_where_the_language_has_no_table(text: str) -> None:
    assert find_language(text) == "en"


def test_every_language_has_every_head_and_keeps_what_stands_in_it() -> None:
    assert name_head("If {0}", "zh", "{1} 3 %") == "如果{1} 3 %"
    for language, heads in HEADS.items():
        assert all(heads.values()), language
        assert "3" in name_head("2 of 3 advise", language), language
        assert "2" in name_head("2 of 3 advise", language), language


def test_a_head_of_judges_stays_as_it_is() -> None:
    assert name_head("Leaning (1 of 1 judge)", "de") == "Leaning (1 of 1 judge)"


def test_a_case_is_quoted_in_every_language() -> None:
    answer = AnswerLines(
        head="Divided",
        recommendation=TEXTS["ja"],
        branches=[Branch(condition="待ち時間が1秒", advice="移す。")],
    )
    assert '\n- もし"待ち時間が1秒": "移す。"' in format_lines(answer)
