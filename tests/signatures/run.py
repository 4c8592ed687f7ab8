#!/usr/bin/env python3
"""Exchanges signatures of models with Sigstore's libraries, and validates bills of materials: run.py BUILD

Their verifier must accept the bundles of 'frazil sign' and refuse changed ones; 'frazil verify' must accept bundles that
their libraries make. A bill of 'frazil bom' must be valid by the schema of CycloneDX 1.7. The libraries come from npm, into
BUILD/signatures. Without the registry the script says so in one line and ends with 77.
"""

import base64
import hashlib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
from npm_packages import install  # noqa: E402

PACKAGES = {"@sigstore/bundle": "5.0.1", "@sigstore/verify": "4.1.3", "@sigstore/sign": "5.1.0"}
MUTANTS, COMMANDS = 3000, 150  # changed bundles for their verifier, and of these for the command


class Peer:
    """Sigstore's libraries in a process."""

    def __init__(self, folder: pathlib.Path):
        self.process = subprocess.Popen(["node", HERE / "peer.mjs"], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, **request) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Check:
    def __init__(self, tool: pathlib.Path):
        self.tool, self.failures, self.passed = tool, [], 0

    def run(self, *arguments) -> subprocess.CompletedProcess:
        return subprocess.run([self.tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def expect(self, holds: bool, what: str):
        self.passed += holds
        if not holds:
            self.failures.append(what)


def write_model(folder: pathlib.Path):
    (folder / "weights").mkdir(parents=True)
    shutil.copy(ROOT / "examples/digits/model.onnx", folder / "model.onnx")
    (folder / "weights/w.bin").write_bytes(bytes(range(256)) * 64)
    (folder / "README.md").write_text("A model\n")


def mutated(text: str, random_: random.Random) -> str:
    place = random_.randrange(len(text))
    kind = random_.randrange(4)
    if kind == 0:
        return text[:place] + chr(ord(text[place]) ^ 1 << random_.randrange(7)) + text[place + 1:]
    if kind == 1:
        return text[:place] + text[place + random_.randrange(1, 6):]
    if kind == 2:
        return text[:place] + random_.choice(text) + text[place + 1:]
    return text[:place] + text[place:place + 4] + text[place:]


def signed_part(text: str) -> tuple[str, bytes]:
    envelope = json.loads(text)["dsseEnvelope"]
    return envelope["payloadType"], base64.b64decode(envelope["payload"])


def ours_with_theirs(check: Check, peer: Peer, folder: pathlib.Path) -> str:
    """Their verifier reads our bundles of P-256, and Node.js those of other curves. Returns the bundle of P-256."""
    bundles = {}
    for kind, digest in (("p256", "sha256"), ("p384", "sha384"), ("p521", "sha512")):
        key = folder.parent / kind
        check.run("keygen", "-o", key, "--kind", kind)
        signed = check.run("sign", folder, "--key", f"{key}.pem")
        check.expect(signed.returncode == 0, f"{kind}: sign: {signed.stderr}")
        bundles[kind] = (folder / "model.sig").read_text()
        check.expect(check.run("verify", folder, "--key", f"{key}.pub.pem").returncode == 0, f"{kind}: verify")
        pem = pathlib.Path(f"{key}.pub.pem").read_text()
        check.expect(peer.ask(envelope=bundles[kind], key=pem, hash=digest)["accepted"], f"{kind}: Node.js")
        answer = peer.ask(verify=bundles[kind], key=pem)
        check.expect(answer["accepted"] == (kind == "p256"), f"{kind}: their verifier: {answer.get('reason')}")
    return bundles["p256"]


def changed_bundles(check: Check, peer: Peer, folder: pathlib.Path, bundle: str):
    """Both verifiers refuse bundles in which something signed has changed."""
    key, random_ = folder.parent / "p256.pub.pem", random.Random(11)
    counts, pem = {"theirs": 0, "ours": 0}, key.read_text()
    other = folder.parent / "mutant.sig"
    for number in range(MUTANTS):
        mutant = mutated(bundle, random_)
        answer = peer.ask(verify=mutant, key=pem)
        if answer["accepted"]:
            counts["theirs"] += 1
            same = (answer["type"], base64.b64decode(answer["payload"])) == signed_part(bundle)
            check.expect(same, f"mutant {number}: their verifier accepts other signed bytes")
        if number >= COMMANDS:
            continue
        other.write_text(mutant)
        (folder / "model.sig").unlink(missing_ok=True)
        done = check.run("verify", folder, "--key", key, "--signature", other)
        check.expect(done.returncode in (0, 1), f"mutant {number}: exit code {done.returncode}: {done.stderr}")
        if done.returncode == 0:
            counts["ours"] += 1
            check.expect(signed_part(mutant) == signed_part(bundle), f"mutant {number}: accepted with other signed bytes")
    print(f"changed bundles: theirs accepts {counts['theirs']} of {MUTANTS}, ours {counts['ours']} of {COMMANDS}; "
          "in all of these nothing signed has changed")


def theirs_with_ours(check: Check, peer: Peer, folder: pathlib.Path):
    """Our command reads bundles that their libraries make over a statement in the OpenSSF tools' form."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    digests = {name: hashlib.sha256((folder / name).read_bytes()) for name in names}
    root = hashlib.sha256(b"".join(digests[name].digest() for name in names)).hexdigest()
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": folder.name, "digest": {"sha256": root}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {
            "serialization": {"method": "files", "hash_type": "sha256", "allow_symlinks": False,
                              "ignore_paths": [".git", "model.sig"]},
            "resources": [{"name": name, "digest": digests[name].hexdigest(), "algorithm": "sha256"} for name in names],
        },
    }
    key = folder.parent / "p256"
    made = peer.ask(sign=json.dumps(statement, indent=2), key=pathlib.Path(f"{key}.pem").read_text(), hint="a hint")
    (folder / "model.sig").write_text(made["bundle"])
    done = check.run("verify", folder, "--key", f"{key}.pub.pem")
    check.expect(done.returncode == 0, f"their bundle: {done.stdout}{done.stderr}")
    (folder / "README.md").write_text("Another model\n")
    done = check.run("verify", folder, "--key", f"{key}.pub.pem")
    check.expect(done.returncode == 1 and "README.md" in done.stdout, f"their bundle, changed file: {done.stdout}")


def bill(check: Check, build: pathlib.Path, folder: pathlib.Path):
    """The bill of a served folder is valid by the schema."""
    served = folder.parent / "served"
    (served / "digits/1").mkdir(parents=True)
    shutil.copy(ROOT / "examples/digits/model.onnx", served / "digits/1/model.onnx")
    shutil.copy(ROOT / "examples/digits/model.onnx", served / "large.onnx")
    shutil.copy(ROOT / "examples/serving/router.yaml", served / "router.yaml")
    key = folder.parent / "p256"
    check.run("sign", served / "digits", "--key", f"{key}.pem")
    done = check.run("bom", served, "--json", "--key", f"{key}.pub.pem", "--timestamp", "2026-11-28T14:05:09Z")
    check.expect(done.returncode == 0 and '"verified"' in done.stdout, f"bom: {done.stderr}")
    file = folder.parent / "bill.cdx.json"
    file.write_text(done.stdout)
    checked = subprocess.run(["/usr/bin/python3", ROOT / "scripts/check_sbom.py", "--fetch", build / "cyclonedx", file],
                             capture_output=True, text=True, timeout=300)
    check.expect(checked.returncode == 0 and "was not checked" not in checked.stdout,
                 f"schema: {checked.stdout}{checked.stderr}"[:1000])


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    if not install(build / "signatures", PACKAGES):
        print("skipped: npm's registry does not have the libraries, or cannot be reached")
        return 77
    check = Check(build / "frazil")
    peer = Peer(build / "signatures")
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "model"
        write_model(folder)
        bundle = ours_with_theirs(check, peer, folder)
        changed_bundles(check, peer, folder, bundle)
        theirs_with_ours(check, peer, folder)
        bill(check, build, folder)
    peer.close()
    for failure in check.failures:
        print(f"FAILED: {failure}")
    print(f"{check.passed} checks passed, {len(check.failures)} failed")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
