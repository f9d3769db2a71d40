"""The workflow and the devcontainer: what they call exists, and they check what .ci/run checks."""

import itertools
import json
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
SHELL = {"set", "echo", "cd", "true"}


def load(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    workflow["on"] = workflow.pop(True)  # YAML reads a bare `on` as true
    return workflow


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def commands():
    """Every command line that GitHub or the devcontainer runs."""
    texts = [CONTAINER["postCreateCommand"]]
    for step in (step for path in WORKFLOWS for step in steps(load(path))):
        texts += [step.get("run", ""), step.get("with", {}).get("runCmd", "")]
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]


def missing(command):
    """What a command calls that is not in the repository; None when all is there."""
    name, *arguments = shlex.split(command)
    if name in SHELL:
        return None
    if name == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = " ".join(re.findall(r"^([\w./ -]+):", makefile, re.MULTILINE)).split()
        return next((argument for argument in arguments if argument not in targets), None)
    if name.startswith(".venv/bin/"):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return None if Path(name).name in {"python", *project["scripts"]} else name
    return None if (ROOT / name).is_file() and os.access(ROOT / name, os.X_OK) else name


def test_what_is_called_exists():
    assert missing(".venv/bin/nothing --help") == ".venv/bin/nothing"
    assert [command for command in commands() if missing(command)] == []


def test_the_book_is_published_only_after_the_checks_of_ci_run():
    workflow = load(ROOT / ".github" / "workflows" / "book.yml")
    assert workflow["on"] == {"push": {"branches": ["main"]}, "pull_request": None}
    build, deploy = workflow["jobs"]["build"], workflow["jobs"]["deploy"]
    (check,) = [n for n, step in enumerate(build["steps"]) if step.get("run") == ".ci/run"]
    (upload,) = [n for n, s in enumerate(build["steps"]) if "pages-artifact" in s.get("uses", "")]
    assert check < upload
    assert build["steps"][upload]["with"]["path"] == "book/_build/html"
    assert set(deploy["needs"]) == set(workflow["jobs"]) - {"deploy"}
    for guarded in (deploy, build["steps"][upload]):
        assert guarded["if"] == "github.ref == 'refs/heads/main'"


def test_each_build_of_the_book_knows_its_addresses():
    build = load(ROOT / ".github" / "workflows" / "book.yml")["jobs"]["build"]
    assert build["env"]["MUONLAB_REPOSITORY"].endswith("/${{ github.repository }}")
    for step in build["steps"]:  # another value would have Sphinx build all pages again
        if "run" in step:
            assert step["env"] == {"MUONLAB_SITE": "${{ steps.pages.outputs.base_url }}"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_may_do_little(path):
    workflow = load(path)
    for step in steps(workflow):
        assert "run" in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+)*", step["uses"])
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets." not in path.read_text(encoding="utf-8")
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 90
        writes = {key for key, value in job.get("permissions", {}).items() if value == "write"}
        assert writes == ({"pages", "id-token"} if name == "deploy" else set())


def test_the_devcontainer_is_what_the_readme_says_and_a_job_opens_it():
    assert CONTAINER["image"].startswith("mcr.microsoft.com/devcontainers/python:3.11")
    assert CONTAINER["postCreateCommand"] == "make .venv/lab"
    (run,) = [s for p in WORKFLOWS for s in steps(load(p)) if "devcontainers/ci@" in str(s)]
    lines = run["with"]["runCmd"].splitlines()
    assert lines[0] == "set -e"  # the action reports only how the last line ended
    assert "import muonlab" in lines[1]
    assert lines[2].endswith("muonlab doctor")
    (first,) = CONTAINER["customizations"]["codespaces"]["openFiles"]  # what a visitor sees first
    assert lines[3].startswith(".venv/bin/python -m nbconvert --to notebook --execute ")
    assert lines[3].endswith(f" {first}")
    assert (ROOT / first).is_file()
    assert lines[4:] == []


def test_no_older_version_is_claimed_than_the_tests_ran_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}
    asked = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    for requirement in map(Requirement, asked):
        pin = pins[canonicalize_name(requirement.name)]
        [bound] = [one.version for one in requirement.specifier if one.operator == ">="]
        assert f"{pin}.".startswith(f"{bound}."), requirement
        assert requirement.specifier.contains(pin), requirement
