#!/usr/bin/env python3
"""Mutation testing: changes one place of a source at a time and reports the changes that no test detects.

    mutate.py [--count N] [--seed N] [--folder NAME]... [--file PATH]... [--seconds N] [--commit REV] [--report FILE]

Works in a separate checkout (build-mutants/tree) with its own build, so the working tree does not change. A mutant
changes one operator, constant, condition or statement. Its result is

    invalid     if it does not compile,
    same        if its object file has the same bytes: the change has no effect,
    killed      if a test fails, crashes or exceeds its time limit,
    survived    otherwise.

The score is killed / (killed + survived). An existing report is extended: mutants in it are not run again.
"""

import argparse
import collections
import functools
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = ROOT / "build-mutants"
TREE = HOME / "tree"
BUILD = HOME / "build"

# Parts of the tests: a program and its filter of cases, or "python" and files of python/tests. A third element
# divides a long part into shards; each mutant runs one of them.
SUITE = [
    (
        "suite",
        "*PlanCode*:*Together*:*Beside*:*Scratch*:*Resume*:*Append.*:*Control.*:*WorkersLimits*:*Device.*:*PlanKeys*:*Native*",
    ),
    ("suite", "*TextSuite*:-*group_query*:*microsoft*:*ml_*"),
    ("suite", "*RandomGraphs*:*Kernels*:*Workers*:*Loops*:*QuantProducts*:*RowProducts*:*Attend*:*Fusion*", 2),
    ("suite", "Onnx/Cases.OfSmallModels/*:*Stored*", 4),
]


def all_of(name):
    return name, "*"


# The sources of a group, and the parts of the tests that must detect a change in them.
GROUPS = {
    "exec": (
        ["src/exec/**/*.cc"],
        [
            *map(all_of, ("concurrent", "api", "debug")),
            ("inject", "*", 4),
            ("error", "*Limit*:*Deadline*:*Cancel*:*Overflow*"),
            *SUITE,
        ],
    ),
    "code": (
        ["src/code/**/*.cc"],
        [*map(all_of, ("tile", "concurrent", "api")), *SUITE],
    ),
    "plan": (
        ["src/plan/memory/*.cc", "src/plan/resume/resume.cc", "src/plan/model/verify_plan.cc"],
        [*map(all_of, ("plan", "concurrent", "api")), *SUITE],
    ),
    "lazy": (
        ["src/lazy/**/*.cc"],
        [
            all_of("api"),
            ("python", "test_lazy.py test_lazy_functions.py"),
            ("python", "test_lazy_batches.py test_numpy_agreement.py"),
        ],
    ),
    "server": (
        ["server/state/*.cc", "server/access/*.cc", "server/batch/*.cc", "server/http/http_*.cc", "server/net/wire.cc"],
        [all_of("server")],
    ),
}

# Environment variables that a test program needs. tests/CMakeLists.txt sets the same.
ENVIRONMENT = {"inject": {"FRAZIL_TIER": "0"}}

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*', re.S | re.M)

# A pattern and its replacements. Binary operators have spaces around them in formatted sources.
OPERATORS = [
    (r" < ", [" <= ", " > "]),
    (r" > ", [" >= ", " < "]),
    (r" <= ", [" < "]),
    (r" >= ", [" > "]),
    (r" == ", [" != "]),
    (r" != ", [" == "]),
    (r" && ", [" || "]),
    (r" \|\| ", [" && "]),
    (r" \+ ", [" - "]),
    (r" - ", [" + "]),
    (r" \* ", [" + "]),
    (r" / ", [" * "]),
    (r" % ", [" / "]),
    (r" \+= ", [" -= ", " = "]),
    (r" -= ", [" += "]),
    (r" \|= ", [" &= ", " = "]),
    (r"\+\+", ["--"]),
    (r"(?<=[(=,\s])!(?=[\w(])", [""]),
    (r"\bstd::min\b", ["std::max"]),
    (r"\bstd::max\b", ["std::min"]),
    (r"\bany_of\b", ["all_of", "none_of"]),
    (r"\ball_of\b", ["any_of"]),
    (r"\btrue\b", ["false"]),
    (r"\bfalse\b", ["true"]),
    (r"(?<![\w.'])0(?![\w.'])", ["1"]),
    (r"(?<![\w.'])1(?![\w.'])", ["0", "2"]),
    (r"(?<![\w.'])([2-9]|[1-9]\d+)(?![\w.'])", ["{0}+1"]),
    (r"\bcontinue;", ["break;"]),
    (r"\bbreak;", ["continue;"]),
]
CONDITION = re.compile(r"^(\s*(?:\} else )?if (?:constexpr )?\()(?!const |auto |.*;)(.+)(\)(?: \{| \[\[\w+\]\]| return.*;| continue;| break;)?)$")
STATEMENT = re.compile(r"^\s*(?:[\w:.\->\[\]()*]+(?:\(.*\)|\s(?:=|\+=|-=|\|=)\s.*|\+\+|--)|\+\+.*|FRAZIL_CHECK\(.*\));$")
DECLARATION = re.compile(r"^\s*(?:return|const|auto|static|using|constexpr|throw|delete|friend|goto|case|default)\b")


