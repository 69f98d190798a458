import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pages
import pytest
from stub_ollama import StubOllama

MODEL = "smollm2:135m"
sys.path.append(str(Path(__file__).parent / "corpus"))
from test_converting import docx, pdf  # noqa: E402  # documents that are made by hand


def test_options_and_table_of_the_readme_are_the_real_ones(repository):
    path = repository / "scripts" / "refresh_readme.py"
    spec = importlib.util.spec_from_file_location("refresh_readme", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert "--tokenbench-quick" in script.options()
    assert "protocol: 10 documents, 100 questions" in script.published()
    assert script.refreshed(text) == text, "run python scripts/refresh_readme.py"


def test_every_option_the_readme_and_docs_name_exists(repository):
    help_text = (repository / "README.md").read_text(encoding="utf-8").split("<!-- options -->")[1]
    listed = set(re.findall(r"--tokenbench-[a-z]+", help_text))
    for page in [repository / "README.md", repository / "docs" / "prices.md"]:
        assert set(re.findall(r"--tokenbench-[a-z]+", page.read_text(encoding="utf-8"))) <= listed, page


def test_test_command_of_the_readme_is_the_one_ci_calls(repository):
    commands = (repository / "README.md").read_text(encoding="utf-8")
    script = (repository / ".ci" / "run").read_text(encoding="utf-8")
    assert "pip install -e '.[dev]' && pytest" in commands
    assert "pip install --quiet -e '.[dev]'" in script
    assert re.search(r"^pytest$", script, re.MULTILINE)


def test_extras_that_the_readme_installs_are_declared(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    named = set(re.findall(r"\.\[(\w+)\]", (repository / "README.md").read_text(encoding="utf-8")))
    assert named <= set(project["project"]["optional-dependencies"])


@pytest.fixture
def own_documents(repository):
    """The ten lines on documents of one's own, each without its remark."""
    page = (repository / "README.md").read_text(encoding="utf-8")
    (block,) = pages.blocks(pages.section(page, "## On your own documents"))
    lines = [line.partition("  #")[0].strip() for line in block.splitlines()]
    assert len(lines) == 10
    return lines


def test_lines_on_ones_own_documents_run_in_their_order(own_documents, tmp_path):
    (tmp_path / "handbook.pdf").write_bytes(pdf(["The meeting was opened at nine."]))
    (tmp_path / "minutes.docx").write_bytes(docx(("Heading1", "Leave"), ("", "There are 28 days of leave.")))
    install, *rest = own_documents
    assert install == "pip install -e '.[embedded,documents]'"
    *_, run, last = rest
    # The questions become the reader's own, and the run of them is gone over once more.
    script = "\n".join(["set -ex", *rest[:-1], run, last]).replace(
        "--tokenbench-backend embedded", f"--tokenbench-backend ollama --tokenbench-model {MODEL}"
    )
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/"lighthouse-q/"tower-q/; s/"loom-q/"weaving-q/\' "$1"\n')
    editor.chmod(0o755)
    with StubOllama() as server:
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=tmp_path,
            env=os.environ
            | {
                "OLLAMA_HOST": server.url,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "EDITOR": str(editor),
                "BROWSER": "true",
                # That no model is looked for where this machine may have one.
                "TOKENBENCH_CACHE": str(tmp_path / "cache"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
            timeout=240,
        )
    told = done.stdout
    assert done.returncode == 0, told
    assert told.count("26 passed") == 3, "24 trials and 2 hypotheses, three times"
    assert "handbook: corpus/articles/handbook.txt" in told
    assert "minutes: corpus/articles/minutes.txt" in told
    assert "checked 4 documents" in told
    assert "warning  model file" in told
    assert "=== tokenbench plan ===" in told
    *former, newest = sorted((tmp_path / "my-study" / "reports" / "first-study").iterdir())
    assert "tower-q1" in (newest / "run.json").read_text(encoding="utf-8")
    assert "tower-q1" not in (former[0] / "run.json").read_text(encoding="utf-8")
    assert told.rstrip().endswith(f"and reports/first-study/{newest.name}/report.html")


def test_readme_stays_short(repository):
    page = (repository / "README.md").read_text(encoding="utf-8")
    own = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", page, flags=re.DOTALL)
    assert len(own.splitlines()) < 240
