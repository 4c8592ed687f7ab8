"""Runs a function of the user for a step of a pipeline: FILTER RULES FILE FUNCTION OUTPUT=TYPE...

Messages are length-prefixed, on the socket at descriptor 3. The server starts this program in a sandbox. FILTER is a
seccomp program in hexadecimal digits, or empty: it refuses to start programs, which the start of Python needs. RULES is
the descriptor of a Landlock ruleset, or empty.
"""

import ctypes, importlib.machinery, importlib.util, os, resource, socket, struct, sys, traceback

PR_SET_DUMPABLE, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, LANDLOCK_RESTRICT_SELF = 4, 22, 2, 446
link = socket.socket(fileno=3)
limits, rules = bytes.fromhex(sys.argv[1]), sys.argv[2]
file, name = sys.argv[3:5]
outputs = [text.rsplit("=", 1) for text in sys.argv[5:]]

class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_char_p)]

def confine():
    libc = ctypes.CDLL(None, use_errno=True)
    if rules:
        if libc.syscall(LANDLOCK_RESTRICT_SELF, int(rules), 0):
            raise OSError(ctypes.get_errno(), "the sandbox cannot close the files")
        os.close(int(rules))
        os.environ.pop("PWD", None)  # of bubblewrap
    program = Program(len(limits) // 8, limits)
    closed = libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
    if not closed or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "the sandbox cannot be closed")

def receive(size):
    data, at = bytearray(size), 0
    while at < size:
        got = link.recv_into(memoryview(data)[at:])
        if not got:
            os._exit(0)
        at += got
    return data

def send(good, body):
    link.sendall(struct.pack("<QB", len(body) + 1, good))
    link.sendall(body)

def told(error):
    traceback.print_exc()
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    where = f" ({os.path.basename(file)}:{lines[-1]})" if lines else ""
    memory = resource.getrlimit(resource.RLIMIT_AS)[0]
    limit = f"; its memory is limited to {memory} bytes" if limits and isinstance(error, MemoryError) else ""
    send(0, f"{type(error).__name__}: {' '.join(str(error).split())}{where}{limit}".encode(errors="replace"))

def arguments(data):
    at, values = 0, {}
    def take(form):
        nonlocal at
        values = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return values
    def text(errors="strict"):
        nonlocal at
        (size,) = take("<I")
        at += size
        return data[at - size:at].decode(errors=errors)
    for _ in range(take("<I")[0]):
        key, kind = text(), text()
        (rank,) = take("<I")
        shape = take(f"<{rank}q")
        (size,) = take("<Q")
        at += -at % 16
        end = at + size
        if kind == "O":
            items = []
            while at < end:
                items.append(text("surrogateescape"))
            array = np.empty(len(items), object)
            array[:] = items
        elif size == 0:
            array = np.empty(0, kind)
        else:
            array = np.frombuffer(data, kind, size // np.dtype(kind).itemsize, at)
        values[key], at = array.reshape(shape), end
    return values

def string_bytes(item):
    item = item if isinstance(item, bytes) else str(item).encode(errors="surrogateescape")
    return struct.pack("<I", len(item)) + item

def results(given):
    if isinstance(given, dict):
        given = [given[key] for key, _ in outputs]
    elif len(outputs) == 1 and not isinstance(given, tuple):
        given = [given]
    if len(given) != len(outputs):
        raise ValueError(f"{name} returned {len(given)} values, expected {len(outputs)}")
    body = bytearray()
    for value, (key, kind) in zip(given, outputs):
        array = np.asarray(value)
        if kind == "O":
            content = b"".join(map(string_bytes, array.reshape(-1).tolist()))
        else:
            content = array.astype(kind, order="C", casting="same_kind", copy=False).tobytes()
        body += struct.pack(f"<I{array.ndim}qQ", array.ndim, *array.shape, len(content))
        body += bytes(-(len(body) + 1) % 16) + content
    return body

try:
    if limits:
        confine()
    import numpy as np
    sys.path.insert(0, os.path.dirname(file))
    loader = importlib.machinery.SourceFileLoader("frazil_user_code", file)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    function = getattr(module, name)
except BaseException as error:
    told(error)
    sys.exit(1)
send(1, b"")
while True:
    data = receive(struct.unpack("<Q", receive(8))[0])
    try:
        send(1, results(function(**arguments(data))))
    except Exception as error:
        told(error)
