"""The interface of ONNX Runtime's Python package, on Frazil.

    import frazil.onnxruntime as onnxruntime
    session = onnxruntime.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": x})

install() makes `import onnxruntime` import this package, so that programs and libraries run unchanged.
`python -m frazil.onnxruntime SCRIPT` runs a script in that way. docs/how-to/onnxruntime-python.md has the differences.
"""

from . import public
from .install import install, is_installed, uninstall
from .public import *  # noqa: F403

__version__ = public.VERSION
__all__ = [*public.__all__, "install", "is_installed", "uninstall"]