def blank(text):
    """Returns the text with comments, strings and directives replaced by spaces."""
    return TOKEN.sub(lambda t: re.sub(r"[^\n]", " ", t[0]), text)


def mutants_of_line(line, code):
    """Yields each (kind, changed line) of a line. `code` is the line without comments and strings."""
    for pattern, replacements in OPERATORS:
        for hit in re.finditer(pattern, code):
            for to in replacements:
                yield "operator", line[: hit.start()] + to.format(hit[0]) + line[hit.end() :]
    if (hit := CONDITION.match(code)) and hit[2].count("(") == hit[2].count(")"):
        inner = line[hit.start(2) : hit.end(2)]
        yield "condition", line[: hit.start(2)] + f"!({inner})" + line[hit.end(2) :]
    if STATEMENT.match(code) and not DECLARATION.match(code) and code.count("(") == code.count(")"):
        yield "statement", line[: len(line) - len(line.lstrip())] + ";"


def mutants_of(path):
    text = (TREE / path).read_text()
    lines, codes = text.split("\n"), blank(text).split("\n")
    for number, (line, code) in enumerate(zip(lines, codes), 1):
        if "template <" in code or "static_assert" in code or "requires" in code:
            continue
        for kind, changed in mutants_of_line(line, code):
            if changed != line:
                yield {"file": path, "line": number, "kind": kind, "from": line.strip(), "to": changed}


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def start(command, environment=None, output=subprocess.DEVNULL):
    return subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True, env=environment, cwd=HOME)


def run(command, seconds):
    """Returns the exit status, or None after a time-out."""
    process = start(command)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        end(process)
        return None


