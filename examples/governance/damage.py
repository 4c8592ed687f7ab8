"""What somebody with access to the disk may do to a log."""

import shutil


def copy(log, to):
    return shutil.copytree(log, to)


def flip_byte(log):
    """Changes a byte of an entry, and returns the file."""
    path = max((log / "tile" / "entries").rglob("*"), key=lambda file: file.stat().st_size if file.is_file() else 0)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    return path.relative_to(log)
