"""Real runs of a study over blocks: opt-in, stage by stage, with and without workers, gone on with."""

import json
from collections import Counter

import pytest
from block_project import BLOCK_STUDY, MAIN, RULES, STRESS, CaseReader, add_blocks, cases
from disturbed import going_on, settled
from small_project import Server

from pytest_tokenbench import comparison, run_folder
from pytest_tokenbench.cli import main
from pytest_tokenbench.reporting import comparison as shown

CASES = len(MAIN) + len(STRESS)


@pytest.fixture(scope="session")
def block_server():
    with Server(CaseReader(cases())) as server:
        yield server


@pytest.fixture(scope="session")
def whole(make_project, block_server, workers):
    """The study over blocks, run to its end."""
    project = make_project(ini="tokenbench_html = on\n")
    add_blocks(project)
    return project.run(workers, "test_blocks.py", server=block_server)


def decisions(ran):
    return {one["arm"]: one for one in ran.file("decisions.jsonl")}


def test_study_that_is_opt_in_is_left_out_and_one_line_says_so(make_project, server, workers):
    project = make_project()
    add_blocks(project)

    ran = project.run(workers, server=server)

    assert {folder.parent.name for folder in ran.folders} == {"small"}
    assert (
        ran.count(
            "left out: blocks (test_blocks.py); run with --tokenbench-study NAME or all, or name the file"
        )
        == 1
    )


@pytest.mark.parametrize(
    ("arguments", "studies"),
    [
        (["test_blocks.py"], ["blocks"]),
        (["--tokenbench-study=blocks"], ["blocks"]),
        (["--tokenbench-study=all"], ["blocks", "small"]),
        (["test_small.py", "--tokenbench-study=small"], ["small"]),
    ],
    ids=" ".join,
)
def test_studies_that_are_chosen(make_project, workers, arguments, studies):
    project = make_project()
    add_blocks(project)

    ran = project.run(workers, "--collect-only", "-q", *arguments)

    found = {line.partition("::")[0] for line in ran.lines if "::" in line}
    assert found == {f"test_{study}.py" for study in studies}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["-n0", "--collect-only"], "block"),
        (["-n0"], "small,block"),
        (["-n2"], "block"),
        (["-n2"], "small,block"),
    ],
)
def test_study_that_is_not_there_is_named_with_those_that_are_and_nothing_runs(
    make_project, arguments, names
):
    project = make_project()
    add_blocks(project)

    ran = project.run(*arguments, f"--tokenbench-study={names}")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert (
        ran.count("--tokenbench-study: no study 'block' was collected; there are blocks, small, and all") == 1
    )
    assert not ran.folders


def test_arms_of_later_stages_leave_out_what_earlier_trials_decided(whole):
    decided = decisions(whole)
    observations = whole.file("observations.jsonl")

    assert whole.status == pytest.ExitCode.TESTS_FAILED  # N2
    assert whole.verdicts == {"N1": "passed", "N2": "failed"}
    # The tail is needed in the stress slice alone, which forbids to cut it.
    assert set(decided["composed"]["left_out"]) == {"system", "examples", "passages/3"}
    assert decided["pair-system-examples"]["needless"] is None
    assert decided["no-examples-1"]["needless"] is not None
    assert decided["passages-to-1"]["needless"] is None
    asked = {(one["condition"], one["question"]) for one in observations}
    assert len(asked) == len(observations) == CASES * len(whole.file("run.json")["conditions"])
    for one in observations:
        expected = decided.get(one["condition"], {}).get("needless") is not None
        assert (one["status"] == "not_needed") == expected, one["condition"]
    composed = [one for one in observations if one["condition"] == "composed"]
    assert {name.partition("/")[0] for one in composed for name in one["units"]} == {"passages", "tail"}


