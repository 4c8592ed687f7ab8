#!/usr/bin/env python3
"""A second verifier of proofs of one entry, written from C2SP tlog-proof and RFC 6962. It needs Python and openssl.

    check_proof.py PROOF --key PEM [--witness NAME=PEM]...

Prints the entry. Exit codes: 0 the log has it, 1 it does not, 2 usage."""

import argparse
import pathlib
import sys

from log_format import Key, Violation, from_base64, read_checkpoint, read_note, sha


def root_by_path(index, size, leaf, path):
    """Returns the root to which a leaf and its audit path lead (RFC 9162, 2.1.3.2)."""
    place, last, root = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise Violation("the path is too long")
        if place % 2 == 1 or place == last:
            root = sha(b"\1", sibling, root)
            while place % 2 == 0 and place != 0:
                place, last = place >> 1, last >> 1
        else:
            root = sha(b"\1", root, sibling)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise Violation("the path is too short")
    return root


def check(data, keys):
    head, _, note = data.partition(b"\n\n")
    lines = head.decode().split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1" or not lines[1].startswith("extra ") or not lines[2].startswith("index "):
        raise Violation("not a proof of an entry")
    entry, index = from_base64(lines[1][6:]), int(lines[2][6:])
    text, signatures = read_note(note)
    _, size, root = read_checkpoint(text)
    for key in keys:
        if not key.verifies(text, signatures):
            raise Violation(f"the checkpoint is not signed by {key.name}")
    if index >= size or root_by_path(index, size, sha(b"\0", entry), map(from_base64, lines[3:])) != root:
        raise Violation("the entry does not lead to the root of the checkpoint")
    return index, entry.decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("proof")
    parser.add_argument("--key", required=True)
    parser.add_argument("--witness", action="append", default=[])
    arguments = parser.parse_args()
    data = pathlib.Path(arguments.proof).read_bytes()
    try:
        origin = read_checkpoint(read_note(data.partition(b"\n\n")[2])[0])[0]
        keys = [Key(origin, arguments.key, 1)]
        keys += [Key(name, pem, 4) for name, _, pem in (one.partition("=") for one in arguments.witness)]
        index, entry = check(data, keys)
    except (Violation, ValueError, IndexError) as fault:
        print(f"{arguments.proof}: {fault}")
        return 1
    print(f"entry {index}: {entry}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
