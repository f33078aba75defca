"""The words of the server in an answer: in the language of the answer, where there is an entry for it."""

# ruff: noqa: RUF001  (marks of Japanese and Chinese)

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from server.debate.answer.count import count_panel
from server.debate.answer.languages import LANGUAGES, find_language, say, say_head
from server.debate.answer.lines import AnswerLines, build_lines, format_lines, list_lines
from server.debate.facts.advice import Branch
from server.debate.facts.setup.ledger import Standing
from tests.support.panels import build_answer, play_panel

pytestmark = [pytest.mark.requirement("N37")]

SLOT = re.compile(r"\{\d\}")

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
    "No. Lasciate la coda in Postgres con un indice, per una settimana, e misurate con i log del server.",
    "Sì. Con una tabella del server e una coda con un solo lettore, il lavoro resta semplice.",
    "No. Deixeu la cua a Postgres amb un índex, durant una setmana, i mesureu amb els registres del servidor.",
    "No. Deixeu les tasques a Postgres: el registre del servidor, una setmana sencera, i les alertes del sistema.",
    "No. El problema és el cost: cada servidor que es posa en marxa el pagueu, i en un any en paguen el doble.",
    "Não. Deixe a fila no Postgres: para uma equipe de três, cada peça está a mais, e os logs estão lá para medir.",
    "Não. Para cada equipe, a fila está bem no Postgres; para mais, está cedo.",
    "Nee. Laat de wachtrij in Postgres en meet een week lang hoe oud de oudste taak is voordat je beslist.",
    "Nee. Laat de wachtrij in Postgres, met een index op de status, en meet een week lang met de logs van de server.",
    "Nej. Behold køen i Postgres, den der er der nu, den er nok. Mål den ældste opgave i en uge.",
    "Nu. Lăsați coada în Postgres, cu un index. Ce au măsurat alții nu este sigur; au fost mai multe erori.",
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
        LANGUAGES[language].texts[head] if language in LANGUAGES else head
        for head in ("Agreed", "Changes if", "Cost")
    ]
    assert [line.head for line in list_lines(answer)] == expected


def test_whether_the_own_answer_stands_is_told_in_the_language_of_the_answer() -> None:
    told = list_lines(AnswerLines(recommendation=TEXTS["de"], mine="It does not stand."))[0]
    assert (told.head, told.text) == ("Ihre Antwort", "Sie hält nicht stand.")


@pytest.mark.parametrize("text", OTHERS)
def test_heads_are_english_where_the_language_has_no_table(text: str) -> None:
    assert find_language(text) == "en"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "es",
            "Conviene vender una parte. Con una venta parcial se reduce el riesgo; del resto, lo mejor es esperar.",
        ),
        (
            "es",
            "A favor: la cola ya funciona. Mida la espera durante una semana con una consulta a la tabla de tareas.",
        ),
        (
            "es",
            "Espere a marzo. La oferta vence tarde, la tasa baja cada trimestre y no hay multa por esperar.",
        ),
        (
            "fr",
            "Oui, s'il reste moins de 3 jours. Il le faut, car le bail est signé et les délais sont courts.",
        ),
        (
            "fr",
            "Non. Gardez la file dans Postgres. Il ne faut pas de Kafka pour une équipe de trois personnes.",
        ),
        ("de", "Nein: In Postgres bleiben. Per Index ist das schnell genug für drei Personen."),
    ],
)
def test_a_language_is_told_from_its_neighbours(language: str, text: str) -> None:
    assert find_language(text) == language


def test_every_language_has_every_text_and_keeps_what_stands_in_it() -> None:
    assert say("If {0}", "zh", "{1} 3 %") == "如果{1} 3 %"
    assert say_head("2 of 3 advise", "ja") == "3人中2人の助言"
    for language, known in LANGUAGES.items():
        assert known.texts.keys() == LANGUAGES["de"].texts.keys(), language
        for english, text in known.texts.items():
            assert text, (language, english)
            assert {*SLOT.findall(text)} == {*SLOT.findall(english)}, (language, english)


