"""What a session reports about inputs, outputs and the model file."""

from __future__ import annotations

from typing import Any, Collection, Mapping

from .. import _frazil
from ..model import Model

ELEMENTS = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float", "f64": "double",
    "c64": "complex64", "c128": "complex128", "string": "string",
}  # fmt: skip
"""ONNX Runtime's names of element types, by Frazil's short names. Those of the others are Python's without '_'."""


def element_name(dtype: _frazil.DType) -> str:
    """Returns ONNX Runtime's name of an element type.

    Parameters
    ----------
    dtype : DType
        The element type.

    Returns
    -------
    str
        Such as 'float' for float32.
    """
    return ELEMENTS.get(dtype.short_name) or dtype.name.replace("_", "")


_BY_SHORT_NAME = {dtype.short_name: element_name(dtype) for dtype in _frazil.dtypes}


def type_name(text: str) -> str:
    """Returns ONNX Runtime's name of a type.

    Parameters
    ----------
    text : str
        A type in Frazil's text form, such as 'seq<i64[N]>'.

    Returns
    -------
    str
        Such as 'seq(tensor(int64))'.
    """
    for name, long in (("seq", "seq"), ("opt", "optional")):
        if text.startswith(f"{name}<"):
            return f"{long}({type_name(text[4:-1])})"
    if text.startswith("map<"):
        key, value = text[4:-1].split(",", 1)
        return f"map({_BY_SHORT_NAME[key]},{type_name(value.strip())})"
    return f"tensor({_BY_SHORT_NAME[text.partition('[')[0]]})"


class NodeArg:
    """An input, an output or an overridable initializer.

    Parameters
    ----------
    name : str
        The name.
    shape : list
        Numbers, names of extents as in the file, and None for extents without a name; empty unless it is a tensor.
    type : str
        Such as 'tensor(float)', 'seq(tensor(int64))' or 'map(string,tensor(float))'.
    """

    __slots__ = ("_name", "_shape", "_type")

    def __init__(self, name: str, shape: list[Any], type: str) -> None:
        self._name, self._shape, self._type = name, shape, type

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def shape(self) -> list[Any]:
        """A list of numbers, names and None."""
        return list(self._shape)

    @property
    def type(self) -> str:
        """The type, such as 'tensor(float)'."""
        return self._type

    def __repr__(self) -> str:
        return f"NodeArg(name='{self._name}', type='{self._type}', shape={self._shape})"


class ModelMetadata:
    """The description in a model file.

    Parameters
    ----------
    of : Metadata
        The metadata of a Frazil model.
    """

    def __init__(self, of: _frazil.Metadata) -> None:
        self._of = of

    @property
    def producer_name(self) -> str:
        """The name of the tool that wrote the file."""
        return self._of.producer

    @property
    def graph_name(self) -> str:
        """The name of the graph."""
        return self._of.graph_name

    @property
    def domain(self) -> str:
        """The domain of the model."""
        return self._of.domain

    @property
    def description(self) -> str:
        """The description of the model."""
        return self._of.description

    @property
    def graph_description(self) -> str:
        """The description of the graph."""
        return self._of.graph_description

    @property
    def version(self) -> int:
        """The version of the model."""
        return self._of.model_version

    @property
    def custom_metadata_map(self) -> dict[str, str]:
        """The custom metadata, texts by key."""
        return dict(self._of.properties)


def is_overridable(port: _frazil.Port) -> bool:
    """Returns whether an input is an initializer that may be fed.

    Parameters
    ----------
    port : Port
        An input.

    Returns
    -------
    bool
        True if the file has a value for it.
    """
    return port.optional and not port.type.startswith("opt<")


def declared_dims(port: _frazil.Port, unnamed: Collection[str]) -> list[Any]:
    """Returns the extents of a tensor as the file declares them, or else as Frazil infers them.

    Parameters
    ----------
    port : Port
        The input or output.
    unnamed : collection of str
        Frazil's names for extents that have none in the file.

    Returns
    -------
    list
        Numbers, names and None. Empty for an unknown rank, an optional, a sequence and a map.
    """
    if port.kind != "tensor" or port.type.startswith("opt<"):
        return []
    if port.declared is not None:
        return list(port.declared)
    return [_inferred(dim, unnamed) for dim in port.shape or ()]


def _inferred(dim: int | str, unnamed: Collection[str]) -> int | str | None:
    if isinstance(dim, int):
        return dim
    if "?" in dim or any(name in dim for name in unnamed):
        return None
    quoted = dim.startswith("`") and dim.endswith("`") and dim.count("`") == 2
    return dim[1:-1] if quoted else dim


class Ports:
    """The inputs and outputs of one model.

    Parameters
    ----------
    model : Model
        The model.
    overridable : dict
        Initializers that may be fed, but are constants of this model, by name.
    """

    def __init__(self, model: Model, overridable: Mapping[str, NodeArg]) -> None:
        unnamed = {f"{port.name}.{axis}" for port in model.inputs for axis in range(len(port.shape or ()))}

        def arg(port: _frazil.Port) -> NodeArg:
            dims = declared_dims(port, unnamed)
            fixed = port.extents if len(port.extents) == len(dims) else [-1] * len(dims)
            shown = [extent if extent >= 0 and type(dim) is not int else dim for dim, extent in zip(dims, fixed)]
            return NodeArg(port.name, shown, type_name(port.full_type))

        self.model = model
        self.by_name = {port.name: port for port in model.inputs}
        self.initializers = {**overridable, **{p.name: arg(p) for p in model.inputs if is_overridable(p)}}
        self.inputs = [arg(port) for port in model.inputs if not is_overridable(port)]
        self.outputs = [arg(port) for port in model.outputs]
        self.required = frozenset(p.name for p in model.inputs if not p.optional)
