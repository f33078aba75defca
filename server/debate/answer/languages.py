"""The words of the server in an answer, in the language of the answer: its heads, how sure it is, what it cost.

Another language is another entry of `LANGUAGES`.
"""

# ruff: noqa: RUF001  (marks of Japanese and Chinese)

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

from server.debate.answer.scripts import CLEARLY, count_kana, weigh_scripts


class Language(NamedTuple):
    """Texts by their English; in phrases and cautions {0} is a number, and {who} a name or several.

    `phrases`: of how sure it is and of the cost. `cautions`: the frequent ones, or how they begin. `groups`: what is
    between thousands. `marks`: what is written for English marks. `common`: words that every fourth word of a text
    is, or more; "" where the script tells the language.
    """

    heads: Mapping[str, str]
    phrases: Mapping[str, str]
    cautions: Mapping[str, str]
    groups: str = ","
    marks: Mapping[str, str] = {}
    common: str = ""


LANGUAGES: Mapping[str, Language] = {
    "de": Language(
        heads={
            "Agreed": "Einig",
            "Leaning": "Tendenz",
            "Agreed on a combination": "Einig über eine Kombination",
            "Divided": "Uneins",
            "Unsure": "Unsicher",
            "Open": "Offen",
            "No answer": "Keine Antwort",
            "Result": "Ergebnis",
            "{0} of {1} advise": "{0} von {1} raten",
            "If {0}": "Wenn {0}",
            "Or": "Oder",
            "Your answer": "Ihre Antwort",
            "Wrong in it": "Fehler darin",
            "About the question": "Zur Frage",
            "Next": "Als Nächstes",
            "Because": "Begründung",
            "Corrected": "Berichtigt",
            "Also found": "Außerdem gefunden",
            "Changes if": "Anders, wenn",
            "Against it": "Dagegen spricht",
            "Assumed": "Angenommen",
            "How sure": "Wie sicher",
            "Keep in mind": "Zu beachten",
            "Cost": "Kosten",
            "It stands.": "Sie hält stand.",
            "It stands, with corrections.": "Sie hält stand, mit Berichtigungen.",
            "It does not stand.": "Sie hält nicht stand.",
            "It does not stand: no reviewer advises it.": "Sie hält nicht stand: kein Prüfer rät dazu.",
            "The reviewers are divided about it.": "Die Prüfer sind sich über sie uneins.",
        },
        phrases={
            "One model family ({who})": "Eine Modellfamilie ({who}):",
            "{0} model families ({who})": "{0} Modellfamilien ({who}):",
            "{0} authors ({who})": "{0} Verfasser ({who}):",
            "answered, and is far too small for that to count": "geantwortet, aber viel zu klein, um zu zählen",
            "answered; nothing was checked": "geantwortet; geprüft wurde nichts",
            "answered; {0} of {1} advise this": "geantwortet; {0} von {1} raten dazu",
            "answered differently; one checked": "verschiedene Antworten; nur ein Modell hat geprüft",
            "stay divided": "weiterhin uneins",
            "stays divided": "weiterhin uneins",
            "agree after checking": "nach dem Prüfen einig",
            "agrees after checking": "nach dem Prüfen einig",
            "1 of {0} had answered otherwise": "1 von {0} hatte zuerst anders geantwortet",
            "{0} of {1} had answered otherwise": "{0} von {1} hatten zuerst anders geantwortet",
            "1 of {0} answers missing": "1 von {0} Antworten fehlt",
            "{0} of {1} answers missing": "{0} von {1} Antworten fehlen",
            "agree, as far as they could be read": "einig, soweit die Antworten lesbar waren",
            "agrees, as far as they could be read": "einig, soweit die Antworten lesbar waren",
            "gave this answer, and checked it": "so geantwortet und es selbst geprüft",
            "gave this answer independently; one checked it": "unabhängig voneinander diese Antwort; "
            "ein Modell hat sie geprüft",
            "gave this answer independently, and again after checking each other's": "unabhängig voneinander "
            "diese Antwort, und nach gegenseitigem Prüfen wieder",
            "It says how likely its advice is right": "Eigene Einschätzung, wie wahrscheinlich der Rat stimmt",
            "Each says how likely its advice is right": "Eigene Einschätzung, wie wahrscheinlich der Rat stimmt",
            "It says how likely its other advice is right": "Eigene Einschätzung, wie wahrscheinlich der andere "
            "Rat stimmt",
            "Each says how likely its other advice is right": "Eigene Einschätzung, wie wahrscheinlich der "
            "andere Rat stimmt",
            "for other advice": "bei anderem Rat",
            "That says little about being right: models of one family make the same mistakes": "Das sagt wenig "
            "darüber, ob es stimmt: Modelle einer Familie machen dieselben Fehler",
            "Not measured on your questions yet": "An Ihren Fragen noch nicht gemessen",
            "On your settled questions their advice was right: {who}.": "Bei Ihren geklärten Fragen war ihr Rat "
            "richtig: {who}.",
            "{0} of {1}": "{0} von {1}",
            "Debate {who}": "Debatte {who}",
            "No calls": "Keine Aufrufe",
            "No calls yet": "Noch keine Aufrufe",
            "Its mirror": "Gespiegelte Debatte",
            "{0} call": "{0} Aufruf",
            "{0} calls": "{0} Aufrufe",
            "{0} turn of the caller": "{0} Beitrag des Aufrufers",
            "{0} turns of the caller": "{0} Beiträge des Aufrufers",
            "{0} reused": "{0} wiederverwendet",
            "{0} tokens in": "{0} Tokens gelesen",
            "{0} cached": "{0} aus dem Cache",
            "{0} out": "{0} geschrieben",
            "{0} thinking": "{0} fürs Nachdenken",
            "{0} s": "{0} s",
            "{0} min": "{0} min",
            "{0} h": "{0} h",
            "price unknown": "Preis unbekannt",
            "{0} call of unknown price": "{0} Aufruf mit unbekanntem Preis",
            "{0} calls of unknown price": "{0} Aufrufe mit unbekanntem Preis",
            "and": "und",
        },
        cautions={
            "{who} gave no answer": "{who} hat nicht geantwortet",
            "{who} gave no review": "{who} hat nicht geprüft",
            "{who} gave no exchange (what it advised before counts)": "{who} hat auf die anderen nicht geantwortet "
            "(der frühere Rat zählt)",
            "{who} gave no report (the server composed the answer of the reviews)": "Kein Bericht (die Antwort "
            "ist aus den Prüfungen zusammengesetzt)",
            "{who} gave no report (the server composed the answer of the reviews, and nobody checked it)": "Kein "
            "Bericht (die Antwort ist aus den Prüfungen zusammengesetzt, und niemand hat sie geprüft)",
            "{who} gave no check (nobody has checked the answer)": "Niemand hat die fertige Antwort geprüft",
            "{who} followed different answers in its two readings, and has no vote": "{who} folgte beim zweiten "
            "Lesen einer anderen Antwort und hat keine Stimme",
            "Who checked the answer would not act on it, and names no fault that matters": "Wer die Antwort geprüft "
            "hat, würde nicht danach handeln, nennt aber keinen Fehler, der zählt",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens": "{who} ({model}) bekam nur einen "
            "Teil zu sehen: {0} von mindestens {1} Tokens",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens. What it found is not counted": "{who} "
            "({model}) bekam nur einen Teil zu sehen: {0} von mindestens {1} Tokens. Sein Ergebnis zählt nicht",
            "The limits did not pay for this": "Dafür reichte das Budget nicht",
            "Its receipt is not signed": "Der Beleg ist nicht signiert",
        },
        groups=".",
        common="der|das|und|ist|nicht|mit|eine?|für|auf|den|sie|zu|von|im|wenn|oder|auch|bei|sich",
    ),
    "es": Language(
        heads={
            "Agreed": "Acuerdo",
            "Leaning": "Tendencia",
            "Agreed on a combination": "Acuerdo en una combinación",
            "Divided": "Opiniones divididas",
            "Unsure": "Sin certeza",
            "Open": "Sin decidir",
            "No answer": "Sin respuesta",
            "Result": "Resultado",
            "{0} of {1} advise": "{0} de {1} aconsejan",
            "If {0}": "Si {0}",
            "Or": "O bien",
            "Your answer": "Su respuesta",
            "Wrong in it": "Errores en ella",
            "About the question": "Sobre la pregunta",
            "Next": "Próximos pasos",
            "Because": "Porque",
            "Corrected": "Corregido",
            "Also found": "También se halló",
            "Changes if": "Cambia si",
            "Against it": "En contra",
            "Assumed": "Supuesto",
            "How sure": "Grado de certeza",
            "Keep in mind": "A tener en cuenta",
            "Cost": "Coste",
            "It stands.": "Se sostiene.",
            "It stands, with corrections.": "Se sostiene, con correcciones.",
            "It does not stand.": "No se sostiene.",
            "It does not stand: no reviewer advises it.": "No se sostiene: ningún revisor la aconseja.",
            "The reviewers are divided about it.": "Los revisores están divididos sobre ella.",
        },
        phrases={
            "One model family ({who})": "Una familia de modelos ({who}):",
            "{0} model families ({who})": "{0} familias de modelos ({who}):",
            "{0} authors ({who})": "{0} autores ({who}):",
            "answered, and is far too small for that to count": "respondió, pero es demasiado pequeña para contar",
            "answered; nothing was checked": "hay respuestas, pero nadie las revisó",
            "answered; {0} of {1} advise this": "hay respuestas; {0} de {1} aconsejan esto",
            "answered differently; one checked": "respuestas distintas; solo un modelo las revisó",
            "stay divided": "sin acuerdo",
            "stays divided": "sin acuerdo",
            "agree after checking": "de acuerdo tras revisar",
            "agrees after checking": "de acuerdo tras revisar",
            "1 of {0} had answered otherwise": "1 de {0} había respondido otra cosa",
            "{0} of {1} had answered otherwise": "{0} de {1} habían respondido otra cosa",
            "1 of {0} answers missing": "falta 1 de las {0} respuestas",
            "{0} of {1} answers missing": "faltan {0} de las {1} respuestas",
            "agree, as far as they could be read": "de acuerdo, en lo que se pudo leer",
            "agrees, as far as they could be read": "de acuerdo, en lo que se pudo leer",
            "gave this answer, and checked it": "dio esta respuesta y la revisó",
            "gave this answer independently; one checked it": "la misma respuesta por separado; un modelo la revisó",
            "gave this answer independently, and again after checking each other's": "la misma respuesta por "
            "separado, y otra vez tras revisarse entre sí",
            "It says how likely its advice is right": "Probabilidad de acierto, según el propio modelo",
            "Each says how likely its advice is right": "Probabilidad de acierto, según cada modelo",
            "It says how likely its other advice is right": "Probabilidad de acierto de otro consejo, según el "
            "propio modelo",
            "Each says how likely its other advice is right": "Probabilidad de acierto de otro consejo, según cada "
            "modelo",
            "for other advice": "para otro consejo",
            "That says little about being right: models of one family make the same mistakes": "Eso dice poco "
            "sobre si la respuesta es correcta: los modelos de una misma familia cometen los mismos errores",
            "Not measured on your questions yet": "Aún no se ha medido con sus preguntas",
            "On your settled questions their advice was right: {who}.": "En sus preguntas ya resueltas "
            "acertaron: {who}.",
            "{0} of {1}": "{0} de {1}",
            "Debate {who}": "Debate {who}",
            "No calls": "Ninguna llamada",
            "No calls yet": "Ninguna llamada todavía",
            "Its mirror": "Debate espejo",
            "{0} call": "{0} llamada",
            "{0} calls": "{0} llamadas",
            "{0} turn of the caller": "{0} turno de quien pregunta",
            "{0} turns of the caller": "{0} turnos de quien pregunta",
            "{0} reused": "respuestas reutilizadas: {0}",
            "{0} tokens in": "{0} tokens leídos",
            "{0} cached": "{0} de la caché",
            "{0} out": "{0} escritos",
            "{0} thinking": "{0} para pensar",
            "{0} s": "{0} s",
            "{0} min": "{0} min",
            "{0} h": "{0} h",
            "price unknown": "precio desconocido",
            "{0} call of unknown price": "{0} llamada de precio desconocido",
            "{0} calls of unknown price": "{0} llamadas de precio desconocido",
            "and": "y",
        },
        cautions={
            "{who} gave no answer": "{who} no respondió",
            "{who} gave no review": "{who} no revisó",
            "{who} gave no exchange (what it advised before counts)": "{who} no contestó a los demás (vale lo que "
            "aconsejó antes)",
            "{who} gave no report (the server composed the answer of the reviews)": "Sin informe (la respuesta se "
            "compuso a partir de las revisiones)",
            "{who} gave no report (the server composed the answer of the reviews, and nobody checked it)": "Sin "
            "informe (la respuesta se compuso a partir de las revisiones, y nadie la comprobó)",
            "{who} gave no check (nobody has checked the answer)": "Nadie comprobó la respuesta final",
            "{who} followed different answers in its two readings, and has no vote": "{who} siguió respuestas "
            "distintas en sus dos lecturas, y no tiene voto",
            "Who checked the answer would not act on it, and names no fault that matters": "Quien comprobó la "
            "respuesta no la seguiría, pero no señala ningún fallo importante",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens": "{who} ({model}) solo vio una "
            "parte: {0} de al menos {1} tokens",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens. What it found is not counted": "{who} "
            "({model}) solo vio una parte: {0} de al menos {1} tokens. Lo que halló no cuenta",
            "The limits did not pay for this": "El presupuesto no alcanzó para esto",
            "Its receipt is not signed": "El recibo no está firmado",
        },
        groups=".",
        common="el|la|los|las|un|una|y|de|del|en|es|que|por|para|con|no|se|si|su|al|lo|le|hay|pero|más|está|son|cada",
    ),
    "fr": Language(
        heads={
            "Agreed": "Accord",
            "Leaning": "Tendance",
            "Agreed on a combination": "Accord sur une combinaison",
            "Divided": "Avis partagés",
            "Unsure": "Incertain",
            "Open": "Non tranché",
            "No answer": "Aucune réponse",
            "Result": "Résultat",
            "{0} of {1} advise": "{0} sur {1} conseillent",
            "If {0}": "Si {0}",
            "Or": "Ou bien",
            "Your answer": "Votre réponse",
            "Wrong in it": "Erreurs dans celle-ci",
            "About the question": "Sur la question",
            "Next": "Ensuite",
            "Because": "Pourquoi",
            "Corrected": "Corrigé",
            "Also found": "Aussi relevé",
            "Changes if": "Change si",
            "Against it": "Contre",
            "Assumed": "Supposé",
            "How sure": "Degré de certitude",
            "Keep in mind": "À garder à l'esprit",
            "Cost": "Coût",
            "It stands.": "Elle tient.",
            "It stands, with corrections.": "Elle tient, avec des corrections.",
            "It does not stand.": "Elle ne tient pas.",
            "It does not stand: no reviewer advises it.": "Elle ne tient pas\u00a0: aucun relecteur ne la conseille.",
            "The reviewers are divided about it.": "Les relecteurs sont partagés à son sujet.",
        },
        phrases={
            "One model family ({who})": "Une famille de modèles ({who}):",
            "{0} model families ({who})": "{0} familles de modèles ({who}):",
            "{0} authors ({who})": "{0} auteurs ({who}):",
            "answered, and is far too small for that to count": "a répondu, mais est bien trop petite pour compter",
            "answered; nothing was checked": "des réponses, que personne n'a relues",
            "answered; {0} of {1} advise this": "des réponses, et {0} sur {1} conseillent ceci",
            "answered differently; one checked": "des réponses différentes, qu'un seul modèle a relues",
            "stay divided": "toujours en désaccord",
            "stays divided": "toujours en désaccord",
            "agree after checking": "d'accord après relecture",
            "agrees after checking": "d'accord après relecture",
            "1 of {0} had answered otherwise": "1 sur {0} avait répondu autrement",
            "{0} of {1} had answered otherwise": "{0} sur {1} avaient répondu autrement",
            "1 of {0} answers missing": "il manque 1 réponse sur {0}",
            "{0} of {1} answers missing": "il manque {0} réponses sur {1}",
            "agree, as far as they could be read": "d'accord, pour ce qu'on a pu lire",
            "agrees, as far as they could be read": "d'accord, pour ce qu'on a pu lire",
            "gave this answer, and checked it": "a donné cette réponse, et l'a relue",
            "gave this answer independently; one checked it": "la même réponse séparément, relue par un modèle",
            "gave this answer independently, and again after checking each other's": "la même réponse séparément, "
            "puis à nouveau après relecture mutuelle",
            "It says how likely its advice is right": "Chances d'avoir raison, selon le modèle lui-même",
            "Each says how likely its advice is right": "Chances d'avoir raison, selon chaque modèle",
            "It says how likely its other advice is right": "Chances que son autre conseil soit juste, selon le "
            "modèle lui-même",
            "Each says how likely its other advice is right": "Chances que l'autre conseil soit juste, selon "
            "chaque modèle",
            "for other advice": "pour un autre conseil",
            "That says little about being right: models of one family make the same mistakes": "Cela ne prouve pas "
            "grand-chose: les modèles d'une même famille font les mêmes erreurs",
            "Not measured on your questions yet": "Pas encore mesuré sur vos questions",
            "On your settled questions their advice was right: {who}.": "Sur vos questions déjà tranchées, ils "
            "ont eu raison: {who}.",
            "{0} of {1}": "{0} sur {1}",
            "Debate {who}": "Débat {who}",
            "No calls": "Aucun appel",
            "No calls yet": "Aucun appel pour l'instant",
            "Its mirror": "Débat miroir",
            "{0} call": "{0} appel",
            "{0} calls": "{0} appels",
            "{0} turn of the caller": "{0} tour de l'appelant",
            "{0} turns of the caller": "{0} tours de l'appelant",
            "{0} reused": "réponses réutilisées: {0}",
            "{0} tokens in": "{0} jetons lus",
            "{0} cached": "{0} en cache",
            "{0} out": "{0} écrits",
            "{0} thinking": "{0} de réflexion",
            "{0} s": "{0} s",
            "{0} min": "{0} min",
            "{0} h": "{0} h",
            "price unknown": "prix inconnu",
            "{0} call of unknown price": "{0} appel à prix inconnu",
            "{0} calls of unknown price": "{0} appels à prix inconnu",
            "and": "et",
        },
        cautions={
            "{who} gave no answer": "{who} n'a pas répondu",
            "{who} gave no review": "{who} n'a rien relu",
            "{who} gave no exchange (what it advised before counts)": "{who} n'a pas répondu aux autres (son conseil "
            "d'avant compte)",
            "{who} gave no report (the server composed the answer of the reviews)": "Pas de rapport (la réponse est "
            "composée à partir des relectures)",
            "{who} gave no report (the server composed the answer of the reviews, and nobody checked it)": "Pas de "
            "rapport (la réponse est composée à partir des relectures, et personne ne l'a vérifiée)",
            "{who} gave no check (nobody has checked the answer)": "Personne n'a vérifié la réponse finale",
            "{who} followed different answers in its two readings, and has no vote": "{who} a suivi deux réponses "
            "différentes en deux lectures, et n'a pas de voix",
            "Who checked the answer would not act on it, and names no fault that matters": "Le modèle qui a vérifié "
            "la réponse ne la suivrait pas, mais ne relève aucune faute importante",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens": "{who} ({model}) n'a vu qu'une "
            "partie\u00a0: {0} jetons sur au moins {1}",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens. What it found is not counted": "{who} "
            "({model}) n'a vu qu'une partie\u00a0: {0} jetons sur au moins {1}. Son résultat ne compte pas",
            "The limits did not pay for this": "Le budget n'a pas suffi pour ceci",
            "Its receipt is not signed": "Le reçu n'est pas signé",
        },
        groups="\u202f",
        marks={": ": "\u00a0: ", "; ": "\u00a0; "},
        common="le|la|les|un|une|et|de|du|des|en|est|que|qui|pour|pas|dans|vous|sur|avec|ne|au|ce|il|se|si|son|plus",
    ),
    "ja": Language(
        heads={
            "Agreed": "一致",
            "Leaning": "優勢",
            "Agreed on a combination": "折衷案で一致",
            "Divided": "意見が分かれる",
            "Unsure": "確信なし",
            "Open": "未決",
            "No answer": "回答なし",
            "Result": "結果",
            "{0} of {1} advise": "{1}人中{0}人の助言",
            "If {0}": "{0}の場合",
            "Or": "または",
            "Your answer": "あなたの回答",
            "Wrong in it": "その誤り",
            "About the question": "質問について",
            "Next": "次にすること",
            "Because": "理由",
            "Corrected": "訂正",
            "Also found": "ほかの指摘",
            "Changes if": "結論が変わる条件",
            "Against it": "反対意見",
            "Assumed": "前提",
            "How sure": "確かさ",
            "Keep in mind": "注意点",
            "Cost": "費用",
            "It stands.": "妥当です。",
            "It stands, with corrections.": "訂正を加えれば妥当です。",
            "It does not stand.": "妥当ではありません。",
            "It does not stand: no reviewer advises it.": "妥当ではありません。どの検討者も勧めていません。",
            "The reviewers are divided about it.": "検討者の意見が分かれています。",
        },
        phrases={
            "One model family ({who})": "1系統のモデル（{who}）：",
            "{0} model families ({who})": "{0}系統のモデル（{who}）：",
            "{0} authors ({who})": "{0}人の回答者（{who}）：",
            "answered, and is far too small for that to count": "回答しましたが、小さすぎて参考になりません",
            "answered; nothing was checked": "回答しましたが、検証はされていません",
            "answered; {0} of {1} advise this": "回答し、{1}人中{0}人がこれを勧めています",
            "answered differently; one checked": "回答が分かれ、検証したのは1つのモデルだけです",
            "stay divided": "意見は分かれたままです",
            "stays divided": "意見は分かれたままです",
            "agree after checking": "検証のあと一致しました",
            "agrees after checking": "検証のあと一致しました",
            "1 of {0} had answered otherwise": "{0}人中1人が最初は別の回答でした",
            "{0} of {1} had answered otherwise": "{1}人中{0}人が最初は別の回答でした",
            "1 of {0} answers missing": "{0}件中1件の回答がありません",
            "{0} of {1} answers missing": "{1}件中{0}件の回答がありません",
            "agree, as far as they could be read": "読み取れた範囲では一致しています",
            "agrees, as far as they could be read": "読み取れた範囲では一致しています",
            "gave this answer, and checked it": "この回答を出し、自ら検証しました",
            "gave this answer independently; one checked it": "別々にこの回答を出し、1つのモデルが検証しました",
            "gave this answer independently, and again after checking each other's": "別々にこの回答を出し、"
            "互いに検証したあとも同じでした",
            "It says how likely its advice is right": "モデル自身が見積もる正しさ",
            "Each says how likely its advice is right": "各モデルが見積もる正しさ",
            "It says how likely its other advice is right": "モデル自身が見積もる、別の助言の正しさ",
            "Each says how likely its other advice is right": "各モデルが見積もる、別の助言の正しさ",
            "for other advice": "別の助言では",
            "That says little about being right: models of one family make the same mistakes": "同じ系統のモデルは"
            "同じ間違いをするので、正しいという根拠としては弱いです",
            "Not measured on your questions yet": "あなたの質問ではまだ測定していません",
            "On your settled questions their advice was right: {who}.": "結果がわかった質問での正解数: {who}.",
            "{0} of {1}": "{1}件中{0}件",
            "Debate {who}": "討論 {who}",
            "No calls": "呼び出しなし",
            "No calls yet": "まだ呼び出しはありません",
            "Its mirror": "立場を入れ替えた討論",
            "{0} call": "呼び出し{0}回",
            "{0} calls": "呼び出し{0}回",
            "{0} turn of the caller": "呼び出し側の発言{0}回",
            "{0} turns of the caller": "呼び出し側の発言{0}回",
            "{0} reused": "再利用{0}件",
            "{0} tokens in": "入力{0}トークン",
            "{0} cached": "うちキャッシュ{0}",
            "{0} out": "出力{0}",
            "{0} thinking": "うち思考{0}",
            "{0} s": "{0}秒",
            "{0} min": "{0}分",
            "{0} h": "{0}時間",
            "price unknown": "価格不明",
            "{0} call of unknown price": "価格不明の呼び出し{0}回",
            "{0} calls of unknown price": "価格不明の呼び出し{0}回",
            "and": "と",
        },
        cautions={
            "{who} gave no answer": "{who}の回答がありません",
            "{who} gave no review": "{who}の検証がありません",
            "{who} gave no exchange (what it advised before counts)": "{who}は他の回答に応答しませんでした"
            "（以前の助言を数えます）",
            "{who} gave no report (the server composed the answer of the reviews)": "報告がありません"
            "（回答は検証結果をまとめたものです）",
            "{who} gave no report (the server composed the answer of the reviews, and nobody checked it)": "報告が"
            "ありません（回答は検証結果をまとめたもので、最終確認はされていません）",
            "{who} gave no check (nobody has checked the answer)": "最終的な回答は確認されていません",
            "{who} followed different answers in its two readings, and has no vote": "{who}は2回の検討で異なる回答を"
            "選んだため、票に数えません",
            "Who checked the answer would not act on it, and names no fault that matters": "回答を確認したモデルは"
            "これに従わないとしていますが、重大な誤りは挙げていません",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens": "{who}（{model}）が読めたのは一部"
            "だけです：{1}トークン以上のうち{0}",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens. What it found is not counted": "{who}"
            "（{model}）が読めたのは一部だけです：{1}トークン以上のうち{0}。その結果は数えません",
            "The limits did not pay for this": "予算が足りず省いたもの",
            "Its receipt is not signed": "証明書に署名がありません",
        },
        marks={
            ". ": "。",
            ", ": "、",
            ": ": "：",
            "; ": "。",
            "： ": "：",
            " (": "（",
            ")": "）",
            " と ": "と",
            "では ": "では",
        },
    ),
    "zh": Language(
        heads={
            "Agreed": "一致",
            "Leaning": "倾向",
            "Agreed on a combination": "一致同意综合方案",
            "Divided": "意见分歧",
            "Unsure": "不确定",
            "Open": "未定",
            "No answer": "没有答案",
            "Result": "结果",
            "{0} of {1} advise": "{1}位中有{0}位建议",
            "If {0}": "如果{0}",
            "Or": "或者",
            "Your answer": "你的回答",
            "Wrong in it": "其中的错误",
            "About the question": "关于问题本身",
            "Next": "下一步",
            "Because": "理由",
            "Corrected": "更正",
            "Also found": "另外发现",
            "Changes if": "结论何时会变",
            "Against it": "反对意见",
            "Assumed": "假设",
            "How sure": "把握程度",
            "Keep in mind": "请注意",
            "Cost": "费用",
            "It stands.": "成立。",
            "It stands, with corrections.": "经更正后成立。",
            "It does not stand.": "不成立。",
            "It does not stand: no reviewer advises it.": "不成立。没有审阅者建议它。",
            "The reviewers are divided about it.": "审阅者对它意见不一。",
        },
        phrases={
            "One model family ({who})": "一个模型家族（{who}）：",
            "{0} model families ({who})": "{0}个模型家族（{who}）：",
            "{0} authors ({who})": "{0}位作者（{who}）：",
            "answered, and is far too small for that to count": "已回答，但模型太小，不能算数",
            "answered; nothing was checked": "已回答，但没有经过检查",
            "answered; {0} of {1} advise this": "已回答，{1}位中有{0}位建议这样做",
            "answered differently; one checked": "回答各不相同，只有一个模型检查过",
            "stay divided": "仍有分歧",
            "stays divided": "仍有分歧",
            "agree after checking": "检查后达成一致",
            "agrees after checking": "检查后达成一致",
            "1 of {0} had answered otherwise": "{0}位中有1位原先回答不同",
            "{0} of {1} had answered otherwise": "{1}位中有{0}位原先回答不同",
            "1 of {0} answers missing": "{0}个回答中缺1个",
            "{0} of {1} answers missing": "{1}个回答中缺{0}个",
            "agree, as far as they could be read": "就能读懂的部分而言，意见一致",
            "agrees, as far as they could be read": "就能读懂的部分而言，意见一致",
            "gave this answer, and checked it": "给出了这个回答，并自己检查过",
            "gave this answer independently; one checked it": "各自独立给出了这个回答，有一个模型检查过",
            "gave this answer independently, and again after checking each other's": "各自独立给出了这个回答，"
            "互相检查后仍然如此",
            "It says how likely its advice is right": "模型自己估计的正确概率",
            "Each says how likely its advice is right": "各模型自己估计的正确概率",
            "It says how likely its other advice is right": "模型自己估计的其他建议的正确概率",
            "Each says how likely its other advice is right": "各模型自己估计的其他建议的正确概率",
            "for other advice": "其他建议：",
            "That says little about being right: models of one family make the same mistakes": "这并不能说明答案"
            "正确：同一家族的模型会犯同样的错误",
            "Not measured on your questions yet": "尚未用你的问题检验过",
            "On your settled questions their advice was right: {who}.": "在你已有结论的问题上，建议正确的次数: {who}.",
            "{0} of {1}": "{0}/{1}",
            "Debate {who}": "辩论 {who}",
            "No calls": "没有调用",
            "No calls yet": "尚未调用",
            "Its mirror": "立场互换的辩论",
            "{0} call": "调用{0}次",
            "{0} calls": "调用{0}次",
            "{0} turn of the caller": "调用方发言{0}次",
            "{0} turns of the caller": "调用方发言{0}次",
            "{0} reused": "重用{0}个",
            "{0} tokens in": "输入{0}个token",
            "{0} cached": "其中缓存{0}个",
            "{0} out": "输出{0}个",
            "{0} thinking": "其中思考{0}个",
            "{0} s": "{0}秒",
            "{0} min": "{0}分钟",
            "{0} h": "{0}小时",
            "price unknown": "价格未知",
            "{0} call of unknown price": "{0}次调用价格未知",
            "{0} calls of unknown price": "{0}次调用价格未知",
            "and": "，",
        },
        cautions={
            "{who} gave no answer": "{who}没有回答",
            "{who} gave no review": "{who}没有检查",
            "{who} gave no exchange (what it advised before counts)": "{who}没有回应其他回答（以它之前的建议为准）",
            "{who} gave no report (the server composed the answer of the reviews)": "没有报告（答案由各份检查汇总）",
            "{who} gave no report (the server composed the answer of the reviews, and nobody checked it)": "没有报告"
            "（答案由各份检查汇总，未经复核）",
            "{who} gave no check (nobody has checked the answer)": "最终答案未经复核",
            "{who} followed different answers in its two readings, and has no vote": "{who}两次阅读选择了不同的回答，"
            "不计票",
            "Who checked the answer would not act on it, and names no fault that matters": "复核答案的模型不会照做，"
            "但没有指出重要的错误",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens": "{who}（{model}）只看到一部分："
            "至少{1}个token中的{0}个",
            "{who} ({model}) was shown only a part: {0} of at least {1} tokens. What it found is not counted": "{who}"
            "（{model}）只看到一部分：至少{1}个token中的{0}个。它的结论不计入",
            "The limits did not pay for this": "预算不够，略去了",
            "Its receipt is not signed": "凭证没有签名",
        },
        marks={
            ". ": "。",
            ", ": "，",
            ": ": "：",
            "; ": "；",
            "： ": "：",
            " (": "（",
            ")": "）",
            " ， ": "，",
        },
    ),
}

