"""How a session ends before its last trial: because it is told to, or because xdist can bring no more."""

import contextlib
import signal
import threading
from typing import Any

import pytest

from pytest_tokenbench.deciding import Board


class Ending:
    """Ends a session early, and lets those go who wait for decisions that an ending session does not bring.

    xdist waits for its workers before pytest hears of the end: one that waits for a decision would keep it for ever.
    """

    def __init__(self, config: pytest.Config, board: Board) -> None:
        self._config = config
        self._board = board
        self._is_near = False
        self._lost = 0
        self._former_handler: Any = None

    @property
    def _xdist(self) -> Any:
        return self._config.pluginmanager.get_plugin("dsession")

    def catch_sigterm(self) -> None:
        """A session that is told to end writes down where it stands, as after Ctrl-C."""
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        ):

            def interrupt(number: int, _frame: Any) -> None:
                raise KeyboardInterrupt(signal.Signals(number).name)

            self._former_handler = signal.signal(signal.SIGTERM, interrupt)

    def leave_sigterm(self) -> None:
        """Gives the signal back."""
        if self._former_handler is not None:
            signal.signal(signal.SIGTERM, self._former_handler)
            self._former_handler = None

    def stop(self, session: pytest.Session | None, why: str) -> None:
        """Ends the session after the trials that are under way. Under xdist its own session must be told."""
        for one in (session, self._xdist):
            if one is not None and not one.shouldstop:
                one.shouldstop = f"tokenbench: {why}"
        self.let_go()

    def let_go(self) -> None:
        """Has nobody wait for a decision from now on."""
        self._is_near = True
        with contextlib.suppress(OSError):  # those who wait look at who started them as well
            self._board.end()

    def look(self) -> None:
        """Lets go those who wait if xdist was told to stop."""
        if not self._is_near and getattr(self._xdist, "shouldstop", False):
            self.let_go()

    def lost(self, node: Any, error: object) -> None:
        """A worker of xdist is gone, by itself or with an error. xdist acts on that only afterwards."""
        told = getattr(node, "workeroutput", {})
        stops = told.get("shouldfail") or told.get("shouldstop")
        if error is not None:
            from xdist.dsession import get_default_max_worker_restart  # noqa: PLC0415  # xdist is there: it called

            self._lost += 1
            most = get_default_max_worker_restart(self._config)
            stops = stops or (most is not None and self._lost > most)
        if stops or told.get("exitstatus") == pytest.ExitCode.INTERRUPTED:
            self.let_go()
        else:
            self.look()