def checkout(commit):
    head = subprocess.run(["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    if not TREE.exists():
        HOME.mkdir(exist_ok=True)
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", str(TREE), head], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "-q", "--detach", "--force", head], cwd=TREE, check=True)
    (HOME / "one_by_one.cmake").write_text(one_by_one())
    options = ["-DFRAZIL_PYTHON=ON", f"-DCMAKE_PROJECT_INCLUDE={HOME}/one_by_one.cmake", *(f"-DFRAZIL_{o}=OFF" for o in ("BENCH", "EXAMPLES", "VIEW"))]
    subprocess.run(["cmake", "--preset", "release", "-B", str(BUILD), *options], cwd=TREE, check=True)
    subprocess.run(["ninja", "-C", str(BUILD), "frazil_python"], check=True)  # the whole package, not only the module
    return head


def one_by_one():
    """Returns CMake code that excludes the sources of the groups from unity builds."""
    by_folder = collections.defaultdict(list)
    for name in GROUPS:
        for path in sources_of(name):
            by_folder[next(f for f in path.parents if (f / "CMakeLists.txt").exists())].append(path)
    return "".join(
        f"cmake_language(DEFER CALL set_source_files_properties {' '.join(map(str, paths))}"
        f" DIRECTORY {folder} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)\n"
        for folder, paths in by_folder.items()
    )


def sources_of(group):
    return sorted(path for pattern in GROUPS[group][0] for path in TREE.glob(pattern))


def object_of(path):
    found = list(BUILD.glob(f"**/{'/'.join(path.split('/')[-2:])}.o"))
    folder = path.split("/")[-2]
    found = [o for o in found if f"/{folder}/" in str(o) and "tests" not in o.relative_to(BUILD).parts]
    return found[0] if found else None


class Tests:
    """The parts of the tests of a group, with the duration of each on unchanged code."""

    def __init__(self, parts, build_seconds):
        self.parts = list(parts)
        self.build_seconds = build_seconds
        shared = ROOT.parent / "shared"
        self.environment = dict(os.environ, FRAZIL_CODE_CACHE=str(HOME / "code"), FRAZIL_SHARED=str(shared), PYTHONPATH=str(BUILD / "python"))
        self.seconds = {}

    def build(self):
        targets = {"frazil_module" if name == "python" else f"frazil_test_{name}" for name, *_ in self.parts}
        return run(["ninja", "-C", str(BUILD), "frazil_jit", *sorted(targets)], self.build_seconds)

    def start(self, part, number=0, output=subprocess.DEVNULL):
        name, cases, *shards = part
        environment = self.environment | ENVIRONMENT.get(name, {})
        for count in shards:
            environment |= {"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(number % count)}
        if name == "python":
            files = [TREE / "python/tests" / file for file in cases.split()]
            return start([interpreter(), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files], environment, output)
        program = BUILD / "tests" / f"frazil_test_{name}"
        command = [program, "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter={cases}"]
        return start(command, environment, output)

    def measure(self):
        if self.build() != 0:
            sys.exit(f"the tests do not build: ninja -C {BUILD} says why")
        for part in self.parts:
            begin = time.monotonic()
            with open(HOME / "unchanged.txt", "w") as output:
                if self.start(part, output=output).wait() != 0:
                    sys.exit(f"{part} fails on unchanged code: see {output.name}")
            self.seconds[part] = time.monotonic() - begin
            print(f"{part[0]} {part[1]}: {self.seconds[part]:.1f} s", file=sys.stderr, flush=True)
        self.parts.sort(key=self.seconds.get)

    def killer(self, number):
        """Returns the first part that detects mutant `number`, or None. Runs one part per core at a time.

        Precondition: build()."""
        waiting, running = list(self.parts), {}
        try:
            while waiting or running:
                while waiting and len(running) < os.cpu_count():
                    part = waiting.pop(0)
                    running[part] = self.start(part, number), time.monotonic() + 20 + 4 * self.seconds[part]
                for part, (process, until) in list(running.items()):
                    status = process.poll()
                    if status is None and time.monotonic() < until:
                        continue
                    if status != 0:
                        return f"{part[0]} {part[1]} ({'time' if status is None else status})"
                    del running[part]
                time.sleep(0.05)
            return None
        finally:
            for process, _ in running.values():
                end(process)


@functools.cache
def interpreter():
    """Returns the Python that the package is built for."""
    return re.search(r"^Python_EXECUTABLE:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.M)[1]


@functools.cache
def unchanged_object(path):
    """Returns the bytes of the object file. Precondition: the source has not changed since the last build."""
    return object_of(path).read_bytes()


def judge(mutant, tests):
    path = TREE / mutant["file"]
    original = path.read_text()
    unchanged = unchanged_object(mutant["file"])
    lines = original.split("\n")
    lines[mutant["line"] - 1] = mutant["to"]
    try:
        path.write_text("\n".join(lines))
        changed = object_of(mutant["file"])
        if run(["ninja", "-C", str(BUILD), str(changed.relative_to(BUILD))], tests.build_seconds) != 0:
            return "invalid", None
        if changed.read_bytes() == unchanged:
            return "same", None
        if tests.build() != 0:
            return "invalid", None
        killer = tests.killer(mutant["line"])
        return ("survived", None) if killer is None else ("killed", killer)
    finally:
        path.write_text(original)


def score_line(name, results):
    counts = collections.Counter(r["result"] for r in results)
    judged = counts["killed"] + counts["survived"]
    share = f"{100 * counts['killed'] / judged:.0f} %" if judged else "-"
    return f"{name:10} {len(results):5} {counts['invalid']:8} {counts['same']:5} {counts['killed']:7} {counts['survived']:9} {share:>6}"


def report(results):
    print(f"{'group':10} {'tried':>5} {'invalid':>8} {'same':>5} {'killed':>7} {'survived':>9} {'score':>6}")
    for name in GROUPS:
        if own := [r for r in results if r["group"] == name]:
            print(score_line(name, own))
    print(score_line("all", results))
    for r in results:
        if r["result"] == "survived":
            print(f"\n{r['file']}:{r['line']}: {r['kind']}\n  - {r['from']}\n  + {r['to'].strip()}")


def chosen(groups, files, count, seed):
    """Returns the mutants to try as (group, mutant), by the seed. Groups have equal shares and alternate."""
    each = -(-count // len(groups))
    picked = []
    for name in groups:
        paths = [str(path.relative_to(TREE)) for path in sources_of(name)]
        of_group = [m for p in paths if not files or p in files for m in mutants_of(p)]
        random.Random(f"{seed} {name}").shuffle(of_group)
        picked.append([(name, m) for m in of_group[:each]])
    return [m for row in itertools.zip_longest(*picked) for m in row if m]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", action="append", choices=list(GROUPS))
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--build-seconds", type=float, default=3600)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--report", type=pathlib.Path, default=HOME / "report.json")
    parser.add_argument("--list", action="store_true", help="print the mutants without running them")
    options = parser.parse_args()
    begin = time.monotonic()
    head = checkout(options.commit)
    groups = options.folder or list(GROUPS)
    todo = chosen(groups, options.file, options.count, options.seed)
    if options.list:
        for group, m in todo:
            print(f"{group} {m['file']}:{m['line']}: {m['kind']}: {m['from']}  ->  {m['to'].strip()}")
        return
    results = json.loads(options.report.read_text()) if options.report.exists() else []
    known = {(r["file"], r["from"], r["to"]) for r in results}
    tests = {}
    for group, mutant in todo:
        if time.monotonic() - begin > options.seconds:
            break
        if (mutant["file"], mutant["from"], mutant["to"]) in known:
            continue
        if group not in tests:
            tests[group] = Tests(GROUPS[group][1], options.build_seconds)
            tests[group].measure()
        result, killer = judge(mutant, tests[group])
        results.append({"group": group, **mutant, "result": result, "by": killer, "commit": head})
        options.report.write_text(json.dumps(results, indent=1))
        print(f"{result:9} {mutant['file']}:{mutant['line']} {killer or ''}", file=sys.stderr, flush=True)
    report(results)
    shutil.rmtree(HOME / "code", ignore_errors=True)


if __name__ == "__main__":
    main()
