"""A headless Chromium and one page in it, driven through the DevTools protocol over a pair of pipes."""

import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "no Chromium is found, which these tests look at the report with; install one "
    "(apt-get update && apt-get install -y chromium) or name it in the environment variable CHROMIUM"
)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE_S = 120  # for one answer, on a machine that is busy with other things


class Chromium:
    """Messages are JSON ended by a NUL; the browser reads them from its handle 3 and writes them to its handle 4."""

    def __init__(self, profile):
        program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise AssertionError(MISSING)
        reading, self._to = os.pipe()
        self._from, writing = os.pipe()
        # The shell moves the handles, since Python hands them on under the numbers that they have.
        command = 'exec "$@" 3<&"$READING" 4>&"$WRITING"'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            env=os.environ | {"READING": str(reading), "WRITING": str(writing)},
            pass_fds=(reading, writing),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reading)
        os.close(writing)
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events = []

    def call(self, method, session=None, **parameters):
        """The answer to one command; what else the browser tells meanwhile is added to `events`."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next(PATIENCE_S)
            assert told is not None, f"Chromium does not answer {method}"
            if told.get("id") == number:
                assert "error" not in told, f"{method}: {told['error']}"
                return told["result"]
            self.events.append(told)

    def listen(self, seconds):
        """Takes down what the browser tells for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            told = self._next(left)
            if told is not None:
                self.events.append(told)

    def _next(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            got = os.read(self._from, 1 << 20)
            assert got, "Chromium has ended"
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def page(self, **media):
        """A new page."""
        return Page(self, **media)

    def close(self):
        """Ends the browser."""
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
        try:
            self._process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)


class Page:
    """One page, with what it told on its console and what it asked the network for."""

    def __init__(self, browser, width=1280, height=900):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width, height, scheme="light"):
        """The size of the window in pixels, and whether the user likes it light or dark."""
        mobile = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        """Loads an address, until the page's script has run. One that differs in its fragment alone is loaded too."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE_S
        while not self.run(
            f"location.href.startsWith({json.dumps(url)}) && document.readyState === 'complete'"
        ):
            assert time.monotonic() < end, f"{url} is not loaded"
            self.browser.listen(0.02)

    def run(self, expression):
        """The value of a JavaScript expression in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told.get("exceptionDetails")
        return told["result"].get("value")

    def press(self, key, code=None):
        """Presses and lets go one key."""
        text = {"Enter": "\r", "Space": " "}.get(code or key)
        more = {} if text is None else {"text": text}
        name = " " if code == "Space" else key
        windows = {"Enter": 13, "Tab": 9, "Space": 32}.get(code or key, 0)
        for kind in ("keyDown", "keyUp"):
            its = more if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=name,
                code=code or key,
                windowsVirtualKeyCode=windows,
                **its,
            )

    def told(self, *methods):
        """The parameters of what the page told by these methods."""
        return [
            one["params"]
            for one in self.browser.events
            if one.get("sessionId") == self.session and one["method"] in methods
        ]
