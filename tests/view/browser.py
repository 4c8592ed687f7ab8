"""A headless Chromium, driven over the WebDriver protocol (https://www.w3.org/TR/webdriver2/)."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1400,900",
]  # fmt: skip


def installed():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.at = f"http://127.0.0.1:{free_port()}"
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=" + self.at.rsplit(":", 1)[1]], stdout=subprocess.DEVNULL
        )
        self.session = ""
        while not self._answers():
            assert self.driver.poll() is None, "chromedriver has ended"
            time.sleep(0.05)
        options = {"binary": shutil.which("chromium"), "args": [*OPTIONS, "--user-data-dir=" + self.profile.name]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + made["sessionId"]

    def close(self):
        if self.session:
            self._call("DELETE", self.session)
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def open(self, url):
        self._call("POST", self.session + "/url", {"url": url})

    def run(self, script):
        return self._call("POST", self.session + "/execute/sync", {"script": script, "args": []})

    def click(self, selector):
        self._call("POST", f"{self._element(selector)}/click", {})

    def type(self, selector, text):
        self._call("POST", f"{self._element(selector)}/value", {"text": text})

    def text(self, selector):
        return self._call("GET", f"{self._element(selector)}/text")

    def messages(self):
        """What the page has said on the console since the last call."""
        return [m["message"] for m in self._call("POST", self.session + "/se/log", {"type": "browser"})]

    def open_page(self, url):
        """Opens a page of `frazil view`; returns once it shows its graph, or fails with what it says instead."""
        self.open(url)
        while (state := self.run("return document.body.dataset.ready")) is None:
            assert (said := self.messages()) == [], said
            time.sleep(0.05)
        assert state == "yes", self.text("#status")

    def _element(self, selector):
        found = self._call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        return f"{self.session}/element/{next(iter(found.values()))}"

    def _answers(self):
        try:
            return self._call("GET", "/status")["ready"]
        except OSError:
            return False

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.at + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]
