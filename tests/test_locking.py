"""One writer a run folder: who holds it is told, and a holder that dies leaves it."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import made_runs
import pytest

from pytest_tokenbench import run_folder
from pytest_tokenbench.locking import FILE, HeldError, Lock
from pytest_tokenbench.run_folder import RunError

HOLDER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from pytest_tokenbench.locking import Lock
    lock = Lock(Path(sys.argv[1]))
    print("held", flush=True)
    time.sleep(600)
    """
)


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_second_process_is_told_which_one_holds_it(tmp_path, holder):
    with pytest.raises(HeldError, match=f"^process {holder.pid} on {socket.gethostname()}$"):
        Lock(tmp_path)


def test_second_process_that_opens_a_run_is_told_in_one_sentence(tmp_path):
    folder = made_runs.folder(tmp_path)
    lock = run_folder.lock(folder)
    with pytest.raises(RunError) as refused:
        run_folder.lock(folder)
    lock.release()
    sentence = (
        f"process {os.getpid()} on {socket.gethostname()} is writing this run; wait until it ends, or end it"
    )
    assert str(refused.value) == f"{folder}: {sentence}"


def test_being_refused_leaves_the_lock_to_its_holder(tmp_path, holder):
    for _ in range(3):
        with pytest.raises(HeldError, match=str(holder.pid)):
            Lock(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_holder_that_is_killed_leaves_it(tmp_path, holder, number):
    holder.send_signal(number)
    holder.wait()
    assert (tmp_path / FILE).exists()
    lock = Lock(tmp_path)
    assert (tmp_path / FILE).read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"
    lock.release()


def test_releasing_leaves_an_empty_folder_that_can_be_locked_again(tmp_path):
    for _ in range(2):
        lock = Lock(tmp_path)
        lock.release()
        lock.release()
        assert not list(tmp_path.iterdir())


def test_of_many_that_try_at_once_one_holds_it_at_a_time(tmp_path):
    holders = 0
    most = 0
    taken = 0

    def work():
        nonlocal holders, most, taken
        while taken < 200:
            try:
                lock = Lock(tmp_path)
            except HeldError:
                continue
            holders += 1
            most = max(most, holders)
            taken += 1
            holders -= 1
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken >= 200
    assert most == 1


@pytest.mark.parametrize("text", ["", "process 1 on \x1b[31m\n", "process 1 on there and more\n", "x" * 9999])
def test_a_holder_is_not_named_after_a_file_that_says_something_else(tmp_path, text):
    lock = Lock(tmp_path)
    (tmp_path / FILE).write_text(text)
    with pytest.raises(HeldError, match=r"^another process$"):
        Lock(tmp_path)
    lock.release()


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_a_link_in_its_place_is_refused_and_what_it_leads_to_not_changed(tmp_path, link):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    folder = tmp_path / "run"
    folder.mkdir()
    getattr(folder / FILE, link)(outside)
    with pytest.raises(OSError, match="link"):
        Lock(folder)
    assert outside.read_text() == "mine"
