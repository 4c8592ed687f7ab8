"""The exceptions of ONNX Runtime, one class per code, and the class for each error of Frazil."""

from __future__ import annotations

from .. import errors


class OnnxRuntimeError(Exception):
    """Base class of the exceptions that have a code of ONNX Runtime.

    Parameters
    ----------
    *args : any
        As for Exception: the text.

    Attributes
    ----------
    code : int
        The number of the code.
    status : str
        The name of the code in texts.
    """

    code: int = 0
    status: str = ""

    @classmethod
    def of(cls, text: str) -> OnnxRuntimeError:
        """Returns an exception whose text has the prefix that ONNX Runtime's Python package writes.

        Parameters
        ----------
        text : str
            The message.

        Returns
        -------
        OnnxRuntimeError
            An exception of this class.
        """
        return cls(f"[ONNXRuntimeError] : {cls.code} : {cls.status} : {text}")


def _class(name: str, code: int, status: str, doc: str) -> type[OnnxRuntimeError]:
    values = {"code": code, "status": status, "__doc__": doc, "__module__": __name__, "__qualname__": name}
    return type(name, (OnnxRuntimeError,), values)


Fail = _class("Fail", 1, "FAIL", "A general failure, such as a missing input or a terminated run.")
InvalidArgument = _class("InvalidArgument", 2, "INVALID_ARGUMENT", "An input, an output or an argument is not valid.")
NoSuchFile = _class("NoSuchFile", 3, "NO_SUCHFILE", "The model file does not exist.")
NoModel = _class("NoModel", 4, "NO_MODEL", "There is no model.")
EngineError = _class("EngineError", 5, "ENGINE_ERROR", "An error of an engine.")
RuntimeException = _class("RuntimeException", 6, "RUNTIME_EXCEPTION", "A run or an allocation failed.")
InvalidProtobuf = _class("InvalidProtobuf", 7, "INVALID_PROTOBUF", "The file is not an ONNX model, or is damaged.")
ModelLoaded = _class("ModelLoaded", 8, "MODEL_LOADED", "The session has a model already.")
NotImplemented = _class("NotImplemented", 9, "NOT_IMPLEMENTED", "Frazil lacks the requested function.")
InvalidGraph = _class("InvalidGraph", 10, "INVALID_GRAPH", "The graph is not valid, or has an unknown operator.")
EPFail = _class("EPFail", 11, "EP_FAIL", "An execution provider failed.")
ModelLoadCanceled = _class("ModelLoadCanceled", 12, "MODEL_LOAD_CANCELED", "The load was cancelled.")
ModelRequiresCompilation = _class(
    "ModelRequiresCompilation", 13, "MODEL_REQUIRES_COMPILATION", "The model must be compiled first."
)
NotFound = _class("NotFound", 14, "NOT_FOUND", "Something that was looked up does not exist.")

CLASSES = (
    Fail, InvalidArgument, NoSuchFile, NoModel, EngineError, RuntimeException, InvalidProtobuf, ModelLoaded,
    NotImplemented, InvalidGraph, EPFail, ModelLoadCanceled, ModelRequiresCompilation, NotFound,
)  # fmt: skip

_OF_RUNS: tuple[tuple[type[Exception], type[OnnxRuntimeError]], ...] = (
    (errors.Cancelled, Fail),
    (errors.LimitExceeded, Fail),
    (errors.OutOfMemory, RuntimeException),
    (errors.InternalError, RuntimeException),
    (errors.Unsupported, NotImplemented),
    (errors.BadInput, InvalidArgument),
    (errors.BadModel, InvalidGraph),
)
_DAMAGED = ("damaged or cut short", "not an ONNX model")


def of_run(error: Exception) -> OnnxRuntimeError:
    """Returns the exception for an error of Frazil in a run.

    Parameters
    ----------
    error : Error
        The error of Frazil.

    Returns
    -------
    OnnxRuntimeError
        An exception with the same message.
    """
    found = next((to for kind, to in _OF_RUNS if isinstance(error, kind)), Fail)
    return found.of(str(error))


def of_load(error: Exception, source: str) -> OnnxRuntimeError:
    """Returns the exception for an error of Frazil in a load.

    Parameters
    ----------
    error : Error
        The error of Frazil.
    source : str
        The path, or "model" for bytes.

    Returns
    -------
    OnnxRuntimeError
        An exception whose text names the source.
    """
    if isinstance(error, FileNotFoundError):
        return NoSuchFile.of(f"Load model from {source} failed: the file does not exist")
    text = str(error)
    if any(part in text for part in _DAMAGED):
        return InvalidProtobuf.of(f"Load model from {source} failed: {text}")
    if "no operator" in text:
        own_domain = "in domain 'ai.onnx'" in text
        return (InvalidGraph if own_domain else Fail).of(f"Load model from {source} failed: {text}")
    if "newer than" in text:
        return Fail.of(f"Load model from {source} failed: {text}")
    found = InvalidGraph if isinstance(error, errors.BadModel) else type(of_run(error))
    return found.of(f"Load model from {source} failed: {text}")
