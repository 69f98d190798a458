import json

import pytest
from small_project import MODEL, Project, Server

from pytest_tokenbench.cli import main

PRICES = '[prices."by hand"]\ninput = 2\ncached_input = 0.5\noutput = 10\n'
FILES = ("results.json", "report.md")
ASKED = ("--tokenbench-model", MODEL, "--tokenbench-conditions", "A,C", "--tokenbench-prices", "prices.toml")


@pytest.fixture
def project(tmp_path) -> Project:
    made = Project(tmp_path / "project")
    made.write("prices.toml", PRICES)
    return made


def test_a_run_with_prices_keeps_them_shows_costs_and_can_be_reported_again(project, capsys):
    with Server() as server:
        ran = project.run(*ASKED, server=server)
    ran.has("Cost per 1,000 questions in USD, by hand: *", "A, cached *")
    assert ran.file("run.json")["prices"][0]["cached_input"] == 0.5
    made = ran.file("results.json")
    (costs,) = made["costs"]
    means = {
        name: made["conditions"]["A"]["measures"][name]["estimate"]
        for name in ("input_tokens", "output_tokens")
    }
    cost = (means["input_tokens"] * 2 + means["output_tokens"] * 10) / 1_000_000
    assert costs["conditions"]["A"]["per_question"]["estimate"] == pytest.approx(cost)
    assert 0 < costs["with_prompt_caching"]["estimate"] < cost
    assert costs["conditions"]["C"]["preparation"]["per_question"] > 0

    project.write("prices.toml", "no longer needed")
    first = [(ran.folder / name).read_bytes() for name in FILES]
    assert main(["report", str(ran.folder)]) == 0
    assert [(ran.folder / name).read_bytes() for name in FILES] == first
    shown = capsys.readouterr().out
    assert all(line in shown for line in ran.summary[:12] if line.startswith(("A", "C ")))


def test_faulty_prices_end_the_session_before_anything_is_asked_or_written(project):
    project.write("prices.toml", '[prices."by hand"]\ninput = -2\ncached_input = 0.5\noutput = 10\n')
    with Server() as server:
        ran = project.run(*ASKED, server=server)
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("prices.toml: prices.'by hand': input must be from 0 to 1,000,000,000, not -2") == 1
    assert not ran.folders
    assert not server.requests


def test_a_path_typed_counts_from_where_it_is_typed_and_one_in_the_ini_file_from_the_root(tmp_path):
    project = Project(tmp_path / "project", ini="tokenbench_prices = kept.toml\n")
    project.write("kept.toml", PRICES.replace("by hand", "kept"))
    typed = project.write("elsewhere/typed.toml", PRICES.replace("by hand", "typed"))
    with Server() as server:
        given = ("--tokenbench-model", MODEL, "--tokenbench-conditions", "A")
        project.run(*given, server=server)
        project.path = typed.parent
        project.run(*given, "..", "--tokenbench-prices", "typed.toml", server=server)
    records = sorted((tmp_path / "project" / "reports").glob("*/*/run.json"))
    assert [json.loads(file.read_text())["prices"][0]["name"] for file in records] == ["kept", "typed"]
