"""Arguments as data: what was claimed about a long document, what that does, quotes that are there, who read what.

    python examples/claims.py

It debates a text of 300 pages that it makes up. Models that cannot hold it get a digest with places in
the document (COUNTERPOINT_WINDOWS says how much a model holds, where no provider does). With `claims: extracted` an
analyst reads each round once.
"""

from typing import Any

from counterpoint_client import call, run, wait_for_verdict
from mcp import Client

PAGES = "".join(
    f"[page {n}]\n" + f"In month {n} the pilot cost {n * 7} dollars a day.\n" * 30 for n in range(1, 301)
)
DEBATE = {
    "question": "Should the pilot be extended?",
    "debaters": [{"name": "Ada", "stance": "extend it"}, {"name": "Ben", "stance": "end it"}],
    "documents": [{"title": "The record of the pilot", "text": PAGES}],
    "options": {"claims": "extracted"},
    "run": True,
}
WINDOWS = {"COUNTERPOINT_WINDOWS": '{"scripted": 8000}'}


def print_claims(found: dict[str, Any]) -> None:
    for row in found["claims"]:
        does = [f"{link['relation']} [{link['to']}]" for link in row["links"]]
        does += [f"same as [{other}]" for other in row["same_as"]]
        place = f"characters {row['said']['start']} to {row['said']['end']}"
        print(f"[{row['point']}] {row['kind']}, {place}: {row['wording']} {', '.join(does)}".rstrip())


def print_analysis(found: dict[str, Any]) -> None:
    read, claims = found["extraction"], found["claims"]
    print(f"The analyst read rounds {read['rounds']}: {read['claims']} claims, {read['dropped']} dropped")
    never = len(claims["open_attacks"]) + len(claims["late_attacks"])
    print(f"{claims['total']} points, {never} attacks never answered: {claims['statuses']}")
    for document in found["documents"]:
        print(f"doc {document['doc']}: {document['characters']:,} characters, {document['shown']}")
    for row in found["evidence"]:
        print(f"[{row['point']}] {row['level']}, coverage {row['coverage']}")


async def main(client: Client) -> None:
    debate_id = (await call(client, "start_debate", **DEBATE))["debate_id"]
    found = await wait_for_verdict(client, debate_id)
    print(f"{found['answer']['head']}: {found['answer']['recommendation']}")
    state = (await call(client, "read_debate", debate_id=debate_id, view="state"))["data"]
    for number in range(1, state["rounds_of_talk"] + 1):
        read = await call(client, "read_debate", debate_id=debate_id, view="round", round=number)
        print_claims(read["data"])
    print_analysis((await call(client, "read_debate", debate_id=debate_id, view="analysis"))["data"])


if __name__ == "__main__":
    run(main, settings=WINDOWS)
