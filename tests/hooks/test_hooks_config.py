"""The file of hooks: what is in it, and everything that can be wrong with it, by line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generate import read_field_docstrings
from server.cli.installation.doctor import check_hooks as examined
from server.debate.interventions.registry import HOOK_ACTIONS
from server.hooks.config import InterventionAction, load_hooks_config
from server.hooks.matching import NAMED_EVENTS
from server.mcp.stdio import serve_stdio
from server.settings import InvalidSettingsError, Settings
from tests.support.hook_debates import ENVIRON, hook, webhook, write_hooks_file
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.requirement("D6")

LISTED = "; docs/hooks.md lists all"

GOOD = """\
hooks:
  - name: tell-ops
    on: [agent_error, agent_message]
    when: {format: settle, cause: timeout, tags: [prod, 7], cut: false}
    do:
      - log: "{seat} failed in {debate_id}: {detail}"
      - webhook: {url: "https://hooks.example.org/x?y=z", secret_env: HOOK_SECRET, timeout: 5}
      - intervene: {action: inject, text: "Who answers the question of {seat}?", to: ""}
allow: {hosts: [Hooks.Example.org], private: ["localhost:9000", "[::1]:9000"]}
"""


def loaded(folder: Path, text: str) -> list[str]:
    """What is wrong with a file, line by line of what is said."""
    path = folder / "hooks.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidSettingsError) as refused:
        load_hooks_config(str(path), ENVIRON)
    head, *faults = str(refused.value).splitlines()
    assert head == f"The hooks file {path} (COUNTERPOINT_HOOKS) cannot be used:"
    return [fault.strip() for fault in faults]


def test_a_good_file_is_read_with_its_conditions_as_words(tmp_path: Path) -> None:
    path = tmp_path / "hooks.yaml"
    path.write_text(GOOD.replace("cause: timeout", "cause: NO"), "utf-8")
    rules = load_hooks_config(str(path), ENVIRON)

    [hook] = rules.hooks
    assert (hook.name, hook.on) == ("tell-ops", ("agent_error", "agent_message"))
    assert [sorted(action.model_dump(exclude_none=True)) for action in hook.do] == [
        ["log"],
        ["webhook"],
        ["intervene"],
    ]
    assert hook.do[1].webhook
    assert (hook.do[1].webhook.timeout, hook.do[1].webhook.attempts) == (5, 7)
    assert rules.max_age_hours == 24


def test_the_example_is_good() -> None:
    rules = load_hooks_config(str(ROOT / "examples" / "hooks.yaml"), {"COUNTERPOINT_HOOK_SECRET": "x"})
    assert [hook.name for hook in rules.hooks] == ["note-failures", "stand-in", "tell-ops"]


def test_the_documentation_names_every_action_that_hooks_have() -> None:
    meaning = read_field_docstrings(InterventionAction)["action"]
    assert meaning == f"One of {', '.join(f'`{name}`' for name in HOOK_ACTIONS)}."


def test_everything_that_is_wrong_is_told_at_once_by_line(tmp_path: Path) -> None:
    bad = """\
hooks:
  - name: tell ops
    on: [agent_eror]
    when: {cause: timeout, colour: red}
    do:
      - log: "{seat} {sea}"
      - webhook:
          url: "ftp://hooks.example.org/x"
          secret_env: NOT_SET
          tmeout: 10
      - webhook: {url: "https://evil.example/x", secret_env: HOOK_SECRET, timeout: 99}
      - intervene: {action: shout}
      - nothing
  - on: vote
    when: {cause: timeout}
    do: []
