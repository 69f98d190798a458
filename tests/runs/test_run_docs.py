"""What the pages show is what is printed: their studies are run, and their outputs compared."""

import dataclasses
import json
import re
import subprocess
import sys

import pages
import pytest
from block_project import MAIN, CaseReader, cases
from small_project import Reader, Server
from test_run_shadow import request as real_request

from pytest_tokenbench import run_folder
from pytest_tokenbench.ablation.claim import Claim
from pytest_tokenbench.cli import main
from pytest_tokenbench.records import Remark
from pytest_tokenbench.reporting import document, wording

STUDY = '''\
from pytest_tokenbench import Study
from pytest_tokenbench.conditions import Chunks, Croutons, FullText, Summary

study = Study(
    "small",
    questions="questions.json",
    corpus="corpus",
    conditions=[FullText("A"), Chunks("B1", top=1, words=20), Summary("C", max_words=30), Croutons("D3", top=3)],
    baseline="A",
)


@study.trials
def test_small(trial):
    trial.ask()


@study.hypothesis("H1")
def h1(results):
    """D3 uses at least 10% fewer input tokens per question than A."""
    assert results.reduction("input_tokens", "D3", versus="A").estimate >= 0.10


@study.hypothesis("H2")
def h2(results):
    """D3 is within 5 points of A."""
    assert results.difference("accuracy", "D3", versus="A").low > -0.05


@study.hypothesis("H3")
def h3(results):
    """C is within 5 points of A."""
    assert results.difference("accuracy", "C", versus="A").low > -0.05


@study.hypothesis("H4")
def h4(results):
    """D3 is read faster than A."""
    assert results.difference("prefill_s", "D3", versus="A").high < 0
'''
PRICES = '[prices."by hand"]\ninput = 2\ncached_input = 0.5\noutput = 10\n'
WIDE = 140


DESK = "needed-context.md"
# How the pages name a run's folder; a real one is as long.
FOLDER = "20260102T030405-smollm2-135m"


class Wavering(CaseReader):
    """Knows some answers the first time only."""

    def __init__(self, content) -> None:
        super().__init__(content)
        self.seen = set()

    def __call__(self, prompt: str) -> str:
        answer = super().__call__(prompt)
        forgets = prompt in self.seen and re.search(r"in (Arl|Bexa|Corm|Dunn) open\?$", prompt)
        self.seen.add(prompt)
        return "I do not know" if forgets else answer


