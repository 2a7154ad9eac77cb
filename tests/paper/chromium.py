"""Chromium without a window, driven through a pipe by its DevTools protocol: no driver, no socket, no package."""

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 300  # seconds that all tests together may take


class Page:
    """A tab; keeps what was logged and what was asked of the network."""

    def __init__(self, read, write):
        self._read, self._write, self._n, self._session, self._buffer = read, write, 0, None, b""
        self.events = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        """Send a command and return its result."""
        self._n += 1
        message = {"id": self._n, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        self._write.flush()
        while (answer := self._next()).get("id") != self._n:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _next(self):
        while b"\0" not in self._buffer:
            piece = os.read(self._read.fileno(), 1 << 20)
            if not piece:
                raise RuntimeError("the browser has gone")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, url):
        """Open a page and wait until it is loaded."""
        self.events.clear()
        self.send("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def run(self, script):
        """Return what an expression, or the promise that it gives, comes to."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def press(self, key, code):
        """Press a key, as a keyboard would."""
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def size(self, width, height=900):
        """Give the page the size of a screen."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def media(self, media="", **features):
        """Show the page as on paper, or on a dark screen: `prefers_color_scheme="dark"`."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", media=media, features=named)

    def picture(self, path, clip=None):
        """Keep a picture of the whole page, or of a part of it."""
        options = {"clip": {**clip, "scale": 1}} if clip else {}
        found = self.send("Page.captureScreenshot", captureBeyondViewport=True, **options)
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, path):
        """Print the page."""
        path.write_bytes(base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"]))

    def of(self, method):
        """Return the events of one kind."""
        return [event["params"] for event in self.events if event["method"] == method]


@contextmanager
def browser(profile) -> Iterator[Page]:
    """Start Chromium and end it; a browser that no longer answers is ended too."""
    to_read, from_write = os.pipe()
    from_read, to_write = os.pipe()
    shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'  # the protocol wants these two numbers
    process = subprocess.Popen(
        ["/bin/bash", "-c", shell, "bash", PROGRAM, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_read)
    os.close(to_write)
    alarm = threading.Timer(PATIENCE, process.kill)
    alarm.start()
    try:
        with os.fdopen(from_read, "rb", 0) as read, os.fdopen(from_write, "wb", 0) as write:
            yield Page(read, write)
    finally:
        alarm.cancel()
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
