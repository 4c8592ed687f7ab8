"""Attempts to leave a sandbox. The test replaces the constants and runs the attempts in turn in a step's process.

An attempt succeeds if it returns, or ends the process with the status 42. Each names the level that stops it: none,
limits, files (limits and higher levels, if the kernel has Landlock) or no-network.
"""

import ctypes, fcntl, mmap, os, resource, signal, socket, struct, time

SECRET, VICTIM, ADDRESS, TCP, UDP, UNIX, ABSTRACT, ROOT = CONSTANTS
HERE = os.path.dirname(os.path.abspath(__file__))
MACHINE = 0 if os.uname().machine == "x86_64" else 1
libc = ctypes.CDLL(None, use_errno=True)
attempts = []


def attempt(stopped_by, name):
    def add(function):
        attempts.append((name, stopped_by, function))
        return function
    return add


def call(numbers, *arguments):
    """Makes a system call with its number on x86-64 and on AArch64."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(numbers[MACHINE]), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def same(*numbers):
    return (*numbers, *numbers)


def read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def expect(condition, what="it was not reached"):
    if not condition:
        raise RuntimeError(what)


def tmp(name):
    return os.path.join(os.environ.get("TMPDIR", ROOT), name)


# ---- what every level stops ----

@attempt("none", "the server's environment")
def _():
    expect("FRAZIL_TEST_SECRET" in os.environ)

@attempt("none", "descriptors of the server")
def _():
    own = {int(name) for name in os.listdir("/proc/self/fd")}
    expect(any(os.path.exists(f"/proc/self/fd/{n}") for n in own if n > 3))

@attempt("none", "the server's log, by the descriptor of stderr")
def _():
    os.ftruncate(2, 0)

# ---- files ----

@attempt("files", "read /etc/passwd")
def _():
    read("/etc/passwd")

@attempt("files", "read a model in the pipeline's folder")
def _():
    expect(SECRET in read(HERE + "/model.onnx"))

@attempt("files", "read a model through a path in /proc")
def _():
    expect(SECRET in read("/proc/self/root" + HERE + "/model.onnx"))

@attempt("files", "read a model through a symbolic link")
def _():
    os.symlink(HERE + "/model.onnx", tmp("link"))
    expect(SECRET in read(tmp("link")))

@attempt("files", "read a model through a hard link")
def _():
    os.link(HERE + "/model.onnx", tmp("hard"))
    expect(SECRET in read(tmp("hard")))

@attempt("files", "move a model to a folder that can be read")
def _():
    os.rename(HERE + "/moved.onnx", tmp("moved"))
    expect(SECRET in read(tmp("moved")))

@attempt("files", "write into the pipeline's folder")
def _():
    with open(HERE + "/new.py", "w") as file:
        file.write("import os")

@attempt("files", "overwrite the code of a step")
def _():
    with open(HERE + "/helper.py", "a") as file:
        file.write("# changed")

@attempt("files", "remove a file of the pipeline's folder")
def _():
    os.unlink(HERE + "/removed.py")

@attempt("files", "write to /dev/shm")
def _():
    name = f"/dev/shm/frazil-test-{os.getpid()}"
    with open(name, "w") as file:
        file.write("x")
    os.unlink(name)

@attempt("files", "the pattern of core dumps")
def _():
    open("/proc/sys/kernel/core_pattern", "r+").close()

@attempt("files", "the environment of the server in /proc")
def _():
    expect(b"=" in read(f"/proc/{VICTIM}/environ"))

@attempt("files", "the memory of the server in /proc")
def _():
    with open(f"/proc/{VICTIM}/mem", "rb", buffering=0) as file:
        file.seek(ADDRESS)
        expect(file.read(len(SECRET)) == SECRET)

@attempt("files", "the files of the server in /proc")
def _():
    expect(SECRET in read(f"/proc/{VICTIM}/root" + HERE + "/model.onnx"))

@attempt("limits", "change the mode of a file")
def _():
    os.chmod(HERE + "/model.onnx", 0o644)

@attempt("limits", "empty a file that can only be read")
def _():
    os.close(os.open(HERE + "/emptied.py", os.O_RDONLY | os.O_TRUNC))
    expect(os.stat(HERE + "/emptied.py").st_size == 0)

@attempt("limits", "empty a file by its path")
def _():
    os.truncate(HERE + "/helper.py", 1)

@attempt("limits", "a file by its handle")
def _():
    handle, mount = ctypes.create_string_buffer(struct.pack("Ii128x", 128, 0)), ctypes.c_int()
    call((303, 264), -100, ROOT.encode(), handle, ctypes.byref(mount), 0)
    root = os.open("/", os.O_RDONLY)
    call((304, 265), root, handle, 0)

# ---- network ----

@attempt("no-network", "TCP on the loopback interface")
def _():
    socket.create_connection(("127.0.0.1", TCP), 1).close()

@attempt("no-network", "UDP")
def _():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", ("127.0.0.1", UDP))

@attempt("no-network", "the address of a cloud's metadata")
def _():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", ("169.254.169.254", 80))

@attempt("limits", "serve on a port")
def _():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()

@attempt("limits", "a Unix socket of the server")
def _():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(UNIX)

@attempt("limits", "an abstract Unix socket")
def _():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + ABSTRACT)

@attempt("limits", "pass a descriptor to another process")
def _():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(UNIX)
        socket.send_fds(s, [b"x"], [0])

@attempt("limits", "raw sockets")
def _():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()

@attempt("limits", "sockets of the kernel's settings")
def _():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()

# ---- other processes ----

@attempt("limits", "fork")
def _():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

@attempt("limits", "a process by vfork")
def _():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    expect(os.waitpid(pid, 0)[1] == 0)

@attempt("limits", "a process by clone3")
def _():
    arguments = ctypes.create_string_buffer(struct.pack("8Q", 0, 0, 0, 0, 17, 0, 0, 0))
    child = call(same(435), arguments, 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

@attempt("limits", "a shell")
def _():
    os.execv("/bin/sh", ["sh", "-c", "exit 42"])

@attempt("limits", "a program by its descriptor")
def _():
    program = os.open("/bin/sh", os.O_RDONLY)
    os.execve(program, ["sh", "-c", "exit 42"], {})

@attempt("limits", "a program with a library of its own")
def _():
    with open(tmp("own.so"), "w") as file:
        file.write("not a library")
    os.execve("/bin/sh", ["sh", "-c", "exit 42"], {"LD_PRELOAD": tmp("own.so")})

@attempt("limits", "trace the server")
def _():
    call((101, 117), 0x4206, VICTIM, 0, 0)

@attempt("limits", "read the memory of the server")
def _():
    buffer = ctypes.create_string_buffer(len(SECRET))
    here = struct.pack("QQ", ctypes.addressof(buffer), len(SECRET))
    there = struct.pack("QQ", ADDRESS, len(SECRET))
    call((310, 270), VICTIM, here, 1, there, 1, 0)
    expect(buffer.raw == SECRET)

@attempt("limits", "a descriptor of the server")
def _():
    call(same(438), call(same(434), VICTIM, 0), 0, 0)

@attempt("limits", "a signal to the server")
def _():
    os.kill(VICTIM, 18)

@attempt("limits", "a signal to a thread of the server")
def _():
    call((234, 131), VICTIM, VICTIM, 18)

@attempt("limits", "a queued signal to the server")
def _():
    call((129, 138), VICTIM, 18, struct.pack("iii", 18, 0, -1) + bytes(116))

@attempt("limits", "a signal to the server for input")
def _():
    a, b = socket.socketpair()
    fcntl.fcntl(a, 10, 18)  # F_SETSIG
    fcntl.fcntl(a, fcntl.F_SETOWN, VICTIM)

@attempt("limits", "the limits of the server")
def _():
    resource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, 0))

@attempt("limits", "the processors of the server")
def _():
    os.sched_setaffinity(VICTIM, os.sched_getaffinity(0))

@attempt("limits", "live longer than the server")
def _():
    expect(libc.prctl(1, 0, 0, 0, 0) == 0)

# ---- limits ----

@attempt("limits", "memory beyond the limit")
def _():
    mmap.mmap(-1, 4 << 30).close()

@attempt("limits", "memory as a file")
def _():
    os.close(os.memfd_create("x"))

@attempt("limits", "memory that outlives the process")
def _():
    call((29, 194), 0, 4096, 0o1600)

@attempt("limits", "a message queue")
def _():
    call((240, 180), b"frazil-test", 0o102, 0o600, 0)
    call((241, 181), b"frazil-test")

@attempt("limits", "a file beyond the limit")
def _():
    file = os.open(tmp("large"), os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 1 << 30)

@attempt("limits", "a higher limit")
def _():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    mmap.mmap(-1, 4 << 30).close()

@attempt("limits", "more descriptors than the limit")
def _():
    files = []
    try:
        for _ in range(600):
            files.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for file in files:
            os.close(file)

# ---- the kernel ----

@attempt("limits", "io_uring")
def _():
    os.close(call(same(425), 1, ctypes.create_string_buffer(120)))

@attempt("limits", "keys of the kernel")
def _():
    call((248, 217), b"user", b"frazil-test", b"x", 1, -2)

@attempt("limits", "bpf")
def _():
    os.close(call((321, 280), 0, ctypes.create_string_buffer(struct.pack("IIII104x", 2, 4, 4, 1)), 72))

@attempt("limits", "performance counters")
def _():
    os.close(call((298, 241), ctypes.create_string_buffer(struct.pack("IIQ104x", 1, 120, 0)), 0, -1, -1, 0))

@attempt("limits", "userfaultfd")
def _():
    os.close(call((323, 282), 1))

@attempt("limits", "a mount")
def _():
    os.makedirs(tmp("mounted"), exist_ok=True)
    call((165, 40), b"none", tmp("mounted").encode(), b"tmpfs", 0, 0)
    call((166, 39), tmp("mounted").encode(), 0)

@attempt("limits", "a namespace by unshare")
def _():
    call((272, 97), 0x04000000)

@attempt("limits", "a namespace of another process")
def _():
    call((308, 268), os.open("/proc/self/ns/uts", os.O_RDONLY), 0)

@attempt("limits", "chroot")
def _():
    os.chroot("/")

@attempt("limits", "another personality")
def _():
    call((135, 92), 0x0040000)

@attempt("limits", "calls of another architecture")
def _():
    expect(MACHINE == 0, "AArch64 has no test")
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")  # getpid of i386
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    expect(function() == os.getpid())


def list_attempts():
    return "\n".join(f"{stopped_by}\t{name}" for name, stopped_by, _ in attempts)

def act(k):
    """Returns an empty text if an attempt succeeds, otherwise the reason."""
    if k < 0:
        return list_attempts()
    try:
        attempts[k][2]()
        return ""
    except BaseException as error:
        return f"{type(error).__name__}: {error}"

def linger(k):
    for number in (1, 2, 13, 15):
        signal.signal(number, signal.SIG_IGN)
    print("started", flush=True)
    while True:
        time.sleep(1)
