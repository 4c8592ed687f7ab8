#!/usr/bin/env python3
"""A second verifier of audit logs, written from the specifications: RFC 6962, C2SP tlog-tiles, signed-note,
tlog-checkpoint, tlog-cosignature, and docs/reference/audit-log.md. It needs Python and the command openssl.

    verify.py DIR --key PEM [--witness NAME=PEM]... [--checkpoint FILE]...

Prints one line for each violation. Exit codes: 0 none, 1 some, 2 usage."""

import argparse
import hashlib
import json
import pathlib
import re
import sys

from log_format import Key, Violation, from_base64, milliseconds, read_checkpoint, read_note, root_of, sha, split, tile_path

NEVER_PRUNED = set(
    "boot shutdown key witness policy load edit publish roll_back keep decide erase hold release prune gap repair".split()
)
SLACK_MS = 10000


class Log:
    def __init__(self, folder):
        self.folder, self.findings, self.leaves, self.missing = pathlib.Path(folder), [], [], {}
        self.now, self.former, self.policy, self.policies, self.published = {}, {}, "none", {}, {}
        self.blobs, self.erased, self.ranges, self.dropped = {}, set(), [], 0
        self.newest, self.running, self.holds = 0, False, {}

    def find(self, text):
        self.findings.append(text)

    def read(self, path):
        try:
            return (self.folder / path).read_bytes()
        except OSError as error:
            raise Violation(f"{path}: {error.strerror}")

    def tile(self, kind, index, size):
        """The bytes of a tile of a tree with `size` hashes at its level, or of the complete one if the log has grown."""
        width = min(256, size - index * 256)
        names = [tile_path(kind, index, w) for w in (width, 256)]
        return next((self.read(name) for name in names if (self.folder / name).exists()), None), width

    def bundle(self, index, size):
        """Entries by position."""
        data, width = self.tile("entries", index, size)
        if data is not None:
            entries = split(data)
            if len(entries) not in (width, 256):
                raise Violation(f"bundle {index} has not {width} entries")
            return dict(enumerate(entries[:width]))
        path = tile_path("kept", index)
        data, entries = self.read(path) if (self.folder / path).exists() else b"", {}
        while data:
            end = 3 + int.from_bytes(data[1:3], "big")
            entries[data[0]], data = data[3:end], data[end:]
        return entries

    def read_tree(self, size):
        for index in range((size + 255) // 256):
            try:
                data, width = self.tile(0, index, size)
                if data is None or len(data) not in (width * 32, 8192):
                    raise Violation(f"tile 0/{index} is missing or has another length")
                hashes = [data[i * 32 : i * 32 + 32] for i in range(width)]
                self.leaves += hashes
                entries = self.bundle(index, size)
                for position, entry in entries.items():
                    self.entry(index * 256 + position, entry, hashes[position])
                if len(entries) < width:
                    self.missing[index] = width - len(entries)
            except Violation as violation:
                self.find(str(violation))
        level = 1
        while row := self.row(level):
            for index in range((len(row) + 255) // 256):
                data, width = self.tile(level, index, len(row))
                expected = b"".join(row[index * 256 : index * 256 + width])
                if data is None or data[: width * 32] != expected or len(data) not in (width * 32, 8192):
                    self.find(f"tile {level}/{index} is not that of the tree")
            level += 1

    def row(self, level):
        """The hashes of the tiles at a level."""
        row = self.leaves
        for _ in range(level):
            row = [root_of(row[i : i + 256]) for i in range(0, len(row) - 255, 256)]
        return row

    def partial_files(self, size):
        """Incomplete tiles of earlier checkpoints, and files that have no place."""
        for path in sorted(p for p in (self.folder / "tile").rglob("*") if p.is_file() and p.suffix != ".new"):
            name = str(path.relative_to(self.folder))
            match = re.fullmatch(r"tile/(\d|entries|kept)/((?:x\d{3}/)*\d{3})(?:\.p/([1-9]\d{0,2}))?", name)
            if not match:
                self.find(f"{name}: the log has no such file")
                continue
            index, width = int(match[2].replace("x", "").replace("/", "")), int(match[3] or 256)
            level = int(match[1]) if match[1].isdigit() else 0
            if width == 256 or (index * 256 + width) * 256**level > size:
                continue
            data, entries = path.read_bytes(), match[1] == "entries"
            hashes = [data[i : i + 32] for i in range(0, len(data), 32)]
            found = [sha(b"\0", entry) for entry in split(data)] if entries else hashes
            if found != self.row(level)[index * 256 : index * 256 + width]:
                self.find(f"{name}: its content is not that of the tree")

    def entry(self, index, data, leaf):
        if sha(b"\0", data) != leaf:
            return self.find(f"entry {index} is not the one in the tree")
        try:
            event = json.loads(data)
            if json.dumps(event, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() != data:
                raise Violation("not in canonical form")
            self.event(event, index)
        except (ValueError, KeyError, TypeError, Violation) as error:
            self.find(f"entry {index}: {error}")

    def event(self, event, index):
        kind, at = event["kind"], milliseconds(event["at"])
        if at < self.newest - SLACK_MS:
            raise Violation("its time goes back")
        self.newest = max(self.newest, at)
        for blob in event.get("blobs", []):
            self.blobs.setdefault(blob, set()).add(event.get("subject"))
        if kind in ("boot", "shutdown", "repair"):
            before, self.running = self.running, kind == "boot"
            if (kind, before) in (("boot", True), ("shutdown", False)):
                raise Violation(f"a {kind} out of order")
        elif kind == "policy":
            self.policies[self.policy], self.policy = at, event["policy"]
        elif kind == "erase":
            if any(held in (None, event["subject"]) for held in self.holds.values()):
                raise Violation("it erases a subject that is held")
            self.erased.add(event["subject"])
        elif kind in ("hold", "release"):
            if (kind == "hold") == (event["case"] in self.holds):
                raise Violation(f"a {kind} out of order")
            if kind == "hold":
                self.holds[event["case"]] = event.get("subject")
            else:
                del self.holds[event["case"]]
        elif kind == "prune":
            if not event["from"] <= event["to"] <= index or NEVER_PRUNED & set(event["dropped"]):
                raise Violation("a prune that is not allowed")
            self.ranges.append((event["from"], event["to"]))
            self.dropped += sum(event["dropped"].values())
        elif kind in ("load", "edit", "publish", "roll_back"):
            self.publication(event, at)
        elif kind == "request":
            self.request(event, at)

    def publication(self, event, at):
        place, definition = (event["model"], event.get("version", "")), event["definition"]
        now = self.now.get(place)
        self.now[place] = definition
        published = self.published.setdefault(event["model"], set())
        if now != definition:
            self.former[place, now] = at
        if event["policy"] != self.policy or (self.policy != "none" and not event["rule"]):
            raise Violation("no permit under the policy in force")
        if event["kind"] == "edit" and event["parent"] not in published:
            raise Violation("it edits a definition that was not in force")
        if event["kind"] == "roll_back" and definition not in published:
            raise Violation("it goes back to a definition that was not in force")
        published.add(definition)

    def request(self, event, at):
        place, start = (event["model"], event.get("version", "")), at - event["ms"] - SLACK_MS
        definition, policy = event["definition"], event.get("policy")
        if not self.running:
            raise Violation("a request outside a boot")
        if definition != self.now.get(place) and start > self.former.get((place, definition), -1):
            raise Violation("its definition was not in force")
        if policy not in (None, self.policy) and start > self.policies.get(policy, -1):
            raise Violation("its policy was not in force")

    def finish(self):
        for index, count in self.missing.items():
            if not any(a <= index * 256 and index * 256 + 256 <= b for a, b in self.ranges):
                self.find(f"{count} entries of bundle {index} are missing")
        if sum(self.missing.values()) > self.dropped:
            self.find("more entries are missing than removals are declared")
        payloads = self.payloads()
        for blob, subjects in self.blobs.items():
            if blob in payloads:
                continue
            path = self.folder / "blobs" / blob[7:9] / blob[9:]
            if path.exists() and "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest() != blob:
                self.find(f"blob {blob}: its bytes have another digest")
            elif not path.exists() and not subjects <= self.erased:
                self.find(f"blob {blob} is missing")

    def payloads(self):
        """Returns the digests of the payloads that are as they were written."""
        found = set()
        for path in sorted((self.folder / "payloads").glob("*")):
            data = path.read_bytes()
            at = data.find(b"\n") + 1
            if data[:at] != b"frazil-payloads %d\n" % int(path.name):
                self.find(f"{path.name}: a damaged header")
            while at + 36 <= len(data):
                size, digest = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 36].hex()
                content = data[at + 36 : at + 36 + size]
                at += 36 + size
                if len(content) < size:
                    break
                if hashlib.sha256(content).hexdigest() == digest:
                    found.add("sha256:" + digest)
                elif "sha256:" + digest in self.blobs:
                    self.find(f"payload {digest}: its bytes have another digest")
                    found.add("sha256:" + digest)
        return found

    def contains(self, what, size, root):
        if size > len(self.leaves):
            self.find(f"{what}: the log was cut or is an older copy")
        elif root_of(self.leaves[:size]) != root:
            self.find(f"{what}: the log was rewritten")

    def history(self, head, log_key, witnesses):
        data = self.read("history") if (self.folder / "history").exists() else b""
        last = None
        for line in data.decode().split("\n")[:-1]:  # without a line that a crash has torn
            words = line.split(" ")
            text = f"{log_key.name}\n{words[0]}\n{words[1]}\n".encode()
            signatures = [(words[i], from_base64(words[i + 1])) for i in range(2, len(words), 2)]
            unknown = {(n, blob[:4]) for n, blob in signatures} - {(k.name, k.id) for k in [log_key, *witnesses]}
            wrong = not log_key.verifies(text, signatures) or (witnesses and unknown)
            if wrong or any(witness.verifies(text, signatures) is False for witness in witnesses):
                self.find(f"history {words[0]}: a signature is not valid")
            self.contains(f"history {words[0]}", *read_checkpoint(text)[1:])
            last = (text, signatures)
        if len(head[1]) > 1 and last != head:
            self.find("the history does not end with the cosigned checkpoint")

    def journal(self, size):
        header, line_end, data = self.read("journal").partition(b"\n")
        match = re.fullmatch(rb"frazil-journal (0|[1-9]\d*)", header)
        if not match or not line_end or int(match[1]) > size:
            raise Violation("journal: it has no header, or begins after the checkpoint")
        index = int(match[1])
        while len(data) >= 2:
            end = 2 + int.from_bytes(data[:2], "big")
            leaf = sha(b"\0", data[2:end])
            if len(data) < end + 8 or leaf[:8] != data[end : end + 8]:
                break
            if index < size and leaf != self.leaves[index]:
                raise Violation(f"journal: entry {index} is not the one in the tree")
            data, index = data[end + 8 :], index + 1
        if index < size:
            raise Violation("journal: entries of the checkpoint are missing")

    def verify(self, arguments):
        head = read_note(self.read("checkpoint"))
        origin, size, root = read_checkpoint(head[0])
        log_key = Key(origin, arguments.key, 1)
        if not log_key.verifies(*head):
            raise Violation("the checkpoint is not signed by the log")
        self.read_tree(size)
        self.contains("checkpoint", size, root)
        self.history(head, log_key, [Key(*witness.split("=", 1), 4) for witness in arguments.witness])
        for path in arguments.checkpoint:
            older = read_note(pathlib.Path(path).read_bytes())
            if not log_key.verifies(*older):
                self.find(f"{path}: not signed by the log")
            self.contains(path, *read_checkpoint(older[0])[1:])
        self.partial_files(size)
        self.journal(size)
        self.finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--key", required=True)
    parser.add_argument("--witness", action="append", default=[])
    parser.add_argument("--checkpoint", action="append", default=[])
    arguments = parser.parse_args()
    log = Log(arguments.folder)
    try:
        log.verify(arguments)
    except (Violation, ValueError, LookupError, TypeError) as error:
        log.find(str(error))
    print("\n".join(log.findings) or "ok")
    return int(bool(log.findings))


if __name__ == "__main__":
    sys.exit(main())
