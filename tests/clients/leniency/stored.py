"""Models of the folder that FRAZIL_SHARED names: whole networks and the cases of bug reports, as they are."""

import pathlib
from collections.abc import Iterator

import numpy as np

import mutations
from records import Case

FOLDERS = ("onnx-tests/light", "onnx-tests/simple", "onnx-tests/pytorch-converted", "onnx-tests/pytorch-operator",
           "cases")


def networks() -> dict[str, dict[str, np.ndarray]]:
    """Inputs of the networks, which have no test data in ONNX's form."""
    values = np.random.default_rng(1)

    def real(*shape: int) -> np.ndarray:
        return values.random(shape, np.float32)

    return {
        "silero_vad/model": {"input": real(1, 512), "state": real(2, 1, 128), "sr": np.array(16000)},
        "mnist/model": {"Input3": real(1, 1, 28, 28)},
        "face_detector/model": {"input": real(1, 3, 240, 320)},
        "ocr/ch_ppocr_mobile_v2.0_cls_infer": {"x": real(1, 3, 48, 192)},
        "ocr/ch_PP-OCRv4_rec_infer": {"x": real(1, 3, 48, 320)},
        "ocr/ch_PP-OCRv4_det_infer": {"x": real(1, 3, 64, 96)},
    }


def cases(shared: pathlib.Path) -> Iterator[Case]:
    for folder in FOLDERS:
        for path in sorted((shared / folder).glob("*/model.onnx")):
            if found := mutations.read_case(path.parent):
                yield Case(f"stored/{folder.split('/')[-1]}/{path.parent.name.removeprefix('test_')}", *found)
    for name, inputs in networks().items():
        path = shared / "models" / f"{name}.onnx"
        if path.exists():
            yield Case(f"stored/models/{name}", path.read_bytes(), inputs)
