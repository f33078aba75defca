"""The words of the server in an answer: in the language of the answer, where there is an entry for it."""

# ruff: noqa: RUF001  (marks of Japanese and Chinese)

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
    assert name_head("If {0}", "zh", "{1} 3 %") == "如果{1} 3 %"
    assert name_head("2 of 3 advise", "ja") == "3人中2人の助言"
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
                "1 appel, réponses réutilisées\u00a0: 2, 12\u202f192 jetons lus (200 en cache), 330 écrits "
                "(20 de réflexion), 3 min, $1,234.01. Débat k3x9"
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


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cost_of_no_calls_or_with_a_mirror_is_told_whole(language: str) -> None:
    phrases, colon = LANGUAGES[language].phrases, LANGUAGES[language].marks.get(": ", ": ")
    assert tell("No calls yet.", language) in (f"{phrases['No calls yet']}.", f"{phrases['No calls yet']}。")
    told = tell("No calls. Its mirror: 4 calls, 1,200 tokens in, 300 out, $0.01.", language)
    assert f"{phrases['Its mirror']}{colon}{phrases['{0} calls'].format(4)}" in told


PARTLY = "2 judges for Ada, of 2 model families (alpha, beta); 1 of 2 had answered otherwise."
"""A sentence of which phrases know a part."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_is_told_whole_or_stays_english(language: str) -> None:
    known = "Not measured on your questions yet."
    told = tell(known, language)
    assert told != known
    assert tell(f"{PARTLY} {known}", language) == f"{PARTLY} {told}"
    assert tell(f"{known} {PARTLY}", language).split(PARTLY) in ([f"{told} ", ""], [told, ""])


def test_how_sure_of_judges_has_no_sentence_of_two_languages() -> None:
    support = (
        "2 of 2 judges for Ada's position, of 2 model families (alpha, beta). How likely their advice is right, they "
        "say: 80%, 75%."
    )
    answer = AnswerLines(
        head="Agreed (2 of 2 judges, 2 families)",
        recommendation=TEXTS["de"],
        how_sure=f"{support} Not measured on your questions yet.",
    )
    assert list_lines(answer)[-1].text == f"{support} An Ihren Fragen noch nicht gemessen."


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("de", "Bei Ihren geklärten Fragen war ihr Rat richtig: a/gpt-4.1 3 von 4, b/q:8b 1 von 2."),
        ("zh", "在你已有结论的问题上，建议正确的次数：a/gpt-4.1 3/4，b/q:8b 1/2。"),
    ],
)
def test_the_record_of_models_is_told_with_their_names(language: str, told: str) -> None:
    record = "On your settled questions their advice was right: a/gpt-4.1 3 of 4, b/q:8b 1 of 2."
    assert tell(record, language) == told


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "es",
            (
                "2 familias de modelos (alpha, beta): de acuerdo, en lo que se pudo leer: 1 de 2. Probabilidad de "
                "acierto, según cada modelo: 90%; para otro consejo 80%."
            ),
        ),
        (
            "fr",
            (
                "2 familles de modèles (alpha, beta)\u00a0: d'accord, pour ce qu'on a pu lire\u00a0: 1 sur 2. Chances "
                "d'avoir raison, selon chaque modèle\u00a0: 90%\u00a0; pour un autre conseil 80%."
            ),
        ),
        (
            "ja",
            (
                "2系統のモデル（alpha、beta）：読み取れた範囲では一致しています：2件中1件。"
                "各モデルが見積もる正しさ：90%。別の助言では80%。"
            ),
        ),
        (
            "zh",
            (
                "2个模型家族（alpha，beta）：就能读懂的部分而言，意见一致：1/2。"
                "各模型自己估计的正确概率：90%；其他建议：80%。"
            ),
        ),
    ],
)
def test_a_line_of_several_phrases_has_the_marks_of_its_language(language: str, told: str) -> None:
    agreed = "2 model families (alpha, beta) agree, as far as they could be read: 1 of 2."
    shares = "Each says how likely its advice is right: 90%; for other advice 80%."
    assert tell(f"{agreed} {shares}", language) == told


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("de", "Advisor 1 hat nicht geantwortet: "),
        ("es", "Advisor 1 no respondió: "),
        ("fr", "Advisor 1 n'a pas répondu\u00a0: "),
        ("ja", "Advisor 1の回答がありません："),
        ("zh", "Advisor 1没有回答："),
        ("en", "Advisor 1 gave no answer: "),
    ],
)
def test_a_caution_keeps_the_words_of_a_provider(language: str, told: str) -> None:
    words = "openai/gpt-5 timed out after 30 s, and 2 calls."
    assert tell_caution(f"Advisor 1 gave no answer: {words}", language) == f"{told}{words}"


def test_a_caution_is_known_by_how_it_begins() -> None:
    assert tell_caution("One caller wrote for Ada and Ben.", "es") == "One caller wrote for Ada and Ben."
    assert tell_caution("Its receipt is not signed.", "zh") == "凭证没有签名。"
    assert tell_caution("Its receipt is not signed. No key.", "ja") == "証明書に署名がありません。No key."
    late = "gave no answer in 60 seconds."
    assert tell_caution(f"Advisor 1 {late}", "de") == f"Advisor 1 {late}"
    for words in (f"openai/gpt-5 {late}", "The client gave no answer."):
        assert (
            tell_caution(f"Advisor 1 gave no review: {words}", "de")
            == f"Advisor 1 hat nicht geprüft: {words}"
        )


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
    assert '\n- "待ち時間が1秒"の場合: "移す。"' in format_lines(answer)
