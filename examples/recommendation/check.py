"""Runs the example with its own Redis server, and compares the scores with NumPy.

    PYTHONPATH=build/python python3 examples/recommendation/check.py [FRAZIL]
"""

import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import histories
import model
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
USERS, LISTED = 300, 50


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_redis(folder):
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, f"127.0.0.1:{port}"
        except ConnectionRefusedError:
            time.sleep(0.01)
    process.kill()
    sys.exit("redis-server does not start")


def start_server(frazil, folder):
    ports = ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
    process = subprocess.Popen([frazil, "serve", folder, *ports], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if found := re.search(r"http=(\S+)", line):
            return process, found[1]
    sys.exit("the server does not start")


def ask(server, users, candidates):
    """Returns scores and status."""
    tensors = {"user_id": users, "candidates": candidates}
    inputs = [
        {"name": name, "datatype": "INT64", "shape": list(value.shape), "data": value.reshape(-1).tolist()}
        for name, value in tensors.items()
    ]
    body = json.dumps({"inputs": inputs}).encode()
    with urllib.request.urlopen(f"http://{server}/v2/models/recommend/infer", body, timeout=10) as answer:
        outputs = {o["name"]: np.array(o["data"]).reshape(o["shape"]) for o in json.load(answer)["outputs"]}
    return outputs["scores"], outputs["status"]


def wanted(users, candidates):
    found = [histories.history(int(user)) if user < USERS else None for user in users]
    items = [entry[0][-LISTED:] if entry else [] for entry in found]
    activity = [entry[1] if entry else 0 for entry in found]
    return model.expected(items, activity, candidates), [0 if entry else 2 for entry in found]


def compare(server):
    """Checks the scores against NumPy and returns the largest difference."""
    rng = np.random.default_rng(1)
    largest = 0
    for rows in (1, 2, 7, 40) * 5:
        users = rng.integers(0, USERS + 30, rows)
        candidates = rng.integers(0, model.ITEMS, (rows, int(rng.integers(1, 200))))
        scores, status = ask(server, users, candidates)
        right, right_status = wanted(users, candidates)
        assert status.tolist() == right_status, (users, status)
        np.testing.assert_allclose(scores, right, rtol=1e-4, atol=1e-4)
        largest = max(largest, float(np.abs(scores - right).max()))
    return largest


def check_without_redis(server, redis):
    """Checks that users get popular items, without a long wait, while Redis does not respond."""
    redis.send_signal(signal.SIGSTOP)
    users, candidates = np.array([10_000]), np.array([[1, 2, 3]])
    began = time.monotonic()
    scores, status = ask(server, users, candidates)
    took = time.monotonic() - began
    redis.send_signal(signal.SIGCONT)
    assert status.tolist() == [4], status
    np.testing.assert_allclose(scores, model.expected([[]], [0], candidates), rtol=1e-4)
    return took


def main():
    frazil = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/frazil")
    with tempfile.TemporaryDirectory() as folder:
        redis, address = start_redis(folder)
        try:
            histories.write(address, USERS)
            model.write(folder + "/models", address)
            server, at = start_server(frazil, folder + "/models")
            try:
                print(f"20 requests agree with NumPy, the largest difference is {compare(at):.1e}")
                print(f"while Redis hangs a request takes {1000 * check_without_redis(at, redis):.0f} ms")
            finally:
                server.terminate()
                server.wait()
        finally:
            redis.kill()
            redis.wait()


if __name__ == "__main__":
    main()
