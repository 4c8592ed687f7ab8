// Times calls of ONNX Runtime's C interface in two libraries, side by side.
//
//   calls MODEL OURS THEIRS
//
// MODEL has one float input [N] or [1,N] and one output. Each row is the median over 31 rounds, in which the libraries
// take turns.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace {

constexpr int kRounds = 31;
constexpr int kCalls = 2000;

struct Library {
  const OrtApi* api = nullptr;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* memory = nullptr;
  std::string input, output;
  std::vector<float> data = std::vector<float>(64, 1.5f);
  std::int64_t shape[1] = {4};
};

void check(const Library& library, OrtStatus* status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "calls: %s\n", library.api->GetErrorMessage(status));
  std::exit(1);
}

Library open(const char* path, const char* model) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "calls: %s\n", dlerror());
    std::exit(2);
  }
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  Library library;
  library.api = base()->GetApi(22);
  const OrtApi& api = *library.api;
  check(library, api.CreateEnv(ORT_LOGGING_LEVEL_WARNING, "calls", &library.env));
  check(library, api.CreateSessionOptions(&library.options));
  check(library, api.SetIntraOpNumThreads(library.options, 1));
  check(library, api.CreateSession(library.env, model, library.options, &library.session));
  check(library, api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &library.memory));
  OrtAllocator* allocator = nullptr;
  check(library, api.GetAllocatorWithDefaultOptions(&allocator));
  for (auto [get, name] :
       {std::pair(api.SessionGetInputName, &library.input), std::pair(api.SessionGetOutputName, &library.output)}) {
    char* text = nullptr;
    check(library, get(library.session, 0, allocator, &text));
    *name = text;
    allocator->Free(allocator, text);
  }
  return library;
}

OrtValue* tensor(Library& library) {
  OrtValue* value = nullptr;
  check(library, library.api->CreateTensorWithDataAsOrtValue(library.memory, library.data.data(), 16, library.shape, 1,
                                                             ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

void make_tensor(Library& library) { library.api->ReleaseValue(tensor(library)); }
void make_run_options(Library& library) {
  OrtRunOptions* options = nullptr;
  check(library, library.api->CreateRunOptions(&options));
  library.api->ReleaseRunOptions(options);
}
void make_memory_info(Library& library) {
  OrtMemoryInfo* info = nullptr;
  check(library, library.api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  library.api->ReleaseMemoryInfo(info);
}
void read_shape(Library& library) {
  static OrtValue* value = nullptr;
  static const OrtApi* of = nullptr;
  if (of != library.api) value = tensor(library), of = library.api;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(library, library.api->GetTensorTypeAndShape(value, &info));
  library.api->ReleaseTensorTypeAndShapeInfo(info);
}
void run(Library& library) {
  const char* const inputs[] = {library.input.c_str()};
  const char* const outputs[] = {library.output.c_str()};
  const OrtValue* const in[] = {tensor(library)};
  OrtValue* out = nullptr;
  check(library, library.api->Run(library.session, nullptr, inputs, in, 1, outputs, 1, &out));
  void* data = nullptr;
  check(library, library.api->GetTensorMutableData(out, &data));
  library.api->ReleaseValue(out);
  library.api->ReleaseValue(const_cast<OrtValue*>(in[0]));
}

double time_of(Library& library, void (*call)(Library&)) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call(library);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kCalls;
}

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + kRounds / 2);
  return times[kRounds / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: calls MODEL OURS THEIRS\n");
    return 2;
  }
  Library ours = open(argv[2], argv[1]);
  Library theirs = open(argv[3], argv[1]);
  struct Row {
    const char* name;
    void (*call)(Library&);
  };
  std::printf("%-28s %10s %10s %7s\n", "call (ns)", "Frazil", "theirs", "ratio");
  for (const Row& row : {Row{"tensor over memory", make_tensor}, Row{"run options", make_run_options},
                         Row{"memory info", make_memory_info}, Row{"type and shape", read_shape},
                         Row{"Run, with its two tensors", run}}) {
    std::vector<double> a, b;
    for (int round = 0; round < kRounds; ++round) {
      a.push_back(time_of(ours, row.call));
      b.push_back(time_of(theirs, row.call));
    }
    std::printf("%-28s %10.0f %10.0f %7.2f\n", row.name, median(a), median(b), median(a) / median(b));
  }
}
