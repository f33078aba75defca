"""`counterpoint keys`: stored keys, as the user's processes see them."""

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

from server.cli.main import counterpoint
from server.models.providers import keys
from tests.support.patience import PATIENCE
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.requirement("N16"), pytest.mark.anyio]

KEY = "sk-test-Zq81-stored-0001"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user without keys and without a keyring."""
    own = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return own | {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "COUNTERPOINT_DB": str(tmp_path / "debates.db"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "TEST_KEYRING": str(tmp_path / "keyring.json"),
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "counterpoint" / "keys"


@pytest.fixture
def run(home: Mapping[str, str]) -> Run:
    """Runs a command: in this process those that leave nothing behind in it, for they are many."""

    def run(*arguments: str, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        if arguments[0] == "keys" and not environ:
            done = CliRunner(env=home).invoke(counterpoint, arguments, input=given)
            return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
        return subprocess.run(
            [sys.executable, "-m", "counterpoint", *arguments],
            env={**home, **environ},
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * PATIENCE,
        )

    return run


def keyring(name: str) -> dict[str, str]:
    return {"PYTHON_KEYRING_BACKEND": f"tests.support.keyrings.{name}"}


def read_database(folder: Path) -> bytes:
    return b"".join(part.read_bytes() for part in folder.glob("debates.db*"))


def read_json(file: Path) -> object:
    return json.loads(file.read_text(encoding="utf-8"))


def make_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def find_mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def hold_debate(
    home: Mapping[str, str], question: str = "Ship it?", **environ: str
) -> tuple[list[str], str]:
    """(the keys that a provider got in a debate, all that was printed)."""
    async with Stub() as stub:
        variables = {"OPENAI_API_BASE": stub.url, "MISTRAL_API_BASE": stub.url, **environ}
        command = [
            sys.executable,
            "-m",
            "counterpoint",
            "debate",
            question,
            "--rounds",
            "1",
            "--no-framing",
        ]
        done = await anyio.run_process(
            command, env={**home, "COUNTERPOINT_MODELS": "openai/fine", **variables}, check=False
        )
        heard = {request.headers["authorization"].removeprefix("Bearer ") for request in stub.chat_requests}
    return sorted(heard), (done.stdout + done.stderr).decode()


async def test_a_stored_key_is_the_one_that_a_provider_gets(
    home: Mapping[str, str], run: Run, file: Path
) -> None:
    stored = run("keys", "set", "openai", "--stdin", given=KEY + "\n")

    assert (stored.returncode, stored.stderr) == (0, "")
    assert stored.stdout.startswith(f"OPENAI_API_KEY is stored in the file {file}.")
    assert [find_mode(path) for path in (file, file.parent)] == [0o600, 0o700]
    heard, _ = await hold_debate(home)
    assert heard == [KEY]


async def test_the_environment_wins_over_a_stored_key(home: Mapping[str, str], run: Run) -> None:
    run("keys", "set", "openai", "--stdin", given=KEY)

    heard, _ = await hold_debate(home, OPENAI_API_KEY="sk-test-of-the-environment")
    listed = run("keys", "list", OPENAI_API_KEY="sk-test-of-the-environment")

    assert heard == ["sk-test-of-the-environment"]
    assert listed.stdout.endswith("but the environment sets it and wins\n")


async def test_no_output_holds_a_stored_key_not_even_one_that_a_provider_repeats(
    home: Mapping[str, str], run: Run, tmp_path: Path
) -> None:
    key = "plain words make no shape"
    key = key.replace(" ", ".")  # nothing but the store says that this is a secret
    printed = [run("keys", "set", "openai", "--stdin", given=key)]
    heard, output = await hold_debate(home, COUNTERPOINT_MODELS="openai/403")
    _, told = await hold_debate(
        home, question=f"Is {key} a key?", OPENAI_API_KEY="sk-test-of-the-environment"
    )
    printed += [run("keys", "list"), run("doctor"), run("list")]
    debate_id = run("list").stdout.split()[0]
    printed += [run("export", debate_id, "--as", "json"), run("keys", "remove", "openai")]

    assert "[secret]" in told, "also where the environment wins"
    assert heard == [key]
    assert key not in told + output + "".join(one.stdout + one.stderr for one in printed)
    assert key.encode() not in read_database(tmp_path)


async def test_the_keyring_keeps_a_key_where_there_is_one(
    home: Mapping[str, str], run: Run, file: Path, tmp_path: Path
) -> None:
    run("keys", "set", "mistral", "--stdin", given="in-the-file-at-first")
    stored = run("keys", "set", "mistral", "--stdin", given=KEY, **keyring("Kept"))
    listed = run("keys", "list", **keyring("Kept"))
    heard, _ = await hold_debate(home, COUNTERPOINT_MODELS="mistral/fine", **keyring("Kept"))
    doctor = run("doctor", "--json", **keyring("Kept"))
    removed = run("keys", "remove", "MISTRAL_API_KEY", **keyring("Kept"))

    assert stored.stdout.startswith("MISTRAL_API_KEY is stored in the keyring (Test).")
    assert listed.stdout == "MISTRAL_API_KEY  in the keyring\n"
    assert heard == [KEY]
    check = next(check for check in json.loads(doctor.stdout)["checks"] if check["name"] == "keys")
    assert (check["ok"], check["detail"]) == (True, "MISTRAL_API_KEY (from the keyring (Test))")
    assert removed.returncode == 0
    assert read_json(tmp_path / "keyring.json") == {}
    assert read_json(file) == {"file": {}, "keyring": []}


@pytest.mark.parametrize(
    ("backend", "what"),
    [("Locked", "The keyring (Test) is locked. Unlock it"), ("Forgetful", "did not keep the key")],
)
def test_a_keyring_that_does_not_keep_a_key_says_what_to_do(
    backend: str, what: str, run: Run, file: Path
) -> None:
    refused = run("keys", "set", "openai", "--stdin", given=KEY, **keyring(backend))

    assert refused.returncode == 1
    assert what in refused.stderr
    assert "PYTHON_KEYRING_BACKEND=keyring.backends.fail.Keyring" in refused.stderr
    assert KEY not in refused.stderr
    assert not file.exists()


@pytest.mark.parametrize(
    ("backend", "what"),
    [("Locked", "The keyring (Test) is locked"), ("Silent", "did not answer within 5 s")],
)
def test_a_keyring_that_does_not_open_holds_nothing_up_and_is_named_by_what_needs_its_key(
    backend: str, what: str, run: Run
) -> None:
    run("keys", "set", "openai", "--stdin", given=KEY, **keyring("Kept"))
    start = time.monotonic()

    refused = run("debate", "Ship it?", "--model", "openai/fine", **keyring(backend))

    assert time.monotonic() - start < 50
    assert refused.returncode == 1
    error = refused.stderr.splitlines()[-1]
    assert "OPENAI_API_KEY is not set" in error
    assert what in error
    assert run("keys", "list", **keyring(backend)).stdout == "OPENAI_API_KEY  in the keyring\n"


@pytest.mark.parametrize(
    ("spoil", "fix"),
    [
        (
            lambda file: file.chmod(0o640),
            "can be read or changed by others (mode 640). Run: chmod 600 {file}",
        ),
        (lambda file: file.parent.chmod(0o777), "changed by others (mode 777). Run: chmod go-w {folder}"),
        (lambda file: file.write_text("{", encoding="utf-8"), "Remove it, and set the keys again"),
        (lambda file: file.write_text('{"file": {"PATH": "/x"}, "keyring": []}'), "Remove it, and set"),
        (lambda file: file.write_text('{"file": {"A_KEY": "a\\nb"}, "keyring": []}'), "Remove it, and set"),
        (make_pipe, "Remove it, and set the keys again"),
        (lambda file: (file.rename(f"{file}.old"), file.symlink_to(f"{file}.old")), "Remove it, and set"),
    ],
    ids=["readable", "folder", "no JSON", "other variable", "line break", "pipe", "link"],
)
def test_a_file_that_cannot_be_trusted_is_refused_with_the_fix(
    spoil: Callable[[Path], object], fix: str, run: Run, file: Path
) -> None:
    run("keys", "set", "openai", "--stdin", given=KEY)
    spoil(file)
    wanted = fix.format(file=file, folder=file.parent)

    results = [
        run("keys", "set", "mistral", "--stdin", given=KEY),
        run("keys", "list"),
        run("keys", "remove", "openai"),
    ]

    for result in results:
        assert result.returncode == 1
        assert wanted in result.stderr.splitlines()[-1]
        assert KEY not in result.stderr


def test_a_file_that_cannot_be_trusted_is_told_of_by_what_needs_its_keys_alone(run: Run, file: Path) -> None:
    run("keys", "set", "openai", "--stdin", given=KEY)
    file.chmod(0o640)

    refused = run("debate", "Ship it?", "--model", "openai/fine")

    assert refused.returncode == 1
    assert f"Run: chmod 600 {file}" in refused.stderr.splitlines()[-1]
    assert KEY not in refused.stderr
    assert run("list").returncode == 0


def test_keys_that_are_set_at_the_same_time_are_all_kept(
    home: Mapping[str, str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In threads: a lock is of an open file, so that they compete for it as processes do."""
    for variable in ("XDG_CONFIG_HOME", "PYTHON_KEYRING_BACKEND"):
        monkeypatch.setenv(variable, home[variable])
    names = [f"A{number}_API_KEY" for number in range(40)]
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda name: keys.store(name, "sk-test-0123456789"), names))

    assert len(run("keys", "list").stdout.splitlines()) == 40