class Fickle(Reader):
    """Answers one question under the baseline right every other time."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def __call__(self, prompt: str) -> str:
        if "quay" in prompt and prompt.endswith("Question: Who built the upper light?"):
            self.times += 1
            return "Jonas Mereth" if self.times % 2 else "Ada Finch"
        return super().__call__(prompt)


def shown(ran) -> str:
    """The plugin's section without the folder, which has the time, with one port."""
    lines = [re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:11434", line.rstrip()) for line in ran.lines]
    start = next(place for place, line in enumerate(lines) if re.match(r"=+ tokenbench =+$", line)) + 1
    end = next(place for place, line in enumerate(lines) if line.startswith("run folder: "))
    return "\n".join(lines[start:end]).strip("\n") + "\n"


@pytest.fixture(scope="module")
def page(repository):
    return lambda name: pages.read(repository, name)


@pytest.fixture(scope="module")
def whole(make_project):
    """The run that the page on the report shows first."""
    project = make_project(study=STUDY)
    project.write("prices.toml", PRICES)
    with Server() as server:
        return project.run(
            "-n0",
            "--tokenbench-prices=prices.toml",
            "--tokenbench-html=on",
            server=server,
            columns=WIDE,
        )


def test_whole_run_of_the_page_is_what_is_printed(page, whole):
    assert pages.blocks(page("reading-the-report.md"), "text")[0] == shown(whole)


def test_troubled_run_of_the_page_is_what_is_printed(page, make_project):
    crash = ("was Ada Finch.\n", "Question: Who was the miller")
    with Server(Fickle(), breaks=crash) as server:
        ran = make_project(study=STUDY).run("-n0", "--tokenbench-repeats=2", server=server, columns=WIDE)
    assert pages.blocks(page("reading-the-report.md"), "text")[1] == shown(ran)
    made = ran.file("results.json")["conditions"]["D3"]["measures"]["accuracy"]
    assert made["estimate"] == 1.0
    assert made["bounds"] == [0.75, 1.0], "two of eight trials wrong or right"


def test_columns_of_the_page_are_those_of_the_reports(page, whole):
    table = pages.section(page("reading-the-report.md"), "## The table")
    named = [name for cell in re.findall(r"^\| (`.*`) \|", table, re.MULTILINE) for name in _spans(cell)]
    heading = next(line for line in whole.file("report.md").splitlines() if line.startswith("|"))
    assert [name for name in named if name != "churn"] == [
        cell.strip() for cell in heading.split("|") if cell.strip()
    ]


def _spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_sections_of_the_page_are_those_of_the_html_report(page, whole):
    table = pages.section(page("reading-the-report.md"), "## report.html")
    named = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[2:]
    html = (whole.folder / "report.html").read_text(encoding="utf-8")
    assert named == re.findall(r"<h2>([^<]+)</h2>", html)
    assert "<h3>Where they disagree</h3>" in html
    assert "A right, C wrong" in html, "as the page has it of D25"
    assert "## Missing or doubtful" in whole.file("report.md")


def test_notes_of_the_page_are_those_that_are_written(page, whole):
    table = pages.section(page("reading-the-report.md"), "## Notes")
    named = [name for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in _spans(cell)]
    assert len(named) > 9
    made = document.build(run_folder.read(whole.folder))
    made["course"]["resumed"] = [{"time": "noon", "reused": 2}]
    spoilt = made["conditions"]["D3"]
    spoilt["missing_trials"] = {"error": 2}
    spoilt["remarks"] = dict.fromkeys(map(str, Remark), 1)
    spoilt["preparation"] |= {"numbers": 6, "unfaithful_numbers": 2}
    spoilt["preparation"]["flags"] = {"kell": ["cut", "over_budget", "recovered"]}
    notes = wording.notes(made)
    for name in named:
        pattern = ".*".join(map(re.escape, name.split("...")))
        assert any(re.search(pattern, note) for note in notes), (name, notes)


def test_plan_of_the_page_is_what_is_printed_of_the_shipped_study(page, repository, tmp_path, project):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-pno:cacheprovider", "benchmarks/test_protocol.py"),
            *("--tokenbench-plan", f"--tokenbench-reports={tmp_path}"),
        ],
        cwd=repository,
        env=project._environment(None, 80),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    (plan,) = (block for block in pages.blocks(page("reading-the-report.md"), "text") if "80% needs" in block)
    assert plan in printed
    chance, needed, documents = re.search(
        r"80 questions \(its verdict\) +(\d+%) +(\d+) questions\n10 documents, correlation 0 .* (\d+) documents,",
        plan,
    ).groups()
    for text in (page("limits.md"), (repository / "README.md").read_text(encoding="utf-8")):
        assert f"a chance of {chance}" in " ".join(text.split())
    assert f"{needed} would be needed for 80%, or {documents} documents" in " ".join(
        page("limits.md").split()
    )


def test_condition_of_the_page_runs(page, make_project, workers):
    study = pages.blocks(page("own-condition.md"), "python")[0]
    with Server() as server:
        ran = make_project(study=study).run(workers, "--tokenbench-order=shared", server=server)
    assert ran.status == pytest.ExitCode.OK
    assert ran.verdicts == {"shorter": "passed"}
    assert ran.observations["S10-orrin-q01"]["units"] == ["beginning"]
    contexts = {one["sha256"]: one["text"] for one in ran.file("contexts.jsonl")}
    sent = contexts[ran.observations["S10-orrin-q01"]["context_sha256"]]
    assert sent.startswith("The mill at Orrin ground 1,470 tonnes")
    assert "Ada Finch" not in sent
    made = ran.file("run.json")["condition_options"]["S10"]
    assert made == {"class": "Beginning", "id": "S10", "limit": 10}


def test_condition_with_a_preparation_of_the_page_runs(page, make_project):
    study = pages.blocks(page("own-condition.md"), "python")[1]
    outline = {
        ("Write an outline", "Jonas"): "Light: Jonas Mereth\nRope walk: 214",
        ("Write an outline",): "",
    }
    with Server(Reader(outline)) as server:
        ran = make_project(study=study).run("-n0", server=server)
    seen = ran.observations
    assert seen["O-kell-q01"]["outcome"] == seen["O-kell-q02"]["outcome"] == "correct"
    assert seen["O-kell-q01"]["units"] == ["point-0", "point-1"]
    assert {seen[f"O-orrin-q0{number}"]["status"] for number in (1, 2, 3)} == {"construction_failed"}
    assert ran.count("outline of orrin failed: the model wrote no outline of orrin") == 1
    assert ran.verdicts == {"close": "unavailable"}
    made = ran.file("results.json")["conditions"]["O"]["preparation"]
    assert made["options"]["version"] == 1


