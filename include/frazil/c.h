#ifndef FRAZIL_C_H
#define FRAZIL_C_H

/* Frazil for C and for languages that call C: load or build a model, open a session, run it. C11; compiles as C++, too.
 *
 * Calls.   Every call returns a code, FRAZIL_OK or what went wrong, and takes `error` as its last argument: NULL, or
 *          where to store an error, which tells the reason in one line. A call that succeeds stores NULL there. Calls
 *          that only free, name or count do neither. Nothing throws; a null handle is FRAZIL_BAD_INPUT.
 * Objects. Handles are opaque. A handle that a call stores belongs to the caller, who frees it by the function of its
 *          type, once; freeing NULL does nothing. After a failed call, handles it would have stored are NULL. What a
 *          handle was made from may be freed before it: a session keeps its model, an array its elements.
 * Texts.   UTF-8, ended by a zero. `char*` stored by a call belongs to the caller: frazil_text_free(). `const char*`
 *          belongs to the handle and lives as long as it does. Texts that are given are copied.
 * Threads. Models: any number of threads at once. Arrays: as many readers as there are, or one writer. Sessions: one
 *          thread at a time, but for frazil_session_cancel(). Graphs, errors: one thread at a time.
 * Version. Functions and constants stay as they are while FRAZIL_ABI_VERSION does. Structures that begin with `size`
 *          may grow at their end: set `size` to sizeof, which the macros named like them do. */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FRAZIL_API __attribute__((visibility("default")))
#else
#define FRAZIL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version, codes, errors ---- */

#define FRAZIL_ABI_VERSION 1u
/* The version of the library that runs; compare with FRAZIL_ABI_VERSION, that of this header. */
FRAZIL_API uint32_t frazil_abi_version(void);

typedef int32_t frazil_code;
enum {
  FRAZIL_OK = 0,
  FRAZIL_BAD_MODEL = 1,     /* the model file or graph is not valid */
  FRAZIL_BAD_INPUT = 2,     /* an argument, an input or an environment variable is not valid */
  FRAZIL_UNSUPPORTED = 3,   /* valid, but not supported by this build */
  FRAZIL_LIMIT = 4,         /* a limit of memory, steps, time or nesting was exceeded */
  FRAZIL_OUT_OF_MEMORY = 5, /* an allocation failed */
  FRAZIL_CANCELLED = 6,     /* cancelled on request */
  FRAZIL_INTERNAL = 7       /* a bug in Frazil */
};

typedef struct frazil_error frazil_error;
FRAZIL_API frazil_code frazil_error_code(const frazil_error* error);    /* FRAZIL_OK of NULL */
FRAZIL_API const char* frazil_error_message(const frazil_error* error); /* "" of NULL */
FRAZIL_API void frazil_error_free(frazil_error* error);
FRAZIL_API void frazil_text_free(char* text);

/* ---- arrays: tensors, sequences, maps, or none (an empty optional) ---- */

typedef struct frazil_array frazil_array;

typedef int32_t frazil_kind;
enum { FRAZIL_NONE = 0, FRAZIL_TENSOR = 1, FRAZIL_SEQUENCE = 2, FRAZIL_MAP = 3 };

/* f16, bf16 and the 8-bit floats are their bit patterns; narrower types take a byte per element. */
typedef int32_t frazil_dtype;
enum {
  FRAZIL_BOOL = 0,
  FRAZIL_I8 = 1,
  FRAZIL_I16 = 2,
  FRAZIL_I32 = 3,
  FRAZIL_I64 = 4,
  FRAZIL_U8 = 5,
  FRAZIL_U16 = 6,
  FRAZIL_U32 = 7,
  FRAZIL_U64 = 8,
  FRAZIL_F16 = 9,
  FRAZIL_BF16 = 10,
  FRAZIL_F32 = 11,
  FRAZIL_F64 = 12,
  FRAZIL_C64 = 13,
  FRAZIL_C128 = 14,
  FRAZIL_STRING = 15,
  FRAZIL_F8E4M3FN = 16,
  FRAZIL_F8E4M3FNUZ = 17,
  FRAZIL_F8E5M2 = 18,
  FRAZIL_F8E5M2FNUZ = 19,
  FRAZIL_F8E8M0 = 20,
  FRAZIL_F4E2M1 = 21,
  FRAZIL_I4 = 22,
  FRAZIL_U4 = 23,
  FRAZIL_I2 = 24,
  FRAZIL_U2 = 25
};

