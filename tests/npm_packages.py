"""Packages of npm that longer suites compare with."""

import json
import pathlib
import shutil
import subprocess
import sys


def install(folder: pathlib.Path, packages: dict[str, str]) -> bool:
    """Installs packages, by name and version, into a folder. Returns whether they are there."""
    if shutil.which("npm") is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == packages:
        return True
    (folder / "package.json").write_text(json.dumps({"name": "packages", "private": True}))
    names = [f"{name}@{version}" for name, version in packages.items()]
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", *names]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        print(done.stderr.strip()[-500:], file=sys.stderr)
        return False
    stamp.write_text(json.dumps(packages))
    return True
