"""What scripts/check_one_definition.py takes for two definitions of one type."""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check_one_definition.py"

# What it is about, the texts of two files, and the name that the check complains about; None: it accepts them.
CASES = [
    ("two classes", "namespace a { class X { int i; }; }", "namespace a { struct X final : Y { }; }", "a::X"),
    ("nested namespaces", "namespace a::b { struct X {}; }", "namespace a { namespace b { struct X {}; } }", "a::b::X"),
    ("a template", "template <class T> struct X { T t; };", "class X {};", "X"),
    ("an enumeration", "enum class E : int { one };", "enum E { two };", "E"),
    ("an attribute", "struct alignas(64) X {};", "struct [[nodiscard]] X {};", "X"),
    ("inside a class", "struct A { struct X {}; };", "struct A::X {};", "A::X"),
    ("extern C", 'extern "C" { struct X { int i; }; }', "struct X { long i; };", "X"),
    ("behind texts", 'const char* s = "}"; struct X {};', "// }\nconst char c = '{'; const int n = 1'000; /* { */ struct X {};", "X"),
    ("behind a raw string", 'auto s = R"(} struct X {)"; struct Y {};', "struct X {}; struct Y {};", "Y"),
    ("declarations", "struct X; void f(struct X* x);", "struct X {};", None),
    ("unnamed namespaces", "namespace { struct X {}; }", "namespace { struct X {}; }", None),
    ("functions", "void f() { struct X {}; }", "void g() { struct X {}; }", None),
    ("other namespaces", "namespace a { struct X {}; }", "namespace b { struct X {}; }", None),
    ("other arguments", "template <> struct X<int> {};", "template <> struct X<long> {};", None),
    ("equal arguments", "template <> struct X<int> {};", "template <> struct X<int> { int i; };", "X<int>"),
    ("template parameters", "template <class X, class Y> void f();", "class X {};", None),
]


def main() -> int:
    wrong = 0
    for what, first, second, name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for file, text in (("a.h", first), ("b.cc", second)):
                (pathlib.Path(folder) / file).write_text(text)
            done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
        wanted = f"{name} is defined in a.h, b.cc\n" if name else ""
        if (done.stdout, done.returncode) != (wanted, 1 if name else 0):
            print(f"{what}: expected {wanted!r}, got {done.stdout!r}, exit {done.returncode}\n{done.stderr}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