/* A tensor of zeros, false values or empty strings. */
FRAZIL_API frazil_code frazil_array_zeros(frazil_dtype dtype, const int64_t* dims, size_t rank, frazil_array** array,
                                          frazil_error** error);
/* A copy of `bytes` bytes in row-major order: as many as the extents say. */
FRAZIL_API frazil_code frazil_array_copy(frazil_dtype dtype, const int64_t* dims, size_t rank, const void* data,
                                         size_t bytes, frazil_array** array, frazil_error** error);
/* A tensor over the caller's memory, which must not change while a run uses it. `release` (or NULL) is called with
 * `context` when nothing uses the memory any more, on whatever thread that comes about, after this call succeeded;
 * where it fails, it is not called. It must not throw or call back. */
typedef void (*frazil_release)(void* context);
FRAZIL_API frazil_code frazil_array_borrow(frazil_dtype dtype, const int64_t* dims, size_t rank, const void* data,
                                           size_t bytes, frazil_release release, void* context, frazil_array** array,
                                           frazil_error** error);
/* Strings. `lengths` in bytes, or NULL where each text ends with a zero. */
FRAZIL_API frazil_code frazil_array_strings(const int64_t* dims, size_t rank, const char* const* texts,
                                            const size_t* lengths, size_t count, frazil_array** array,
                                            frazil_error** error);
FRAZIL_API frazil_code frazil_array_sequence(const frazil_array* const* items, size_t count, frazil_array** array,
                                             frazil_error** error);
/* Another handle to the same elements. Writing through one copies them first. */
FRAZIL_API frazil_code frazil_array_share(const frazil_array* from, frazil_array** array, frazil_error** error);
FRAZIL_API void frazil_array_free(frazil_array* array);

FRAZIL_API frazil_code frazil_array_kind(const frazil_array* array, frazil_kind* kind, frazil_error** error);
/* Of tensors. The extents stay valid until the handle is freed or written through. */
FRAZIL_API frazil_code frazil_array_type(const frazil_array* array, frazil_dtype* dtype, const int64_t** dims,
                                         size_t* rank, frazil_error** error);
/* The elements in row-major order; not of strings. Valid as the extents are. */
FRAZIL_API frazil_code frazil_array_data(const frazil_array* array, const void** data, size_t* bytes,
                                         frazil_error** error);
/* The same for writing. Shared or borrowed elements are copied first. */
FRAZIL_API frazil_code frazil_array_mutable_data(frazil_array* array, void** data, size_t* bytes, frazil_error** error);
/* String `index` in row-major order; `length` in bytes. */
FRAZIL_API frazil_code frazil_array_string(const frazil_array* array, size_t index, const char** text, size_t* length,
                                           frazil_error** error);
/* How many items a sequence has, entries a map, elements a tensor. */
FRAZIL_API frazil_code frazil_array_length(const frazil_array* array, size_t* length, frazil_error** error);
/* Item `index` of a sequence, as a handle of its own. */
FRAZIL_API frazil_code frazil_array_item(const frazil_array* array, size_t index, frazil_array** item,
                                         frazil_error** error);
/* Entry `index` of a map, as handles of their own. */
FRAZIL_API frazil_code frazil_array_entry(const frazil_array* array, size_t index, frazil_array** key,
                                          frazil_array** value, frazil_error** error);
/* One line: "f32[2] [1, 2]". */
FRAZIL_API frazil_code frazil_array_text(const frazil_array* array, char** text, frazil_error** error);

/* ---- models ---- */

typedef struct frazil_model frazil_model;

#define FRAZIL_UNSET UINT64_MAX /* a limit or number that is taken from the environment; a limit of 0, too, is unset */

typedef struct frazil_load_options {
  size_t size;
  int32_t fix_defaults;  /* not 0: inputs of ONNX files with a default become constants */
  uint64_t memory_limit; /* bytes of the graph and of tensor data copied out of the file */
  uint64_t max_elements; /* per tensor */
  uint64_t max_nodes;
  uint64_t max_nesting;
  uint64_t max_name_bytes;
  double deadline_ms; /* of the load, and again of planning; 0: none; negative: unset */
} frazil_load_options;
#define FRAZIL_LOAD_OPTIONS \
  {sizeof(frazil_load_options), 0, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, -1.0}

/* Options may be NULL: all unset. */
FRAZIL_API frazil_code frazil_model_load(const char* path, const frazil_load_options* options, frazil_model** model,
                                         frazil_error** error);
