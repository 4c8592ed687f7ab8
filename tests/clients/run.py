#!/usr/bin/env python3
"""Runs programs that were written for ONNX Runtime on the genuine library and on Frazil's, and compares.

    run.py BUILD [--client NAME]... [--rounds N] [--shared DIR] [--no-count]

The clients come from npm, into BUILD/clients. Results must be equal. Times are medians of what each client measures; the
libraries take turns. A shim counts the functions that each client calls on Frazil's library. Without the registry the
script says so in one line and ends with 77.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from npm_packages import install  # noqa: E402

PACKAGES = {
    "onnxruntime-node": "1.30.0",
    "sherpa-onnx-node": "1.13.8",
    "@gutenye/ocr-node": "1.4.8",
    "@huggingface/transformers": "4.3.2",
    "@ricky0123/vad-web": "0.0.31",
    "@siteed/sherpa-onnx.rn": "1.3.1",  # has ONNX Runtime's own headers in C++
}
LIBRARIES = {"theirs": "node_modules/onnxruntime-node/bin/napi-v6/linux/x64", "ours": "../compat"}
TARGETS = {"node_cases": 1.0, "sherpa_vad": 0.4, "ocr": 0.9, "transformers": 0.9}


def result_of(name: str, done: subprocess.CompletedProcess):
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            found = json.loads(line[len("RESULT "):])
            return found["results"], found["ms"]
    raise RuntimeError(f"{name}: no result, exit code {done.returncode}: {done.stderr.strip()[-800:]}")


class CxxProgram:
    """A program that is compiled on ONNX Runtime's own header, and linked to the library."""

    name, program = "C++", "cxx_program"

    def __init__(self, models: pathlib.Path):
        self.models = models

    def run(self, folder: pathlib.Path, library: pathlib.Path | None, extra: dict[str, str] | None = None):
        program = folder / "cxx_program"
        headers = folder / "node_modules/@siteed/sherpa-onnx.rn/prebuilt/include/onnxruntime"
        if not program.exists():
            subprocess.run(["c++", "-std=c++17", "-O1", f"-I{headers}", HERE / "cxx_program.cc", "-o", program,
                            f"-L{folder / LIBRARIES['ours']}", "-lonnxruntime"], check=True)
        place = library.parent if library else folder / LIBRARIES["theirs"]
        done = subprocess.run([program, self.models], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ) | {"LD_LIBRARY_PATH": str(place)} | (extra or {}))
        return result_of(self.name, done)


class Client:
    """A client program with its arguments."""

    def __init__(self, name: str, program: str, *arguments: object):
        self.name, self.program = name, program
        self.arguments = [str(argument) for argument in arguments]

    def run(self, folder: pathlib.Path, library: pathlib.Path | None, extra: dict[str, str] | None = None):
        """Returns the results and the milliseconds. `library` replaces the genuine one."""
        environment = dict(os.environ) | (extra or {})
        sherpa = folder / "node_modules" / "sherpa-onnx-linux-x64"
        environment["LD_LIBRARY_PATH"] = str(sherpa)
        if library is not None:
            environment["LD_PRELOAD"] = str(library)
        done = subprocess.run(["node", HERE / f"{self.program}.mjs", *self.arguments], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        return result_of(self.name, done)


def differences(theirs, ours) -> list[str]:
    if isinstance(theirs, dict):
        return [f"{key}: {str(theirs[key])[:200]} / {str(ours.get(key))[:200]}"
                for key in theirs if theirs[key] != ours.get(key)]
    return [] if theirs == ours else [f"{str(theirs)[:300]} / {str(ours)[:300]}"]


def refused_functions() -> set[str]:
    text = (HERE.parent.parent / "compat/onnxruntime/functions.def").read_text()
    return set(re.findall(r"^REFUSED\((\w+)", text, re.MULTILINE))


def count(client: Client | CxxProgram, folder: pathlib.Path, shim: pathlib.Path, ours: pathlib.Path) -> set[str]:
    """Returns the functions that the client calls."""
    counts = folder / f"{client.name}.counts"
    counts.unlink(missing_ok=True)
    client.run(folder, shim, {"FRAZIL_SHIM_LIBRARY": str(ours), "FRAZIL_SHIM_COUNTS": str(counts)})
    return {line.split()[0] for line in counts.read_text().splitlines()}


def clients(folder: pathlib.Path, models: pathlib.Path, shared: pathlib.Path) -> list[Client | CxxProgram]:
    found = [Client("onnxruntime-node", "node_cases", models)]
    wave = shared / "models/silero_vad/speech.wav"
    vad = folder / "node_modules/@ricky0123/vad-web/dist"
    versions = {"v4": vad / "silero_vad_legacy.onnx", "v5": vad / "silero_vad_v5.onnx",
                "v6": shared / "models/silero_vad/model.onnx"}
    if wave.exists():
        found += [Client(f"sherpa-onnx-node {v}", "sherpa_vad", models, path, wave) for v, path in versions.items()]
    else:
        print(f"skipped: sherpa-onnx-node, because there is no recording {wave}")
    if shutil.which("c++"):
        found.append(CxxProgram(models))
    return [*found, Client("ocr-node", "ocr", models), Client("transformers.js", "transformers", models)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--client", action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shared", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FRAZIL_SHARED") or HERE.parents[2] / "shared"))
    parser.add_argument("--no-count", action="store_true")
    args = parser.parse_args()
    build = args.build.resolve()
    folder, models = build / "clients", build / "clients/models"
    if not install(folder, PACKAGES):
        print("skipped: the npm registry cannot be reached, or npm is missing")
        return 77
    subprocess.run([sys.executable, HERE / "models.py", models], check=True,
                   env=dict(os.environ) | {"PYTHONPATH": str(build / "python")})
    ours = build / "compat/libonnxruntime.so.1"
    refused, failed = refused_functions(), False
    print(f"{'client':<22} {'theirs ms':>10} {'ours ms':>10} {'ratio':>6} {'target':>7}  functions  result")
    for client in clients(folder, models, args.shared):
        if args.client and client.name not in args.client:
            continue
        times: dict[str, list[float]] = {"theirs": [], "ours": []}
        wrong: list[str] = []
        for _ in range(args.rounds):
            theirs, ms = client.run(folder, None)
            times["theirs"].append(ms)
            mine, ms = client.run(folder, ours)
            times["ours"].append(ms)
            wrong = wrong or differences(theirs, mine)
        called = set() if args.no_count else count(client, folder, build / "compat/shim/libonnxruntime.so.1", ours)
        wrong += [f"calls {name}, which is refused" for name in sorted(called & refused)]
        outcome = "equal" if not wrong else "DIFFERS"
        if None in times["ours"]:
            figures = f"{'':>10} {'':>10} {'':>6} {'':>7}"
        else:
            a, b = (statistics.median(times[which]) for which in ("theirs", "ours"))
            figures = f"{a:>10.2f} {b:>10.2f} {b / a:>6.2f} {TARGETS[client.program]:>7}"
        print(f"{client.name:<22} {figures}  {len(called):>9}  {outcome}", flush=True)
        for line in wrong:
            print(f"    {line}")
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