COMMON_SHARE = 0.12
"""Of the words of a text, that common words of its language are at least."""

RIVALS = (
    "il|lo|la|i|gli|le|un|una|di|del|della|che|e|è|per|in|con|non|no|se|si|al|da|nel|sono|ma",  # Italian
    "el|la|els|les|un|una|i|de|del|dels|en|és|es|que|per|amb|no|si|se|al|ha|més",  # Catalan
    "o|os|as|um|uma|un|e|de|do|da|em|en|é|que|por|para|com|con|não|non|no|se|na|ao|está|mais|cada",  # Portuguese
    "de|din|în|la|un|o|și|a|al|au|ce|cu|nu|este|e|pe|se|mai|sunt|care",  # Romanian
    "de|het|een|en|van|is|in|op|met|voor|niet|te|dat|die|den|zijn|of|ook",  # Dutch
    "den|der|det|de|en|er|i|og|och|at|att|av|af|på|med|som|är",  # Danish, Norwegian and Swedish
)
"""Common words of neighbours without an entry, those they share with one among them."""

_COUNTED = re.compile(r"(\d+) of (\d+) advise")
_SLOT = re.compile(r"\{(\w+)\}")
_SENTENCES = re.compile(r"(?<=\. )")


def find_language(text: str) -> str:
    """The language of a text, of those that have an entry; "en" for others."""
    scripts = weigh_scripts(text)
    if scripts["CJK"] > CLEARLY * scripts.total():
        return "ja" if count_kana(text) > CLEARLY * sum(map(str.isalpha, text)) else "zh"
    counts = {name: count_words(text, one.common) for name, one in LANGUAGES.items() if one.common}
    most = max(counts, key=lambda language: counts[language])
    least = max(COMMON_SHARE * len(text.split()), *(count_words(text, rival) for rival in RIVALS))
    return most if counts[most] > least else "en"


