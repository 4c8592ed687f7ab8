"""Cases in which Frazil's library does not follow ONNX Runtime, by a pattern of their names, with the reason."""

DIFFERENCES: dict[str, str] = {}
