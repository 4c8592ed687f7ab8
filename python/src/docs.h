#pragma once

// The docstrings of the extension module in NumPy's style. Each begins with the signature that inspect reads.
namespace frazil::python::docs {

inline constexpr char kOptions[] =
    R"(How runs go: keywords of load(), Graph.build(), Model.session() and Model.with_options().

None means: as the environment says (`frazil knobs`).

Parameters
----------
tier : str, default 'auto'
    "auto" compiles in the background; "ref" is the slow reference; "0", "1" and "2" are what is compiled before a run:
    nothing, fused bodies, also whole plans.
threads : int, optional
    The threads of one run; 0 means one per core.
memory_limit : int, optional
    The most bytes of intermediate values.
arena_limit : int, optional
    The most bytes of them that are kept between runs.
max_elements : int, optional
    The most elements of a tensor.
max_steps : int, optional
    The most steps of a run.
deadline_ms : float, optional
    The longest time of a run in milliseconds.
seed : int, default 0
    The seed of random operators without one of their own.
strict_numerics : bool, default False
    Whether kernels whose sums are less exact are left out.

Raises
------
TypeError
    If an option is unknown, or its value does not fit.)";

inline constexpr char kModelRun[] = R"(run(self, inputs={}, feeds=None, *, out=None)
--

Runs the model.

Any thread may call; calls at the same time have a session each. Arrays are not copied when they are in row-major order,
and must not change during the run. Results are arrays over the run's memory. A call waits while the pool's bounds
(with_pool) allow no other session.

Parameters
----------
inputs : dict, list of str, or None
    Inputs by name: NumPy arrays, DLPack tensors, numbers or lists; lists for sequences, dicts for maps, None for an
    input that has a default. As in ONNX Runtime, the names of the wanted outputs, or None for all, if `feeds` is given.
feeds : dict, optional
    Inputs by name.
out : dict, optional
    A NumPy array or a DLPack tensor in the CPU's memory by the name of an output. The result is written into it, and
    it is returned in its place. It is in row-major order and has the element type and the extents of the result. After
    an error its content is unspecified.

Returns
-------
dict or list
    All outputs by name; with `feeds` a list of the named outputs.

Raises
------
BadInput
    If an input does not fit, or an array of `out`.
LimitExceeded
    If a limit of the options is exceeded.
Cancelled
    If the run was cancelled.
KeyboardInterrupt
    After Ctrl-C on the main thread.

Examples
--------
y = model.run({"x": x})["y"]
y, = model.run(["y"], {"x": x}))";

inline constexpr char kSessionRun[] = R"(run(self, inputs={}, feeds=None, *, out=None)
--

Runs the model, as Model.run().

Parameters
----------
inputs : dict, list of str, or None
    Inputs by name, or the names of the wanted outputs.
feeds : dict, optional
    Inputs by name, if `inputs` has names of outputs.
out : dict, optional
    Arrays by the name of an output, which receive the results.

Returns
-------
dict or list
    All outputs by name; with `feeds` a list of the named outputs.

Raises
------
BadInput
    If an input does not fit, or another thread runs the session.
LimitExceeded
    If a limit of the options is exceeded.
Cancelled
    If the run was cancelled.)";

inline constexpr char kObserve[] = R"(observe(self, observer)
--

Sends the events of all later runs to an observer.

Parameters
----------
observer : Observer or None
    What receives the events; None ends it.

Raises
------
BadInput
    If the session is running, or a wanted value is not in the model.)";

inline constexpr char kStartProfile[] = R"(start_profile(self, *, trace_events=0)
--

Records the following runs until stop_profile(). They go step by step on one thread.

Parameters
----------
trace_events : int, default 0
    The number of events that the trace keeps.

Raises
------
BadInput
    If the session is running or records already.)";

inline constexpr char kStopProfile[] = R"(stop_profile(self)
--

Ends the recording.

Returns
-------
Profile
    The time per node.