def test_planted_redundancy_is_found_by_the_composed_arm_and_by_no_single_one(whole):
    made = whole.file("results.json")["ablation"]
    verdicts = {block["name"]: block["verdict"] for block in made["blocks"]}
    drops = {block["name"]: block["drop"]["estimate"] for block in made["blocks"]}

    assert verdicts == {
        "system": "removable",
        "examples": "removable",
        "passages": "needed",
        "tail": "removable",
    }
    assert drops["system"] == drops["examples"] == 0
    # Four whose rule stands twice, and one whose passage came third.
    assert made["composed"]["drop"]["estimate"] == pytest.approx(5 / 13)
    assert made["composed"]["predicted"] == pytest.approx(1 / 13)
    assert made["composed"]["shortfall"]["estimate"] == pytest.approx(4 / 13)
    assert {one["case"] for one in made["composed"]["lost"]} == {f"r-{rule}" for rule in RULES}
    redundant = [pair for pair in made["composed"]["pairs"] if pair["redundant"]]
    assert [set(pair["blocks"]) for pair in redundant] == [{"system", "examples"}]
    assert redundant[0]["excess"]["estimate"] == pytest.approx(4 / 13)
    # All main cases are of the slice that has cases, so that production's shares change nothing.
    assert made["composed"]["reweighted_drop"]["estimate"] == pytest.approx(5 / 13)


def test_results_and_claims_are_rebuilt_from_the_folder_alone(whole):
    before = {
        name: (whole.folder / name).read_bytes() for name in ("results.json", "claim.json", "report.md")
    }
    (whole.folder / "results.json").unlink()

    assert main(["report", str(whole.folder)]) == 0

    assert {name: (whole.folder / name).read_bytes() for name in before} == before


def test_run_that_ended_after_the_screening_is_gone_on_with_to_the_same_results(
    make_project, block_server, workers, whole
):
    project = make_project()
    add_blocks(project)
    first = project.run(workers, "test_blocks.py", "-k", "base or no- or again", server=block_server)
    assert "composed" not in Counter(one["condition"] for one in first.file("observations.jsonl"))
    # What came out removable was not left out together, so that it is open how much is needed.
    told = first.file("results.json")["ablation"]["needed_fraction"]["unavailable"]
    assert told.startswith("whether what came out removable (system, examples")

    ran = project.run(workers, "test_blocks.py", f"--tokenbench-resume={first.folder}", server=block_server)

    assert len(ran.folders) == 1
    assert decisions(ran) == decisions(whole)
    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))


def test_arm_that_waits_for_trials_that_are_not_selected_is_not_asked(make_project, block_server, workers):
    project = make_project()
    add_blocks(project)

    ran = project.run(workers, "test_blocks.py", "-k", "composed", "-rs", server=block_server)

    assert ran.status == pytest.ExitCode.OK
    assert ran.file("observations.jsonl") == []
    assert ran.count("did not end well or are not selected; --tokenbench-resume goes on when they are") >= 1


def test_error_in_the_screening_keeps_later_arms_from_being_decided_until_it_is_mended(
    make_project, block_server, workers, whole
):
    project = make_project()
    add_blocks(project)
    with Server(CaseReader(cases()), breaks=("You answer at a desk", "shop in Corm open")) as broken:
        hurt = project.run(workers, "test_blocks.py", "--tokenbench-timeout=1", server=broken)
    assert hurt.status in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED}
    assert "composed" not in Counter(one["condition"] for one in hurt.file("observations.jsonl"))

    ran = project.run(workers, "test_blocks.py", *going_on(project), server=block_server)

    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))


def test_changed_threshold_forbids_to_go_on(make_project, block_server):
    project = make_project()
    add_blocks(project)
    first = project.run("-n0", "test_blocks.py", "-k", "base", server=block_server)
    add_blocks(project, study=BLOCK_STUDY.replace("threshold=0.4", "threshold=0.2"))

    ran = project.run("-n0", "test_blocks.py", f"--tokenbench-resume={first.folder}", server=block_server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("the threshold has changed since that run began (0.4 then, 0.2 now)") == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            ("threshold=0.4", "threshold=3"),
            "has the threshold 3; give the share of accuracy that counts as a drop",
        ),
        (
            ('Block("system")', '"system"'),
            "has 'system' among its blocks, which is none; write as Block('system')",
        ),
        (('parts="each"', 'parts="every"'), "block 'examples' has the parts 'every'; there are"),
        (('"single_turn": 0.75', '"single_turn": 0.65'), "the shares of 'turn' add up to 0.9 and not to 1"),
        (('"turn": {', '"mood": {'), "no case has a slice of the kind 'mood', whose shares the study gives"),
        (
            ('Block("system"),', ""),
            "has the blocks system, examples, passages, tail, and study 'blocks' declares",
        ),
    ],
    ids=lambda one: one[1] if isinstance(one, tuple) else "",
)
def test_declaration_that_cannot_be_run_gets_one_sentence(make_project, workers, change, sentence):
    project = make_project()
    add_blocks(project, study=BLOCK_STUDY.replace(*change))

    ran = project.run(workers, "test_blocks.py", "--collect-only")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(sentence) == 1
    assert "Traceback" not in ran.text


