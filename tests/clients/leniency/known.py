"""Cases in which Frazil's library does not follow ONNX Runtime, by a pattern of their names, with the reason."""

DIFFERENCES: dict[str, str] = {
    # ONNX says otherwise, and Frazil follows ONNX.
    "indices/NonZero/scalar*": "ONNX: indices of a scalar have no rows",
    "indices/Reshape/allowzero*": "ONNX: a shape with 0 and -1 is invalid with allowzero",
    "extents/Reshape/allowzero and -1/*": "ONNX: a shape with 0 and -1 is invalid with allowzero",
    "extents/Resize/* align_corners *": "ONNX: align_corners scales by the length before it is rounded",
    "node/resize_*_align_corners*": "ONNX: align_corners scales by the length before it is rounded",
    "extents/ConvTranspose/auto_pad lower/*": "ONNX: auto_pad SAME gives extent * stride",
    "node/attention_*_qk_matmul_bias_*": "ONNX: qk_matmul_output with a bias and a causal mask",
    "node/maxunpool_export_with_output_shape*": "ONNX: MaxUnpool counts indices in output_shape",
    "node/onehot_*/opset *": "ONNX: OneHot before opset 11 has no negative indices",
    "node/cast*FLOAT8E5M2*": "ONNX: NaN is 0x7e in float8e5m2",
    # ONNX Runtime returns wrong or unwritten values.
    "graph/Loop/body: scan output is the iteration": "ONNX Runtime returns the last iteration number for all",
    "graph/Scan/body: input passed through": "ONNX Runtime does not copy an output that is an input of the body",
    "node/stft_with_window/vector 2 as matrix": "ONNX Runtime takes the rows of a matrix for the length of a window",
    "extents/Pad/wrap/*": "ONNX Runtime does not wrap more than once",
    # ONNX leaves the answer open.
    "*/nan*": "the order of comparisons with NaN is open",
    "extents/TopK/ties unsorted/*": "the order of unsorted results is open",
    "extents/*/mean of empty*": "the mean of no elements is undefined",
    "node/reduce_mean*/empty input": "the mean of no elements is undefined",
    "values/Cast/to * of odd *": "floats of 2^31 and more, or NaN, as integers are undefined",
    "extents/Dropout/ratio attribute/*": "the mask of an inference is undefined before opset 12",
    "node/bernoulli*": "other random numbers",
    "node/training_dropout*": "other random numbers",
    # Not followed.
    "graph/run with * declared as scalar": "an input that is declared as a scalar takes one element",
    "graph/unused input": "an input that no node reads must be given",
    "file/texts: long node name": "names are limited to 4096 bytes",
    "extents/BatchNormalization/five outputs/*": "training outputs of old BatchNormalization",
    "values/Cast/odd string to float/*": "hexadecimal numbers in strings",
    "values/Einsum/broadcast of 1/open": "Einsum repeats an extent of 1 only if it is known at load",
    "indices/Squeeze/axes *": "odd axes are only mended if they are constant",
    "extents/Pad/axes twice/*": "odd axes are only mended if they are constant",
    "node/regex_full_match*": "this library has no RE2",
    "node/hardmax*/empty input": "Hardmax over no elements",
    **{f"node/{operator}*/no input shape": "operators that need the number of axes at load"
       for operator in ("bitcast", "constantofshape", "eyelike", "if", "layer_normalization", "loop", "scan",
                        "split_to_sequence")},
    **{f"node/{operator}*/{kind} extents": "operators whose number of axes is the length of an input"
       for operator in ("affine_grid", "center_crop_pad", "maxunpool") for kind in ("open", "negative")},
    "node/maxunpool*/without attribute 1": "ONNX: MaxUnpool counts indices in output_shape",
}
