#ifndef FRAZIL_C_H
#define FRAZIL_C_H

/* Frazil for C and for languages that call C: load or build a model, open a session, run it.
 *
 * The header is C11 and also compiles as C++.
 *
 * Calls: Every call returns a code, FRAZIL_OK or the kind of failure. Its last argument `error` is NULL or the place
 * where an error is stored, which contains the reason in one line. A successful call stores NULL there. Functions that
 * only free, name or count neither return a code nor store an error. Nothing throws. A null handle is FRAZIL_BAD_INPUT.
 *
 * Objects: Handles are opaque. The caller owns each handle that a call stores, and frees it once by the function of its
 * type. Freeing NULL does nothing. A failed call stores NULL in place of its handles. The source of a handle may be
 * freed before the handle: a session keeps its model, and an array keeps its elements.
 *
 * Texts: Texts are UTF-8 and end with a zero. The caller owns each `char*` that a call stores, and frees it by
 * frazil_text_free(). A `const char*` belongs to the handle and lives as long as the handle. Texts that are passed are
 * copied.
 *
 * Threads: A model may be used by any number of threads, an array by any number of readers or one writer. A session,
 * except frazil_session_cancel(), a graph, a profile and an error may be used by one thread at a time.
 *
 * Versions: Functions and constants do not change while FRAZIL_ABI_VERSION does not. Structures that begin with `size`
 * may grow at their end. Set `size` to sizeof; the macros with the names of the structures do so. */

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
/* Returns the version of the loaded library. Compare it with FRAZIL_ABI_VERSION, the version of this header. */
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
FRAZIL_API frazil_code frazil_error_code(const frazil_error* error);    /* FRAZIL_OK for NULL */
FRAZIL_API const char* frazil_error_message(const frazil_error* error); /* "" for NULL */
FRAZIL_API void frazil_error_free(frazil_error* error);
FRAZIL_API void frazil_text_free(char* text);

/* ---- arrays: tensors, sequences, maps, or none (an empty optional) ---- */

typedef struct frazil_array frazil_array;

typedef int32_t frazil_kind;
enum { FRAZIL_NONE = 0, FRAZIL_TENSOR = 1, FRAZIL_SEQUENCE = 2, FRAZIL_MAP = 3 };

/* f16, bf16 and the 8-bit floats are stored as bit patterns. Types narrower than a byte take one byte per element. */
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

/* Makes a tensor of zeros, false values or empty strings. */
FRAZIL_API frazil_code frazil_array_zeros(frazil_dtype dtype, const int64_t* dims, size_t rank, frazil_array** array,
                                          frazil_error** error);
/* Copies `bytes` bytes in row-major order. Their number must agree with the extents. */
FRAZIL_API frazil_code frazil_array_copy(frazil_dtype dtype, const int64_t* dims, size_t rank, const void* data,
                                         size_t bytes, frazil_array** array, frazil_error** error);
/* Makes a tensor over the caller's memory, which must not change while a run uses it. When nothing uses the memory any
 * more, `release`, unless it is NULL, is called with `context` on an arbitrary thread. It is not called if this call
 * fails. It must not throw or call Frazil. */
typedef void (*frazil_release)(void* context);
FRAZIL_API frazil_code frazil_array_borrow(frazil_dtype dtype, const int64_t* dims, size_t rank, const void* data,
                                           size_t bytes, frazil_release release, void* context, frazil_array** array,
                                           frazil_error** error);
/* Makes a tensor of strings. `lengths` are in bytes; NULL means that each text ends with a zero. */
FRAZIL_API frazil_code frazil_array_strings(const int64_t* dims, size_t rank, const char* const* texts,
                                            const size_t* lengths, size_t count, frazil_array** array,
                                            frazil_error** error);
FRAZIL_API frazil_code frazil_array_sequence(const frazil_array* const* items, size_t count, frazil_array** array,
                                             frazil_error** error);
/* Makes another handle to the same elements. Writing through one handle copies them first. */
FRAZIL_API frazil_code frazil_array_share(const frazil_array* from, frazil_array** array, frazil_error** error);
FRAZIL_API void frazil_array_free(frazil_array* array);

