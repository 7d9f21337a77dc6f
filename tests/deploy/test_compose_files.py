"""The rules of deploy/, over what Compose itself makes of every merge."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery import Celery

from services.core import config, model_lock
from services.core.adapters import celery_queue
from services.proxy import serving

DEPLOY = Path(__file__).parents[2] / "deploy"
BASE = "docker-compose.yml"
MERGES = [
    (BASE,),
    *[(BASE, f"compose.{name}.yml") for name in ("edge", "cuda", "host-llm", "team")],
    (BASE, "compose.edge.yml", "compose.cuda.yml"),
    (BASE, "compose.edge.yml", "compose.host-llm.yml"),
    (BASE, "compose.edge.yml", "compose.team.yml"),
    (BASE, "compose.cuda.yml", "compose.team.yml"),
    (BASE, "compose.host-llm.yml", "compose.team.yml"),
    (BASE, "compose.edge.yml", "compose.cuda.yml", "compose.team.yml"),
    (BASE, "compose.edge.yml", "compose.host-llm.yml", "compose.team.yml"),
]
ONCE = {"init", "migrate", "models"}
OURS = {"proxy", "worker", "indexer", "beat"}
TEAM = {"PUBLISH_ADDRESS": "192.0.2.7", "BRB_ALLOWED_HOSTS": "brb.example.org"}


def binary() -> str:
    """Docker Compose out of requirements/deploy.txt."""
    found = shutil.which("docker-compose", path=str(Path(sys.prefix) / "deploy" / "bin")) or shutil.which("docker-compose")
    if found is None:
        if os.environ.get("BRB_TEST_COMPOSE") == "required":
            pytest.fail("docker-compose is not installed")
        pytest.skip("docker-compose is not installed: `make compose-check` installs it")
    return found


def composed(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A command of Compose, with these settings and none of whoever runs the tests."""
    return subprocess.run([binary(), "--env-file=/dev/null", *arguments], cwd="/", env=settings, capture_output=True, text=True)


@cache
def merged(files: tuple[str, ...], **settings: str) -> dict[str, Any]:
    team = TEAM if "compose.team.yml" in files else {}
    done = composed(*(f"--file={DEPLOY / file}" for file in files), "config", "--format=json", **team, **settings)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def left_out(files: tuple[str, ...]) -> set[str]:
    """Services of docker-compose.yml that these overrides do without."""
    without = {"compose.edge.yml": {"qdrant", "migrate", "indexer"}, "compose.host-llm.yml": {"llama-embed", "llama-extract", "models"}}
    return set[str]().union(*(without.get(file, ()) for file in files))


def services() -> list[Any]:
    """Every service of every merge, with a readable name."""
    found = []
    for files in MERGES:
        name = "+".join(file.removeprefix("compose.").removesuffix(".yml") for file in files)
        raw = yaml.safe_load((DEPLOY / BASE).read_text())
        found += [pytest.param(files, service, id=f"{name}:{service}") for service in raw["services"].keys() - left_out(files)]
    return sorted(found, key=lambda case: str(case.id))


def of(files: tuple[str, ...], service: str) -> dict[str, Any]:
    found: dict[str, Any] = merged(files)["services"][service]
    return found


