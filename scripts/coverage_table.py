#!/usr/bin/env python3
"""Reads llvm-cov's summary from stdin and prints the executed lines by folder of the given source folder."""
import collections
import json
import os
import sys

source, listed = sys.argv[1], set(sys.argv[2:])
folders = collections.defaultdict(lambda: [0, 0])
files = []
for entry in json.load(sys.stdin)["data"][0]["files"]:
    path = os.path.relpath(entry["filename"], source)
    if path.startswith(".."):
        continue
    lines = entry["summary"]["lines"]
    folder = path.split(os.sep)[0]
    folders[folder][0] += lines["covered"]
    folders[folder][1] += lines["count"]
    if folder in listed:
        files.append((lines["count"] - lines["covered"], lines["covered"], lines["count"], path))

for missed, covered, count, path in sorted(files, reverse=True):
    print(f"{path:40} {covered:6} of {count:6} {100 * covered / max(count, 1):6.1f} %")
for folder, (covered, count) in sorted(folders.items()):
    print(f"src/{folder:12} {covered:6} of {count:6} {100 * covered / max(count, 1):6.1f} %")
