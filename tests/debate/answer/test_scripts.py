"""Replies in another language than the question, as far as letters tell."""

from dataclasses import replace

import pytest

from server.debate.answer.count import count_panel
from server.debate.answer.report import find_report_problem
from server.debate.answer.scripts import is_foreign
from server.debate.facts.events import Failed
from server.debate.views.verdict import build_verdict
from tests.support.advisors import open_advice, play_advice
from tests.support.panels import play_panel

pytestmark = pytest.mark.requirement("B4")

ENGLISH = "Keep the queue in Postgres and drop partitions, as one write covers both."
CHINESE = "把队列留在 Postgres 里,按天删除 partition,因为任务和数据要在同一个事务中写入。"
JAPANESE = "キューは Postgres に置いたままにしてください。ジョブとデータを同じトランザクションで書けます。"
ARABIC = "أبق طابور المهام في Postgres واحذف الأقسام القديمة"


@pytest.mark.parametrize(
    ("question", "reply", "foreign"),
    [
        ("Keep the queue in Postgres?", CHINESE, True),
        ("Keep the queue in Postgres?", ARABIC, True),
        ("Keep the queue in Postgres?", ENGLISH, False),
        ("Warteschlange in Postgres lassen?", ENGLISH, False),  # no certain test
        ("我们应该把队列留在 Postgres 里吗?", ENGLISH, True),
        ("我们应该把队列留在 Postgres 里吗?", CHINESE, False),
        ("我们应该把队列留在 Postgres 里吗?", JAPANESE, True),
        ("キューは Postgres に置いたままでよいですか。", CHINESE, True),
        ("東京大学入試?", JAPANESE, False),  # too short to be Chinese for certain
        ("キューは Postgres に置いたままでよいですか。", JAPANESE, False),
        ("هل نبقي الطابور؟", ENGLISH, True),
        ("هل نبقي الطابور؟", ARABIC, False),
        ("我们应该用哪个?", "Postgres", False),  # a name is in any language
        ("PostgreSQL or 你好吗 or something else, which?", ENGLISH, False),
        ("2 + 2 = ?", CHINESE, False),
        ("PostgreSQL Kafka RabbitMQ 哪个?", ENGLISH, False),  # hardly of either script
    ],
)  # fmt: skip
def test_a_reply_in_another_script_is_told_where_that_is_certain(
    question: str, reply: str, foreign: bool
) -> None:
    assert is_foreign(question, reply) == foreign


def test_a_reply_in_another_language_is_asked_for_once_more_and_then_taken() -> None:
    replies = {"advice": {"recommendation": CHINESE}}
    played = play_advice(open_advice(), replies=replies)
    failures = [event for event in played.events if isinstance(event, Failed)]
    problems = [event.detail for event in failures if event.seat != "writer"]
    assert len(problems) == 2
    assert all("another language than the question" in problem for problem in problems)
    assert build_verdict(played.debate).outcome == "decided"


def test_a_report_in_a_language_of_neither_question_nor_draft_is_not_accepted() -> None:
    panel = play_panel("AA", [("A", 90)] * 2)
    count = count_panel(panel)
    told = "it is in another language than the question and the draft"
    assert find_report_problem(panel, count, CHINESE).endswith(told)
    asked = replace(panel, question="请用英文回答:我们应该把队列留在数据库里吗?")
    assert find_report_problem(asked, count, f"Advice A: {ENGLISH}") == ""