def count_words(text: str, words: str) -> int:
    return len(re.findall(rf"\b(?:{words})\b", text.casefold()))


def name_head(head: str, language: str, *values: str) -> str:
    """An English head in a language, with its values; as it is where the language has no entry."""
    if counted := _COUNTED.fullmatch(head):
        head, values = "{0} of {1} advise", counted.groups()
    known = LANGUAGES[language].heads.get(head, head) if language in LANGUAGES else head
    return known.format(*values) if values else known


def tell(text: str, language: str) -> str:
    """What we say of how sure an answer is, or of its cost: each sentence whole in a language, or whole in English."""
    if language not in LANGUAGES:
        return text
    return "".join(tell_sentence(one, language) for one in _SENTENCES.split(f"{text} ")).rstrip()


def tell_sentence(sentence: str, language: str) -> str:
    """A sentence, if phrases cover all of its words; names in their slots are no words."""
    known, told, rest = LANGUAGES[language], sentence, sentence
    for pattern, phrase in compile_phrases(language):
        told, rest = pattern.sub(partial(fill, phrase, known.groups), told), pattern.sub("", rest)
    if any(map(str.isalpha, rest)):
        return sentence
    for english, mark in known.marks.items():
        told = told.replace(english, mark)
    return told


def tell_caution(text: str, language: str) -> str:
    """A caution; the words of a provider that follow stay as they are."""
    for pattern, phrase in compile_cautions(language):
        if found := pattern.match(text):
            known, rest = LANGUAGES[language], text[found.end() :]
            return fill(phrase, known.groups, found) + known.marks.get(f"{rest} "[:2], rest[:2]) + rest[2:]
    return text


