"""The files of deploy: what they set, ask and name is what the product has, and each is valid for its own program."""

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import httpx2
import pytest
from ruamel.yaml import YAML

from server.http_server.application import HEALTH_PATH
from server.http_server.gate import MCP_PATH
from server.http_server.probes import METRICS_PATH, PROBE_SECONDS, READY_PATH
from server.http_server.serving import (
    ANSWER_SECONDS,
    CLOSE_SECONDS,
    IDLE_SECONDS,
    NOTICE_SECONDS,
    parse_place,
)
from server.settings import PREFIX, Settings
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.requirement("N14", "N31")

DEPLOY = ROOT / "deploy"
COMPOSE = YAML(typ="safe").load((DEPLOY / "compose.yaml").read_text("utf-8"))
DEPLOYMENT, SERVICE, BUDGET = YAML(typ="safe").load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
HAPROXY, NGINX, UNIT, DOCKERFILE = (
    (DEPLOY / name).read_text("utf-8")
    for name in ("haproxy.cfg", "nginx.conf", "counterpoint@.service", "Dockerfile")
)
SERVERS = {name: one for name, one in COMPOSE["services"].items() if name.startswith("server-")}
[CONTAINER] = DEPLOYMENT["spec"]["template"]["spec"]["containers"]
POD = DEPLOYMENT["spec"]["template"]["spec"]
VARIABLES = {row["name"]: row.get("value", "") for row in CONTAINER["env"]}
MOST_SECONDS = 1.5 * PROBE_SECONDS  # until an answer to a probe
END_SECONDS = ANSWER_SECONDS + CLOSE_SECONDS


def read_seconds(text: str) -> float:
    amount, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()  # type: ignore[union-attr]
    return int(amount) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]


def find_timeout(name: str) -> float:
    [found] = re.findall(rf"^  timeout {name} (\S+)$", HAPROXY, re.MULTILINE)
    return read_seconds(found)


@pytest.mark.parametrize("variables", [one["environment"] for one in SERVERS.values()] + [VARIABLES])
def test_every_variable_is_a_setting_and_has_a_value_that_it_takes(variables: dict[str, str]) -> None:
    own = {name: str(value) for name, value in variables.items() if name.startswith(PREFIX)}
    filled = {name: re.sub(r"\$\{\w+:[-?]([^}]*)\}", r"\1", value) for name, value in own.items()}

    settings = Settings.read(filled)

    assert [name for name in own if name.removeprefix(PREFIX).lower() not in Settings.model_fields] == []
    assert settings.database.startswith("postgresql://counterpoint@postgres/counterpoint")
    assert settings.retention_days == 0
    in_unit = re.findall(rf"({PREFIX}\w+)=", UNIT)
    assert [name for name in in_unit if name.removeprefix(PREFIX).lower() not in Settings.model_fields] == []


def test_the_image_its_user_and_its_arguments_are_those_of_the_product() -> None:
    [name] = re.findall(r"--tag (\S+) \.", DOCKERFILE)
    [user] = re.findall(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)

    assert {one["image"] for one in SERVERS.values()} == {CONTAINER["image"]} == {name}
    assert {one["build"]["dockerfile"] for one in SERVERS.values()} == {"deploy/Dockerfile"}
    assert POD["securityContext"]["runAsUser"] == int(user)
    commands = [one["command"] for one in SERVERS.values()] + [CONTAINER["args"]]
    assert {tuple(command) for command in commands} == {("serve", "--http", "0.0.0.0:8080")}
    assert parse_place(commands[0][2]).port == CONTAINER["ports"][0]["containerPort"]
    assert "serve --http 127.0.0.1:%i" in UNIT
    assert "SuccessExitStatus=143" in UNIT


