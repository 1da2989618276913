"""The command line as a function: its arguments in, what it said out."""

import json
import shlex

import pytest
from typer.testing import CliRunner

from likely.cli.app import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder of its own; another exit code than the one expected fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIKELY_DEBUG", raising=False)

    def invoke(command, code=0):
        result = CliRunner().invoke(app, shlex.split(command))
        if result.exit_code != code:
            pytest.fail(f"{command} ended with {result.exit_code}: {result.output} {result.exception!r}")
        return result

    return invoke


@pytest.fixture
def told(run):
    """The JSON that a command prints."""
    return lambda command: json.loads(run(f"{command} --json").stdout)
