"""The ledger: what is appended is read back, a torn line is set aside, damage and a full disk are told."""

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
import scripted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_tokenbench import ledger
from pytest_tokenbench.ledger import Ledger, LedgerError, read
from pytest_tokenbench.records import Observation, Outcome, Preparation, Scores, Status

ONE = scripted.observation(scripted.question(), "A")

texts = st.text(max_size=20) | st.sampled_from(
    ["\u2028\u2029", "a\nb\r\n", "\x00\x1b[31m", "\U0001f426", '"\\', "{}"]
)
counts = st.none() | st.integers(0, 10**9)
seconds = st.none() | st.floats(0, 1e6)
scores = st.builds(
    Scores,
    abstained=st.booleans(),
    correct=st.none() | st.booleans(),
    made_up=st.none() | st.booleans(),
    f1=st.none() | st.floats(0, 1),
    squad_f1=st.none() | st.floats(0, 1),
    exact_match=st.none() | st.booleans(),
)
observations = st.builds(
    Observation,
    study=texts,
    question=texts,
    document=texts,
    condition=texts,
    reader=texts,
    repeat=st.integers(0, 9),
    status=st.sampled_from(Status),
    started=texts,
    host=texts,
    worker=texts,
    outcome=st.none() | st.sampled_from(Outcome),
    answer=st.none() | texts,
    input_tokens=counts,
    cached_tokens=counts,
    output_tokens=counts,
    prefill_s=seconds,
    decode_s=seconds,
    load_s=seconds,
    total_s=seconds,
    wall_s=seconds,
    stop=st.none() | texts,
    scores=st.none() | scores,
    context_words=counts,
    context_sha256=st.none() | texts,
    units=st.lists(texts, max_size=3).map(tuple),
    prompt_sha256=st.none() | texts,
    preparation=st.none() | texts,
    error_kind=st.none() | texts,
    error_message=st.none() | texts,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "observations.jsonl"


def write(path, *records):
    book = Ledger(path)
    for record in records:
        book.append(record)
    book.close()


class TestRoundTrip:
    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(observations, max_size=4))
    def test_observations_come_back_as_they_were_in_order_a_line_each(self, path, made):
        path.unlink(missing_ok=True)
        write(path, *made)
        assert read(path, Observation) == ledger.Reading(tuple(made), None)
        assert path.read_bytes().count(b"\n") == len(made)

    def test_preparations_come_back_as_they_were(self, path):
        made = scripted.preparation(
            "Old.\n\u2028", options={"max_words": 600, "most_tokens": None}, cut_sections=(0, 3)
        )
        write(path, made, replace(made, failure="no"))
        assert read(path, Preparation).records == (made, replace(made, failure="no"))

    def test_a_file_that_is_not_there_holds_nothing(self, path):
        assert read(path, Observation) == ledger.Reading(())

    def test_an_empty_file_holds_nothing(self, path):
        write(path)
        assert read(path, Observation) == ledger.Reading(())

    def test_opening_it_again_adds_to_it(self, path):
        write(path, ONE)
        write(path, replace(ONE, repeat=1))
        assert [one.repeat for one in read(path, Observation).records] == [0, 1]


class TestAtOnce:
    def test_a_record_can_be_read_before_the_ledger_is_closed(self, path):
        book = Ledger(path)
        book.append(ONE)
        assert read(path, Observation).records == (ONE,)
        book.close()

    def test_a_killed_process_loses_nothing_that_was_appended(self, path):
        program = textwrap.dedent(
            f"""
            import os, signal, sys
            sys.path.insert(0, {str(Path(__file__).parent)!r})
            import scripted
            from pathlib import Path
            from pytest_tokenbench.ledger import Ledger
            book = Ledger(Path({str(path)!r}))
            for _ in range(50):
                book.append(scripted.observation(scripted.question(), "A"))
            os.kill(os.getpid(), signal.SIGKILL)
            """
        )
        done = subprocess.run([sys.executable, "-c", program], check=False)
        assert done.returncode == -signal.SIGKILL
        assert read(path, Observation) == ledger.Reading((ONE,) * 50)


class TestDamage:
    @pytest.mark.parametrize("kept", [1, 40, -2])
    def test_a_torn_last_line_is_set_aside(self, path, kept):
        write(path, ONE, ONE)
        first, second, _ = path.read_bytes().split(b"\n")
        path.write_bytes(first + b"\n" + second[:kept])
        assert read(path, Observation) == ledger.Reading((ONE,), torn=second[:kept].decode())

    def test_a_line_torn_within_a_letter_is_set_aside_too(self, path):
        path.write_bytes("{\u00e9".encode()[:-1])
        assert read(path, Observation).torn == "{\ufffd"

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"{", id="cut short"),
            pytest.param(b"\xff", id="not UTF-8"),
            pytest.param(b"[]", id="other JSON"),
            pytest.param(b'{"study":"made"}', id="fields missing"),
        ],
    )
    def test_a_damaged_line_is_an_error_that_names_file_and_line(self, path, damage):
        write(path, ONE, ONE)
        first, second, _ = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join([first, damage, second, b""]))
        with pytest.raises(LedgerError, match=r"^observations\.jsonl, line 2: "):
            read(path, Observation)

    def test_a_value_of_the_wrong_kind_is_an_error_that_names_the_field(self, path):
        write(path, ONE)
        path.write_bytes(path.read_bytes().replace(b'"status":"ok"', b'"status":"fine"'))
        with pytest.raises(LedgerError, match=r"line 1: .*fine.*status"):
            read(path, Observation)


class TestFullDisk:
    def test_appending_raises(self):
        book = Ledger(Path("/dev/full"))
        with pytest.raises(OSError, match="No space left"):
            book.append(ONE)

    def test_a_write_that_stops_halfway_raises_and_is_a_torn_line(self, path, monkeypatch):
        book = Ledger(path)
        book.append(ONE)
        real = os.write
        monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:20]))
        with pytest.raises(OSError, match="only 20 of"):
            book.append(ONE)
        monkeypatch.undo()
        book.close()
        assert read(path, Observation).records == (ONE,)
        assert len(read(path, Observation).torn) == 20

    def test_a_folder_that_is_not_there_raises(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            Ledger(tmp_path / "no" / "observations.jsonl")