STANDINGS = (Standing(judge="a/gpt-4.1", asked=4, consistent=4, right=3, wrong=1, weight="100/100"),)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "de",
            (
                "2 Modellfamilien (alpha, beta): unabhängig voneinander so geantwortet, und nach gegenseitiger Prüfung "
                "wieder. "
                "Eigene Einschätzung, wie wahrscheinlich der Rat stimmt: 90%, 90%. "
                "Bei Ihren geklärten Fragen war ihr Rat richtig: a/gpt-4.1 3 von 4."
            ),
        ),
        (
            "fr",
            (
                "2 familles de modèles (alpha, beta)\u00a0: la même réponse séparément, puis à nouveau après relecture "
                "mutuelle. "
                "Chances d'avoir raison, selon chaque modèle\u00a0: 90%, 90%. "
                "Sur vos questions déjà tranchées, ils ont eu raison\u00a0: a/gpt-4.1 3 sur 4."
            ),
        ),
        (
            "zh",
            (
                "2个模型家族（alpha, beta）：各自独立给出了这个回答，互相检查后仍然如此。"
                "各模型自己估计的正确概率：90%, 90%。在你已有结论的问题上，建议正确的次数：a/gpt-4.1 3/4。"
            ),
        ),
        (
            "en",
            (
                "2 model families (alpha, beta) gave this answer independently, and again after checking each other's. "
                "Each says how likely its advice is right: 90%, 90%. "
                "On your settled questions their advice was right: a/gpt-4.1 3 of 4."
            ),
        ),
    ],
)
def test_how_sure_is_told_in_the_language_of_the_answer(language: str, told: str) -> None:
    panel = play_panel("AA", [("A", 90), ("A", 90)])
    answers = {seat: build_answer(seat, TEXTS[language]) for seat in panel.advised}
    panel = replace(panel, advised=answers)

    lines = build_lines(panel, count_panel(panel), standings=STANDINGS)

    assert lines.how_sure == told


def test_a_head_of_judges_stays_as_it_is() -> None:
    assert say_head("Leaning (1 of 1 judge)", "de") == "Leaning (1 of 1 judge)"


def test_a_case_is_quoted_in_every_language() -> None:
    answer = AnswerLines(
        head="Divided",
        recommendation=TEXTS["ja"],
        branches=[Branch(condition="待ち時間が1秒", advice="移す。")],
    )
    assert '\n**場合ごとの助言**:\n- "待ち時間が1秒"の場合: "移す。"' in format_lines(answer)


@pytest.mark.parametrize("language", TEXTS)
def test_cases_stand_under_a_heading_and_sides_are_told_as_alternatives(language: str) -> None:
    texts = LANGUAGES[language].texts if language in LANGUAGES else {}
    sides = [Branch(condition="", advice="a"), Branch(condition="", advice="b")]
    cases = [Branch(condition="c", advice="a"), Branch(condition="d", advice="b")]
    told = ((sides, ("Either", "Or")), (sides[:1], ("One answer",)), (cases, ("By case", "If {0}", "If {0}")))
    for branches, heads in told:
        answer = AnswerLines(head="Divided", recommendation=TEXTS[language], branches=branches)
        expected = [texts.get(head, head) for head in heads]
        found = [
            line.head.replace(line.case, "{0}") if line.case else line.head for line in list_lines(answer)
        ]
        assert found[1:] == expected


def test_what_follows_cases_is_no_part_of_their_list() -> None:
    cases = [Branch(condition="small", advice="stay"), Branch(condition="large", advice="move")]
    told = format_lines(
        AnswerLines(head="Divided", recommendation="It depends.", branches=cases, next="Measure.")
    )

    assert '- If "small": "stay"\n- If "large": "move"\n\n**Next**' in told


def test_the_language_is_that_of_the_sides_where_the_recommendation_is_ours() -> None:
    sides = [Branch(condition="", advice=TEXTS["de"]), Branch(condition="", advice=TEXTS["de"])]
    lines = list_lines(AnswerLines(head="Divided", recommendation="2 answers that differ.", branches=sides))

    assert [line.head for line in lines] == ["Uneins", "Entweder", "Oder"]