Raises
------
BadInput
    If the session is running or records nothing.)";

inline constexpr char kSessionTrim[] = R"(trim(self)
--

Frees the memory that is kept for the next run.

Raises
------
BadInput
    If the session is running.)";

inline constexpr char kCancel[] = R"(cancel(self)
--

Makes the run in progress raise Cancelled soon. May be called on any thread.)";

inline constexpr char kWeights[] = R"(weights(self)
--

Returns the tensors that text() calls @name.

Returns
-------
dict of ndarray
    Arrays by name, not copied.)";

inline constexpr char kText[] = R"(text(self)
--

Returns the graph in the text form; see from_text().

Returns
-------
str
    The text.)";

inline constexpr char kDot[] = R"(dot(self)
--

Returns the graph as input for Graphviz.

Returns
-------
str
    A text in the language DOT.)";

inline constexpr char kDigest[] = R"(digest(self)
--

Returns a hash of the text form and the weights. Equal models have equal digests.

Returns
-------
str
    'sha256:...'.)";

inline constexpr char kExplain[] = R"(explain(self)
--

Returns the plan: its steps and where each value lies.

Returns
-------
str
    The plan as text.)";

inline constexpr char kLiveRun[] = R"(run(self, inputs={}, feeds=None)
--

Runs the current version.

Inputs that are not given have what is carried, else their default. Results that are carried cannot be written.

Parameters
----------
inputs : dict, list of str, or None
    Inputs by name, or the names of the wanted outputs, as for Model.run().
feeds : dict, optional
    Inputs by name, if `inputs` has names of outputs.

Returns
-------
dict or list
    All outputs by name; with `feeds` a list of the named outputs.

Raises
------
BadInput
    If an input does not fit, or another thread runs the session.
LimitExceeded
    If a limit of the options is exceeded.
Cancelled
    If the run was cancelled.)";

inline constexpr char kCarry[] = R"(carry(self, output, input)
--

Makes an output of each run an input of the next one, where that is not given: a KV cache, a recurrent state.

The value is kept when the version changes, unless the new version lacks one of the two, or the value does not fit the
input's type. Then the input has its default again, or must be given.

Parameters
----------
output : str
    The name of the output.
input : str
    The name of the input.

Raises
------
BadInput
    If the current version does not have one of the names.)";

inline constexpr char kReset[] = R"(reset(self)
--

Discards what is carried. The next run has the first state.)";

inline constexpr char kDtype[] = R"(dtype(of)
--

Returns an element type.

Parameters
----------
of : str, dtype or DType
    A name, NumPy's dtype, or anything else that numpy.dtype() takes.

Returns
-------
DType
    The element type.

Raises
------
BadInput
    If Frazil has no such element type.

Examples
--------
frazil.dtype("bfloat16") == frazil.bfloat16)";

inline constexpr char kOperators[] = R"(operators()
--

Returns the definition of every operator, sorted by domain and name.

Returns
-------
list of OperatorInfo
    Those of Frazil, and those of host_operator().)";

inline constexpr char kFromDlpack[] = R"(from_dlpack(tensor)
--

Returns a NumPy array over the memory of a DLPack tensor.

Parameters
----------
tensor : object with __dlpack__
    A tensor in the CPU's memory, of any of Frazil's element types.

Returns
-------
ndarray
    An array over the same memory.

Raises
------
BadInput
    If the tensor is not in the CPU's memory, or Frazil lacks its element type.)";

inline constexpr char kNumpy[] = R"(numpy($self, /)
--

Returns the value; runs what it depends on.

Returns
-------
ndarray
    An array over the same memory. It can be written where nothing else uses this memory: (x + 1).numpy(), not
    y.numpy() of a variable.

Raises
------
Error
    The exceptions of the run, with the line that recorded the operator.)";

inline constexpr char kExplainArray[] = R"(explain($self, /)
--

Returns how what this array depends on would run.

Returns
-------
str
    The passes and the plan.)";

}  // namespace frazil::python::docs
