"""The ledger: what is appended is read back, a torn line is set aside, damage and a full disk are told."""

import gc
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
            pytest.param(b'{"other":' + b"[" * 100_000, id="nested without end"),
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


class TestClosing:
    def test_once_is_enough_and_more_closes_nobody_else_s_file(self, path, tmp_path):
        book = Ledger(path)
        book.append(ONE)
        book.close()
        with (tmp_path / "other").open("w") as other:  # it has the handle that became free
            book.close()
            other.write("still open")
        assert (tmp_path / "other").read_text() == "still open"


class TestTornLine:
    """What a write left that was cut short, when the ledger is opened the next time."""

    @pytest.mark.parametrize("length", [1, 40, 65_535, 65_536, 65_537, 200_000])
    @pytest.mark.parametrize("before", [0, 2])
    def test_is_moved_beside_the_ledger_and_told_and_no_record_is_glued_to_it(self, path, length, before):
        whole = (ledger.encode(ONE) + b"\n") * before
        torn = b"x" * length
        path.write_bytes(whole + torn)
        book = Ledger(path)
        assert book.torn == torn.decode()
        assert path.read_bytes() == whole
        book.append(ONE)
        book.close()
        assert path.read_bytes() == whole + ledger.encode(ONE) + b"\n"
        assert beside(path).read_bytes() == torn + b"\n"

    def test_joins_those_of_earlier_times(self, path):
        for torn in (b"{one", b"{two\xff"):
            with path.open("ab") as file:
                file.write(torn)
            write(path, ONE)
        assert beside(path).read_bytes() == b"{one\n{two\xff\n"
        assert read(path, Observation) == ledger.Reading((ONE, ONE))

    def test_there_is_none_after_a_ledger_was_written_to_its_end(self, path):
        write(path, ONE)
        book = Ledger(path)
        assert book.torn is None
        book.close()
        assert not beside(path).exists()

    def test_stays_in_the_ledger_if_it_cannot_be_set_aside(self, path):
        path.write_bytes(b"{torn")
        beside(path).mkdir()
        with pytest.raises(IsADirectoryError):
            Ledger(path)
        assert path.read_bytes() == b"{torn"


def beside(path):
    return path.with_name("observations.jsonl.torn")


class TestLinks:
    """A ledger that someone else handed over."""

    @pytest.fixture
    def outside(self, tmp_path):
        outside = tmp_path / "outside"
        outside.write_bytes(ledger.encode(ONE) + b"\n{torn")
        return outside

    def test_a_symbolic_link_is_neither_read_nor_written(self, path, outside):
        path.symlink_to(outside)
        before = outside.read_bytes()
        with pytest.raises(OSError, match="symbolic link"):
            Ledger(path)
        with pytest.raises(OSError, match="symbolic link"):
            read(path, Observation)
        assert outside.read_bytes() == before

    def test_a_link_to_nothing_makes_no_file(self, path, tmp_path):
        path.symlink_to(tmp_path / "new")
        with pytest.raises(OSError, match="symbolic link"):
            Ledger(path)
        assert not (tmp_path / "new").exists()

    def test_a_hard_link_is_not_written(self, path, outside):
        path.hardlink_to(outside)
        before = outside.read_bytes()
        with pytest.raises(OSError, match="hard link"):
            Ledger(path)
        assert outside.read_bytes() == before

    def test_torn_lines_are_not_set_aside_through_a_link(self, path, outside):
        path.write_bytes(b"{torn")
        beside(path).symlink_to(outside)
        before = outside.read_bytes()
        with pytest.raises(OSError, match="symbolic link"):
            Ledger(path)
        assert outside.read_bytes() == before
        assert path.read_bytes() == b"{torn"

    def test_a_named_pipe_is_refused_and_not_waited_for(self, path):
        os.mkfifo(path)
        with pytest.raises(OSError, match="no regular file"):
            read(path, Observation)


class TestFullDisk:
    @pytest.fixture
    def cramped(self, path):
        """Appends in a process whose files the system cuts off at a size, as a full disk does; tells what came of it."""

        def run(size: int) -> list[str]:
            program = textwrap.dedent(
                f"""
                import resource, sys
                sys.path.insert(0, {str(Path(__file__).parent)!r})
                import scripted
                from pathlib import Path
                from pytest_tokenbench.ledger import Ledger
                book = Ledger(Path({str(path)!r}))
                resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
                for _ in range(4):
                    try:
                        book.append(scripted.observation(scripted.question(), "A"))
                        print("kept")
                    except OSError as error:
                        print(error.filename, error.strerror)
                book.close()
                """
            )
            done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
            return done.stdout.splitlines()

        return run

    @pytest.mark.parametrize("room", [1, 100, -1])
    def test_a_record_without_room_is_an_error_that_leaves_no_part_of_itself(self, path, cramped, room):
        length = len(ledger.encode(ONE)) + 1
        told = cramped(2 * length + room % length)
        assert told[:2] == ["kept", "kept"]
        assert all(line.startswith(f"{path} only ") for line in told[2:]), told
        assert len(told) == 4
        assert read(path, Observation) == ledger.Reading((ONE, ONE))

    def test_a_file_that_is_full_to_its_last_byte_is_an_error_with_its_path(self, path, cramped):
        told = cramped(2 * (len(ledger.encode(ONE)) + 1))
        assert told == ["kept", "kept"] + [f"{path} File too large"] * 2
        assert read(path, Observation) == ledger.Reading((ONE, ONE))

    def test_a_record_is_kept_once_there_is_room_again(self, path, monkeypatch):
        book = Ledger(path)
        real = os.write
        monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:20]))
        with pytest.raises(OSError, match="only 20 of"):
            book.append(ONE)
        monkeypatch.undo()
        book.append(ONE)
        book.close()
        assert read(path, Observation) == ledger.Reading((ONE,))

    def test_a_folder_that_is_not_there_raises(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            Ledger(tmp_path / "no" / "observations.jsonl")


class TestManyRecords:
    def test_reading_leaves_the_garbage_collector_as_it_was(self, path):
        write(path, ONE)
        read(path, Observation)
        assert gc.isenabled()
        path.write_bytes(b"damaged\n")
        with pytest.raises(LedgerError):
            read(path, Observation)
        assert gc.isenabled()
        gc.disable()
        try:
            with pytest.raises(LedgerError):
                read(path, Observation)
            assert not gc.isenabled()
        finally:
            gc.enable()