def test_probes_ask_what_servers_answer_at_the_port_at_which_they_do() -> None:
    probes = {kind: CONTAINER[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    [port] = CONTAINER["ports"]

    assert {probe["path"] for probe in probes.values()} == {HEALTH_PATH, READY_PATH}
    assert probes["readiness"]["path"] == READY_PATH
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    assert SERVICE["spec"]["ports"][0]["targetPort"] == port["name"]
    assert "option httpchk GET /readyz" in HAPROXY
    assert find_timeout("check") > MOST_SECONDS
    assert CONTAINER["readinessProbe"]["timeoutSeconds"] > MOST_SECONDS
    for server in SERVERS.values():
        [wait] = re.findall(r"timeout=(\d+)", server["healthcheck"]["test"][-1])
        assert read_seconds(server["healthcheck"]["timeout"]) > int(wait) > MOST_SECONDS
        assert f"http://127.0.0.1:{port['containerPort']}/readyz" in server["healthcheck"]["test"][-1]


def test_the_proxies_name_the_servers_and_keep_streams_open() -> None:
    named = re.findall(r'^  server \w+ "\$\{\w+-([\w-]+):(\d+)\}"$', HAPROXY, re.MULTILINE)

    assert named == [(name, "8080") for name in SERVERS]
    assert COMPOSE["services"]["proxy"]["ports"] == ["443:8443"]
    assert "${COUNTERPOINT_BIND-:8443}" in HAPROXY
    assert min(find_timeout("client"), find_timeout("server")) >= 600
    assert find_timeout("http-keep-alive") < IDLE_SECONDS
    closed = [HEALTH_PATH, READY_PATH, METRICS_PATH]
    assert f"deny_status 404 if {{ path {' '.join(closed)} }}" in HAPROXY
    assert re.findall(r"location = (\S+) { return 404; }", NGINX) == closed
    assert MCP_PATH not in closed
    assert "proxy_buffering off;" in NGINX
    assert f"client_max_body_size {Settings().max_body // 2**20}m;" in NGINX


def test_there_is_time_for_the_drain_and_the_end_of_a_server() -> None:
    [interval] = re.findall(r"check inter (\S+) fall 2 ", HAPROXY)
    assert 2 * read_seconds(interval) < NOTICE_SECONDS
    for server in SERVERS.values():
        drain = float(server["environment"]["COUNTERPOINT_DRAIN_SECONDS"])
        assert read_seconds(server["stop_grace_period"]) > drain + END_SECONDS
    drain = float(VARIABLES["COUNTERPOINT_DRAIN_SECONDS"])
    probe = CONTAINER["readinessProbe"]
    [wait] = re.findall(r"sleep\((\d+)\)", CONTAINER["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert int(wait) > probe["periodSeconds"] * probe["failureThreshold"] + probe["timeoutSeconds"]
    assert POD["terminationGracePeriodSeconds"] > int(wait) + drain + END_SECONDS
    [stop] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert int(stop) > Settings().drain_seconds + END_SECONDS


def test_what_is_referred_to_is_there() -> None:
    services, secrets = COMPOSE["services"].values(), COMPOSE["secrets"]
    used = {name for service in services for name in service.get("secrets", ())}
    assert used == {*secrets}
    for service in services:
        for value in service.get("environment", {}).values():
            if str(value).startswith("/run/secrets/"):
                assert value.removeprefix("/run/secrets/") in service["secrets"]
    labels = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    selectors = [DEPLOYMENT["spec"]["selector"]["matchLabels"], SERVICE["spec"]["selector"]]
    assert [*selectors, BUDGET["spec"]["selector"]["matchLabels"]] == [labels] * 3
    assert BUDGET["spec"]["minAvailable"] < DEPLOYMENT["spec"]["replicas"]
    mounts = {mount["name"]: mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in POD["volumes"]}
    assert {*mounts} == {*volumes}
    files = [f"{mounts['secrets']}/{item['path']}" for item in volumes["secrets"]["secret"]["items"]]
    assert sorted(files) == sorted(value for name, value in VARIABLES.items() if name.endswith("_FILE"))


def test_no_secret_stands_in_them() -> None:
    for path in DEPLOY.iterdir():
        if path.is_file():
            text = path.read_text("utf-8")
            assert not re.search(r"PRIVATE KEY|sk-[A-Za-z0-9]|postgresql://\w+:\w+@", text), path


def run(*command: str, **variables: str) -> None:
    if shutil.which(command[0], path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip(f"needs a program: {command[0]}")
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin", **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    names = ("-subj", "/CN=debates.example.org", "-keyout", str(key), "-out", str(path))
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", *names)
    path.write_text(path.read_text() + key.read_text())
    return path


def test_haproxy_takes_its_configuration(certificate: Path) -> None:
    places = {f"COUNTERPOINT_{name}": "127.0.0.1:8081" for name in ("ONE", "TWO", "THREE")}
    run(
        "haproxy",
        "-c",
        "-f",
        str(DEPLOY / "haproxy.cfg"),
        COUNTERPOINT_CERTIFICATE=str(certificate),
        **places,
    )


@pytest.mark.full
def test_clients_are_told_in_json_rpc_while_no_server_answers(certificate: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        place, nowhere = one.getsockname()[1], two.getsockname()[1]
    names = {f"COUNTERPOINT_{name}": f"127.0.0.1:{nowhere}" for name in ("ONE", "TWO", "THREE")}
    path = f"{os.environ['PATH']}:/usr/sbin"
    if shutil.which("haproxy", path=path) is None:
        pytest.skip("needs a program: haproxy")
    own = {"COUNTERPOINT_CERTIFICATE": str(certificate), "COUNTERPOINT_BIND": f"127.0.0.1:{place}"}
    environment = {**os.environ, "PATH": path, **own, **names}
    proxy = subprocess.Popen(["haproxy", "-f", str(DEPLOY / "haproxy.cfg")], env=environment)
    try:
        patience = time.monotonic() + PATIENCE
        while True:
            try:
                answer = httpx2.post(f"https://127.0.0.1:{place}/mcp", verify=False, json={})
                break
            except httpx2.ConnectError:
                assert time.monotonic() < patience
    finally:
        proxy.terminate()
        proxy.wait()

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "2"
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["jsonrpc"] == "2.0"
    assert "No server of Counterpoint answers now" in answer.json()["error"]["message"]


def test_both_proxies_tell_the_scheme_and_the_same_error() -> None:
    assert "http-request set-header X-Forwarded-Proto https" in HAPROXY
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in NGINX
    told = re.findall(r"'({\"jsonrpc.*})'", HAPROXY) + re.findall(r"'({\"jsonrpc.*})'", NGINX)
    assert len(told) == 4
    assert len({*told}) == 1


def test_nginx_takes_its_configuration(certificate: Path, tmp_path: Path) -> None:
    site, whole = tmp_path / "site.conf", tmp_path / "nginx.conf"
    site.write_text(NGINX.replace("/etc/counterpoint/certificate.pem", str(certificate)))
    logs = f"error_log {tmp_path}/errors; pid {tmp_path}/pid;"
    whole.write_text(f"{logs} events {{}} http {{ access_log off; include {site}; }}")
    run("nginx", "-t", "-c", str(whole), "-e", f"{tmp_path}/errors")


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    (tmp_path / "counterpoint@.service").write_text(
        UNIT.replace("/opt/counterpoint/bin/counterpoint", shutil.which("true") or "")
    )
    run("systemd-analyze", "verify", str(tmp_path / "counterpoint@8081.service"))