FRAZIL_API frazil_code frazil_model_from_bytes(const void* data, size_t bytes, const frazil_load_options* options,
                                               frazil_model** model, frazil_error** error);
/* The text form; weights[i] is what the text calls @names[i]. A name given twice is FRAZIL_BAD_INPUT. */
FRAZIL_API frazil_code frazil_model_from_text(const char* text, const char* const* names,
                                              const frazil_array* const* weights, size_t count,
                                              const frazil_load_options* options, frazil_model** model,
                                              frazil_error** error);
FRAZIL_API void frazil_model_free(frazil_model* model);

/* An input or output; texts and extents belong to the model. */
typedef struct frazil_port {
  size_t size; /* set before the call; the call sets it to what it filled */
  const char* name;
  const char* type; /* "f32[N,3]", "seq<i64[...]>" */
  frazil_kind kind;
  frazil_dtype dtype; /* of tensors */
  int32_t optional;   /* not 0: may be omitted */
  int32_t ranked;     /* tensors; 0: the number of axes is unknown */
  size_t rank;
  const char* const* dims; /* "3", "N", "2*N + 1" */
} frazil_port;
#define FRAZIL_PORT {sizeof(frazil_port), NULL, NULL, 0, 0, 0, 0, 0, NULL}

typedef int32_t frazil_side;
enum { FRAZIL_INPUTS = 0, FRAZIL_OUTPUTS = 1 };

FRAZIL_API frazil_code frazil_model_name(const frazil_model* model, const char** name, frazil_error** error);
FRAZIL_API frazil_code frazil_model_port_count(const frazil_model* model, frazil_side side, size_t* count,
                                               frazil_error** error);
FRAZIL_API frazil_code frazil_model_port(const frazil_model* model, frazil_side side, size_t index, frazil_port* port,
                                         frazil_error** error);
/* Writes an ONNX file; tensors of at least `external_bytes` bytes (0: none) go to a file beside it. */
FRAZIL_API frazil_code frazil_model_save(const frazil_model* model, const char* path, uint64_t external_bytes,
                                         frazil_error** error);
FRAZIL_API frazil_code frazil_model_text(const frazil_model* model, char** text, frazil_error** error);
/* The execution plan: its steps, and where each value is stored. */
FRAZIL_API frazil_code frazil_model_explain(const frazil_model* model, char** text, frazil_error** error);

/* ---- sessions ---- */

typedef struct frazil_session frazil_session;

typedef struct frazil_session_options {
  size_t size;
  const char* tier;      /* NULL or "auto"; "ref": the slow reference; "0", "1", "2": what is compiled at once */
  uint64_t threads;      /* of one run; 0: one per core */
  uint64_t memory_limit; /* bytes of intermediate values */
  uint64_t arena_limit;  /* bytes kept between runs */
  uint64_t max_elements; /* per tensor */
  uint64_t max_steps;    /* per run */
  double deadline_ms;    /* per run; 0 or negative: unset */
  uint64_t seed;
  int32_t strict_numerics;
} frazil_session_options;
#define FRAZIL_SESSION_OPTIONS                                                                                  \
  {sizeof(frazil_session_options), NULL, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, \
   -1.0, 0, 0}

FRAZIL_API frazil_code frazil_session_open(const frazil_model* model, const frazil_session_options* options,
                                           frazil_session** session, frazil_error** error);
/* Cancels what frazil_session_start() began, and waits for its end; not during another run. */
FRAZIL_API void frazil_session_free(frazil_session* session);
/* Inputs and outputs by position; a null input takes its default. `output_count` is the model's number of outputs; the
 * handles stored in `outputs` belong to the caller. */
FRAZIL_API frazil_code frazil_session_run(frazil_session* session, const frazil_array* const* inputs,
                                          size_t input_count, frazil_array** outputs, size_t output_count,
                                          frazil_error** error);
/* By name; inputs that are not named take their default. An output may also be an inner value, or "NODE:2" for output 2
 * of a node: FRAZIL_NONE where the run took another branch. */
FRAZIL_API frazil_code frazil_session_run_named(frazil_session* session, const char* const* input_names,
                                                const frazil_array* const* inputs, size_t input_count,
                                                const char* const* output_names, frazil_array** outputs,
                                                size_t output_count, frazil_error** error);
