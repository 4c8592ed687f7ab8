"""Notes, keys, tiles and hashes of audit logs, for the second verifiers: RFC 6962, C2SP signed-note, tlog-checkpoint,
tlog-cosignature and tlog-tiles."""

import base64
import datetime
import hashlib
import pathlib
import re
import subprocess
import tempfile

TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z")


class Violation(Exception):
    pass


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def from_base64(text):
    if base64.b64encode(data := base64.b64decode(text, validate=True)).decode() != text:
        raise Violation("not base64 in its only form")
    return data


def root_of(level):
    """MTH of RFC 6962 over hashes of leaves: an odd last node moves up unchanged, which gives the same tree."""
    while len(level) > 1:
        pairs = [sha(b"\1", level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0] if level else sha()


def is_signature(pem, signature, message):
    with tempfile.NamedTemporaryFile() as first, tempfile.NamedTemporaryFile() as second:
        pathlib.Path(first.name).write_bytes(signature)
        pathlib.Path(second.name).write_bytes(message)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", pem, "-rawin", "-sigfile", first.name]
        return subprocess.run([*command, "-in", second.name], capture_output=True).returncode == 0


class Key:
    def __init__(self, name, pem, kind):
        command = ["openssl", "pkey", "-pubin", "-in", pem, "-outform", "DER"]
        public = subprocess.run(command, capture_output=True, check=True).stdout[-32:]
        self.name, self.pem, self.kind = name, pem, kind
        self.id = sha(name.encode(), b"\n", bytes([kind]), public)[:4]

    def verifies(self, text, signatures):
        """Returns None if the key has not signed, otherwise whether the signature is valid."""
        for name, blob in signatures:
            if (name, blob[:4]) == (self.name, self.id):
                if self.kind == 1:
                    return is_signature(self.pem, blob[4:], text)
                head = b"cosignature/v1\ntime %d\n" % int.from_bytes(blob[4:12], "big")
                return is_signature(self.pem, blob[12:], head + text)


def read_note(data):
    text, _, lines = data.rpartition(b"\n\n")
    matches = [re.fullmatch("\u2014 (\\S+) (\\S+)\n", line) for line in lines.decode().splitlines(keepends=True)]
    if not matches or not all(matches):
        raise Violation("not a signed note")
    return text + b"\n", [(match[1], from_base64(match[2])) for match in matches]


def read_checkpoint(text):
    origin, size, root = text.decode().split("\n")[:3]
    if not re.fullmatch(r"0|[1-9]\d*", size) or len(from_base64(root)) != 32:
        raise Violation("not a checkpoint")
    return origin, int(size), from_base64(root)


def milliseconds(text):
    match = TIME.fullmatch(text)
    if not match:
        raise Violation(f"not a time: {text}")
    parts = [int(part) for part in match.groups()]
    return int(datetime.datetime(*parts[:6], tzinfo=datetime.timezone.utc).timestamp()) * 1000 + parts[6]


def split(data):
    """The entries of a bundle."""
    entries = []
    while data:
        end = 2 + int.from_bytes(data[:2], "big")
        if len(data) < end:
            raise Violation("an entry is cut off")
        entries.append(data[2:end])
        data = data[end:]
    return entries


def tile_path(kind, index, width=256):
    groups = f"{index % 1000:03}"
    while index >= 1000:
        index //= 1000
        groups = f"x{index % 1000:03}/{groups}"
    return f"tile/{kind}/{groups}" + (f".p/{width}" if width < 256 else "")
