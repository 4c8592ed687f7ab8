"""ONNX's backend interface: `import frazil.backend as backend; backend.prepare(model).run(inputs)`. Requires the
package onnx.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .._frazil import dtype
from ..errors import BadInput
from ..model import Model, from_bytes


def _type_of(declared: Any) -> int:
    """Returns the element type of a tensor, or of the tensors in a sequence or optional; 0 for others."""
    kind = declared.WhichOneof("value")
    if kind in ("tensor_type", None):
        return declared.tensor_type.elem_type
    return _type_of(getattr(declared, kind).elem_type) if kind in ("sequence_type", "optional_type") else 0


def _to_bfloat16(value: Any) -> Any:
    """Returns bfloat16 values for bits in uint16, the form of ONNX's tests."""
    if isinstance(value, (list, tuple)):
        return [_to_bfloat16(part) for part in value]
    if not isinstance(value, numpy.ndarray) or value.dtype != numpy.uint16:
        return value
    return value.view(bfloat16.numpy)


def _to_bits(value: Any) -> Any:
    """Returns the bits of bfloat16 as uint16."""
    if isinstance(value, (list, tuple)):
        return [_to_bits(part) for part in value]
    return value.view(numpy.uint16) if isinstance(value, numpy.ndarray) and value.dtype == bfloat16.numpy else value


bfloat16 = dtype("bfloat16")


class FrazilRep(BackendRep):  # type: ignore[misc]
    """A model that can be run.

    Parameters
    ----------
    model : Model
        The model.
    inputs : sequence of onnx.ValueInfoProto
        The declared inputs.
    outputs : sequence of onnx.ValueInfoProto
        The declared outputs.
    """

    def __init__(self, model: Model, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.model = model
        self._inputs = [port.name for port in inputs]
        self._halves = {port.name for port in inputs if _type_of(port.type) == onnx.TensorProto.BFLOAT16}
        self._outputs = [port.name for port in outputs]

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """Runs the model.

        Parameters
        ----------
        inputs : sequence, array or dict
            Inputs in order, or by name.
        **kwargs : any
            Has no effect.

        Returns
        -------
        namedtuple
            The outputs, with bfloat16 as bits in uint16.

        Raises
        ------
        BadInput
            If there are too many inputs, or one does not fit.
        """
        if isinstance(inputs, Mapping):
            given = dict(inputs)
        else:
            rows = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            if len(rows) > len(self._inputs):
                raise BadInput(f"{len(rows)} inputs for a model with {len(self._inputs)}")
            given = dict(zip(self._inputs, rows))
        given = {name: _to_bfloat16(value) if name in self._halves else value for name, value in given.items()}
        made = self.model.run(given)
        return namedtupledict("Outputs", self._outputs)(*(_to_bits(made[name]) for name in self._outputs))


class FrazilBackend(Backend):  # type: ignore[misc]
    """Frazil as a backend of ONNX, on the CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> FrazilRep:
        """Returns a model that can be run.

        Parameters
        ----------
        model : onnx.ModelProto
            The model.
        device : str, default 'CPU'
            The device.
        **kwargs : any
            Options of frazil.from_bytes().

        Returns
        -------
        FrazilRep
            The model.

        Raises
        ------
        BadInput
            If the device is not the CPU.
        """
        if not cls.supports_device(device):
            raise BadInput(f"device '{device}': Frazil runs on the CPU")
        made = from_bytes(model.SerializeToString(), **kwargs)
        return FrazilRep(made, model.graph.input, model.graph.output)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """Calls prepare() and run().

        Parameters
        ----------
        model : onnx.ModelProto
            The model.
        inputs : sequence, array or dict
            Inputs in order, or by name.
        device : str, default 'CPU'
            The device.
        **kwargs : any
            Options of frazil.from_bytes().

        Returns
        -------
        namedtuple
            The outputs.
        """
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> Any:
        """Runs one node.

        Parameters
        ----------
        node : onnx.NodeProto
            The node.
        inputs : sequence or dict
            Inputs in order, or by name.
        device : str, default 'CPU'
            The device.
        outputs_info : any, optional
            Has no effect.
        **kwargs : any
            `opset_version`, by default the newest one of the package onnx; options of frazil.from_bytes().

        Returns
        -------
        namedtuple
            The outputs.
        """
        rows = list(inputs.values() if isinstance(inputs, Mapping) else inputs)
        names = list(inputs) if isinstance(inputs, Mapping) else [name for name in node.input if name]
        rows = [value if isinstance(value, numpy.ndarray) else numpy.asarray(value) for value in rows]
        ports = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.mapping.NP_TYPE_TO_TENSOR_TYPE[value.dtype], value.shape
            )
            for name, value in zip(names, rows)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", ports, results)
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        opsets = [onnx.helper.make_opsetid(node.domain, version)]
        if node.domain:
            opsets.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), rows, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Returns whether the device is the CPU.

        Parameters
        ----------
        device : str
            A name, perhaps with a number: "CPU:0".

        Returns
        -------
        bool
            Whether models run on it.
        """
        return device.split(":")[0] == "CPU"


is_compatible = FrazilBackend.is_compatible
prepare = FrazilBackend.prepare
run_model = FrazilBackend.run_model
run_node = FrazilBackend.run_node
supports_device = FrazilBackend.supports_device