FRAZIL_API frazil_code frazil_array_kind(const frazil_array* array, frazil_kind* kind, frazil_error** error);
/* Gets the type of a tensor. The extents stay valid until the handle is freed or written through. */
FRAZIL_API frazil_code frazil_array_type(const frazil_array* array, frazil_dtype* dtype, const int64_t** dims,
                                         size_t* rank, frazil_error** error);
/* Gets the elements in row-major order, except of strings. They are valid as long as the extents. */
FRAZIL_API frazil_code frazil_array_data(const frazil_array* array, const void** data, size_t* bytes,
                                         frazil_error** error);
/* Gets the elements for writing. Shared or borrowed elements are copied first. */
FRAZIL_API frazil_code frazil_array_mutable_data(frazil_array* array, void** data, size_t* bytes, frazil_error** error);
/* Gets string `index` in row-major order. `length` is in bytes. */
FRAZIL_API frazil_code frazil_array_string(const frazil_array* array, size_t index, const char** text, size_t* length,
                                           frazil_error** error);
/* Gets the number of items of a sequence, entries of a map, or elements of a tensor. */
FRAZIL_API frazil_code frazil_array_length(const frazil_array* array, size_t* length, frazil_error** error);
/* Gets item `index` of a sequence as a new handle. */
FRAZIL_API frazil_code frazil_array_item(const frazil_array* array, size_t index, frazil_array** item,
                                         frazil_error** error);
/* Gets entry `index` of a map as new handles. */
FRAZIL_API frazil_code frazil_array_entry(const frazil_array* array, size_t index, frazil_array** key,
                                          frazil_array** value, frazil_error** error);
/* Gets one line of text, such as "f32[2] [1, 2]". */
FRAZIL_API frazil_code frazil_array_text(const frazil_array* array, char** text, frazil_error** error);

/* ---- log ---- */

typedef int32_t frazil_severity;
enum { FRAZIL_LOG_DEBUG = 0, FRAZIL_LOG_INFO = 1, FRAZIL_LOG_WARNING = 2 };
/* Receives a message, whose texts are valid during the call. Called on any thread that logs, by several threads at the
 * same time. It must not throw or call Frazil. Categories: see frazil/log.h. */
typedef void (*frazil_log)(void* context, frazil_severity severity, const char* category, const char* text);
/* Sets the log of the process. NULL restores the default: warnings go to stderr. `release`, unless it is NULL, is
 * called with `context` when nothing uses `log` any more, also if the call fails. */
FRAZIL_API frazil_code frazil_set_log(frazil_log log, frazil_severity least, frazil_release release, void* context,
                                      frazil_error** error);

/* ---- models ---- */

typedef struct frazil_model frazil_model;

#define FRAZIL_UNSET UINT64_MAX /* taken from the environment; a limit of 0 is also unset */

typedef struct frazil_load_options {
  size_t size;
  int32_t fix_defaults;  /* not 0: inputs of ONNX files that have a default become constants */
  uint64_t memory_limit; /* bytes of the graph and of tensor data copied out of the file */
  uint64_t max_elements; /* per tensor */
  uint64_t max_nodes;
  uint64_t max_nesting;
  uint64_t max_name_bytes;
  double deadline_ms;         /* for the load, and again for planning; 0: none; negative: unset */
  frazil_log log;             /* receives the model's messages; NULL: they go to the log of the process */
  frazil_severity log_least;  /* the least severity that `log` receives */
  frazil_release log_release; /* as in frazil_set_log() */
  void* log_context;
} frazil_load_options;
#define FRAZIL_LOAD_OPTIONS                                                                                      \
  {sizeof(frazil_load_options), 0, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, FRAZIL_UNSET, -1.0, \
   NULL, FRAZIL_LOG_INFO, NULL, NULL}

/* Reads a model. `options` may be NULL: all unset. */
FRAZIL_API frazil_code frazil_model_load(const char* path, const frazil_load_options* options, frazil_model** model,
                                         frazil_error** error);
FRAZIL_API frazil_code frazil_model_from_bytes(const void* data, size_t bytes, const frazil_load_options* options,
                                               frazil_model** model, frazil_error** error);
