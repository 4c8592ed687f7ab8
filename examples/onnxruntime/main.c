/* Runs a model by ONNX Runtime's C interface. The program knows nothing of Frazil: it runs on either library.
 *
 *   onnxruntime_demo [MODEL]     examples/digits/model.onnx unless given
 *
 * MODEL has one input, of floats. Open extents become 1. */
#include <onnxruntime_c_api.h>
#include <stdio.h>

static const OrtApi* ort;

/* Wraps most calls: prints the error of a failed call and ends the program. */
static void check(OrtStatus* status) {
  if (status == NULL) return;
  fprintf(stderr, "onnxruntime: error %d: %s\n", (int)ort->GetErrorCode(status), ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  exit(2);
}

/* Makes a tensor of the input's type, whose elements are 0, 1, 2, ... */
static OrtValue* make_input(OrtSession* session, OrtAllocator* allocator) {
  OrtTypeInfo* type = NULL;
  const OrtTensorTypeAndShapeInfo* shape = NULL;
  OrtValue* value = NULL;
  ONNXTensorElementDataType element;
  int64_t dims[8];
  size_t axes = 0, elements = 1, i;
  float* data = NULL;
  check(ort->SessionGetInputTypeInfo(session, 0, &type));
  check(ort->CastTypeInfoToTensorInfo(type, &shape));
  check(ort->GetTensorElementType(shape, &element));
  check(ort->GetDimensionsCount(shape, &axes));
  if (element != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || axes > 8) {
    fprintf(stderr, "onnxruntime: the input is not a tensor of floats with at most 8 axes\n");
    exit(2);
  }
  check(ort->GetDimensions(shape, dims, axes));
  ort->ReleaseTypeInfo(type);
  for (i = 0; i < axes; ++i) {
    if (dims[i] < 0) dims[i] = 1;
    elements *= (size_t)dims[i];
  }
  check(ort->CreateTensorAsOrtValue(allocator, dims, axes, element, &value));
  check(ort->GetTensorMutableData(value, (void**)&data));
  for (i = 0; i < elements; ++i) data[i] = (float)i;
  return value;
}

int main(int argc, char** argv) {
  const char* const model = argc > 1 ? argv[1] : "examples/digits/model.onnx";
  OrtEnv* env = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  OrtAllocator* allocator = NULL;
  OrtValue *input = NULL, *output = NULL;
  OrtTensorTypeAndShapeInfo* shape = NULL;
  char *in = NULL, *out = NULL;
  size_t elements = 0;
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (ort == NULL) return 2;
  check(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "demo", &env));
  check(ort->CreateSessionOptions(&options));
  check(ort->CreateSession(env, model, options, &session));
  check(ort->GetAllocatorWithDefaultOptions(&allocator));
  check(ort->SessionGetInputName(session, 0, allocator, &in));
  check(ort->SessionGetOutputName(session, 0, allocator, &out));
  input = make_input(session, allocator);
  check(ort->Run(session, NULL, (const char* const*)&in, (const OrtValue* const*)&input, 1, (const char* const*)&out, 1,
                 &output));
  check(ort->GetTensorTypeAndShape(output, &shape));
  check(ort->GetTensorShapeElementCount(shape, &elements));
  printf("%s: '%s' has %zu element%s\n%s\n", model, out, elements, elements == 1 ? "" : "s", ort->GetBuildInfoString());
  ort->ReleaseTensorTypeAndShapeInfo(shape);
  ort->ReleaseValue(output);
  ort->ReleaseValue(input);
  check(ort->AllocatorFree(allocator, in));
  check(ort->AllocatorFree(allocator, out));
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
  ort->ReleaseEnv(env);
  return 0;
}
