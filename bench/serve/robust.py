#!/usr/bin/env python3
"""Clients that a server must survive: idle ones by thousands, more than there are files, stopped, slow and gone ones.

    bench/serve/robust.py [BUILD] [--only SECTION,...] [--connections N]

Sections: idle (memory of a connection that does nothing, and what others are answered in meanwhile), waiting (memory
of requests that wait for another server in a pipeline, and what is left of it after their end), files
(connections beyond the limit of open files), stopped (clients that vanish without a word), slow (headers, bodies and readers), gone (clients that leave while their request waits or
runs: the time until the server's processor is idle). Prints a row for each, and ends with 1 where one is not as it
should be.
"""

import argparse
import contextlib
import os
import pathlib
import re
import resource
import selectors
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 2.0  # seconds, of the servers
failures = []


def row(section, what, value, good=True):
    print(f"{section:8} {what:58} {value}{'' if good else '   <-- NOT AS IT SHOULD BE'}", flush=True)
    if not good:
        failures.append(f"{section}: {what}")


# ---- the server ----


class Server:
    def __init__(self, build, folder, *options, files=None):
        command = [build / "frazil", "serve", folder, "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
        self.process = subprocess.Popen([*map(str, command), *map(str, options)], stderr=subprocess.PIPE, text=True,
                                        preexec_fn=self.limit(files) if files else None)
        line = self.process.stderr.readline()
        while " warning " in line:
            line = self.process.stderr.readline()
        found = re.search(r"listening http=\S+:(\d+) grpc=\S+:(\d+) metrics=\S+:(\d+)", line)
        if not found:
            sys.exit("the server did not start: " + line)
        self.http, self.grpc, self.metrics = map(int, found.groups())
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    @staticmethod
    def limit(files):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        row("", "the server ended with", self.process.returncode, self.process.returncode == 0)

    def memory(self):
        """Bytes of its own."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024

    def processor_seconds(self):
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def seconds_until_idle(self, most=20):
        """From now until a window of 20 ms has less than 1 ms of work."""
        began = time.monotonic()
        while time.monotonic() - began < most:
            spent, at = self.processor_seconds(), time.monotonic()
            time.sleep(0.02)
            if self.processor_seconds() - spent < 0.001:
                return at - began
        return float("inf")

    def wait_for_work(self):
        while True:
            spent = self.processor_seconds()
            time.sleep(0.05)
            if self.processor_seconds() - spent > 0.02:
                return

    def wait_for_files(self, most, seconds):
        """Seconds until it has no more than so many open; infinite after so long."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self.files() <= most:
                return time.monotonic() - began
            time.sleep(0.02)
        return float("inf")


# ---- clients ----


def connect(port):
    return socket.create_connection(("127.0.0.1", port))


def post(path, body, more=""):
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


def small(rows=1):
    data = ",".join(["1"] * (4 * rows))
    json = f'{{"inputs":[{{"name":"x","datatype":"FP32","shape":[{rows},4],"data":[{data}]}}]}}'
    return post("/v2/models/small/infer", json.encode())


def large_answer():
    """16 MB of JSON for 4 MB of tensor."""
    rows = 250_000
    json = (f'{{"inputs":[{{"name":"x","datatype":"FP32","shape":[{rows},4],'
            f'"parameters":{{"binary_data_size":{16 * rows}}}}}]}}').encode()
    tensor = struct.pack(f"<{4 * rows}f", *([1 / 3] * (4 * rows)))
    return post("/v2/models/small/infer", json + tensor, f"Inference-Header-Content-Length: {len(json)}\r\n")


def count(rounds):
    json = f'{{"inputs":[{{"name":"n","datatype":"INT64","shape":[],"data":[{rounds}]}}]}}'
    return post("/v2/models/count/infer", json.encode())


def answer_of(client):
    """Status and size of an answer's body; 0 where the connection ends instead."""
    text = b""
    while b"\r\n\r\n" not in text:
        got = client.recv(65536)
        if not got:
            return 0, 0
        text += got
    head, body = text.split(b"\r\n\r\n", 1)
    size = int(re.search(rb"Content-Length: (\d+)", head)[1])
    while len(body) < size:
        got = client.recv(1 << 20)
        if not got:
            return 0, 0
        body += got
    return int(head.split()[1]), size


class Http2:
    """As much of gRPC as a request needs."""

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    def __init__(self, client):
        self.client = client
        self.client.sendall(self.PREFACE + self.frame(4, 0, 0, b""))
        self.next = 1

    @staticmethod
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def call(self, method, message, ends=True):
        text = lambda s: bytes([len(s)]) + s.encode()
        headers = {":method": "POST", ":scheme": "http", ":path": "/inference.GRPCInferenceService/" + method,
                   ":authority": "h", "te": "trailers", "content-type": "application/grpc"}
        block = b"".join(b"\0" + text(name) + text(value) for name, value in headers.items())
        body = b"\0" + struct.pack(">I", len(message)) + message
        stream, self.next = self.next, self.next + 2
        self.client.sendall(self.frame(1, 4, stream, block) + self.frame(0, 1 if ends else 0, stream, body))
        return stream

    def reset(self, stream):
        self.client.sendall(self.frame(3, 0, stream, struct.pack(">I", 8)))


def field(tag, value):
    assert len(value) < 128
    return bytes([tag << 3 | 2, len(value)]) + value


def count_message(rounds):
    return field(1, b"count") + field(5, field(1, b"n") + field(2, b"INT64")) + field(7, struct.pack("<q", rounds))


class Beside:
    """Small requests on one connection while something else goes on; milliseconds of each."""

    def __init__(self, port):
        self.client = connect(port)

    def ask(self, seconds):
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            self.client.sendall(small())
            status, _ = answer_of(self.client)
            if status != 200:
                failures.append(f"a small request was answered with {status}")
                return [float("inf")]
            times.append(1000 * (time.monotonic() - began))
            time.sleep(0.001)
        return times

    @staticmethod
    def shown(times):
        ordered = sorted(times)
        return f"p50 {statistics.median(ordered):.2f} p99 {ordered[int(0.99 * (len(ordered) - 1))]:.2f} ms of {len(ordered)}"


# ---- sections ----


def certificate(folder):
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], capture_output=True)
    return ["--tls-certificate", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem"] if made.returncode == 0 else None


def idle_clients(server, kind, number):
    clients = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for _ in range(number):
        client = connect(server.grpc if kind == "gRPC" else server.http)
        if kind == "HTTPS":
            client = context.wrap_socket(client)
        if kind == "gRPC":
            client.sendall(Http2.PREFACE + Http2.frame(4, 0, 0, b""))
        if kind == "HTTP after a request":
            client.sendall(small())
            answer_of(client)
        clients.append(client)
    return clients


def idle(make, number):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    number = min(number, hard - 100)
    with tempfile.TemporaryDirectory() as folder:
        tls = certificate(folder)
        for kind in ("HTTP", "HTTP after a request", "gRPC", "HTTPS"):
            if kind == "HTTPS" and tls is None:
                row("idle", "HTTPS", "left out: no openssl command")
                continue
            options = ["--max-connections", number + 100, *(tls if kind == "HTTPS" else [])]
            with make(*options) as server:
                beside = Beside(server.http) if kind != "HTTPS" else None
                alone = beside.ask(2) if beside else []
                before = server.memory()
                clients = idle_clients(server, kind, number)
                time.sleep(0.5)
                each = (server.memory() - before) / number / 1024
                row("idle", f"{number} {kind} connections: memory of each", f"{each:.1f} KiB", each < 128)
                spent = server.processor_seconds()
                time.sleep(3)
                share = (server.processor_seconds() - spent) / 3
                row("idle", f"{number} {kind} connections: processor", f"{100 * share:.2f} %", share < 0.05)
                if beside:
                    row("idle", "a client alone", Beside.shown(alone))
                    row("idle", "a client beside them", Beside.shown(beside.ask(2)))
                for client in clients:
                    client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class SlowServer:
    """Reads requests, and answers all of them on release()."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.texts, self.lock, self.ending = {}, threading.Lock(), False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.ending:
            for key, _ in self.selector.select(0.05):
                if key.fileobj is self.listener:
                    client = self.listener.accept()[0]
                    self.selector.register(client, selectors.EVENT_READ)
                    continue
                got = key.fileobj.recv(65536)
                with self.lock:
                    self.texts[key.fileobj] = self.texts.get(key.fileobj, b"") + got
                if not got:
                    self.selector.unregister(key.fileobj)
                    self.texts.pop(key.fileobj)
                    key.fileobj.close()

    def waiting(self):
        with self.lock:
            return sum(text.endswith(b"}") for text in self.texts.values())

    def release(self):
        body = b'{"outputs":[{"name":"y","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}'
        with self.lock:
            for client, text in self.texts.items():
                if text:
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            self.texts = dict.fromkeys(self.texts, b"")

    def close(self):
        self.ending = True
        self.thread.join()
        for client in self.texts:
            client.close()
        self.listener.close()


PIPELINE = """
inputs: {{x: 'f32[N,4]'}}
steps:
  - {{name: other, http: {{url: 'http://127.0.0.1:{port}/infer', inputs: {{x: x}}, outputs: {{y: 'f32[N,4]'}}, timeout_ms: 100000}}}}
outputs: {{y: other.y}}
"""


def wait_in_pipeline(server, slow, number):
    """Bytes of a waiting request, without its connections, and the bytes that are left of each after its end."""
    clients = [connect(server.http) for _ in range(number)]
    for client in clients:
        client.sendall(small())
        answer_of(client)
    before = server.memory()
    for client in clients:
        client.sendall(small().replace(b"/small/", b"/waits/"))
    while slow.waiting() < number:
        time.sleep(0.05)
    time.sleep(0.5)
    during = server.memory()
    slow.release()
    good = all(answer_of(client)[0] == 200 for client in clients)
    row("waiting", f"{number} requests of a pipeline were answered", "yes" if good else "no", good)
    time.sleep(0.5)
    after = server.memory()
    for client in clients:
        client.close()
    return (during - before) / number, (after - before) / number


def waiting(make, folder):
    slow = SlowServer()
    pipeline = pathlib.Path(folder) / "waits.yaml"
    pipeline.write_text(PIPELINE.format(port=slow.port))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    options = ["--max-connections", 4096, "--max-waiting", 4096]
    with make(*options) as server:
        for number in (1, 200, 2000, 2000):
            during, after = wait_in_pipeline(server, slow, number)
            row("waiting", f"{number} requests wait: memory of each", f"{during / 1024:.1f} KiB", during < 1 << 16 or number == 1)
            row("waiting", f"{number} requests have ended: memory left of each", f"{after / 1024:.1f} KiB")
    pipeline.unlink()
    slow.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def files(make):
    """More connections than it may have open files."""
    with make(files=64) as server:
        clients = [connect(server.http) for _ in range(200)]
        time.sleep(0.2)
        spent = server.processor_seconds()
        time.sleep(2)
        share = (server.processor_seconds() - spent) / 2
        row("files", "processor while 200 clients want 64 files", f"{100 * share:.2f} %", share < 0.05)
        for client in clients:
            client.close()
        row("files", "a client when they are gone", Beside.shown(Beside(server.http).ask(0.5)))


def stopped(make):
    """They do not close, as one whose machine has lost its power: no packet of theirs comes any more."""
    with make("--patience", PATIENCE) as server:
        before = server.files()
        program = (
            "import socket, sys, time\n"
            "clients = []\n"
            f"for payload in ({large_answer()!r}, {small()[:20]!r}, {small()[:-5]!r}, b''):\n"
            "  for port in sys.argv[1:]:\n"
            "    for _ in range(5):\n"
            "      clients.append(socket.create_connection(('127.0.0.1', int(port))))\n"
            "      clients[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)\n"
            "      clients[-1].sendall(payload if port == sys.argv[1] else b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n')\n"
            "print('ready', flush=True)\n"
            "time.sleep(1000)\n")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            client = subprocess.Popen([sys.executable, file.name, str(server.http), str(server.grpc)],
                                      stdout=subprocess.PIPE)
            client.stdout.readline()
            client.send_signal(signal.SIGSTOP)
        times = Beside(server.http).ask(1)
        row("stopped", "a client beside 40 that are stopped", Beside.shown(times))
        seconds = server.wait_for_files(before, 10 * PATIENCE)
        row("stopped", f"they are given up after (patience {PATIENCE:.0f} s)", f"{seconds:.1f} s", seconds < 4 * PATIENCE)
        client.kill()


def trickle(client, payload, stop):
    """A byte each tenth of a second."""
    with contextlib.suppress(OSError):
        for at in range(len(payload)):
            if stop.wait(0.1):
                return
            client.sendall(payload[at:at + 1])


def slow(make):
    for what, begin in (("headers", b""), ("bodies", small()[:-60]), ("chunks", post("/v2", b"").replace(
            b"Content-Length: 0", b"Transfer-Encoding: chunked"))):
        with make("--patience", PATIENCE) as server:
            before, stop = server.files(), threading.Event()
            clients = [connect(server.http) for _ in range(200)]
            for client in clients:
                client.sendall(begin)
            rest = {"headers": small(), "bodies": small()[-60:], "chunks": b"1\r\nx\r\n" * 20}[what]
            threads = [threading.Thread(target=trickle, args=(client, rest, stop)) for client in clients]
            for thread in threads:
                thread.start()
            row("slow", f"a client beside 200 with slow {what}", Beside.shown(Beside(server.http).ask(1)))
            seconds = server.wait_for_files(before, 10 * PATIENCE)
            row("slow", f"slow {what} are given up after", f"{seconds:.1f} s", seconds < 3 * PATIENCE)
            stop.set()
            for thread in threads:
                thread.join()
    with make("--patience", PATIENCE) as server:
        before, memory = server.files(), server.memory()
        clients = [connect(server.http) for _ in range(20)]
        request = large_answer()
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(request)
        row("slow", "a client beside 20 that do not read 16 MB", Beside.shown(Beside(server.http).ask(1)))
        row("slow", "memory for them", f"{(server.memory() - memory) / 1e6:.0f} MB", server.memory() - memory < 1e9)
        seconds = server.wait_for_files(before, 10 * PATIENCE)
        row("slow", "readers that do not read are given up after", f"{seconds:.1f} s", seconds < 3 * PATIENCE)
        seconds = server.seconds_until_idle()
        row("slow", "and then the processor is idle after", f"{1000 * seconds:.0f} ms", seconds < 1)


def leave(client):
    client.close()


def break_off(client):
    """With a reset instead of an end."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def gone(make):
    long = 2_000_000_000
    with make() as server:
        for how, go in (("leaves", leave), ("breaks off", break_off)):
            for waiting in (0, 20):
                clients = [connect(server.http) for _ in range(1 + waiting)]
                for client in clients:
                    client.sendall(count(long))
                server.wait_for_work()
                for client in clients:
                    go(client)
                row("gone", f"HTTP: {how}, one runs, {waiting} wait: idle after", *shown_idle(server))
        for method in ("ModelInfer", "ModelStreamInfer"):
            for waiting in (0, 20):
                client = connect(server.grpc)
                session = Http2(client)
                for _ in range(1 + waiting):
                    session.call(method, count_message(long), ends=method == "ModelInfer")
                server.wait_for_work()
                client.close()
                row("gone", f"{method}: leaves, one runs, {waiting} wait: idle after", *shown_idle(server))
            client = connect(server.grpc)
            session = Http2(client)
            stream = session.call(method, count_message(long), ends=False)
            other = session.call(method, count_message(long), ends=method == "ModelInfer")
            server.wait_for_work()
            session.reset(stream)
            session.reset(other)
            row("gone", f"{method}: resets two streams: idle after", *shown_idle(server))
            client.close()
        client = connect(server.http)
        client.sendall(b"GET /v2/live/events?every_ms=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(1000)
        before = server.files()
        client.close()
        seconds = server.wait_for_files(before - 1, 5)
        row("gone", "live view: leaves: closed after", f"{1000 * seconds:.0f} ms", seconds < 1)


def shown_idle(server):
    seconds = server.seconds_until_idle()
    return f"{1000 * seconds:.0f} ms", seconds < 0.2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build", type=pathlib.Path)
    parser.add_argument("--only", default="idle,waiting,files,stopped,slow,gone")
    parser.add_argument("--connections", type=int, default=10_000)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "bench" / "serve_models", folder, "--small"], check=True, cwd=build.parent)
        make = lambda *options, **more: Server(build, folder, "--workers", 1, *options, **more)
        sections = {"idle": lambda: idle(make, arguments.connections), "waiting": lambda: waiting(make, folder), "files": lambda: files(make),
                    "stopped": lambda: stopped(make), "slow": lambda: slow(make), "gone": lambda: gone(make)}
        for name in arguments.only.split(","):
            sections[name]()
    if failures:
        sys.exit("not as it should be: " + "; ".join(failures))


if __name__ == "__main__":
    main()