/* Parses the text form. weights[i] is the tensor @names[i] of the text. A duplicate name is FRAZIL_BAD_INPUT. */
FRAZIL_API frazil_code frazil_model_from_text(const char* text, const char* const* names,
                                              const frazil_array* const* weights, size_t count,
                                              const frazil_load_options* options, frazil_model** model,
                                              frazil_error** error);
FRAZIL_API void frazil_model_free(frazil_model* model);

/* An input or output. Texts and extents belong to the model. */
typedef struct frazil_port {
  size_t size; /* set before the call; the call stores the size that it filled */
  const char* name;
  const char* type; /* "f32[N,3]", "seq<i64[...]>"; an extent of more than 24 characters is "?" */
  frazil_kind kind;
  frazil_dtype dtype; /* tensors only */
  int32_t optional;   /* not 0: may be omitted */
  int32_t ranked;     /* tensors only; 0: the number of axes is unknown */
  size_t rank;
  const char* const* dims; /* "3", "N", "2*N + 1" */
  const int64_t* extents;  /* constant extents; -1 for others */
  const char* full_type;   /* the type with the whole text of each extent */
} frazil_port;
#define FRAZIL_PORT {sizeof(frazil_port), NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL}

/* What a model file says about the model. Texts belong to the model, and are "" if the file has none. */
typedef struct frazil_metadata {
  size_t size; /* set before the call */
  const char *producer, *producer_version, *domain, *description, *graph_name, *graph_description;
  int64_t model_version, ir_version;
  size_t opset_count;
  const char* const* opset_domains; /* the domain ai.onnx is "" */
  const int64_t* opset_versions;
  size_t property_count; /* custom metadata */
  const char* const* property_keys;
  const char* const* property_values;
} frazil_metadata;
#define FRAZIL_METADATA \
  {sizeof(frazil_metadata), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, 0, NULL, NULL}

typedef int32_t frazil_side;
enum { FRAZIL_INPUTS = 0, FRAZIL_OUTPUTS = 1 };

FRAZIL_API frazil_code frazil_model_name(const frazil_model* model, const char** name, frazil_error** error);
FRAZIL_API frazil_code frazil_model_port_count(const frazil_model* model, frazil_side side, size_t* count,
                                               frazil_error** error);
FRAZIL_API frazil_code frazil_model_port(const frazil_model* model, frazil_side side, size_t index, frazil_port* port,
                                         frazil_error** error);
FRAZIL_API frazil_code frazil_model_metadata(const frazil_model* model, frazil_metadata* metadata,
                                             frazil_error** error);
/* Writes an ONNX file. Tensors of at least `external_bytes` bytes (0: none) go to a second file beside it. */
FRAZIL_API frazil_code frazil_model_save(const frazil_model* model, const char* path, uint64_t external_bytes,
                                         frazil_error** error);
FRAZIL_API frazil_code frazil_model_text(const frazil_model* model, char** text, frazil_error** error);
/* Gets the execution plan as text: its steps and the storage of each value. */
FRAZIL_API frazil_code frazil_model_explain(const frazil_model* model, char** text, frazil_error** error);

/* ---- sessions ---- */

typedef struct frazil_session frazil_session;

