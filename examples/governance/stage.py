"""The processes and files of the demonstration: the command, servers, a witness, officers with keys, and requests."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request


class Fault(Exception):
    """Something did not happen as the demonstration says."""


class Answer:
    def __init__(self, status, body):
        self.status, self.body = status, body

    @property
    def text(self):
        """Returns the error, or the whole body."""
        return self.body.get("error", "") if isinstance(self.body, dict) else str(self.body)

    def output(self, name):
        return next(output["data"] for output in self.body["outputs"] if output["name"] == name)


class Process:
    """A process whose stderr goes to a file, in which a line says that it is ready."""

    def __init__(self, command, folder, log, ready):
        self.log = pathlib.Path(log)
        with self.log.open("w") as errors:
            self.process = subprocess.Popen(
                command, stdout=errors, stderr=errors, stdin=subprocess.DEVNULL, cwd=folder
            )
        self.found = None
        end = time.monotonic() + 60
        while self.found is None and self.process.poll() is None and time.monotonic() < end:
            self.found = re.search(ready, self.log.read_text())
            time.sleep(0.02)

    @property
    def is_ready(self):
        return self.found is not None

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=60)


class Stage:
    """A folder with everything that the demonstration writes."""

    def __init__(self, frazil, folder):
        self.frazil, self.folder = str(pathlib.Path(frazil).resolve()), pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True)
        self.processes = []

    def path(self, *parts):
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, name, text):
        self.path(name).write_text(text)
        return self.path(name)

    def run(self, *words, expect=0):
        """Runs the command and returns its output. Raises Fault for another exit code."""
        ended = subprocess.run(
            [self.frazil, *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=120
        )
        if expect is not None and ended.returncode != expect:
            said = (ended.stdout + ended.stderr).strip()
            raise Fault(f"frazil {' '.join(map(str, words))}: expected exit code {expect}, got {ended.returncode}: {said}")
        return ended.stdout + ended.stderr

    def start(self, words, log, ready):
        process = Process([self.frazil, *map(str, words)], self.folder, self.path(log), ready)
        self.processes.append(process)
        return process

    def stop_all(self):
        for process in reversed(self.processes):
            process.stop()


class Officer:
    """A person with a key pair."""

    def __init__(self, stage, name, *roles):
        self.name, self.roles = name, roles
        stage.run("keygen", "-o", stage.path("keys", name))
        self.key, self.public = stage.path("keys", name + ".pem"), stage.path("keys", name + ".pub.pem")

    def entry(self):
        return {"name": self.name, "roles": list(self.roles), "key": self.public.read_text()}


class Server:
    """A governed server, with the address at which it answers."""

    def __init__(self, stage, name, words):
        ready = r"listening http=\S+:(\d+) grpc=\S+ metrics=\S+:(\d+)"
        ports = ["--http-port", 0, "--grpc-port", 0, "--metrics-port", 0]
        self.process = stage.start(["serve", *words, *ports], name + ".log", ready)
        if self.process.is_ready:
            self.http, self.metrics = self.process.found.groups()

    @property
    def is_ready(self):
        return self.process.is_ready

    def last_line(self):
        return self.process.log.read_text().strip().splitlines()[-1]

    def ask(self, path, body=None, key=None, port=None):
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port or self.http}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return Answer(reply.status, parsed(reply.read()))
        except urllib.error.HTTPError as error:
            return Answer(error.code, parsed(error.read()))

    def infer(self, model, inputs, key, **parameters):
        """Sends arrays of float32 by name."""
        tensors = [
            {"name": name, "shape": array.shape, "datatype": "FP32", "data": array.ravel().tolist()}
            for name, array in inputs.items()
        ]
        return self.ask(f"/v2/models/{model}/infer", {"inputs": tensors, "parameters": parameters}, key)

    def load(self, model, key):
        return self.ask(f"/v2/repository/models/{model}/load", {}, key)

    def wait_for(self, text):
        end = time.monotonic() + 30
        while text not in self.process.log.read_text():
            if time.monotonic() > end:
                raise Fault(f"the server's log lacks '{text}': {self.last_line()}")
            time.sleep(0.05)

    def metric(self, name, key):
        lines = self.ask("/metrics", key=key, port=self.metrics).body.splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name)}

    def reload(self):
        """Has the server read its policy and configuration again."""
        os.kill(self.process.process.pid, signal.SIGHUP)

    def stop(self):
        return self.process.stop()


def parsed(body):
    text = body.decode()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
