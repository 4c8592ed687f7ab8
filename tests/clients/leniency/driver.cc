// Runs models on one library that has ONNX Runtime's interface.
//
//   driver LIBRARY FOLDER BEGIN END
//
// Case n is FOLDER/n.onnx and FOLDER/n.in, which holds the inputs and the names of the outputs to fetch. The program
// writes the outcome to stdout, as a number of bytes and that many bytes per case. records.py has the formats. Each
// case runs in a process of its own, because models that break the rules can end a process.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

namespace {

constexpr unsigned kSeconds = 20;
enum class Outcome : std::uint32_t { ran, load_refused, run_refused, ended };

const OrtApi* ort = nullptr;
OrtEnv* env = nullptr;  // made before the processes of the cases, because that takes longer than most cases

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string text = ort->GetErrorMessage(status);
  ort->ReleaseStatus(status);
  throw Refused(text);
}

// ---- records ----

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    return {take(size), size};
  }

 private:
  const char* take(std::size_t size) {
    if (size > bytes_.size() - at_) throw std::runtime_error("a record ends early");
    at_ += size;
    return bytes_.data() + at_ - size;
  }
  std::string bytes_;
  std::size_t at_ = 0;
};

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}
void put_text(std::string& out, const std::string& text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// ---- values ----

OrtAllocator* allocator() {
  OrtAllocator* found = nullptr;
  check(ort->GetAllocatorWithDefaultOptions(&found));
  return found;
}

OrtValue* read_tensor(Reader& reader) {
  const auto type = static_cast<ONNXTensorElementDataType>(reader.number<std::uint32_t>());
  std::vector<std::int64_t> shape(reader.number<std::uint32_t>());
  for (std::int64_t& extent : shape) extent = reader.number<std::int64_t>();
  OrtValue* value = nullptr;
  check(ort->CreateTensorAsOrtValue(allocator(), shape.data(), shape.size(), type, &value));
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    const auto count = reader.number<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
      check(ort->FillStringTensorElement(value, reader.text().c_str(), i));
    }
    return value;
  }
  const std::string data = reader.text();
  void* memory = nullptr;
  check(ort->GetTensorMutableData(value, &memory));
  if (!data.empty()) std::memcpy(memory, data.data(), data.size());
  return value;
}

void put_strings(std::string& out, const OrtValue* value, std::size_t count) {
  put(out, std::uint64_t{count});
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t size = 0;
    check(ort->GetStringTensorElementLength(value, i, &size));
    std::string text(size, '\0');
    check(ort->GetStringTensorElement(value, size, i, text.data()));
    put_text(out, text);
  }
}

void put_tensor(std::string& out, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(ort->GetTensorTypeAndShape(value, &info));
  ONNXTensorElementDataType type{};
  std::size_t rank = 0, count = 0, bytes = 0;
  check(ort->GetTensorElementType(info, &type));
  check(ort->GetDimensionsCount(info, &rank));
  check(ort->GetTensorShapeElementCount(info, &count));
  std::vector<std::int64_t> shape(rank);
  check(ort->GetDimensions(info, shape.data(), rank));
  ort->ReleaseTensorTypeAndShapeInfo(info);
  put(out, static_cast<std::uint32_t>(type));
  put(out, static_cast<std::uint32_t>(rank));
  for (const std::int64_t extent : shape) put(out, extent);
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return put_strings(out, value, count);
  const void* data = nullptr;
  check(ort->GetTensorData(value, &data));
  check(ort->GetTensorSizeInBytes(value, &bytes));
  put_text(out, {static_cast<const char*>(data), bytes});
}