def test_cases_with_faults_get_a_sentence_each(make_project):
    project = make_project()
    content = cases()
    content["cases"][0]["passages"][0]["id"] = "p99"
    content["cases"][1]["answers"] = ["never written"]
    add_blocks(project, content)

    ran = project.run("-n0", "test_blocks.py", "--collect-only")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count('cases.json: case "t0": the block "passages" names the unknown passage "p99"') == 1
    assert ran.count('cases.json: case "t1": the gold string "never written" is in no block of the case') == 1


def test_quick_look_asks_few_cases_under_few_arms_and_says_so(make_project, block_server, workers):
    project = make_project()
    add_blocks(project)

    ran = project.run(workers, "test_blocks.py", "--tokenbench-quick", server=block_server)

    assert {one["condition"] for one in ran.file("observations.jsonl")} <= {
        "base",
        "no-system",
        "no-examples",
        "no-passages",
        "no-tail",
        "composed",
    }
    assert json.loads((ran.folder / "claim.json").read_text())
    ran.has("*tokenbench QUICK*")


def test_plan_counts_a_beginning_that_arms_share_once(make_project):
    project = make_project()
    add_blocks(project)

    ran = project.run("-n0", "test_blocks.py", "--tokenbench-plan", columns=140)

    rows = {cells[0]: cells[1:] for cells in (line.split() for line in ran.lines) if len(cells) == 5}
    assert rows["base"][2] == rows["base"][3]
    # The base again has the prompts of the base; what leaves out the last block ends before they differ.
    assert rows["again"] == [*rows["base"][:3], "~0"]
    tail = [int(cell.strip("~").replace(",", "")) for cell in rows["no-tail"][2:]]
    assert 0 < tail[1] < tail[0] / 2


def test_plan_counts_the_arms_that_wait_and_says_so(make_project):
    project = make_project()
    add_blocks(project)

    ran = project.run("-n0", "test_blocks.py", "--tokenbench-plan")

    assert ran.status == pytest.ExitCode.OK
    ran.has(f"blocks: {CASES} cases, *")
    assert (
        ran.count(
            "counted as if all were asked: 23 arms of later stages, of which earlier trials will make many"
        )
        == 1
    )


class StrictReader(CaseReader):
    """Wants a rule stated in the system block: an example alone is not enough."""

    def __call__(self, prompt):
        answer = super().__call__(prompt)
        return answer if answer not in RULES.values() or "You answer at a desk" in prompt else "I do not know"


@pytest.fixture(scope="session")
def stricter(make_project, workers):
    """The study run to its end with a reader that needs the system block, so that other things are left out."""
    project = make_project()
    add_blocks(project)
    with Server(StrictReader(cases())) as server:
        return project.run(workers, "test_blocks.py", server=server)


def test_comparison_tells_that_an_arm_of_one_name_leaves_out_different_things(whole, stricter):
    left_out = [", ".join(decisions(ran)["composed"]["left_out"]) for ran in (whole, stricter)]
    assert "system" in left_out[0]
    assert "system" not in left_out[1]

    made = comparison.build(run_folder.read(whole.folder), run_folder.read(stricter.folder))

    (warning,) = [one for one in made["warnings"] if one.startswith("the arm composed ")]
    assert f"it leaves out {left_out[0]} in the first run, {left_out[1]} in the second" in warning


def test_comparison_sets_the_findings_of_both_runs_side_by_side(whole, stricter):
    runs = [run_folder.read(ran.folder) for ran in (whole, stricter)]

    found = comparison.build(*runs)["ablation"]

    for which, ran in (("first", whole), ("second", stricter)):
        its = ran.file("results.json")["ablation"]
        assert {one["name"]: one[which]["verdict"] for one in found["blocks"]} == {
            one["name"]: one["verdict"] for one in its["blocks"]
        }
        told = found["needed_fraction"][which]
        assert {name: its["needed_fraction"][name] for name in told} == told


