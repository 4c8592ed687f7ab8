/* Builds, saves, loads, edits and runs a model from plain C. */
#include <frazil/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Wraps most calls: prints the error of a failed call and ends the program. */
static void check(frazil_code code, frazil_error** error) {
  if (code == FRAZIL_OK) return;
  fprintf(stderr, "c_api: error %d: %s\n", (int)code, frazil_error_message(*error));
  frazil_error_free(*error);
  exit(2);
}

/* y = x * scale, for any number of rows. */
static frazil_model* build(void) {
  const char* const dims[] = {"N", "2"};
  const int64_t scale_dims[] = {2};
  const float scale[] = {10, 100};
  frazil_error* error = NULL;
  frazil_graph* graph = NULL;
  frazil_array* weights = NULL;
  frazil_model* model = NULL;
  frazil_term operands[2], y = 0;
  check(frazil_graph_new("scale", &graph, &error), &error);
  check(frazil_graph_input(graph, "x", FRAZIL_F32, dims, 2, &operands[0], &error), &error);
  check(frazil_array_copy(FRAZIL_F32, scale_dims, 1, scale, sizeof scale, &weights, &error), &error);
  check(frazil_graph_constant(graph, weights, "scale", &operands[1], &error), &error);
  check(frazil_graph_op(graph, "Mul", operands, 2, NULL, 0, NULL, &y, 1, &error), &error);
  check(frazil_graph_output(graph, "y", y, &error), &error);
  check(frazil_graph_build(graph, &model, &error), &error);
  frazil_array_free(weights);
  frazil_graph_free(graph);
  return model;
}

/* Returns the model with its results limited to 250. */
static frazil_model* limited(const frazil_model* model) {
  const float most = 250;
  frazil_error* error = NULL;
  frazil_graph* patch = NULL;
  frazil_array* limit = NULL;
  frazil_model* edited = NULL;
  frazil_term operands[2], least = 0;
  check(frazil_patch_new(model, "limit", &patch, &error), &error);
  check(frazil_patch_tap(patch, "y", &operands[0], &error), &error);
  check(frazil_array_copy(FRAZIL_F32, NULL, 0, &most, sizeof most, &limit, &error), &error);
  check(frazil_graph_constant(patch, limit, NULL, &operands[1], &error), &error);
  check(frazil_graph_op(patch, "Min", operands, 2, NULL, 0, NULL, &least, 1, &error), &error);
  check(frazil_patch_replace(patch, "y", least, &error), &error);
  check(frazil_graph_build(patch, &edited, &error), &error);
  frazil_array_free(limit);
  frazil_graph_free(patch);
  return edited;
}

static void describe(const frazil_model* model) {
  frazil_error* error = NULL;
  frazil_port port = FRAZIL_PORT;
  check(frazil_model_port(model, FRAZIL_INPUTS, 0, &port, &error), &error);
  printf("input %s: %s, %d axes, the first is %s\n", port.name, port.type, (int)port.rank, port.dims[0]);
}

/* Returns whether a run gives the expected result. The input stays in the caller's memory. */
static int gives(const frazil_model* model, const float* expected) {
  static const float rows[] = {1, 2, 3, 4};
  const int64_t dims[] = {2, 2};
  const char *const in[] = {"x"}, *const out[] = {"y"};
  frazil_session_options options = FRAZIL_SESSION_OPTIONS;
  frazil_error* error = NULL;
  frazil_session* session = NULL;
  frazil_array *x = NULL, *y = NULL;
  const void* data = NULL;
  size_t bytes = 0;
  char* text = NULL;
  int same;
  options.threads = 1;
  check(frazil_session_open(model, &options, &session, &error), &error);
  check(frazil_array_borrow(FRAZIL_F32, dims, 2, rows, sizeof rows, NULL, NULL, &x, &error), &error);
  check(frazil_session_run_named(session, in, (const frazil_array* const*)&x, 1, out, &y, 1, &error), &error);
  check(frazil_array_data(y, &data, &bytes, &error), &error);
  check(frazil_array_text(y, &text, &error), &error);
  printf("y = %s\n", text);
  same = bytes == sizeof rows && memcmp(data, expected, bytes) == 0;
  frazil_text_free(text);
  frazil_array_free(y);
  frazil_array_free(x);
  frazil_session_free(session);
  return same;
}

int main(void) {
  static const float plain[] = {10, 200, 30, 400}, cut[] = {10, 200, 30, 250};
  frazil_error* error = NULL;
  frazil_model *built = build(), *loaded = NULL, *none = NULL, *edited;
  int good;
  check(frazil_model_save(built, "c_api.onnx", 0, &error), &error);
  check(frazil_model_load("c_api.onnx", NULL, &loaded, &error), &error);
  edited = limited(loaded);
  describe(loaded);
  good = gives(loaded, plain) && gives(edited, cut);
  if (frazil_model_load("nowhere.onnx", NULL, &none, NULL) != FRAZIL_BAD_INPUT) good = 0;
  frazil_model_free(edited);
  frazil_model_free(loaded);
  frazil_model_free(built);
  remove("c_api.onnx");
  return good ? 0 : 1;
}
