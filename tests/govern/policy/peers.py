#!/usr/bin/env python3
"""Compares the policy language with CEL and Cedar.

    peers.py BUILD [--seed N] [--expressions N] [--rule-sets N]

Random expressions are evaluated by @bufbuild/cel, random rule sets by @cedar-policy/cedar-wasm, and the cases of
cel-spec by Frazil. The peers come from npm, into BUILD/policy-peers. Exit code 1: a result differs. Without the registry
the script says so in one line and ends with 77.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from npm_packages import install  # noqa: E402

PACKAGES = {"@bufbuild/cel": "0.6.1", "@bufbuild/cel-spec": "0.6.1", "@cedar-policy/cedar-wasm": "4.13.0"}


def compared(program: pathlib.Path, folder: pathlib.Path, mode: str, seed: int, count: int) -> dict:
    """Pipes Frazil's results into the peer. Returns its counts."""
    with subprocess.Popen([program, mode, str(seed), str(count)], stdout=subprocess.PIPE) as ours:
        done = subprocess.run(["node", HERE / "peers.mjs", mode], cwd=folder, stdin=ours.stdout,
                              stdout=subprocess.PIPE, text=True, timeout=3600, check=True)
    if ours.returncode != 0:
        raise RuntimeError(f"policy_peers {mode} ended with {ours.returncode}")
    return json.loads(done.stdout)


def is_equal(a, b) -> bool:
    if isinstance(a, dict) and "double" in a and isinstance(b, dict) and "double" in b:
        first, second = (float(x["double"].replace("Infinity", "inf")) for x in (a, b))
        return first == second or (first != first and second != second)
    if isinstance(a, dict) and "map" in a and isinstance(b, dict) and "map" in b:
        order = lambda pair: json.dumps(pair[0])  # noqa: E731
        return is_equal(sorted(a["map"], key=order), sorted(b["map"], key=order))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_equal, a, b))
    return type(a) is type(b) and a == b


def spec_cases(program: pathlib.Path, folder: pathlib.Path) -> dict:
    """Evaluates the cases of cel-spec without bindings. What the language refuses is counted by group."""
    listed = subprocess.run(["node", HERE / "peers.mjs", "cases"], cwd=folder, stdout=subprocess.PIPE, text=True,
                            check=True, timeout=600).stdout
    done = subprocess.run([program, "evaluate"], input=listed, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    counts, refused = collections.Counter(), collections.Counter()
    for case, result in zip(map(json.loads, listed.splitlines()), map(json.loads, done.stdout.splitlines()), strict=True):
        if "refused" in result:
            kind = "errors_refused" if case["error"] else "refused"
            refused[case["name"].split("/")[1]] += kind == "refused"
        elif case["error"]:
            kind = "equal" if "error" in result else "differences"
        else:
            kind = "equal" if "value" in result and is_equal(case["value"], result["value"]) else "differences"
        counts[kind] += 1
        if kind == "differences":
            print(f"{case['name']}: {case['expr']}: expected {case.get('value', 'an error')}, got {result}", file=sys.stderr)
    return {"differences": 0, **counts, "refused_by_group": dict(refused)}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--rule-sets", type=int, default=10_000)
    options = parser.parse_args()
    build = options.build.resolve()
    folder, program = build / "policy-peers", build / "tests" / "policy_peers"
    if not install(folder, PACKAGES):
        print("skipped: the peers are not available: npm or its registry cannot be reached")
        return 77
    results = {
        "cel-spec": spec_cases(program, folder),
        "cel": compared(program, folder, "expressions", options.seed, options.expressions),
        "cedar": compared(program, folder, "rules", options.seed, options.rule_sets),
    }
    print(json.dumps(results))
    return 1 if any(result["differences"] for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
