#ifndef FRAZIL_C_POLICY_H
#define FRAZIL_C_POLICY_H

/* Policies for C: functions that are called before a file, a model, a change or a run has any effect, and may refuse
 * it. <frazil/c.h> has the rules for calls, texts and structures. */

#include <frazil/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The answer of a function of a policy. Without a refusal the operation is permitted. */
typedef struct frazil_verdict frazil_verdict;
/* Refuses the operation, which fails with FRAZIL_BAD_INPUT and the reason. A later reason replaces an earlier one. NULL
 * or "" is a refusal without a reason. */
FRAZIL_API void frazil_verdict_refuse(frazil_verdict* verdict, const char* reason);

typedef int32_t frazil_file_kind;
enum {
  FRAZIL_FILE_MODEL = 0,    /* an ONNX file */
  FRAZIL_FILE_EXTERNAL = 1, /* external data of an ONNX file */
  FRAZIL_FILE_PACKAGE = 2   /* a file of `frazil compile`, which contains machine code */
};

/* A file that a load reads. It and everything in it is valid during the call of the policy. */
typedef struct frazil_file_facts {
  size_t size;
  frazil_file_kind kind;
  const char* path; /* as given to the load; of external data the path in the model's folder; "" for bytes */
  const void* content;
  size_t bytes;
} frazil_file_facts;
/* Stores "sha256:" and 64 hexadecimal digits of the content. */
FRAZIL_API frazil_code frazil_file_digest(const frazil_file_facts* file, char** digest, frazil_error** error);

/* An operator of an ONNX file. */
typedef struct frazil_file_operator {
  const char *domain, *name; /* "" is ai.onnx */
  int64_t opset;             /* of the domain in the file; 0: it imports none */
  uint64_t nodes;            /* calls, in subgraphs and functions of the file too */
} frazil_file_operator;
/* Lists the operators of a file before upgrades and type inference. The list is empty for other kinds than
 * FRAZIL_FILE_MODEL. The items belong to the list. */
typedef struct frazil_file_operators frazil_file_operators;
FRAZIL_API frazil_code frazil_file_list_operators(const frazil_file_facts* file, frazil_file_operators** list,
                                                  const frazil_file_operator** items, size_t* count,
                                                  frazil_error** error);
FRAZIL_API void frazil_file_operators_free(frazil_file_operators* list);

typedef int32_t frazil_change_kind;
enum { FRAZIL_CHANGE_EDIT = 0, FRAZIL_CHANGE_PUBLISH = 1, FRAZIL_CHANGE_ROLL_BACK = 2 };

/* A change of a model, valid during the call of the policy. */
typedef struct frazil_change {
  size_t size;
  frazil_change_kind kind;
  const frazil_model *from, *to;
  const char *author, *reason; /* "" for an edit outside of a live model */
  uint64_t version;            /* the number that the version will have; 0 outside of a live model */
} frazil_change;

/* The functions of a policy. NULL permits. They may be called by several threads at the same time, must not throw, and
 * must not run the models that they get, nor free them. */
typedef struct frazil_policy {
  size_t size;
  void* context;
  frazil_release release; /* called with `context` if the installation fails; a policy of the process stays */
  /* Called for each file of a load, before the model is read from it. */
  void (*check_file)(void* context, const frazil_file_facts* file, frazil_verdict* verdict);
  /* Called for a model after it was read or built, and for each changed one. */
  void (*check_load)(void* context, const frazil_model* model, frazil_verdict* verdict);
  void (*check_change)(void* context, const frazil_change* change, frazil_verdict* verdict);
  /* Called before each run. */
  void (*check_run)(void* context, const frazil_model* model, frazil_verdict* verdict);
  /* Called before a node frazil.Call runs version `version` of the model `name` of the registry. */
  void (*check_dispatch)(void* context, const char* name, uint64_t version, const frazil_model* model,
                         frazil_verdict* verdict);
  /* Called before a custom operator is registered. */
  void (*check_operator)(void* context, const char* domain, const char* name, frazil_verdict* verdict);
} frazil_policy;
#define FRAZIL_POLICY {sizeof(frazil_policy), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* Gives the process a policy, for each load, change, run and registration that begins later, also of models that were
 * loaded before. It cannot be removed or replaced: a second call is FRAZIL_BAD_INPUT. */
FRAZIL_API frazil_code frazil_install_policy(const frazil_policy* policy, frazil_error** error);

#ifdef __cplusplus
}
#endif

#endif