/// Writes a value as its kind and what it holds: a tensor, or the values of a sequence or map. 0 is an empty optional.
void put_value(std::string& out, const OrtValue* value) {
  int present = 0;
  if (value != nullptr) check(ort->HasValue(value, &present));
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  if (present != 0) check(ort->GetValueType(value, &kind));
  put(out, static_cast<std::uint32_t>(kind));
  if (kind == ONNX_TYPE_TENSOR) return put_tensor(out, value);
  if (kind != ONNX_TYPE_SEQUENCE && kind != ONNX_TYPE_MAP) return;
  std::size_t count = 0;
  check(ort->GetValueCount(value, &count));
  put(out, static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    OrtValue* item = nullptr;
    check(ort->GetValue(value, static_cast<int>(i), allocator(), &item));
    put_value(out, item);
    ort->ReleaseValue(item);
  }
}

// ---- one case ----

OrtSession* load(const std::string& path) {
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  check(ort->CreateSessionOptions(&options));
  check(ort->SetIntraOpNumThreads(options, 1));
  check(ort->CreateSession(env, path.c_str(), options, &session));
  return session;
}

std::vector<std::string> output_names(const OrtSession* session) {
  std::size_t count = 0;
  check(ort->SessionGetOutputCount(session, &count));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(ort->SessionGetOutputName(session, i, allocator(), &name));
    names.emplace_back(name);
  }
  return names;
}

std::vector<const char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

void run(OrtSession* session, const std::string& path, std::string& out) {
  Reader reader(bytes_of_file(path));
  std::vector<std::string> names(reader.number<std::uint32_t>());
  std::vector<const OrtValue*> values;
  for (std::string& name : names) {
    name = reader.text();
    values.push_back(read_tensor(reader));
  }
  std::vector<std::string> wanted(reader.number<std::uint32_t>());
  for (std::string& name : wanted) name = reader.text();
  if (wanted.empty()) wanted = output_names(session);
  const auto in = c_strings(names), outs = c_strings(wanted);
  std::vector<OrtValue*> results(wanted.size());
  check(ort->Run(session, nullptr, in.data(), values.data(), in.size(), outs.data(), outs.size(), results.data()));
  put(out, static_cast<std::uint32_t>(results.size()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    put_text(out, wanted[i]);
    put_value(out, results[i]);
  }
}

std::string outcome(Outcome kind, const std::string& text) {
  std::string out;
  put(out, static_cast<std::uint32_t>(kind));
  put_text(out, text);
  return out;
}

std::string run_case(const std::string& path) {
  Outcome stage = Outcome::load_refused;
  try {
    OrtSession* const session = load(path + ".onnx");
    stage = Outcome::run_refused;
    std::string out = outcome(Outcome::ran, "");
    run(session, path + ".in", out);
    return out;
  } catch (const Refused& refused) {
    return outcome(stage, refused.what());
  }
}

// ---- processes ----

[[noreturn]] void child(const std::string& path, int into) {
  alarm(kSeconds);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  const std::string record = run_case(path);
  for (std::size_t at = 0; at < record.size();) {
    const ssize_t wrote = write(into, record.data() + at, record.size() - at);
    if (wrote <= 0) _exit(1);
    at += static_cast<std::size_t>(wrote);
  }
  _exit(0);
}

std::string in_child(const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t pid = fork();
  if (pid == 0) child(path, ends[1]);
  close(ends[1]);
  std::string record;
  char part[65536];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof(part))) > 0;) {
    record.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) return outcome(Outcome::ended, strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) return outcome(Outcome::ended, "exit code " + std::to_string(WEXITSTATUS(status)));
  return record;
}

const OrtApi* api_of(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  const OrtApi* const api = base == nullptr ? nullptr : base()->GetApi(16);
  if (api == nullptr) throw std::runtime_error(std::string(library) + " has no table of version 16");
  return api;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: driver LIBRARY FOLDER BEGIN END\n");
    return 2;
  }
  try {
    ort = api_of(argv[1]);
    check(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "leniency", &env));
    for (long n = std::atol(argv[3]); n < std::atol(argv[4]); ++n) {
      const std::string record = in_child(std::string(argv[2]) + "/" + std::to_string(n));
      const std::uint64_t size = record.size();
      std::fwrite(&size, sizeof(size), 1, stdout);
      std::fwrite(record.data(), 1, record.size(), stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