@pytest.mark.parametrize("width", [80, 100, 200])
def test_comparison_over_blocks_fits_the_terminal_and_has_no_row_for_each_case(whole, stricter, width):
    made = comparison.build(*[run_folder.read(ran.folder) for ran in (whole, stricter)])

    lines = [line for line, _ in shown.summary(made, width)]

    assert max(map(len, lines)) <= width
    assert not [line for line in lines if "by document" in line]
    assert "document" not in made["slices"]
    for arm in ("base", "no-system", "no-examples", "no-passages", "no-tail", "composed"):
        assert [line for line in lines if line.startswith(f"{arm} ")], arm
    by_turn = [line.split() for line in lines[lines.index("") :] if not line.startswith(" ")]
    heads = [words for words in by_turn if words[:3] == ["points", "by", "turn"]]
    assert [name for words in heads for name in words[4:]] == [
        "base",
        "no-system",
        "no-examples",
        "no-passages",
        "no-tail",
        "composed",
    ]
    assert "by document" not in shown.markdown(made)
    assert f"{CASES} cases" in " ".join(lines)


def test_comparison_in_a_terminal_tells_changes_under_few_arms_and_counts_the_others(whole, stricter):
    made = comparison.build(*[run_folder.read(ran.folder) for ran in (whole, stricter)])
    few = {"base", "no-system", "no-examples", "no-passages", "no-tail", "composed"}
    others = [one for one in made["changes"] if one["condition"] not in few]

    told = [
        line.split()[0] for line, _ in shown.summary(made, 200) if "->" in line and line.startswith("    ")
    ]

    assert set(told) <= few
    assert others
    assert f"and {len(others):,} answers that changed under other arms" in " ".join(
        line for line, _ in shown.summary(made, 200)
    )


def test_declared_study_that_is_alone_is_the_only_one_named(make_project):
    project = make_project()
    add_blocks(project)

    ran = project.run("-n0", "test_blocks.py", "--tokenbench-study=block", "--collect-only")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("--tokenbench-study: no study 'block' was collected; there is only blocks") == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('Block("system")', "Block(3)"), "has a block called 3; a name is a text, as in Block('system')"),
        (
            ('"examples", parts="each"', '"examples", parts=["each"]'),
            "block 'examples' has the parts ['each']; there are 'whole', 'each', 'ranked'",
        ),
        (
            ("follow_ups_only=True", 'follow_ups_only="no"'),
            "block 'tail' has follow_ups_only='no'; write True or False",
        ),
        (("threshold=0.4", 'threshold=0.4, opt_in="no"'), "has opt_in='no'; write True or False"),
        (('cases="data/cases.json"', "cases=None"), "has the cases None; give the path of their file"),
        (("selector=[4]", "selector=4"), "selects from 4; give a list of scores, as [4, 8]"),
        (
            ('{"turn": {"multi_turn": 0.25, "single_turn": 0.75}}', '{"multi_turn": 0.23}'),
            "production: the kind of slice is missing in {'multi_turn': 0.23}; put it around the shares, as {'turn': ",
        ),
    ],
    ids=lambda one: one[1] if isinstance(one, tuple) else "",
)
def test_declaration_of_a_wrong_kind_gets_one_sentence(make_project, change, sentence):
    project = make_project()
    assert BLOCK_STUDY.count(change[0]) == 1
    add_blocks(project, study=BLOCK_STUDY.replace(*change))

    ran = project.run("-n0", "test_blocks.py", "--collect-only")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("study 'blocks'") == ran.count(sentence) == 1
    assert "Traceback" not in ran.text


@pytest.mark.parametrize("blocks", ['"system"', "None"])
def test_blocks_that_are_no_list_get_one_sentence(make_project, blocks):
    project = make_project()
    start, _, rest = BLOCK_STUDY.partition("blocks=[\n")
    _, _, rest = rest.partition("    ],\n")
    add_blocks(project, study=f"{start}blocks={blocks},\n{rest}")

    ran = project.run("-n0", "test_blocks.py", "--collect-only")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    told = f"has the blocks {blocks.replace(chr(34), chr(39))}; give a list of them, as [Block('system'), "
    assert ran.count("study 'blocks'") == ran.count(told) == 1
    assert "Traceback" not in ran.text
