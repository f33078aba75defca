"""Whether a model finds the tools in a host that hides them until it searches."""

import math
import re
from collections.abc import Sequence

import pytest

from server.tools.listing import load_listed_tools

pytestmark = pytest.mark.requirement("M4", "M5")

NEIGHBOURS = """
create_branch: create a new branch in a repository: owner repo branch from_branch
create_pull_request: open a new pull request in a repository: owner repo title body head base draft
pull_request_read: get details, diff, status, files and reviews of a pull request: method owner repo pullNumber
pull_request_review_write: create, submit or delete the review of a pull request: method owner repo event body
add_comment_to_pending_review: add a comment to your pending review, check it exists: owner path body line
request_copilot_review: ask Copilot to review a pull request and give feedback: owner repo pullNumber
issue_read: get an issue, its comments, labels and sub issues: method owner repo issue_number page
issue_write: create or update an issue in a repository: method owner repo title body labels state
search_issues: search for issues with a query: query sort order page
search_code: fast and exact search for code in all repositories: query sort order page
search_users: find users and teams by name or other properties: query sort order page
get_team_members: list the members of a team in an organization: org team_slug
get_file_contents: read a file or directory of a repository: owner repo path ref
list_commits: list the commits of a branch: owner repo sha author page
list_notifications: list all notifications, what you are missing and what is new: filter since before owner repo
assign_copilot_to_issue: assign Copilot to an issue to work out a plan and open a pull request: owner repo issue_number
get_code_scanning_alert: details of an alert with its risk and severity: owner repo alertNumber
run_secret_scanning: scan files and content for secrets: owner repo files
browser_navigate: navigate to an address: url
browser_click: click an element, also double click, on a page: element target button modifiers
browser_drag: drag and drop between two elements: startElement endElement
browser_evaluate: evaluate a JavaScript expression on a page or element: function element
browser_select_option: select an option in a dropdown, one or multiple options: element target values
browser_fill_form: fill multiple fields of a form: fields
browser_snapshot: capture a snapshot of the page, better than a screenshot, a good idea for actions: filename depth
browser_take_screenshot: take a picture of the page, which no action can be based on: type filename fullPage
browser_wait_for: wait for a text to appear or for a time to pass: time text textGone
browser_tabs: list, create, close or select a tab: action index
browser_handle_dialog: answer a dialog: accept promptText
read_text_file: read the whole text of a file, or its first or last lines: path head tail
read_multiple_files: read several files at once, to analyze or compare them: paths
write_file: create a new file or overwrite it, with caution: path content
edit_file: make edits to a text file line by line and show the diff: path edits dryRun
list_directory: list files and directories with prefixes that set both apart: path
directory_tree: a recursive view of files and directories: path excludePatterns
move_file: move or rename files and directories, also between directories; fails if both exist: source destination
search_files: search for files and directories that match a pattern: path pattern
get_file_info: size, time and permissions of a file: path
"""
"""Tools like those of the servers for GitHub, Playwright and files: names, what they do, and arguments."""

QUERIES = [
    *("second opinion", "decide between", "pros and cons", "critique", "review my plan", "red team"),
    *("sanity check", "what am I missing", "argue both sides", "fact check this answer"),
    *("compare alternatives", "weigh trade-offs", "devil's advocate", "check my answer with other models"),
]


def read_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower())


def rank(query: str, texts: Sequence[list[str]]) -> list[int]:
    """The places of the texts, best first, by BM25 with its usual factors."""
    mean = sum(map(len, texts)) / len(texts)

    def weigh(word: str, text: list[str]) -> float:
        holders = sum(word in other for other in texts)
        rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        count = text.count(word)
        return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / mean))

    scores = [sum(weigh(word, text) for word in {*read_words(query)}) for text in texts]
    return sorted(range(len(texts)), key=lambda place: -scores[place])


def rank_tools(query: str) -> list[str]:
    """As hosts rank: by name, description and names of arguments, beside the tools of popular servers."""
    listed = load_listed_tools().values()
    shown = [f"{tool.name} {tool.description} {' '.join(tool.input_schema['properties'])}" for tool in listed]
    neighbours = NEIGHBOURS.strip().splitlines()
    names = [*load_listed_tools(), *neighbours]
    return [names[place] for place in rank(query, [*map(read_words, (*shown, *neighbours))])]


@pytest.mark.parametrize("query", QUERIES)
def test_a_search_in_the_words_of_people_finds_start_debate_among_the_first(query: str) -> None:
    assert "start_debate" in rank_tools(query)[:3]


@pytest.mark.parametrize(
    "query", ["open a pull request", "click a button", "read a file", "list my issues", "run code"]
)
def test_a_search_for_other_things_does_not(query: str) -> None:
    assert rank_tools(query)[0] not in load_listed_tools()
