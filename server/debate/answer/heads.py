"""The heads of the lines, and whether the caller's own answer stands, in the language of the answer.

Another language is another table.
"""

import re
from collections.abc import Mapping

from server.debate.answer.scripts import CLEARLY, count_kana, weigh_scripts

ENGLISH = (
    "Agreed", "Leaning", "Agreed on a combination", "Divided", "Unsure", "Open", "No answer", "Result",
    "{0} of {1} advise", "If {0}", "Or", "Your answer", "Wrong in it", "About the question", "Next", "Because",
    "Corrected", "Also found", "Changes if", "Against it", "Assumed", "How sure", "Keep in mind", "Cost",
    "It stands.", "It stands, with corrections.", "It does not stand.", "It does not stand: no reviewer advises it.",
    "The reviewers are divided about it.",
)  # fmt: skip
"""In the order of every other table."""

_OTHERS: Mapping[str, tuple[str, ...]] = {
    "de": (
        "Einig", "Tendenz", "Einig auf eine Verbindung", "Uneins", "Unsicher", "Offen", "Keine Antwort", "Ergebnis",
        "{0} von {1} raten", "Wenn {0}", "Oder", "Ihre Antwort", "Falsch darin", "Zur Frage", "Als Nächstes", "Denn",
        "Berichtigt", "Außerdem gefunden", "Anders, wenn", "Dagegen spricht", "Angenommen", "Wie sicher", "Zu beachten",
        "Kosten", "Sie hält stand.", "Sie hält stand, mit Berichtigungen.", "Sie hält nicht stand.",
        "Sie hält nicht stand: kein Prüfer rät dazu.", "Die Prüfer sind über sie uneins.",
    ),
    "es": (
        "De acuerdo", "Tendencia", "De acuerdo en una combinación", "Divididos", "Sin certeza", "Abierto",
        "Sin respuesta", "Resultado", "{0} de {1} aconsejan", "Si {0}", "O bien", "Su respuesta", "Errores en ella",
        "Sobre la pregunta", "Próximos pasos", "Porque", "Corregido", "También se halló", "Cambia si", "En contra",
        "Supuesto", "Grado de certeza", "A tener en cuenta", "Coste", "Se sostiene.", "Se sostiene, con correcciones.",
        "No se sostiene.", "No se sostiene: ningún revisor la aconseja.", "Los revisores están divididos sobre ella.",
    ),
    "fr": (
        "D'accord", "Tendance", "D'accord sur une combinaison", "Partagés", "Incertain", "Ouvert", "Aucune réponse",
        "Résultat", "{0} sur {1} conseillent", "Si {0}", "Ou bien", "Votre réponse", "Erreurs dans celle-ci",
        "Sur la question", "Ensuite", "Pourquoi", "Corrigé", "Aussi relevé", "Change si", "Contre", "Supposé",
        "Degré de certitude", "À retenir", "Coût", "Elle tient.", "Elle tient, avec des corrections.",
        "Elle ne tient pas.", "Elle ne tient pas : aucun relecteur ne la conseille.",
        "Les relecteurs sont partagés à son sujet.",
    ),
    "ja": (
        "一致", "傾向", "折衷案で一致", "意見が分かれる", "確信なし", "未決", "回答なし", "結果", "{1}人中{0}人が助言",
        "もし{0}", "または", "あなたの回答", "その誤り", "質問について", "次にすること", "理由", "訂正",
        "ほかの指摘", "変わる条件", "反対意見", "前提", "確かさ", "注意点", "費用",
        "妥当です。", "訂正を加えれば妥当です。", "妥当ではありません。",
        "妥当ではありません。どの検討者も勧めていません。", "検討者の意見が分かれています。",
    ),
    "zh": (
        "一致", "倾向", "一致同意综合方案", "分歧", "不确定", "未定", "没有答案", "结果", "{1}位中有{0}位建议",
        "如果{0}", "或者", "你的回答", "其中的错误", "关于问题本身", "下一步", "理由", "更正", "另外发现", "何时改变",
        "反对意见", "假设", "把握程度", "请注意", "费用",
        "成立。", "经更正后成立。", "不成立。", "不成立。没有审阅者建议它。", "审阅者对它意见不一。",
    ),
}  # fmt: skip

HEADS: Mapping[str, Mapping[str, str]] = {
    language: dict(zip(ENGLISH, heads, strict=True)) for language, heads in _OTHERS.items()
}
"""By language and English head."""

_COMMON_WORDS: Mapping[str, re.Pattern[str]] = {
    "de": re.compile(
        r"\b(?:der|das|und|ist|nicht|mit|eine?|für|auf|den|sie|zu|von|im|wenn|oder|auch|bei|sich)\b"
    ),
    "es": re.compile(r"\b(?:el|los|las|y|hay|pero|más|está|son|muy|también|esto|cada|una|del|con|para|lo)\b"),
    "fr": re.compile(r"\b(?:les|des|et|est|une|pour|pas|dans|vous|sur|avec|ne|au|du|ce|qui|être|plus)\b"),
}
"""Words that about every fourth word of a text is, and that other languages hardly use."""

COMMON_SHARE = 0.12

_COUNTED = re.compile(r"(\d+) of (\d+) advise")


def find_language(text: str) -> str:
    """The language of a text, of those that have a table; "en" for others."""
    scripts = weigh_scripts(text)
    if scripts["CJK"] > CLEARLY * scripts.total():
        return "ja" if count_kana(text) > CLEARLY * sum(map(str.isalpha, text)) else "zh"
    counts = {language: len(words.findall(text.casefold())) for language, words in _COMMON_WORDS.items()}
    most = max(counts, key=lambda language: counts[language])
    return most if counts[most] > COMMON_SHARE * len(text.split()) else "en"


def name_head(head: str, language: str, *values: str) -> str:
    """An English head in a language, with its values; as it is where the language has no table for it."""
    if counted := _COUNTED.fullmatch(head):
        head, values = "{0} of {1} advise", counted.groups()
    known = HEADS.get(language, {}).get(head, head)
    return known.format(*values) if values else known