def seconds(duration: str) -> float:
    return sum(float(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in re.findall(r"([\d.]+)([hms])", duration))


@pytest.mark.parametrize(("files", "name"), services())
def test_every_service_is_bounded_and_hardened(files: tuple[str, ...], name: str) -> None:
    service = of(files, name)
    limits = service["deploy"]["resources"]["limits"]
    assert int(limits["memory"]) > 0
    assert 0 < float(limits["cpus"]) <= 2, "an engine refuses more processors than the machine has"
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert service["logging"]["driver"] == "json-file"
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert not re.search(r":(latest|main|server|server-cuda)?$", service["image"]), f"{service['image']} is no pinned tag"
    assert service["restart"] == ("no" if name in ONCE else "unless-stopped")


@pytest.mark.parametrize(("files", "name"), services())
def test_every_lasting_service_has_a_health_check_of_its_own(files: tuple[str, ...], name: str) -> None:
    check = of(files, name)["healthcheck"]
    assert (check.get("disable") is True) == (name in ONCE)
    if name in ONCE:
        return
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert seconds(check["timeout"]) < seconds(check["interval"])
    assert {"retries", "start_period", "start_interval"} <= check.keys()
    if name in OURS:
        part = of(files, name)["command"][-1]
        assert check["test"] == ["CMD", "brb", "run", "healthcheck", part]


@pytest.mark.parametrize("files", MERGES)
def test_an_override_leaves_out_what_it_does_without(files: tuple[str, ...]) -> None:
    assert merged((BASE,))["services"].keys() - merged(files)["services"].keys() == left_out(files)


@pytest.mark.parametrize("files", MERGES)
def test_ports_are_published_on_loopback_unless_calls_carry_tokens(files: tuple[str, ...]) -> None:
    found = merged(files)["services"]
    published = {(name, port["host_ip"]) for name, service in found.items() for port in service.get("ports", ())}
    beyond = {name for name, host in published if host != "127.0.0.1"}
    team = "compose.team.yml" in files
    assert beyond == ({"proxy"} if team else set())
    assert {name for name, _ in published} == {"proxy", "prometheus", "grafana"}
    settings = found["proxy"]["environment"]
    assert (settings.get("BRB_AUTH"), settings["BRB_PUBLISHED_ON_LOOPBACK"]) == (("token", "false") if team else (None, "true"))
    config.Settings(**{name.removeprefix("BRB_").lower(): value for name, value in settings.items() if value and not name.endswith("_FILE")})


@pytest.mark.parametrize("files", MERGES)
def test_what_needs_no_way_out_has_none(files: tuple[str, ...]) -> None:
    found = merged(files)
    assert found["networks"]["backend"]["internal"] is True
    out = {name for name, service in found["services"].items() if "egress" in service["networks"]}
    host = {"worker", "indexer"} if any("host-llm" in file for file in files) else set()
    assert out == ({"proxy", "models"} | host) & found["services"].keys()
    assert found["networks"]["front"]["driver_opts"] == {"com.docker.network.bridge.enable_ip_masquerade": "false"}


@pytest.mark.parametrize("files", MERGES)
def test_the_time_to_stop_is_longer_than_the_soft_shutdown(files: tuple[str, ...]) -> None:
    app: Celery = celery_queue.create_celery(config.Settings(), "brb-test")
    soft = float(app.conf.worker_soft_shutdown_timeout)
    found = merged(files)["services"]
    for name in {"worker", "indexer"} & found.keys():
        assert seconds(found[name]["stop_grace_period"]) >= 2 * soft
    both = serving._DRAIN_SECONDS + soft  # `run embedded` is a consumer, too
    assert seconds(found["proxy"]["stop_grace_period"]) >= both + 10
    assert all("stop_grace_period" in service for name, service in found.items() if name not in ONCE)


@pytest.mark.parametrize("files", MERGES)
def test_counters_and_signs_of_life_are_kept_in_memory(files: tuple[str, ...]) -> None:
    folder = re.search(r"BRB_RUNTIME_DIR=(\S+)", (DEPLOY / "Dockerfile").read_text())
    assert folder
    for name in OURS & merged(files)["services"].keys():
        assert any(each.startswith(f"{folder[1]}:") for each in of(files, name)["tmpfs"]), name


@pytest.mark.parametrize("files", MERGES)
def test_no_secret_is_in_a_compose_file(files: tuple[str, ...]) -> None:
    for name, service in merged(files)["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|API_KEY|TOKEN", key) and key != "BRB_MAX_MEMORY_TOKENS":
                assert str(value).startswith("/secrets/"), f"{name}: {key}"


def test_the_edge_store_is_a_volume_of_the_one_container_that_owns_it() -> None:
    found = merged((BASE, "compose.edge.yml"))["services"]
    proxy = found["proxy"]
    assert proxy["command"] == ["run", "embedded"]
    assert {"source": "proxy", "target": "/data"}.items() <= next(v for v in proxy["volumes"] if v["target"] == "/data").items()
    assert not [name for name, service in found.items() if "BRB_QDRANT_URL" in service.get("environment", {})]
    assert set(proxy["depends_on"]) == {"init", "redis"}


@pytest.mark.parametrize("files", [files for files in MERGES if "compose.cuda.yml" in files])
def test_a_card_is_reserved_for_both_models_and_only_where_it_is_asked_for(files: tuple[str, ...]) -> None:
    for name in ("llama-embed", "llama-extract"):
        service = of(files, name)
        assert service["deploy"]["resources"]["reservations"]["devices"][0]["driver"] == "nvidia"
        assert ":server-cuda-b" in service["image"]
        assert "reservations" not in of((BASE,), name)["deploy"]["resources"]


def test_the_embedding_server_takes_a_text_in_one_batch_and_has_one_slot() -> None:
    model = model_lock.read()["nomic-embed-text-v1.5"]
    command = merged((BASE,))["services"]["llama-embed"]["command"]
    options = dict(itertools.pairwise(command))
    assert options["-c"] == options["-b"] == options["-ub"] == str(model.max_tokens)
    assert options["-np"] == "1"
    assert options["--pooling"] == model.pooling
    assert options["--model"] == f"/models/{model.file}"
    assert "--embedding" in command


def test_what_is_served_is_what_the_settings_name_and_models_lock_pins() -> None:
    found = merged((BASE,))["services"]
    models = model_lock.read()
    command = found["llama-extract"]["command"]
    for service in ("proxy", "worker", "indexer", "models", "migrate"):
        settings = found[service]["environment"]
        assert models[settings["BRB_EMBED_MODEL"]].url.startswith("https://")
        assert f"/models/{models[settings['BRB_EXTRACT_MODEL']].file}" in command


def test_every_setting_that_goes_through_is_one_of_brbs_and_in_the_example() -> None:
    settings = merged((BASE,))["services"]["proxy"]["environment"]
    known = {f"BRB_{name.upper()}" for name in config.Settings.model_fields}
    assert {name.removesuffix("_FILE") for name in settings} <= known
    named = set(re.findall(r"\$\{([A-Z_]+)", (DEPLOY / BASE).read_text())) | {name for name, value in settings.items() if value is None}
    example = set(re.findall(r"^# ?([A-Z_]+)=", (DEPLOY / ".env.example").read_text(), re.MULTILINE))
    assert named <= example, named - example


def test_the_version_of_the_image_is_that_of_the_package() -> None:
    version = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["version"]
    assert merged((BASE,))["services"]["proxy"]["image"] == f"brb:{version}"
    assert f"ARG VERSION={version}\n" in (DEPLOY / "Dockerfile").read_text()


def test_prometheus_reads_every_service_that_counts() -> None:
    found = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    names = {job["job_name"] for job in found["scrape_configs"]}
    assert names == OURS | {"qdrant", "llama-embed", "llama-extract", "prometheus"}
    port = merged((BASE,))["services"]["proxy"]["environment"]["BRB_METRICS_PORT"]
    for job in found["scrape_configs"]:
        if job["job_name"] in OURS:
            assert port in json.dumps(job)
    rules = DEPLOY.parent / "ops" / "prometheus"
    assert all((rules / Path(file).name).is_file() for file in found["rule_files"])
    mounted = {volume["target"]: volume["source"] for volume in merged((BASE,))["services"]["prometheus"]["volumes"]}
    assert mounted["/etc/brb-rules"] == str(rules)


def test_grafana_is_given_the_source_that_the_dashboards_name() -> None:
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"][0]
    assert (source["uid"], source["url"], source["editable"]) == ("prometheus", "http://prometheus:9090", False)
    provider = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/brb.yml").read_text())["providers"][0]
    mounted = {volume["target"]: volume["source"] for volume in merged((BASE,))["services"]["grafana"]["volumes"]}
    dashboards = Path(mounted[provider["options"]["path"]])
    assert dashboards == DEPLOY.parent / "ops" / "grafana" / "dashboards"
    home = merged((BASE,))["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (dashboards / Path(home).name).is_file()


def test_nothing_need_be_set() -> None:
    """Only the address that a team calls has no default."""
    raw = (DEPLOY / BASE).read_text()
    assert not re.findall(r"\$\{[A-Z_]+(?::\?|\})", raw)
    done = composed(f"--file={DEPLOY / BASE}", f"--file={DEPLOY / 'compose.team.yml'}", "config", "-q")
    assert done.returncode != 0
    assert "the address of this machine that the team calls" in done.stderr