def test_condition_that_raises_leaves_its_trials_missing(page, make_project):
    study = pages.blocks(page("own-condition.md"), "python")[0]
    broken = study.replace("        return Context(", "        raise LookupError\n        return Context(")
    with Server() as server:
        ran = make_project(study=broken).run("-n0", "--tokenbench-conditions=A,S10", server=server)
    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert ran.verdicts == {"shorter": "unavailable"}
    assert {name.partition("-")[0] for name in ran.observations} == {"A"}


def test_hypotheses_of_the_page_come_to_what_it_shows(page, make_project):
    text = page("own-hypothesis.md")
    with Server() as server:
        ran = make_project(study=pages.blocks(text, "python")[0]).run("-n0", server=server, columns=100)
    (block,) = pages.blocks(text, "text")
    assert f"\n\n{block}\nnote: " in shown(ran)
    assert set(ran.verdicts.values()) == {"passed", "failed", "unavailable"}


def test_mended_hypothesis_is_judged_again_without_a_model_and_told(page, make_project):
    study = pages.blocks(page("own-hypothesis.md"), "python")[0]
    project = make_project(study=study)
    with Server() as server:
        project.run("-n0", server=server)
        before = len(server.chats)
        project.write("test_small.py", study.replace("low > -0.05", "low > -1.05"))
        ran = project.run(
            "-n0", f"--tokenbench-resume={next(project.path.glob('reports/*/*'))}", server=server
        )
        assert len(server.chats) == before
    assert ran.verdicts["close enough"] == "passed"
    assert "the study file" in ran.text


def test_study_of_the_readme_runs(repository, make_project):
    text = (repository / "README.md").read_text(encoding="utf-8")
    (study,) = pages.blocks(text, "python")
    with Server() as server:
        ran = make_project(study=study).run("-n0", server=server)
    assert ran.verdicts == {"cheap enough": "passed"}


@pytest.fixture(scope="module")
def desk(page, make_project):
    """Runs the study over blocks of its page, with a reader, on the tests' cases or others."""

    def run(reader, *arguments, content=None):
        project = make_project(ini="tokenbench_html = on\n")
        project.write("data/cases.json", json.dumps(content or cases()))
        project.write("test_desk.py", pages.blocks(page(DESK), "python")[0])
        with Server(reader) as server:
            return project.run("-n0", "test_desk.py", *arguments, server=server, columns=WIDE)

    return run


@pytest.fixture(scope="module")
def measured(desk):
    return desk(CaseReader(cases()))


@pytest.fixture(scope="module")
def outputs(page):
    """The outputs of the page on blocks: the line on opt-in, two refusals, the pieces of one run, real requests."""
    left_out, first, churning, weak, *rest, shadow = pages.blocks(page(DESK), "text")
    return {
        "left out": left_out,
        "whole": "\n".join([first, *rest]),
        "churning": churning,
        "weak": weak,
        "shadow": shadow,
    }


def test_run_over_blocks_of_the_page_is_what_is_printed(outputs, measured):
    assert outputs["whole"] == shown(measured)


def test_what_the_page_tells_of_its_run_over_blocks_is_so(page, measured):
    text = " ".join(page(DESK).split())
    made = measured.file("results.json")["ablation"]
    composed = made["composed"]
    assert "these sum up to 0.0 points and the cut costs 30.8" in text
    assert (composed["predicted"], composed["drop"]["estimate"]) == pytest.approx((0, 4 / 13))
    assert "system and examples came out removable each, and not together, so that both count" in text
    assert (composed["holds"], made["needed_fraction"]["put_back"]) == (False, ["system", "examples"])
    assert "The tail is not counted" in text
    assert made["needed_fraction"]["needed_tokens"] == 113 - made["blocks"][3]["tokens"]["estimate"]
    assert "keeps two and loses a case of thirteen" in text
    ranks = {rank["to"]: rank["drop"]["estimate"] for rank in made["blocks"][2]["ranks"]}
    assert ranks[2] == pytest.approx(1 / 13)
    html = (measured.folder / "report.html").read_text(encoding="utf-8")
    (heading,) = re.findall(r"under \*([^*]+)\*", text)
    assert f"<h2>{heading}</h2>" in html


