"""Text from the model and its server: it steers no terminal and breaks no file."""

import re

import pytest
from small_project import MODEL, PASSING, STUDY, Reader, Server
from stub_ollama import StubModel

NASTY = (
    "\x1b[31mred\x1b[2J\a %s %(x)s {0} {x} <script>alert(1)</script> ]]> & \x00 \u202e | `x` \r overwritten "
    "\u2028 \u2029 \x85 \u061c"
)
CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u202e]"


@pytest.fixture(scope="module")
def ran(make_project):
    study = STUDY.replace("    trial.ask()", '    assert trial.ask().answer == "Ada Finch"')
    reader = Reader({("Question: Who was the miller",): NASTY, ("Write a summary", "Orrin"): NASTY})
    with Server(
        reader,
        breaks=("Question: Who built", "Mereth"),
        models={MODEL: StubModel(digest=f"{NASTY}1", quantization=NASTY)},
        version=NASTY,
    ) as server:
        server_error = server.reply

        def reply(request):
            status, body, fault = server_error(request)
            return status, ({"error": NASTY} if status == 500 else body), fault

        server.reply = reply
        return make_project(study=study + PASSING).run("-n2", "-rA", server=server)


def test_no_control_character_reaches_the_terminal(ran):
    assert not re.findall(CONTROL, ran.text)


def test_failure_still_shows_what_the_answer_was(ran):
    ran.has("E *assert '\\x1b[[]31mred* == 'Ada Finch'")


def test_answer_is_kept_as_it_came(ran):
    assert ran.observations["A-orrin-q02"]["answer"] == NASTY


def test_junit_can_be_read_and_has_no_markup_from_outside(ran):
    assert len(ran.cases) == 38
    properties = {one.name: one.value for suite in ran.junit for one in suite.properties()}
    assert "%s %(x)s {0} {x} <script>alert(1)</script> ]]> &" in properties["tokenbench.server_version"]
    assert "\x1b" not in "".join(properties.values())
    assert "<script>" not in (ran.path / "junit.xml").read_text(encoding="utf-8").replace("<![CDATA[", "")


def test_report_shows_it_as_text(ran):
    report = ran.file("report.md")

    assert "<script>" not in report
    assert "\\<script\\>alert(1)\\</script\\>" in report
    assert not re.findall(CONTROL, report)