@lru_cache
def compile_phrases(language: str) -> list[tuple[re.Pattern[str], str]]:
    return [*compile_all(LANGUAGES[language].phrases, end=r"(?!\w)")]


@lru_cache
def compile_cautions(language: str) -> list[tuple[re.Pattern[str], str]]:
    known = LANGUAGES[language].cautions if language in LANGUAGES else {}
    return [*compile_all(known, end="(?=[.:]|$)")]


def compile_all(texts: Mapping[str, str], *, end: str) -> Iterator[tuple[re.Pattern[str], str]]:
    """Patterns of English texts, those with more words of their own first: others may be a part of them."""
    for english in sorted(texts, key=lambda one: -len(_SLOT.sub("", one))):
        pattern = re.sub(r"\\\{(\w+)\\\}", build_slot, re.escape(english))
        yield re.compile(rf"(?<![\w.,$]){pattern}{end}"), texts[english]


def build_slot(found: re.Match[str]) -> str:
    return rf"(?P<_{found[1]}>{'[0-9]+(?:,[0-9]{3})*' if found[1].isdigit() else '(?:(?!: )[^()])+?'})"


def fill(phrase: str, groups: str, found: re.Match[str]) -> str:
    """A phrase with what its English holds."""

    def tell_slot(slot: re.Match[str]) -> str:
        value = found[f"_{slot[1]}"]
        return value.replace(",", groups) if slot[1].isdigit() else value

    return _SLOT.sub(tell_slot, phrase)
