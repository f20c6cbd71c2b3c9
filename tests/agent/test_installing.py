"""What a judging machine needs and is told: the packages, the unit, the commands of the manual."""

import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from runners.agent.cli import parser

ROOT = Path(__file__).resolve().parents[2]
UNIT = (ROOT / "runners" / "agent" / "assize-runner.service").read_text()
MANUAL = (ROOT / "docs" / "runner.md").read_text()
ALONE = """
import importlib, json, pkgutil, sys
allowed = set(json.loads(sys.argv[1])) | set(sys.stdlib_module_names) | {"runners"}
class Only:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed or name in {"runners.models", "runners.apps"}:
            raise ModuleNotFoundError(f"{name} is not on a judging machine", name=name)
sys.meta_path.insert(0, Only())
import runners.agent
for module in pkgutil.walk_packages(runners.agent.__path__, "runners.agent."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""


def tops():
    """The top-level names that the packages of requirements-agent.txt install."""
    lines = (ROOT / "requirements-agent.txt").read_text().splitlines()
    wanted = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    return sorted(
        top
        for top, packages in importlib.metadata.packages_distributions().items()
        if wanted & {package.lower().replace("_", "-") for package in packages}
    )


def test_the_agent_needs_no_package_but_those_of_its_own_list():
    done = subprocess.run([sys.executable, "-c", ALONE, json.dumps(tops())], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert {"runners.agent.cli", "runners.agent.icpc.judge", "runners.agent.output_only.judge"} <= set(done.stdout.split())


def test_a_package_that_is_not_on_the_list_would_be_noticed():
    short = [top for top in tops() if top != "yaml"]
    done = subprocess.run([sys.executable, "-c", ALONE, json.dumps(short)], cwd=ROOT, capture_output=True, text=True, check=False)

    assert "yaml is not on a judging machine" in done.stderr


def settings():
    """The unit's lines, comments and sections left out."""
    lines = [line for line in UNIT.splitlines() if "=" in line and not line.startswith(("#", "["))]
    return [tuple(line.split("=", 1)) for line in lines]


ENVIRONMENT = {"${ASSIZE_SERVER}": "https://x", "${STATE_DIRECTORY}": "/s", "${ASSIZE_TAGS}": "a,b", "${ASSIZE_WORKERS}": "1", "%H": "host"}


def asked(line):
    """What a command line of ours asks for; raises SystemExit for one that the agent would refuse."""
    for name, value in ENVIRONMENT.items():
        line = line.replace(name, value)
    return parser().parse_args(shlex.split(line.partition("runners.agent ")[2]))


def test_the_unit_starts_the_agent_with_options_it_has():
    assert asked(dict(settings())["ExecStart"]).tags == "a,b"


@pytest.mark.parametrize(
    ("name", "value"),
    [("Delegate", "cpu memory pids"), ("OOMPolicy", "continue"), ("RestartPreventExitStatus", "2 3"), ("KillMode", "mixed")],
)
def test_the_unit_says_what_judging_depends_on(name, value):
    assert (name, value) in settings()


@pytest.mark.parametrize("name", ["ProtectKernelTunables", "ProtectProc", "ProtectControlGroups", "RestrictNamespaces", "SystemCallFilter"])
def test_the_unit_does_not_take_from_bubblewrap_what_it_needs(name):
    assert name not in dict(settings())


def commands():
    joined = MANUAL.replace("\\\n", " ")
    return re.findall(r"(?:python -m runners\.agent|assize-runner) ((?:run|doctor|verify)\b[^\n`|]*)", joined)


@pytest.mark.parametrize("line", commands())
def test_every_command_of_the_manual_is_one_the_agent_understands(line):
    assert asked(f"runners.agent {line}").command


def test_the_manual_shows_all_three_commands():
    assert {line.split()[0] for line in commands()} == {"run", "doctor", "verify"}