@pytest.mark.parametrize(
    ("name", "reader"), [("churning", Wavering(cases())), ("weak", lambda _: "I do not know")]
)
def test_refusals_of_the_page_are_what_is_printed(outputs, desk, name, reader):
    ran = desk(reader, "-k", "base or again or no-")
    assert shown(ran).startswith(outputs[name])


def test_cases_of_the_page_can_be_asked(page, desk):
    content = json.loads(pages.blocks(page(DESK), "json")[0])
    ran = desk(CaseReader(content), content=content)
    assert ran.count("desk: 2 cases and 1 of the stress slice") == 1
    base = {one["question"]: one for one in ran.file("observations.jsonl") if one["condition"] == "base"}
    assert {name: one["outcome"] for name, one in base.items()} == dict.fromkeys(
        ["c1", "c2", "x1"], "correct"
    )
    assert len(ran.file("observations.jsonl")) == 3 * len(ran.file("run.json")["conditions"])


def test_line_on_a_study_that_is_left_out_is_the_one_that_is_printed(outputs, page, project):
    project.write("data/cases.json", json.dumps(cases()))
    project.write("test_desk.py", pages.blocks(page(DESK), "python")[0])
    with Server() as server:
        ran = project.run("-n0", server=server)
    its = outputs["left out"].replace(
        "needed-context (benchmarks/test_needed_context.py)", "desk (test_desk.py)"
    )
    assert ran.count(its) == 1


def test_arms_of_the_page_are_those_of_its_run_when_it_says(page, measured):
    table = pages.section(page(DESK), "## One's own study").split("| arm |")[1]
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*\| ([^|]+) \|$", table, re.MULTILINE))
    parts = {"BLOCK": r"[a-z]+", "A": "[a-z]+", "B": "[a-z]+", "N": r"\d+", "R": r"\d+", "SCORE": r"\d+"}
    patterns = {name: "-".join(parts.get(word, word) for word in name.split("-")) for name in rows}
    kinds = {plan["id"]: plan["kind"] for plan in measured.file("run.json")["ablation"]["arms"]}
    found = {name: [arm for arm in kinds if re.fullmatch(pattern, arm)] for name, pattern in patterns.items()}
    assert sorted(arm for arms in found.values() for arm in arms) == sorted(kinds)
    assert (
        len({kinds[arm] for arms in found.values() for arm in arms}) == len(rows) == len(set(kinds.values()))
    )
    decided = {one["arm"] for one in measured.file("decisions.jsonl")}
    for name, when in rows.items():
        assert (when == "at once") == decided.isdisjoint(found[name]), name


def test_claims_of_the_page_are_what_is_printed(page, measured, capsys):
    assert main(["claim", str(measured.folder)]) == 0
    needed, oracle = json.loads(capsys.readouterr().out)
    _, first, differing, _ = map(json.loads, pages.blocks(page(DESK), "json"))
    assert first.pop("measured_at") == "2026-01-02T03:04:05+00:00"
    assert needed.pop("measured_at") == oracle.pop("measured_at")
    assert first == needed
    assert differing == {name: value for name, value in oracle.items() if value != needed[name]}
    table = pages.section(page(DESK), "## The claim record").split("| field |")[1]
    named = [name for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in _spans(cell)]
    assert sorted(named) == sorted(field.name for field in dataclasses.fields(Claim))


def test_request_of_the_page_is_one_of_those_it_asks(page):
    assert real_request(MAIN[0], "live-t0") == json.loads(pages.blocks(page(DESK), "json")[-1])


def test_real_requests_of_the_page_come_to_what_it_shows(outputs, measured, tmp_path, capsys, monkeypatch):
    file = tmp_path / "requests.jsonl"
    asked = [real_request(case, f"live-{case['id']}") for case in MAIN]
    file.write_text("".join(json.dumps(one) + "\n" for one in asked))
    monkeypatch.setenv("COLUMNS", str(WIDE))
    with Server(CaseReader(cases())) as server:
        into = str(tmp_path / "into")
        assert main(["shadow", str(measured.folder), str(file), "--host", server.url, "--into", into]) == 0
    printed, wrote, _ = capsys.readouterr().out.partition("wrote ")
    assert wrote
    assert len(FOLDER) == len(measured.folder.name)
    assert printed.replace(measured.folder.name, FOLDER) == outputs["shadow"]
