"""Fixtures that run the command line in the process of the test."""

import json
import shlex

import pytest
from typer.testing import CliRunner

from likely.cli.app import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a temporary folder; the test fails on an unexpected exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIKELY_DEBUG", raising=False)

    def invoke(command, code=0):
        result = CliRunner().invoke(app, shlex.split(command))
        if result.exit_code != code:
            pytest.fail(f"{command} ended with {result.exit_code}: {result.output} {result.exception!r}")
        return result

    return invoke


@pytest.fixture
def run_json(run):
    """Run a command with --json and return the parsed document."""
    return lambda command: json.loads(run(f"{command} --json").stdout)