allow: {hosts: ["*.example"], privat: []}
other: 1
"""
    actions = ", ".join(HOOK_ACTIONS)
    assert loaded(tmp_path, bad) == [
        "line 2: hooks[0].name: it must be 1 to 40 letters, digits, - and _, without spaces",
        f"line 3: hooks[0].on[0]: there is no event 'agent_eror'; events: *, {', '.join(NAMED_EVENTS)}",
        f"line 4: hooks[0].when: none of its events has a field 'colour'{LISTED}",
        "line 6: hooks[0].do[0].log: there is no placeholder {sea}: did you mean seat?",
        "line 8: hooks[0].do[1].webhook.url: it is not an address: write https://host/path",
        "line 9: hooks[0].do[1].webhook.secret_env: the environment variable NOT_SET is not set",
        "line 10: hooks[0].do[1].webhook.tmeout: there is no such key",
        "line 11: hooks[0].do[2].webhook.url: the host evil.example is not allowed: add it to allow.hosts",
        "line 11: hooks[0].do[2].webhook.timeout: input should be less than or equal to 30",
        f"line 12: hooks[0].do[3].intervene.action: there is no action 'shout'; actions: {actions}",
        "line 13: hooks[0].do[4]: an action is one of log, webhook, intervene, with its fields",
        "line 14: hooks[1].name: it is missing",
        f"line 15: hooks[1].when: none of its events has a field 'cause'{LISTED}",
        "line 16: hooks[1].do: it is empty",
        "line 17: allow.hosts[0]: '*.example' is not a host: write its name, or name:port",
        "line 17: allow.privat: there is no such key",
        "line 18: other: there is no such key",
    ]


@pytest.mark.parametrize("host", ["METADATA.google.internal.", "instance-data"])
def test_a_metadata_service_is_refused_by_its_name(tmp_path: Path, host: str) -> None:
    file = GOOD.replace("Hooks.Example.org", host).replace("hooks.example.org", host)
    [fault] = loaded(tmp_path, file)

    assert fault.endswith(f"webhook.url: {host.lower()} is a metadata service: add it to allow.private")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("https:", "http:", "line 7: hooks[0].do[1].webhook.url: http is only for hosts under allow.private"),
        ("//hooks", "//me:pw@hooks", "line 7: hooks[0].do[1].webhook.url: it must not contain a user"),
        ("org/x", "org:99999/x", "line 7: hooks[0].do[1].webhook.url: it is not an address"),
        ("org/x", "org/ x", "line 7: hooks[0].do[1].webhook.url: it is not an address"),
        ("org/x", "org.evil.example/x", "the host hooks.example.org.evil.example is not allowed"),
        ("HOOK_SECRET", "A B", "webhook.secret_env: it is not the name of an environment"),
        ("localhost:9000", "localhost:port", "line 9: allow.private[0]: 'localhost:port' is not a host"),
        ("{seat} failed", "{seat!r} failed", "line 6: hooks[0].do[0].log: {seat} is not a placeholder"),
        ("{seat} failed", "{seat failed", "line 6: hooks[0].do[0].log: "),
        ("inject", "pause", "line 8: hooks[0].do[2].intervene: a text is needed by inject"),
        ("[prod, 7]", "[]", "line 4: hooks[0].when: tags must be a word, a number"),
        ("[prod, 7]", "", "line 4: hooks[0].when: tags must be a word, a number"),
        ("tell-ops", "[a]", "line 2: hooks[0].name: it must be a text"),
        ("allow:", "max_age_hours: 0\nallow:", "line 9: max_age_hours: input should be greater"),
        ("allow:", "hooks: []\nallow:", "line 9: 'hooks' is there twice"),
        ("allow:", "- x\nallow:", "line 9: it is not YAML: "),
        ("allow:", "? [a]\n: b\nallow:", "line 9: a key must be a word"),
        ("allow:", "x: &a 1\ny: *a\nallow:", "line 10: aliases (*name) are not allowed"),
        ("allow:", "x: !!python/object:os.system {}\nallow:", "line 9: the tag 'tag:yaml.org,2002:python/"),
    ],
)
def test_each_mistake_is_named_where_it_is(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert GOOD.count(old) >= 1
    faults = loaded(tmp_path, GOOD.replace(old, new, 1))

    assert any(said in fault for fault in faults), faults


def test_two_hooks_of_one_name_are_one_too_many(tmp_path: Path) -> None:
    one = "  - {name: a, on: vote, do: [{log: x}]}\n"
    assert loaded(tmp_path, "hooks:\n" + one * 2) == ["line 3: hooks[1].name: there are two hooks called a"]


@pytest.mark.parametrize("text", ["[1, 2]", "hooks: {a: b}"])
def test_what_is_no_file_of_hooks_is_told_in_words(tmp_path: Path, text: str) -> None:
    [fault] = loaded(tmp_path, text)
    assert "it must be" in fault


def test_a_file_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[" * 20_000 + "]" * 20_000) == ["line 1: it is nested too deeply"]


def test_a_file_with_very_many_mistakes_tells_of_some(tmp_path: Path) -> None:
    faults = loaded(tmp_path, "".join(f"key{number}: 1\n" for number in range(100)))
    assert (len(faults), faults[-1]) == (31, "and 70 more")


def test_a_file_that_cannot_be_read_is_told_by_name(tmp_path: Path) -> None:
    big, binary = tmp_path / "big.yaml", tmp_path / "binary.yaml"
    big.write_text("#" * 70_000, "utf-8")
    binary.write_bytes(b"\xff\xfe\xff")
    for path, why in (
        (tmp_path / "none.yaml", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (big, "it has more than 65,536 bytes"),
        (binary, "it is not UTF-8 text"),
    ):
        with pytest.raises(InvalidSettingsError) as refused:
            load_hooks_config(str(path), {})
        assert str(refused.value) == f"The hooks file {path} (COUNTERPOINT_HOOKS) cannot be read: {why}."


def test_secrets_are_in_no_message(tmp_path: Path) -> None:
    assert ENVIRON["HOOK_SECRET"] not in "".join(loaded(tmp_path, GOOD.replace("tell-ops", "tell ops")))


def test_the_doctor_tells_how_many_hooks_there_are_or_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "hooks.yaml"
    settings = Settings(hooks=str(path))
    path.write_text(GOOD, "utf-8")
    [good] = examined(settings, ENVIRON)
    path.write_text(GOOD.replace("detail", "detial"), "utf-8")
    [bad] = examined(settings, ENVIRON)

    assert (good.ok, good.detail) == (True, f"1 hook in {path}")
    assert not bad.ok
    assert "line 6" in bad.detail
    assert examined(Settings(), ENVIRON) == []


def test_a_server_with_a_bad_file_says_so_and_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hooks.yaml"
    path.write_text(GOOD.replace("tell-ops", "tell ops"), "utf-8")
    settings = {"COUNTERPOINT_HOOKS": str(path), "COUNTERPOINT_DB": str(tmp_path / "debates.db"), **ENVIRON}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    assert serve_stdio() == 1
    assert capsys.readouterr().err.splitlines() == [
        f"counterpoint: The hooks file {path} (COUNTERPOINT_HOOKS) cannot be used:",
        "  line 2: hooks[0].name: it must be 1 to 40 letters, digits, - and _, without spaces",
    ]
    assert not (tmp_path / "debates.db").exists()


@pytest.mark.full
def test_the_terminal_runs_hooks_too_and_shows_what_they_log(tmp_path: Path) -> None:
    path = tmp_path / "hooks.yaml"
    path.write_text("hooks: [{name: a, on: debate_end, do: [{log: 'over: {question}'}]}]", "utf-8")
    settings = {"COUNTERPOINT_HOOKS": str(path), "COUNTERPOINT_DB": str(tmp_path / "debates.db")}
    done = subprocess.run(
        [sys.executable, "-m", "counterpoint", "debate", "Ship it?", "--model", "scripted", "--json"],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=True,
    )

    assert "INFO counterpoint.hooks: over: Ship it?" in done.stderr
    assert json.loads(done.stdout)["debate_id"]


def test_a_secret_with_the_standard_prefix_must_be_base64(tmp_path: Path) -> None:
    path = tmp_path / "hooks.yaml"
    path.write_text(GOOD, "utf-8")

    assert load_hooks_config(str(path), ENVIRON | {"HOOK_SECRET": "whsec_c2VjcmV0"}).hooks
    with pytest.raises(InvalidSettingsError, match="the value of HOOK_SECRET begins with whsec_ but is not"):
        load_hooks_config(str(path), ENVIRON | {"HOOK_SECRET": "whsec_not base64"})


@pytest.mark.parametrize("host", ["10.0.0.1", "[::ffff:10.0.0.1]"])
def test_a_private_address_is_refused_when_the_file_is_read(host: str, tmp_path: Path) -> None:
    hooked_up = hook("inside", "vote", webhook(f"https://{host}/x"))

    with pytest.raises(InvalidSettingsError, match=r"line 1: .*webhook\.url: .* is a private address"):
        load_hooks_config(str(write_hooks_file(tmp_path, hooked_up, allow={"hosts": [host]})), ENVIRON)
    assert load_hooks_config(
        str(write_hooks_file(tmp_path, hooked_up, allow={"private": [host]})), ENVIRON
    ).hooks
