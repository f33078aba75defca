"""The program that breaks random lines: what it changes, and what it counts as killed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from server.optional import PURPOSES
from tests.mutants.__main__ import ROOT
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.operators import Source
from tests.mutants.safety_lines import SAFETY_LINES
from tests.mutants.sites import choose_mutants, find_file_sites, find_sites, is_other_program, join_lines

pytestmark = pytest.mark.requirement("M7")


CHANGES = [
    ("a < b", {"a <= b"}),
    ("a == b", {"a != b"}),
    ("x = (a)  # is it in?\nx = ((a) not in (b))", {"x = ((a) in (b))"}),
    ("a is not b", {"a is b"}),
    ("x = a and (b or c)", {"x = a or (b or c)", "x = a and (b and c)"}),
    ("x = not (a)", {"x = (a)"}),
    ("x = 'é' + a; y = b - c", {"x = 'é' + a; y = b + c"}),
    ("x = 5", {"x = 6", "x = 0"}),
    ("x = True", {"x = False"}),
    ("x = min(a, b)", {"x = max(a, b)"}),
    ("x = a[b:]", {"x = a[:]"}),
    ("x = a['k']", {"x = a['k?']"}),
    ("x = a.get('k')", {"x = a.get('k?')"}),
    ("x = {'k': a, 'no such k': b}", {"x = {'k?': a, 'no such k': b}"}),
    ("x += a", {"pass", "x -= a"}),
    ("x = a if b else c", {"x = a if True else c", "x = a if False else c"}),
    ("x = [a for a in b if a]", {"x = [a for a in b if True]", "x = [a for a in b if False]"}),
    ("if a: b = c", {"if True: b = c", "if False: b = c"}),
    ("while a: b = c", {"while False: b = c"}),
    ("def f(): return a", {"def f(): return None"}),
    ("def f(): return []", set()),
    ("f(a)", {"pass"}),
    ("raise Problem(1)", {"pass"}),
]
"""Each statement, and all that it can become; a statement of an expression alone can be left out, too."""

SAMPLE = {
    "pyproject.toml": """
        [tool.mutants]
        folders = ["app"]
        [tool.pytest.ini_options]
        addopts = "--import-mode=importlib"
        markers = ["full"]
    """,
    "conftest.py": """
        def pytest_addoption(parser):
            parser.addoption("--cpu-limit")
    """,
    "app/tested.py": """
        def is_full(count):
            return count >= 10
    """,
    "tests/test_tested.py": """
        from app.tested import is_full

        def test_ten_are_full():
            assert is_full(10) is True
            assert is_full(9) is False
    """,
    "app/limits.py": """
        LIMIT = 3
    """,
    "tests/test_limits.py": """
        from app.limits import LIMIT

        def test_it_is_three():
            assert LIMIT == 3
    """,
    "app/untested.py": """
        def find_limit():
            return 7
    """,
    "app/unreached.py": """
        def refuse():
            raise ValueError
    """,
    "tests/test_untested.py": """
        from app.untested import find_limit

        def test_nothing():
            find_limit()
    """,
    "app/endless.py": """
        def count_down(count):
            while count:
                count -= 1
    """,
    "tests/test_endless.py": """
        import time
        from app.endless import count_down

        class Count(int):
            def __bool__(self):
                time.sleep(0.001)  # so that a loop without an end costs nothing
                return self != 0

            def __sub__(self, less):
                return Count(int(self) - less)

        def test_it_ends():
            assert count_down(Count(3)) is None
    """,
    "app/unlucky.py": """
        def find_name():
            return "name"
    """,
    "tests/test_unlucky.py": """
        import pathlib
        import pytest
        from app.unlucky import find_name

        @pytest.mark.parametrize("fails", [lambda run: run > 1, lambda run: run % 3 == 2], ids=["later", "at_times"])
        def test_it_passes_first(fails, request):
            find_name()
            runs = pathlib.Path("FOLDER", request.node.callspec.id)
            runs.write_text((runs.read_text() if runs.exists() else "") + "x")
            assert not fails(len(runs.read_text()))
    """,
}
"""Files of a small project."""

PROGRAM = """
import sys
from pathlib import Path
from tests.mutants.__main__ import main
PLUGINS = ("anyio.pytest_plugin", "hypothesis", "pytest_asyncio.plugin", "xdist.plugin")
arguments = ["--number=50", "--seed=1", "--fast", "--workers=1", *sys.argv[2:]]
sys.exit(main(arguments, project=Path(sys.argv[1]), libraries=PLUGINS, patience=1.0))
"""


def list_changes(text: str) -> set[str]:
    source = Source(text.encode())
    found = [one for site in find_file_sites("a.py", source.text) for one in site.replacements]
    return {source.apply(one).decode() for one in found if is_other_program(source.apply(one), source.text)}


@pytest.mark.parametrize(("statement", "expected"), CHANGES)
def test_a_statement_becomes_what_its_operators_make_of_it(statement: str, expected: set[str]) -> None:
    *before, last = statement.split("\n")
    found = {text.split("\n")[-1] for text in list_changes(statement)}
    assert found - ({"pass"} if re.fullmatch(r"a (<|==|is not) b", last) else set()) == expected
    assert all(text.split("\n")[:-1] == before for text in list_changes(statement))


def test_a_seed_chooses_the_same_mutants_again_and_each_compiles_and_differs() -> None:
    sites = find_sites(ROOT, ["storage/sqlite"])
    mutants, _ = choose_mutants(ROOT, sites, 4, 7)
    assert mutants == choose_mutants(ROOT, sites, 4, 7)[0] != choose_mutants(ROOT, sites, 4, 8)[0]
    assert len({mutant.change.text for mutant in mutants}) == 4
    for mutant in mutants:
        compile(mutant.change.text, mutant.file, "exec")
        assert mutant.old != mutant.new
        assert mutant.change.text != (ROOT / mutant.file).read_bytes()


@pytest.mark.needs(*PURPOSES)
def test_every_safety_line_is_in_its_file_once() -> None:
    assert [name for name, line in SAFETY_LINES.items() if line.make_change(ROOT) is None] == []


def test_every_equivalent_mutant_is_of_a_line_that_is_there() -> None:
    gone = [(file, old) for file, old, _ in EQUIVALENT if old not in join_lines((ROOT / file).read_bytes())]
    assert gone == []


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    for name, text in SAMPLE.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(re.sub(r"^ {8}", "", text, flags=re.MULTILINE).replace("FOLDER", str(folder)))
    return folder


@pytest.fixture(scope="module")
def report(sample: Path) -> str:
    """What is printed of all mutants of the sample, with an exit code that asks for too much."""
    command = [sys.executable, "-c", PROGRAM, str(sample), "--at-least=99"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


def find_ends(report: str, file: str) -> list[str]:
    """What became of the mutants of a file."""
    return re.findall(rf"^\[\d+/\d+\] {re.escape(file)}:.*\n    (.*)$", report, re.MULTILINE)


@pytest.mark.full
class TestSample:
    def test_a_mutant_is_killed_by_the_test_of_its_line(self, report: str) -> None:
        assert set(find_ends(report, "app/tested.py")) == {
            "killed by tests/test_tested.py::test_ten_are_full"
        }

    def test_a_mutant_of_a_line_that_is_executed_on_import_meets_all_tests(self, report: str) -> None:
        assert set(find_ends(report, "app/limits.py")) == {"killed by tests/test_limits.py::test_it_is_three"}

    def test_a_mutant_that_no_test_notices_survives(self, report: str) -> None:
        assert set(find_ends(report, "app/untested.py")) == {"SURVIVED 1 tests"}
        assert set(find_ends(report, "app/unreached.py")) == {"SURVIVED 0 tests"}

    def test_a_mutant_that_does_not_end_is_killed_by_time(self, report: str) -> None:
        assert "killed by time, in tests/test_endless.py::test_it_ends" in find_ends(report, "app/endless.py")

    def test_a_failure_that_has_nothing_to_do_with_the_change_is_not_counted(self, report: str) -> None:
        assert set(find_ends(report, "app/unlucky.py")) == {"SURVIVED 2 tests"}
        for case in ("later", "at_times"):
            assert re.search(rf"not counted.*: tests/test_unlucky.py::test_it_passes_first\[{case}\]", report)

    def test_the_last_lines_name_the_survivors_and_count_the_others(self, report: str) -> None:
        ends = re.findall(r"^\[\d+/\d+\] (.*)\n    (\w+)", report, re.MULTILINE)
        survived = [mutant for mutant, end in ends if end == "SURVIVED"]
        *_, summary = report.partition(f"\nsurvived {len(survived)}, equivalent 0, in ")
        _, *lines, last = summary.splitlines()
        assert [line.strip() for line in lines] == survived
        assert last == f"killed {len(ends) - len(survived)} of {len(ends)}"

    def test_the_project_is_as_it_was(self, report: str, sample: Path) -> None:
        assert "killed" in report
        assert "return count >= 10" in (sample / "app/tested.py").read_text()
