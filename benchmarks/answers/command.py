"""Measure how good answers are: questions with rubrics, played by several arms, graded blind by others.

    python -m benchmarks answers play DIR --model A [--model B] [--arm NAME] [--question ID]
    python -m benchmarks answers sheets DIR        blind sheets into DIR/sheets, their key into DIR/key.json
    python -m benchmarks answers sum DIR           what the filled sheets in DIR/sheets come to

Models are named as in debates, and found as there: by keys and addresses in the environment. An answer that DIR has is
not asked for again. Whoever grades sees the sheets alone, and reads those of one question together.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import anyio

from benchmarks.answers.arms import ARMS, NoAnswerError, Play, Played
from benchmarks.answers.questions import Question, load_questions
from benchmarks.answers.sheets import SheetError, read_sheets, write_sheets
from benchmarks.answers.sums import sum_up
from server.compose import open_manager
from server.debate.facts.errors import DebateError
from server.models import ModelError
from server.settings import Settings

CALL_SECONDS = 600

Answers = dict[str, dict[str, Played]]
"""By arm and question."""


def main(arguments: Sequence[str]) -> None:
    given = build_parser().parse_args(arguments)
    folder: Path = given.folder
    try:
        questions = load_questions(given.question)
    except FileNotFoundError as error:
        sys.exit(f"There is no question {Path(error.filename).stem}.")
    match given.action:
        case "play" if not given.model:
            sys.exit("Name a model: --model NAME, once or more.")
        case "play":
            folder.mkdir(parents=True, exist_ok=True)
            play = partial(play_arms, folder, questions, given.arm or list(ARMS), given.model)
            failed = anyio.run(partial(play, timeout=given.timeout, at_once=given.at_once))
            sys.exit("\n".join([*failed, "Run it again to ask for these alone."]) if failed else 0)
        case "sheets":
            texts = {
                arm: {name: one.text for name, one in row.items()}
                for arm, row in read_answers(folder).items()
            }
            number = write_sheets(texts, questions, folder / "sheets", folder / "key.json", given.seed)
            print(f"{number} sheets in {folder / 'sheets'}")
        case _:
            try:
                sheets = read_sheets(folder / "sheets", folder / "key.json", load_questions())
            except SheetError as error:
                sys.exit(str(error))
            print(sum_up(sheets, read_answers(folder)))


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks answers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=["play", "sheets", "sum"])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument(
        "--model", action="append", default=[], help="those of a debate; one mind is the first"
    )
    parser.add_argument("--arm", action="append", choices=ARMS, help="default: all")
    parser.add_argument("--question", action="append", default=[], metavar="ID", help="default: all")
    parser.add_argument("--timeout", type=int, default=CALL_SECONDS, help="seconds of a call")
    parser.add_argument("--at-once", type=int, default=4, help="answers under way at once")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the sheets")
    return parser


async def play_arms(
    folder: Path,
    questions: Sequence[Question],
    arms: Sequence[str],
    models: Sequence[str],
    *,
    timeout: int,  # noqa: ASYNC109  (of each call)
    at_once: int,
) -> list[str]:
    """Ask for the answers that the folder does not have. Returns what failed."""
    answers, failed, limiter = read_answers(folder), list[str](), anyio.CapacityLimiter(at_once)
    async with open_manager(Settings(db=str(folder / "debates.db"), models=tuple(models))) as manager:
        play = Play(manager, models, timeout)

        async def play_one(arm: str, question: Question) -> None:
            async with limiter:
                try:
                    played = await ARMS[arm](play, question)
                except (NoAnswerError, ModelError, DebateError) as error:
                    failed.append(f"{arm}, {question.id}: {error}")
                    return
                answers.setdefault(arm, {})[question.id] = played
                write_answers(folder, answers)
                print(f"{arm}, {question.id}: {played.calls} calls", flush=True)

        async with anyio.create_task_group() as tasks:
            for question in questions:
                for arm in arms:
                    if question.id not in answers.get(arm, {}):
                        tasks.start_soon(play_one, arm, question)
    return failed


def read_answers(folder: Path) -> Answers:
    path = folder / "answers.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        arm: {name: Played(**found[arm][name]) for name in sorted(found[arm])} for arm in ARMS if arm in found
    }


def write_answers(folder: Path, answers: Answers) -> None:
    told = {arm: {name: asdict(played) for name, played in row.items()} for arm, row in answers.items()}
    (folder / "answers.json").write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