def test_a_link_that_was_laid_for_the_lock_is_not_followed(run: Run, file: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    file.parent.mkdir(parents=True, mode=0o700)
    file.with_name("keys.lock").symlink_to(victim)

    refused = run("keys", "set", "openai", "--stdin", given=KEY)

    assert refused.returncode == 1
    assert "cannot be changed" in refused.stderr
    assert victim.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["LD_PRELOAD", "COUNTERPOINT_SIGNING_KEY", "PATH", "../x", "OpenAI key", ""])
def test_what_is_no_name_of_a_key_is_refused(name: str, run: Run, file: Path) -> None:
    refused = run("keys", "set", name, "--stdin", given=KEY)

    assert refused.returncode == 2
    assert "not the name of a key" in refused.stderr
    assert not file.exists()


def test_a_key_on_the_command_line_is_refused_and_not_repeated(run: Run) -> None:
    refused = run("keys", "set", KEY, "--stdin", given=KEY)

    assert refused.returncode == 2
    assert "Other users can see" in refused.stderr
    assert KEY not in refused.stderr + refused.stdout


@pytest.mark.parametrize(
    "given", ["", "short", "two words here", "line\nbreak-of-a-key", "schlüssel-mit-umlaut"]
)
def test_what_is_no_key_is_refused_and_not_repeated(given: str, run: Run) -> None:
    refused = run("keys", "set", "openai", "--stdin", given=given)

    assert refused.returncode == 2
    assert "This is not a key" in refused.stderr
    assert not given or given not in refused.stderr


def test_without_a_terminal_a_key_is_read_only_where_that_is_asked_for(run: Run) -> None:
    refused = run("keys", "set", "openai", given=KEY)

    assert refused.returncode == 2
    assert "--stdin" in refused.stderr


def test_a_terminal_asks_for_the_key_and_does_not_show_it(home: Mapping[str, str], run: Run) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "counterpoint", "keys", "set", "openai"]
    with subprocess.Popen(
        command, env=home, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as child:
        os.close(theirs)
        shown = b""
        while b"OPENAI_API_KEY: " not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, KEY.encode() + b"\n")
        while b"is stored in" not in shown:
            shown += os.read(ours, 1000)
    os.close(ours)

    assert child.returncode == 0
    assert KEY.encode() not in shown
    assert run("keys", "list").stdout.startswith("OPENAI_API_KEY  in the file")


def test_a_key_that_is_not_stored_cannot_be_removed(run: Run) -> None:
    refused = run("keys", "remove", "openai")

    assert refused.returncode == 1
    assert "OPENAI_API_KEY is not stored" in refused.stderr
