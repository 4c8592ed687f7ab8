"""scripts/check_python_imports.py, which finds circles of imports."""

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_python_imports.py"


def checked(folder):
    made = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
    return made.returncode, made.stdout + made.stderr


@pytest.mark.parametrize(
    "first, second, circle",
    [
        ("from . import b", "x = 1", False),
        ("from . import b", "from .a import x", True),
        ("from .b import y", "import box.a", True),
        ("def f():\n    from .b import y", "from . import a", True),
        ("def f():\n    from .b import y", "class C:\n    def m(self):\n        import box.a", True),
        ("from . import b", "if TYPE_CHECKING:\n    from .a import x", False),
        ("from . import b", "if TYPE_CHECKING:\n    pass\nelse:\n    from .a import x", True),
    ],
)
def test_modules(tmp_path, first, second, circle):
    (tmp_path / "box").mkdir()
    for name, text in (("__init__", ""), ("a", first), ("b", second)):
        (tmp_path / f"box/{name}.py").write_text(text + "\n")
    status, text = checked(tmp_path / "box")
    assert (status, "box.a, box.b" in text) == ((1, True) if circle else (0, False)), text


def test_sub_packages(tmp_path):
    """Two folders import each other through different modules."""
    files = {"one/a": "from ..two import c", "one/b": "", "two/c": "", "two/d": "from ..one import b"}
    for name, text in files.items():
        (tmp_path / f"box/{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"box/{name}.py").write_text(text + "\n")
    for folder in ("", "one/", "two/"):
        (tmp_path / f"box/{folder}__init__.py").write_text("")
    status, text = checked(tmp_path / "box")
    assert status == 1 and "2 sub-packages import each other in a circle: box.one, box.two" in text


def test_the_package():
    status, text = checked(SCRIPT.parents[1] / "python/frazil")
    assert status == 0, text