typedef struct frazil_session_options {
  size_t size;
  const char* tier;      /* NULL or "auto"; "ref": the slow reference; "0", "1", "2": see frazil/session.h */
  uint64_t threads;      /* threads of one run; 0: one per core */
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
/* Cancels a run that frazil_session_start() began and waits for its end. Do not call it during another run. */
FRAZIL_API void frazil_session_free(frazil_session* session);
/* Runs with inputs and outputs by position. A null input takes its default. `output_count` is the model's number of
 * outputs. The handles stored in `outputs` belong to the caller. */
FRAZIL_API frazil_code frazil_session_run(frazil_session* session, const frazil_array* const* inputs,
                                          size_t input_count, frazil_array** outputs, size_t output_count,
                                          frazil_error** error);
/* Runs with inputs and outputs by name. Omitted inputs take their default. An output may also be an inner value, or
 * "NODE:2" for output 2 of a node. It is FRAZIL_NONE if the run took another branch. */
FRAZIL_API frazil_code frazil_session_run_named(frazil_session* session, const char* const* input_names,
                                                const frazil_array* const* inputs, size_t input_count,
                                                const char* const* output_names, frazil_array** outputs,
                                                size_t output_count, frazil_error** error);
/* Starts a frazil_session_run() on one of the process's request threads. There is at most one per core. */
FRAZIL_API frazil_code frazil_session_start(frazil_session* session, const frazil_array* const* inputs,
                                            size_t input_count, frazil_error** error);
/* Waits for the run that was started and stores its outputs or its error. */
FRAZIL_API frazil_code frazil_session_wait(frazil_session* session, frazil_array** outputs, size_t output_count,
                                           frazil_error** error);
/* Binds an output: from the next run on, its elements are written to the `bytes` bytes at `data`. The memory must stay
 * valid until the output is bound again, or unbound by a null `data`. A run fails if the memory is too small. The
 * output's array is a view of it. */
FRAZIL_API frazil_code frazil_session_bind_output(frazil_session* session, const char* name, frazil_dtype dtype,
                                                  void* data, size_t bytes, frazil_error** error);
/* Sets the deadline of the following runs. A negative number means no deadline. */
FRAZIL_API frazil_code frazil_session_set_deadline(frazil_session* session, double milliseconds, frazil_error** error);
/* Frees the memory that is kept for the next run, and the inputs of the last run. Call it between runs. */
FRAZIL_API frazil_code frazil_session_trim(frazil_session* session, frazil_error** error);
/* Makes the run in progress, or the one that was started, stop soon with FRAZIL_CANCELLED. Callable from any thread.
 * The next run is not affected. */
FRAZIL_API frazil_code frazil_session_cancel(frazil_session* session, frazil_error** error);

/* ---- runs from any thread: a model's pool of sessions ---- */

/* Run as frazil_session_run() and frazil_session_run_named() do, on a session of the model's pool. Any number of
 * threads may call at the same time. Sessions are opened on demand and used again; a call waits while the pool's bounds
 * allow no other. Inner values cannot be outputs. */
FRAZIL_API frazil_code frazil_model_run(const frazil_model* model, const frazil_array* const* inputs,
                                        size_t input_count, frazil_array** outputs, size_t output_count,
                                        frazil_error** error);
FRAZIL_API frazil_code frazil_model_run_named(const frazil_model* model, const char* const* input_names,
                                              const frazil_array* const* inputs, size_t input_count,
                                              const char* const* output_names, frazil_array** outputs,
                                              size_t output_count, frazil_error** error);
/* Makes a handle to the same model with another pool. `options` are those of its sessions, or NULL. `max_sessions` is
 * the most sessions at a time. `memory_limit` is the most bytes that all of them hold between runs. Both may be
 * FRAZIL_UNSET. */
FRAZIL_API frazil_code frazil_model_with_pool(const frazil_model* model, const frazil_session_options* options,
                                              uint64_t max_sessions, uint64_t memory_limit, frazil_model** other,
                                              frazil_error** error);
typedef struct frazil_pool_counts {
  size_t size;                    /* set before the call */
  size_t sessions, idle, waiting; /* sessions that are open; those not in use; calls that wait for one */
  uint64_t held_bytes, opened;    /* bytes held by all; sessions opened so far */
} frazil_pool_counts;
#define FRAZIL_POOL_COUNTS {sizeof(frazil_pool_counts), 0, 0, 0, 0, 0}
FRAZIL_API frazil_code frazil_model_pool_counts(const frazil_model* model, frazil_pool_counts* counts,
                                                frazil_error** error);
/* Closes the sessions of the pool that have been idle for at least `milliseconds`. `closed` may be NULL. */
FRAZIL_API frazil_code frazil_model_drop_idle(const frazil_model* model, double milliseconds, size_t* closed,
                                              frazil_error** error);

/* ---- profiles ---- */

typedef struct frazil_profile frazil_profile;
/* Records the following runs of the session. They go step by step on one thread. The trace keeps the first
 * `trace_events` events; 0: no trace. */
FRAZIL_API frazil_code frazil_session_start_profile(frazil_session* session, uint64_t trace_events,
                                                    frazil_error** error);
/* Ends the recording and stores it. */
FRAZIL_API frazil_code frazil_session_stop_profile(frazil_session* session, frazil_profile** profile,
                                                   frazil_error** error);
FRAZIL_API void frazil_profile_free(frazil_profile* profile);
/* A node, or a group of nodes that one kernel computes: sums over all runs. Texts belong to the profile. */
typedef struct frazil_profile_row {
  size_t size; /* set before the call */
  const char *node, *op, *kernel;
  uint64_t calls;
  double seconds;
  double flops, bytes_read, bytes_written; /* from the definitions of the operators */
  int32_t flops_known;
} frazil_profile_row;
#define FRAZIL_PROFILE_ROW {sizeof(frazil_profile_row), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0}
/* Gets the number of rows, recorded runs, and their seconds. Each pointer may be NULL. */
FRAZIL_API frazil_code frazil_profile_totals(const frazil_profile* profile, size_t* rows, uint64_t* runs,
                                             double* seconds, frazil_error** error);
/* Gets row `index`, longest first. */
FRAZIL_API frazil_code frazil_profile_get_row(const frazil_profile* profile, size_t index, frazil_profile_row* row,
                                              frazil_error** error);
/* Gets the first `most` rows as a table. */
FRAZIL_API frazil_code frazil_profile_table(const frazil_profile* profile, size_t most, char** text,
                                            frazil_error** error);
/* Gets JSON text in the trace event format of Chrome and Perfetto. `title` names the process in it. */
FRAZIL_API frazil_code frazil_profile_trace(const frazil_profile* profile, const char* title, char** text,
                                            frazil_error** error);

/* ---- graphs: built node by node, or edits of a model ---- */

typedef struct frazil_graph frazil_graph; /* a graph under construction, a patch, or the body of a control-flow node */
typedef uint64_t frazil_term;             /* a value in one graph; 0: an absent optional input */

typedef int32_t frazil_attribute_kind;
enum {
  FRAZIL_INT = 0,    /* `values` is a const int64_t*, one */
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
/* Makes a patch: edits of a model that frazil_graph_build() applies together to make a new model. */
FRAZIL_API frazil_code frazil_patch_new(const frazil_model* model, const char* name, frazil_graph** patch,
                                        frazil_error** error);
FRAZIL_API void frazil_graph_free(frazil_graph* graph);

/* Adds an input. An extent is a number or a symbol: "3", "N". In a patch, the input may replace a value. */
FRAZIL_API frazil_code frazil_graph_input(frazil_graph* graph, const char* name, frazil_dtype dtype,
                                          const char* const* dims, size_t rank, frazil_term* term,
                                          frazil_error** error);
FRAZIL_API frazil_code frazil_graph_output(frazil_graph* graph, const char* name, frazil_term term,
                                           frazil_error** error);
FRAZIL_API frazil_code frazil_graph_constant(frazil_graph* graph, const frazil_array* value, const char* name,
                                             frazil_term* term, frazil_error** error);
/* Adds a node of any operator: "Add", "ai.onnx.ml.Scaler". `name` may be NULL. An invalid node adds nothing. `outputs`
 * may be `inputs`. */
FRAZIL_API frazil_code frazil_graph_op(frazil_graph* graph, const char* op, const frazil_term* inputs,
                                       size_t input_count, const frazil_attribute* attributes, size_t attribute_count,
                                       const char* name, frazil_term* outputs, size_t output_count,
                                       frazil_error** error);
/* Builds a body from its parameters and stores `result_count` results. Any code but FRAZIL_OK discards the node. `body`
 * is valid during the call. It may use terms of the enclosing graphs. */
typedef frazil_code (*frazil_fill)(void* context, frazil_graph* body, const frazil_term* params, size_t param_count,
                                   frazil_term* results, size_t result_count);
typedef struct frazil_region {
  size_t params, results;
  frazil_fill fill;
  void* context;
} frazil_region;
/* Adds a control-flow node (If, Loop, Scan) with one region per body, in ONNX's order. */
FRAZIL_API frazil_code frazil_graph_region(frazil_graph* graph, const char* op, const frazil_term* inputs,
                                           size_t input_count, const frazil_region* regions, size_t region_count,
                                           const frazil_attribute* attributes, size_t attribute_count, const char* name,
                                           frazil_term* outputs, size_t output_count, frazil_error** error);
/* Gets the inferred type, such as "f32[N,3]". */
FRAZIL_API frazil_code frazil_graph_type(const frazil_graph* graph, frazil_term term, char** type,
                                         frazil_error** error);
/* Makes a model of the current graph, or the edited model of a patch. A patch cannot be used afterwards. */
FRAZIL_API frazil_code frazil_graph_build(frazil_graph* graph, frazil_model** model, frazil_error** error);

/* Functions of patches. tap gets the value of that name, as it was before the patch. replace replaces every use of the
 * value by `with`. remove removes a node whose results have no uses after the patch. */
FRAZIL_API frazil_code frazil_patch_tap(frazil_graph* patch, const char* value, frazil_term* term,
                                        frazil_error** error);
FRAZIL_API frazil_code frazil_patch_replace(frazil_graph* patch, const char* value, frazil_term with,
                                            frazil_error** error);
FRAZIL_API frazil_code frazil_patch_remove(frazil_graph* patch, const char* node, frazil_error** error);
FRAZIL_API frazil_code frazil_patch_set_attribute(frazil_graph* patch, const char* node,
                                                  const frazil_attribute* attribute, frazil_error** error);
FRAZIL_API frazil_code frazil_patch_remove_output(frazil_graph* patch, const char* name, frazil_error** error);

/* ---- custom operators ---- */

typedef struct frazil_op_call frazil_op_call; /* valid, like all its results, during the call of a function */
/* Returns FRAZIL_OK or the code of an error, whose text frazil_op_fail() sets. The error names the node. */
typedef frazil_code (*frazil_op_function)(void* context, frazil_op_call* call);

typedef struct frazil_operator {
  size_t size;
  const char *name, *domain; /* "Twice", "com.acme" */
  size_t inputs, optional_inputs;
  int32_t variadic; /* not 0: any number of inputs after `inputs` */
  size_t outputs;
  const frazil_attribute* attributes; /* at most 16 defaults, which determine the kinds */
  size_t attribute_count;
  int32_t impure; /* not 0: results do not depend only on operands and attributes */
  int32_t views;  /* not 0: operands are views of the run's memory, not copies */
  /* Sets the type of each output from the types of the operands. Threads that build, load, open or run call it. */
  frazil_op_function types;
  /* Sets each output from the operands. The thread of the session calls it, or one that opens a session. Several
   * threads may call both functions at the same time. */
  frazil_op_function run;
  void* context;
} frazil_operator;

/* Registers the operator permanently in this process. Graphs, files and texts may then refer to it. */
FRAZIL_API frazil_code frazil_register_operator(const frazil_operator* definition, frazil_error** error);
FRAZIL_API frazil_code frazil_op_input_count(const frazil_op_call* call, size_t* count, frazil_error** error);
/* Gets the type of an operand, without its texts and constant extents; only in `types`. A port of kind FRAZIL_NONE
 * means that the operand is absent. */
FRAZIL_API frazil_code frazil_op_input_type(const frazil_op_call* call, size_t index, frazil_port* type,
                                            frazil_error** error);
/* Sets the type of an output. Extents are numbers, expressions of operands' extents, each in brackets, such as "2*(N)",
 * or "?" for an extent that is known only after a run. */
FRAZIL_API frazil_code frazil_op_set_type(frazil_op_call* call, size_t index, frazil_dtype dtype,
                                          const char* const* dims, size_t rank, frazil_error** error);
/* Gets an operand, NULL if it is absent; only in `run`. */
FRAZIL_API frazil_code frazil_op_input(const frazil_op_call* call, size_t index, const frazil_array** array,
                                       frazil_error** error);
FRAZIL_API frazil_code frazil_op_set_output(frazil_op_call* call, size_t index, const frazil_array* array,
                                            frazil_error** error);
/* Gets the attribute's value or its default; in `types` and `run`. */
FRAZIL_API frazil_code frazil_op_attribute(frazil_op_call* call, const char* name, frazil_attribute* attribute,
                                           frazil_error** error);
/* Sets the text of an error. Returns `code`, for the function to return. */
FRAZIL_API frazil_code frazil_op_fail(frazil_op_call* call, frazil_code code, const char* message);

#ifdef __cplusplus
}
#endif

#endif
