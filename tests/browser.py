"""Chromium, headless, driven over a pipe by the DevTools protocol: the system's own browser, and the standard
library.
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
PATIENCE_S = 40.0  # a busy machine; nothing waits longer than it has to
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--lang=en-US",
    "--remote-debugging-pipe",
)


class Broken(AssertionError):
    """The page, or the browser, did not do what was asked."""


@dataclass
class Pipe:
    """The two ends of the browser's pipe; messages end with a zero byte."""

    to: int
    back: int
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    held: bytes = b""
    events: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, session: str = "", **given: Any) -> dict[str, Any]:
        number = next(self.numbers)
        told = {"id": number, "method": method, "params": given} | ({"sessionId": session} if session else {})
        _written(self.to, json.dumps(told).encode() + b"\0")
        ends = time.monotonic() + PATIENCE_S
        while True:
            message = self.read(ends - time.monotonic())
            if message is None:
                raise Broken(f"no reply to {method}")
            if message.get("id") == number:
                if "error" in message:
                    raise Broken(f"{method}: {message['error']}")
                return dict(message["result"])
            self.events.append(message)

    def read(self, wait_s: float) -> dict[str, Any] | None:
        ends = time.monotonic() + wait_s
        while b"\0" not in self.held:
            ready, _, _ = select.select([self.back], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                return None
            came = os.read(self.back, 1 << 16)
            if not came:
                raise Broken("the browser is gone")
            self.held += came
        message, _, self.held = self.held.partition(b"\0")
        return dict(json.loads(message))


@dataclass
class Tab:
    """One page with cookies and storage of its own."""

    pipe: Pipe
    session: str
    context: str

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        return self.pipe.call(method, self.session, **given)

    def go(self, address: str) -> None:
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        found = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        if "exceptionDetails" in found:
            raise Broken(f"{script[:200]}: {found['exceptionDetails'].get('exception', {}).get('description')}")
        return found["result"].get("value")

    def wait(self, condition: str, wait_s: float = PATIENCE_S) -> None:
        """Until the expression is true."""
        ends = time.monotonic() + wait_s
        while True:
            with suppress(Broken):
                if self.run(f"Boolean({condition})"):
                    return
            if time.monotonic() > ends:
                raise Broken(f"never came true: {condition}; the page says: {self.text()[:1500]}")
            time.sleep(0.05)

    def time_until(self, kind: str) -> None:
        """In pages from now on, `window.came` is when the first element of the kind was there, in milliseconds."""
        source = f"""(() => {{
            const watch = new MutationObserver(() => {{
                if (!document.querySelector({json.dumps(kind)})) return;
                window.came = performance.now();
                watch.disconnect();
            }});
            watch.observe(document, {{ subtree: true, childList: true, attributes: true }});
        }})()"""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=source)

    def sees(self, words: str) -> None:
        self.wait(f"document.body.innerText.includes({json.dumps(words)})")

    def text(self) -> str:
        return str(self.run("document.body.innerText"))

    def click(self, words: str, kind: str = "button, a, summary, label") -> None:
        """What says so, once it is there and may be clicked."""
        found = (
            f"[...document.querySelectorAll({json.dumps(kind)})]"
            f".find((one) => one.innerText.trim().startsWith({json.dumps(words)}) && !one.disabled)"
        )
        self.wait(found)
        self.run(f"{found}.click()")

    def fill(self, label: str, text: str) -> None:
        """The field that the label names, as if it were typed."""
        named = (
            "[...document.querySelectorAll('label')].find((one) => "
            f"one.innerText.trim().startsWith({json.dumps(label)}))"
        )
        self.wait(named)
        self.run(
            f"""(() => {{
                const place = document.getElementById({named}.htmlFor);
                const kind = Object.getPrototypeOf(place);
                Object.getOwnPropertyDescriptor(kind, "value").set.call(place, {json.dumps(text)});
                place.dispatchEvent(new Event(place.tagName === "SELECT" ? "change" : "input", {{ bubbles: true }}));
            }})()"""
        )

    def press(self, key: str, code: int, modifiers: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=modifiers
            )

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def picture(
        self, path: Path, width: int = 1200, height: int = 900, dark: bool = False, phone: bool = False
    ) -> None:
        """The whole page as PNG."""
        self.size(width, height, phone)
        self.dark(dark)
        self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 250)))")
        whole = int(self.run("document.documentElement.scrollHeight"))
        self.size(width, max(height, whole), phone)
        self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 250)))")
        made = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(made["data"]))

    def size(self, width: int, height: int, phone: bool = False) -> None:
        """The window's; the page itself hears of it a moment later."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def dark(self, on: bool) -> None:
        wanted = "dark" if on else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": wanted}])

    def events(self, method: str) -> list[dict[str, Any]]:
        """What the browser told of its own accord, up to now."""
        self.run("1")
        mine = [one for one in self.pipe.events if one.get("sessionId") == self.session]
        return [one["params"] for one in mine if one["method"] == method]

    def close(self) -> None:
        self.pipe.call("Target.disposeBrowserContext", browserContextId=self.context)
        self.pipe.events[:] = [one for one in self.pipe.events if one.get("sessionId") != self.session]


@dataclass
class Browser:
    pipe: Pipe

    def tab(self) -> Tab:
        context = self.pipe.call("Target.createBrowserContext")["browserContextId"]
        target = self.pipe.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self.pipe, session, context)
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            tab.call(f"{domain}.enable")
        # a page has the focus whichever other one was opened last
        tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
        return tab


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser with an empty profile, gone afterwards."""
    read_ours, theirs_out = os.pipe()
    theirs_in, write_ours = os.pipe()
    # 3 and 4 may be in use here
    away = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 64) for end in (theirs_in, theirs_out)]
    quiet = os.open(os.devnull, os.O_RDWR)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        number = os.posix_spawn(
            CHROMIUM, [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"], os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, end, place) for place, end in enumerate((quiet, quiet, *away), 1)],
        )  # fmt: skip
        for end in (theirs_in, theirs_out, *away, quiet):
            os.close(end)
        pipe = Pipe(write_ours, read_ours)
        try:
            yield Browser(pipe)
        finally:
            with suppress(Broken, OSError):
                pipe.call("Browser.close")
            _ended(number)
            os.close(read_ours)
            os.close(write_ours)


def _written(end: int, content: bytes) -> None:
    """All of it: a signal may end a long write early."""
    left = memoryview(content)
    while left:
        left = left[os.write(end, left) :]


def _ended(number: int) -> None:
    """The browser is gone, by itself or else by force."""
    ends = time.monotonic() + 10
    while time.monotonic() < ends:
        if os.waitpid(number, os.WNOHANG)[0]:
            return
        time.sleep(0.05)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