/* As frazil_session_run(), on one of the process's request threads, of which there is one per core at most. */
FRAZIL_API frazil_code frazil_session_start(frazil_session* session, const frazil_array* const* inputs,
                                            size_t input_count, frazil_error** error);
/* Waits for the run that was started, and gives its outputs or its error. */
FRAZIL_API frazil_code frazil_session_wait(frazil_session* session, frazil_array** outputs, size_t output_count,
                                           frazil_error** error);
/* From the next run on, this output's elements are written to `data`, of `bytes` bytes, which has to stay valid until
 * it is bound anew, or unbound by a null `data`. A run fails where it is too small. The output's array is a view of it.
 */
FRAZIL_API frazil_code frazil_session_bind_output(frazil_session* session, const char* name, frazil_dtype dtype,
                                                  void* data, size_t bytes, frazil_error** error);
/* Of the runs that begin from now on; negative: none. */
FRAZIL_API frazil_code frazil_session_set_deadline(frazil_session* session, double milliseconds, frazil_error** error);
/* Between runs: frees the memory kept for the next one, and lets go of the inputs of the last one, which are kept
 * otherwise. */
FRAZIL_API frazil_code frazil_session_trim(frazil_session* session, frazil_error** error);
/* Makes the run in progress, or the one that was started, stop soon with FRAZIL_CANCELLED; from any thread. The next
 * run is not affected. */
FRAZIL_API frazil_code frazil_session_cancel(frazil_session* session, frazil_error** error);

/* ---- graphs: built node by node, or a model edited ---- */

typedef struct frazil_graph frazil_graph; /* a graph under construction, a patch, or the body of a control-flow node */
typedef uint64_t frazil_term;             /* a value in one graph; 0: an absent optional input */

typedef int32_t frazil_attribute_kind;
enum {
  FRAZIL_INT = 0,    /* values: const int64_t*, one */
  FRAZIL_FLOAT = 1,  /* const float*, one */
  FRAZIL_TEXT = 2,   /* const char* */
  FRAZIL_INTS = 3,   /* const int64_t*, `count` of them */
  FRAZIL_FLOATS = 4, /* const float* */
  FRAZIL_TEXTS = 5,  /* const char* const* */
  FRAZIL_ARRAY = 6   /* const frazil_array*, a tensor */
};
typedef struct frazil_attribute {
  const char* name;
  frazil_attribute_kind kind;
  size_t count;
  const void* values;
} frazil_attribute;

FRAZIL_API frazil_code frazil_graph_new(const char* name, frazil_graph** graph, frazil_error** error);
/* A patch: edits of a model, applied together by frazil_graph_build(), which gives a new model. */
FRAZIL_API frazil_code frazil_patch_new(const frazil_model* model, const char* name, frazil_graph** patch,
                                        frazil_error** error);
FRAZIL_API void frazil_graph_free(frazil_graph* graph);

/* An extent is a number or a symbol: "3", "N". In a patch: a new input, which may replace a value. */
FRAZIL_API frazil_code frazil_graph_input(frazil_graph* graph, const char* name, frazil_dtype dtype,
                                          const char* const* dims, size_t rank, frazil_term* term,
                                          frazil_error** error);
FRAZIL_API frazil_code frazil_graph_output(frazil_graph* graph, const char* name, frazil_term term,
                                           frazil_error** error);
FRAZIL_API frazil_code frazil_graph_constant(frazil_graph* graph, const frazil_array* value, const char* name,
                                             frazil_term* term, frazil_error** error);
/* A node of any operator: "Add", "ai.onnx.ml.Scaler". `name` may be NULL. A node that does not fit adds nothing.
 * `outputs` may be `inputs`. */
FRAZIL_API frazil_code frazil_graph_op(frazil_graph* graph, const char* op, const frazil_term* inputs,
                                       size_t input_count, const frazil_attribute* attributes, size_t attribute_count,
                                       const char* name, frazil_term* outputs, size_t output_count,
                                       frazil_error** error);
/* Builds a body from its parameters: stores `result_count` results. Anything but FRAZIL_OK gives the node up. `body` is
 * valid during the call, and the terms of the graphs around it may be used in it. */
typedef frazil_code (*frazil_fill)(void* context, frazil_graph* body, const frazil_term* params, size_t param_count,
                                   frazil_term* results, size_t result_count);
