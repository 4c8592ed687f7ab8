"""The processes of the demonstration: Redis, replicas of frazil serve, and HAProxy."""

import asyncio
import ctypes
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
HAPROXY = HERE.parents[1] / "packaging" / "haproxy.cfg"
NAMES = ("first", "second")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def end_with_parent():
    """Runs in a child before exec(): makes it end when the demonstration is killed."""
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def found(program):
    """Returns the path of a program. Debian installs servers in sbin, which may be missing from PATH."""
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise SystemExit(f"there is no {program}: run scripts/install-deps.sh --demo")
    return path


class Replica:
    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.http, self.grpc, self.metrics = free_ports(3)
        self.process = None

    def start(self):
        f = self.fleet
        ports = ["--http-port", self.http, "--grpc-port", self.grpc, "--metrics-port", self.metrics]
        command = [f.frazil, "serve", f.models, *ports, "--config", f.folder / "frazil.yaml"]
        self.process = f.start(self.name, command)

    def ask(self, method, path, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.http, timeout=20)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def load(self, model):
        """Makes the replica reload a model or a pipeline of the folder."""
        status, text = self.ask("POST", f"/v2/repository/models/{model}/load")
        if status != 200:
            raise RuntimeError(f"replica {self.name} does not load {model}: {status} {text}")

    def is_ready(self):
        try:
            return self.ask("GET", "/v2/health/ready")[0] == 200
        except OSError:
            return False

    def memory(self):
        """Returns the resident memory of the process in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1000


class Fleet:
    """All processes of the demonstration. The end of the `with` block ends them."""

    def __init__(self, folder, frazil):
        self.folder, self.frazil = pathlib.Path(folder), frazil
        self.models = self.folder / "models"
        self.started = []
        self.redis_port, self.http, self.grpc, self.status = free_ports(4)
        self.replicas = {name: Replica(self, name) for name in NAMES}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, name, command, **environment):
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env={**os.environ, **environment},
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        self.started.append(process)
        return process

    def start_all(self):
        self.start_redis()
        self.start_replicas((HERE / "frazil.yaml").read_text())
        self.start_haproxy()

    def start_redis(self):
        command = [found("redis-server"), "--port", self.redis_port, "--bind", "127.0.0.1", "--save", ""]
        redis = self.start("redis", command)
        self.wait(lambda: self.redis("PING") == "+PONG", redis, "redis")

    def start_replicas(self, config):
        """With a configuration in which Redis is at its usual port."""
        config = config.replace("127.0.0.1:6379", f"127.0.0.1:{self.redis_port}")
        (self.folder / "frazil.yaml").write_text(config)
        for replica in self.replicas.values():
            replica.start()
        for replica in self.replicas.values():
            self.wait(replica.is_ready, replica.process, replica.name)

    def start_haproxy(self):
        addresses = {
            "FRAZIL_HTTP": self.http,
            "FRAZIL_GRPC": self.grpc,
            "FRAZIL_STATUS": self.status,
            "FRAZIL_FIRST_HTTP": self.replicas["first"].http,
            "FRAZIL_FIRST_GRPC": self.replicas["first"].grpc,
            "FRAZIL_SECOND_HTTP": self.replicas["second"].http,
            "FRAZIL_SECOND_GRPC": self.replicas["second"].grpc,
        }
        environment = {name: f"127.0.0.1:{port}" for name, port in addresses.items()}
        environment["FRAZIL_ADMIN"] = str(self.folder / "haproxy.sock")
        haproxy = self.start("haproxy", [found("haproxy"), "-f", HAPROXY], **environment)
        self.wait(lambda: all(self.is_up(name) for name in NAMES), haproxy, "haproxy")

    def wait(self, condition, process, name, seconds=20):
        limit = time.monotonic() + seconds
        while not condition():
            if process.poll() is not None or time.monotonic() > limit:
                log = (self.folder / f"{name}.log").read_text()
                raise SystemExit(f"{name} does not start:\n{log}")
            time.sleep(0.02)

    def redis(self, *words):
        """Returns the first line of Redis's answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.redis_port), 5) as connection:
                connection.sendall(" ".join(words).encode() + b"\r\n")
                return connection.makefile().readline().strip()
        except OSError:
            return ""

    def redis_number(self, section, name):
        """Returns a number of Redis's INFO."""
        with socket.create_connection(("127.0.0.1", self.redis_port), 5) as connection:
            connection.sendall(f"INFO {section}\r\n".encode())
            for line in connection.makefile():
                if line.startswith(name + ":"):
                    return int(line.split(":")[1])
        raise RuntimeError(f"Redis does not tell {name}")

    def balancer(self):
        """Returns HAProxy's statistics of the replicas, by name."""
        connection = http.client.HTTPConnection("127.0.0.1", self.status, timeout=5)
        connection.request("GET", "/stats;csv")
        lines = connection.getresponse().read().decode().lstrip("# ").splitlines()
        connection.close()
        rows = [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]
        return {row["svname"]: row for row in rows if row["pxname"] == "models"}

    def is_up(self, name):
        try:
            return self.balancer()[name]["status"].startswith("UP")
        except OSError:
            return False

    async def until_up(self, name, seconds=20):
        limit = time.monotonic() + seconds
        while not await asyncio.to_thread(self.is_up, name):
            if time.monotonic() > limit:
                raise RuntimeError(f"HAProxy does not see that replica {name} is ready")
            await asyncio.sleep(0.05)
