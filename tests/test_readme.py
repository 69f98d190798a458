import importlib.util
import re
import tomllib


def test_options_in_the_readme_are_those_of_pytest_help(repository):
    path = repository / "scripts" / "refresh_readme.py"
    spec = importlib.util.spec_from_file_location("refresh_readme", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert "--tokenbench-quick" in script.options()
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