typedef struct frazil_region {
  size_t params, results;
  frazil_fill fill;
  void* context;
} frazil_region;
/* A control-flow node (If, Loop, Scan) with one region per body, in ONNX's order. */
FRAZIL_API frazil_code frazil_graph_region(frazil_graph* graph, const char* op, const frazil_term* inputs,
                                           size_t input_count, const frazil_region* regions, size_t region_count,
                                           const frazil_attribute* attributes, size_t attribute_count, const char* name,
                                           frazil_term* outputs, size_t output_count, frazil_error** error);
/* The inferred type: "f32[N,3]". */
FRAZIL_API frazil_code frazil_graph_type(const frazil_graph* graph, frazil_term term, char** type,
                                         frazil_error** error);
/* A model of what was built so far; the edited model of a patch, which cannot be used afterwards. */
FRAZIL_API frazil_code frazil_graph_build(frazil_graph* graph, frazil_model** model, frazil_error** error);

/* Of patches. tap: the value of that name, as it was before the patch. replace: every use of it by `with`. remove: a
 * node whose results have no uses any more. */
FRAZIL_API frazil_code frazil_patch_tap(frazil_graph* patch, const char* value, frazil_term* term,
                                        frazil_error** error);
FRAZIL_API frazil_code frazil_patch_replace(frazil_graph* patch, const char* value, frazil_term with,
                                            frazil_error** error);
FRAZIL_API frazil_code frazil_patch_remove(frazil_graph* patch, const char* node, frazil_error** error);
FRAZIL_API frazil_code frazil_patch_set_attribute(frazil_graph* patch, const char* node,
                                                  const frazil_attribute* attribute, frazil_error** error);
FRAZIL_API frazil_code frazil_patch_remove_output(frazil_graph* patch, const char* name, frazil_error** error);

/* ---- operators of the program's own ---- */

typedef struct frazil_op_call frazil_op_call; /* valid during the call of a function, with all that it gives */
/* Anything but FRAZIL_OK is the error's code; frazil_op_fail() gives it a text. The error names the node. */
typedef frazil_code (*frazil_op_function)(void* context, frazil_op_call* call);

typedef struct frazil_operator {
  size_t size;
  const char *name, *domain; /* "Twice", "com.acme" */
  size_t inputs, optional_inputs;
  int32_t variadic; /* not 0: any number of inputs behind `inputs` */
  size_t outputs;
  const frazil_attribute* attributes; /* defaults, at most 16; they also tell the kinds */
  size_t attribute_count;
  int32_t impure; /* not 0: results depend on more than operands and attributes */
  int32_t views;  /* not 0: operands are views of the run's memory, not copies */
  /* Sets the type of each output from the types of the operands: on any thread that builds, loads, opens or runs. */
  frazil_op_function types;
  /* Sets each output from the operands: on the thread of the session, or one that opens one. Both functions may run on
   * several threads at once. */
  frazil_op_function run;
  void* context;
} frazil_operator;

/* Makes the operator known to the process, for good: graphs, files and texts may name it. */
FRAZIL_API frazil_code frazil_register_operator(const frazil_operator* definition, frazil_error** error);
FRAZIL_API frazil_code frazil_op_input_count(const frazil_op_call* call, size_t* count, frazil_error** error);
/* In `types`. A port of FRAZIL_NONE: the operand is absent. */
FRAZIL_API frazil_code frazil_op_input_type(const frazil_op_call* call, size_t index, frazil_port* type,
                                            frazil_error** error);
/* Extents are numbers, expressions of operands' extents, each of them in brackets, as "2*(N)", or "?": the run tells.
 */
FRAZIL_API frazil_code frazil_op_set_type(frazil_op_call* call, size_t index, frazil_dtype dtype,
                                          const char* const* dims, size_t rank, frazil_error** error);
/* In `run`. Of an absent operand NULL. */
FRAZIL_API frazil_code frazil_op_input(const frazil_op_call* call, size_t index, const frazil_array** array,
                                       frazil_error** error);
FRAZIL_API frazil_code frazil_op_set_output(frazil_op_call* call, size_t index, const frazil_array* array,
                                            frazil_error** error);
/* In both. The attribute's own value or its default. */
FRAZIL_API frazil_code frazil_op_attribute(frazil_op_call* call, const char* name, frazil_attribute* attribute,
                                           frazil_error** error);
/* Gives `code`, for the function to return. */
FRAZIL_API frazil_code frazil_op_fail(frazil_op_call* call, frazil_code code, const char* message);

#ifdef __cplusplus
}
#endif

#endif
