"""The words of the server in an answer, in the language of the answer: its heads, and how sure it is.

Another language is another entry of `LANGUAGES`.
"""

# ruff: noqa: E501, RUF001  (a text is a line; marks of Japanese and Chinese)

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from server.debate.answer.scripts import CLEARLY, count_kana, weigh_scripts


class Language(NamedTuple):
    """`texts`: by their English. `common`: words that every fourth word of a text is, or more; "" where the script tells.

    `space`: between sentences.
    """

    texts: Mapping[str, str]
    common: str = ""
    space: str = " "


LANGUAGES: Mapping[str, Language] = {
    "de": Language(
        texts={
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
            "By case": "Je nach Fall",
            "Either": "Entweder",
            "One answer": "Eine Antwort",
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
            "One model family ({0}) {1}.": "Eine Modellfamilie ({0}): {1}.",
            "{0} model families ({1}) {2}.": "{0} Modellfamilien ({1}): {2}.",
            "{0} authors ({1}) {2}.": "{0} Verfasser ({1}): {2}.",
            "answered, far too small for that to count": "geantwortet, aber viel zu klein, um zu zählen",
            "answered; nothing was checked": "geantwortet; geprüft wurde nichts",
            "answered; {0} of {1} advise this": "geantwortet; {0} von {1} raten dazu",
            "answered differently; one checked": "verschiedene Antworten; nur ein Modell hat geprüft",
            "stay{s} divided": "weiterhin uneins",
            "answered otherwise at first, and changed that when checking": "zuerst anders geantwortet und das beim Prüfen geändert",
            "agree{s} after checking; {0} of {1} had answered otherwise": "nach dem Prüfen einig; zuerst anders geantwortet: {0} von {1}",
            "agree{s} after checking; {0} of {1} answers missing": "nach dem Prüfen einig; fehlende Antworten: {0} von {1}",
            "agree{s}, as far as they could be read: {0} of {1}": "einig, soweit die Antworten lesbar waren: {0} von {1}",
            "gave this answer, and checked it": "so geantwortet und es selbst geprüft",
            "gave this answer, and checked it; {0} of {1} answers missing": "so geantwortet und es selbst geprüft; fehlende Antworten: {0} von {1}",
            "gave this answer independently; one checked it": "unabhängig voneinander so geantwortet; ein Modell hat es geprüft",
            "gave this answer independently; {0} of {1} checked it": "unabhängig voneinander so geantwortet; geprüft haben es {0} von {1}",
            "gave this answer independently, and again after checking each other's": "unabhängig voneinander so geantwortet, und nach gegenseitiger Prüfung wieder",
            "It says how likely its advice is right: {0}.": "Eigene Einschätzung, wie wahrscheinlich der Rat stimmt: {0}.",
            "Each says how likely its advice is right: {0}.": "Eigene Einschätzung, wie wahrscheinlich der Rat stimmt: {0}.",
            "Each says how likely its advice is right: {0}; for other advice {1}.": "Eigene Einschätzung, wie wahrscheinlich der Rat stimmt: {0}; bei anderem Rat {1}.",
            "It says how likely its other advice is right: {0}.": "Eigene Einschätzung, wie wahrscheinlich der andere Rat stimmt: {0}.",
            "Each says how likely its other advice is right: {0}.": "Eigene Einschätzung, wie wahrscheinlich der andere Rat stimmt: {0}.",
            "That says little about being right: models of one family make the same mistakes.": "Das sagt wenig darüber, ob es stimmt: Modelle einer Familie machen dieselben Fehler.",
            "Not measured on your questions yet.": "An Ihren Fragen noch nicht gemessen.",
            "On your settled questions their advice was right: {0}.": "Bei Ihren geklärten Fragen war ihr Rat richtig: {0}.",
            "{0} {1} of {2}": "{0} {1} von {2}",
        },
        common="der|das|und|ist|nicht|mit|eine?|für|auf|den|sie|zu|von|im|wenn|oder|auch|bei|sich",
    ),
    "es": Language(
        texts={
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
            "By case": "Según el caso",
            "Either": "O bien",
            "One answer": "Una respuesta",
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
            "One model family ({0}) {1}.": "Una familia de modelos ({0}): {1}.",
            "{0} model families ({1}) {2}.": "{0} familias de modelos ({1}): {2}.",
            "{0} authors ({1}) {2}.": "{0} autores ({1}): {2}.",
            "answered, far too small for that to count": "respuesta dada, pero de un tamaño demasiado pequeño para contar",
            "answered; nothing was checked": "hay respuestas, pero nadie las revisó",
            "answered; {0} of {1} advise this": "hay respuestas; {0} de {1} aconsejan esto",
            "answered differently; one checked": "respuestas distintas; solo un modelo las revisó",
            "stay{s} divided": "sin acuerdo",
            "answered otherwise at first, and changed that when checking": "otra respuesta al principio, cambiada al revisar",
            "agree{s} after checking; {0} of {1} had answered otherwise": "de acuerdo tras revisar; con otra respuesta al principio: {0} de {1}",
            "agree{s} after checking; {0} of {1} answers missing": "de acuerdo tras revisar; respuestas que faltan: {0} de {1}",
            "agree{s}, as far as they could be read: {0} of {1}": "de acuerdo, en lo que se pudo leer: {0} de {1}",
            "gave this answer, and checked it": "dio esta respuesta y la revisó",
            "gave this answer, and checked it; {0} of {1} answers missing": "dio esta respuesta y la revisó; respuestas que faltan: {0} de {1}",
            "gave this answer independently; one checked it": "la misma respuesta por separado; un modelo la revisó",
            "gave this answer independently; {0} of {1} checked it": "la misma respuesta por separado; la revisaron {0} de {1}",
            "gave this answer independently, and again after checking each other's": "la misma respuesta por separado, y otra vez tras revisarse entre sí",
            "It says how likely its advice is right: {0}.": "Probabilidad de acierto, según el propio modelo: {0}.",
            "Each says how likely its advice is right: {0}.": "Probabilidad de acierto, según cada modelo: {0}.",
            "Each says how likely its advice is right: {0}; for other advice {1}.": "Probabilidad de acierto, según cada modelo: {0}; para otro consejo {1}.",
            "It says how likely its other advice is right: {0}.": "Probabilidad de acierto de otro consejo, según el propio modelo: {0}.",
            "Each says how likely its other advice is right: {0}.": "Probabilidad de acierto de otro consejo, según cada modelo: {0}.",
            "That says little about being right: models of one family make the same mistakes.": "Eso dice poco sobre si la respuesta es correcta: los modelos de una misma familia cometen los mismos errores.",
            "Not measured on your questions yet.": "Aún no se ha medido con sus preguntas.",
            "On your settled questions their advice was right: {0}.": "En sus preguntas ya resueltas acertaron: {0}.",
            "{0} {1} of {2}": "{0} {1} de {2}",
        },
        common="el|la|los|las|un|una|y|de|del|en|es|que|por|para|con|no|se|si|su|al|lo|le|hay|pero|más|está|son|cada",
    ),
    "fr": Language(
        texts={
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
            "By case": "Selon le cas",
            "Either": "Soit",
            "One answer": "Une réponse",
            "Or": "Soit",
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
            "One model family ({0}) {1}.": "Une famille de modèles ({0})\u00a0: {1}.",
            "{0} model families ({1}) {2}.": "{0} familles de modèles ({1})\u00a0: {2}.",
            "{0} authors ({1}) {2}.": "{0} auteurs ({1})\u00a0: {2}.",
            "answered, far too small for that to count": "réponse donnée, mais de bien trop petite taille pour compter",
            "answered; nothing was checked": "des réponses, que personne n'a relues",
            "answered; {0} of {1} advise this": "des réponses, et {0} sur {1} conseillent ceci",
            "answered differently; one checked": "des réponses différentes, qu'un seul modèle a relues",
            "stay{s} divided": "toujours en désaccord",
            "answered otherwise at first, and changed that when checking": "une autre réponse au départ, changée à la relecture",
            "agree{s} after checking; {0} of {1} had answered otherwise": "d'accord après relecture, avec une autre réponse au départ\u00a0: {0} sur {1}",
            "agree{s} after checking; {0} of {1} answers missing": "d'accord après relecture, mais des réponses manquent\u00a0: {0} sur {1}",
            "agree{s}, as far as they could be read: {0} of {1}": "d'accord, pour ce qu'on a pu lire\u00a0: {0} sur {1}",
            "gave this answer, and checked it": "a donné cette réponse, et l'a relue",
            "gave this answer, and checked it; {0} of {1} answers missing": "a donné cette réponse, et l'a relue; réponses qui manquent\u00a0: {0} sur {1}",
            "gave this answer independently; one checked it": "la même réponse séparément, relue par un modèle",
            "gave this answer independently; {0} of {1} checked it": "la même réponse séparément, relue par {0} sur {1}",
            "gave this answer independently, and again after checking each other's": "la même réponse séparément, puis à nouveau après relecture mutuelle",
            "It says how likely its advice is right: {0}.": "Chances d'avoir raison, selon le modèle lui-même\u00a0: {0}.",
            "Each says how likely its advice is right: {0}.": "Chances d'avoir raison, selon chaque modèle\u00a0: {0}.",
            "Each says how likely its advice is right: {0}; for other advice {1}.": "Chances d'avoir raison, selon chaque modèle\u00a0: {0}\u00a0; pour un autre conseil {1}.",
            "It says how likely its other advice is right: {0}.": "Chances que son autre conseil soit juste, selon le modèle lui-même\u00a0: {0}.",
            "Each says how likely its other advice is right: {0}.": "Chances que l'autre conseil soit juste, selon chaque modèle\u00a0: {0}.",
            "That says little about being right: models of one family make the same mistakes.": "Cela ne prouve pas grand-chose\u00a0: les modèles d'une même famille font les mêmes erreurs.",
            "Not measured on your questions yet.": "Pas encore mesuré sur vos questions.",
            "On your settled questions their advice was right: {0}.": "Sur vos questions déjà tranchées, ils ont eu raison\u00a0: {0}.",
            "{0} {1} of {2}": "{0} {1} sur {2}",
        },
        common="le|la|les|un|une|et|de|du|des|en|est|que|qui|pour|pas|dans|vous|sur|avec|ne|au|ce|il|se|si|son|plus",
    ),
    "ja": Language(
        texts={
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
            "By case": "場合ごとの助言",
            "Either": "一案",
            "One answer": "一つの回答",
            "Or": "別の案",
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
            "One model family ({0}) {1}.": "1系統のモデル（{0}）：{1}。",
            "{0} model families ({1}) {2}.": "{0}系統のモデル（{1}）：{2}。",
            "{0} authors ({1}) {2}.": "{0}人の回答者（{1}）：{2}。",
            "answered, far too small for that to count": "回答しましたが、小さすぎて参考になりません",
            "answered; nothing was checked": "回答しましたが、検証はされていません",
            "answered; {0} of {1} advise this": "回答し、{1}人中{0}人がこれを勧めています",
            "answered differently; one checked": "回答が分かれ、検証したのは1つのモデルだけです",
            "stay{s} divided": "意見は分かれたままです",
            "answered otherwise at first, and changed that when checking": "最初は別の回答で、検証のときに変えました",
            "agree{s} after checking; {0} of {1} had answered otherwise": "検証のあと一致しました（{1}人中{0}人が最初は別の回答でした）",
            "agree{s} after checking; {0} of {1} answers missing": "検証のあと一致しました（{1}件中{0}件の回答がありません）",
            "agree{s}, as far as they could be read: {0} of {1}": "読み取れた範囲では一致しています（{1}件中{0}件）",
            "gave this answer, and checked it": "この回答を出し、自ら検証しました",
            "gave this answer, and checked it; {0} of {1} answers missing": "この回答を出し、自ら検証しました（{1}件中{0}件の回答がありません）",
            "gave this answer independently; one checked it": "別々にこの回答を出し、1つのモデルが検証しました",
            "gave this answer independently; {0} of {1} checked it": "別々にこの回答を出し、{1}のうち{0}が検証しました",
            "gave this answer independently, and again after checking each other's": "別々にこの回答を出し、互いに検証したあとも同じでした",
            "It says how likely its advice is right: {0}.": "モデル自身が見積もる正しさ：{0}。",
            "Each says how likely its advice is right: {0}.": "各モデルが見積もる正しさ：{0}。",
            "Each says how likely its advice is right: {0}; for other advice {1}.": "各モデルが見積もる正しさ：{0}。別の助言では{1}。",
            "It says how likely its other advice is right: {0}.": "モデル自身が見積もる、別の助言の正しさ：{0}。",
            "Each says how likely its other advice is right: {0}.": "各モデルが見積もる、別の助言の正しさ：{0}。",
            "That says little about being right: models of one family make the same mistakes.": "同じ系統のモデルは同じ間違いをするので、正しいという根拠としては弱いです。",
            "Not measured on your questions yet.": "あなたの質問ではまだ測定していません。",
            "On your settled questions their advice was right: {0}.": "結果がわかった質問での正解数：{0}。",
            "{0} {1} of {2}": "{0}は{2}件中{1}件",
        },
        space="",
    ),
    "zh": Language(
        texts={
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
            "By case": "视情况而定",
            "Either": "一种建议",
            "One answer": "一个回答",
            "Or": "另一种建议",
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
            "One model family ({0}) {1}.": "一个模型家族（{0}）：{1}。",
            "{0} model families ({1}) {2}.": "{0}个模型家族（{1}）：{2}。",
            "{0} authors ({1}) {2}.": "{0}位作者（{1}）：{2}。",
            "answered, far too small for that to count": "已回答，但模型太小，不能算数",
            "answered; nothing was checked": "已回答，但没有经过检查",
            "answered; {0} of {1} advise this": "已回答，{1}位中有{0}位建议这样做",
            "answered differently; one checked": "回答各不相同，只有一个模型检查过",
            "stay{s} divided": "仍有分歧",
            "answered otherwise at first, and changed that when checking": "起初回答不同，检查时改变了",
            "agree{s} after checking; {0} of {1} had answered otherwise": "检查后达成一致；{1}位中有{0}位原先回答不同",
            "agree{s} after checking; {0} of {1} answers missing": "检查后达成一致；{1}个回答中缺{0}个",
            "agree{s}, as far as they could be read: {0} of {1}": "就能读懂的部分而言，意见一致：{0}/{1}",
            "gave this answer, and checked it": "给出了这个回答，并自己检查过",
            "gave this answer, and checked it; {0} of {1} answers missing": "给出了这个回答，并自己检查过；{1}个回答中缺{0}个",
            "gave this answer independently; one checked it": "各自独立给出了这个回答，有一个模型检查过",
            "gave this answer independently; {0} of {1} checked it": "各自独立给出了这个回答，{1}位中有{0}位检查过",
            "gave this answer independently, and again after checking each other's": "各自独立给出了这个回答，互相检查后仍然如此",
            "It says how likely its advice is right: {0}.": "模型自己估计的正确概率：{0}。",
            "Each says how likely its advice is right: {0}.": "各模型自己估计的正确概率：{0}。",
            "Each says how likely its advice is right: {0}; for other advice {1}.": "各模型自己估计的正确概率：{0}；其他建议：{1}。",
            "It says how likely its other advice is right: {0}.": "模型自己估计的其他建议的正确概率：{0}。",
            "Each says how likely its other advice is right: {0}.": "各模型自己估计的其他建议的正确概率：{0}。",
            "That says little about being right: models of one family make the same mistakes.": "这并不能说明答案正确：同一家族的模型会犯同样的错误。",
            "Not measured on your questions yet.": "尚未用你的问题检验过。",
            "On your settled questions their advice was right: {0}.": "在你已有结论的问题上，建议正确的次数：{0}。",
            "{0} {1} of {2}": "{0} {1}/{2}",
        },
        space="",
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


def say(english: str, language: str, *values: object, **endings: str) -> str:
    """A text of ours in a language, with its values; the English one where there is no other. `endings`: of English."""
    text = LANGUAGES[language].texts.get(english, english) if language in LANGUAGES else english
    return text.format(*values, **endings) if values or endings else text


def say_head(head: str, language: str) -> str:
    if counted := _COUNTED.fullmatch(head):
        return say("{0} of {1} advise", language, *counted.groups())
    return say(head, language)


def join_sentences(sentences: Iterable[str], language: str) -> str:
    space = LANGUAGES[language].space if language in LANGUAGES else " "
    return space.join(filter(None, sentences))
