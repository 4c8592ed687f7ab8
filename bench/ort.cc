#include "bench/ort.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

namespace bench {

/// The part of the C API used here. The API is a table of function pointers to which versions only append, so an entry
/// is identified by its index and signature.
namespace ort_abi {

struct Status;
struct Options;
struct RunOptions;
struct Allocator;
struct TypeInfo;
struct TensorInfo;

struct ApiBase {
  const void* (*get_api)(std::uint32_t version);
  const char* (*version_string)();
};

inline constexpr std::uint32_t kApiVersion = 16;
inline constexpr int kLogErrors = 3;
inline constexpr int kSequential = 0;
inline constexpr int kTensorType = 1;

template <std::size_t Index, class Signature>
struct Entry {
  static constexpr std::size_t index = Index;
  using Function = Signature*;
};

template <std::size_t Index, class... Args>
using Checked = Entry<Index, Status*(Args...)>;
template <std::size_t Index, class T>
using Release = Entry<Index, void(T*)>;

constexpr Entry<2, const char*(const Status*)> kGetErrorMessage;
constexpr Checked<3, int, const char*, Env**> kCreateEnv;
constexpr Checked<7, const Env*, const char*, const Options*, Session**> kCreateSession;
constexpr Checked<9, Session*, const RunOptions*, const char* const*, const Value* const*, std::size_t,
                  const char* const*, std::size_t, Value**>
    kRun;
constexpr Checked<10, Options**> kCreateSessionOptions;
constexpr Checked<13, Options*, int> kSetExecutionMode;
constexpr Checked<23, Options*, int> kSetOptimizationLevel;
constexpr Checked<24, Options*, int> kSetIntraOpThreads;
constexpr Checked<25, Options*, int> kSetInterOpThreads;
constexpr Checked<30, const Session*, std::size_t*> kGetInputCount;
constexpr Checked<31, const Session*, std::size_t*> kGetOutputCount;
constexpr Checked<33, const Session*, std::size_t, TypeInfo**> kGetInputType;
constexpr Checked<34, const Session*, std::size_t, TypeInfo**> kGetOutputType;
constexpr Checked<36, const Session*, std::size_t, Allocator*, char**> kGetInputName;
constexpr Checked<37, const Session*, std::size_t, Allocator*, char**> kGetOutputName;
constexpr Checked<48, Allocator*, const std::int64_t*, std::size_t, int, Value**> kCreateTensor;
constexpr Checked<50, const Value*, int*> kIsTensor;
constexpr Checked<51, Value*, void**> kGetTensorData;
constexpr Checked<55, const TypeInfo*, const TensorInfo**> kCastToTensorInfo;
constexpr Checked<56, const TypeInfo*, int*> kGetOnnxType;
constexpr Checked<60, const TensorInfo*, int*> kGetElementType;
constexpr Checked<61, const TensorInfo*, std::size_t*> kGetRank;
constexpr Checked<62, const TensorInfo*, std::int64_t*, std::size_t> kGetDims;
constexpr Checked<65, const Value*, TensorInfo**> kGetTensorInfo;
constexpr Checked<76, Allocator*, void*> kAllocatorFree;
constexpr Checked<78, Allocator**> kGetDefaultAllocator;
constexpr Release<92, Env> kReleaseEnv;
constexpr Release<93, Status> kReleaseStatus;
constexpr Release<95, Session> kReleaseSession;
constexpr Release<96, Value> kReleaseValue;
constexpr Release<98, TypeInfo> kReleaseTypeInfo;
constexpr Release<99, TensorInfo> kReleaseTensorInfo;
constexpr Release<100, Options> kReleaseSessionOptions;

}  // namespace ort_abi

namespace abi = ort_abi;

template <class Entry>
typename Entry::Function Ort::function(Entry) const {
  return reinterpret_cast<typename Entry::Function>(table_[Entry::index]);
}

template <class Entry, class... Args>
auto Ort::call(Entry entry, Args... args) const {
  if constexpr (std::is_same_v<decltype(function(entry)(args...)), abi::Status*>) {
    abi::Status* status = function(entry)(args...);
    if (!status) [[likely]]
      return;
    std::string message = function(abi::kGetErrorMessage)(status);
    function(abi::kReleaseStatus)(status);
    throw std::runtime_error("onnxruntime: " + message);
  } else {
    return function(entry)(args...);
  }
}

namespace {

/// Owns one of the peer's objects for the length of a scope.
template <class T, class Free>
std::unique_ptr<T, Free> scoped(T* object, Free free) {
  return {object, free};
}

}  // namespace

Ort::Ort(const std::string& library) {
  handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw std::runtime_error(std::string("cannot open the peer: ") + dlerror());
  auto get_base = reinterpret_cast<const abi::ApiBase* (*)()>(dlsym(handle_, "OrtGetApiBase"));
  if (!get_base) throw std::runtime_error(library + " has no OrtGetApiBase");
  version_ = get_base()->version_string();
  table_ = static_cast<void* const*>(get_base()->get_api(abi::kApiVersion));
  if (!table_) throw std::runtime_error(library + " is too old: version " + version_);
  call(abi::kCreateEnv, abi::kLogErrors, "bench", &env_);
}

// The library is not closed: its threads and static state do not survive a dlclose.
Ort::~Ort() { call(abi::kReleaseEnv, env_); }

std::string Ort::find_library(const std::string& given) {
  std::vector<std::string> places;
  if (const char* variable = std::getenv("FRAZIL_PEER"); !given.empty()) {
    places = {given};
  } else if (variable && *variable) {
    places = {variable};
  } else {
    for (const char* api : {"napi-v6", "napi-v3"}) {
      places.push_back(std::string("build/peer/node_modules/onnxruntime-node/bin/") + api +
                       "/linux/x64/libonnxruntime.so.1");
    }
  }
  for (const std::string& place : places) {
    if (std::filesystem::exists(place)) return place;
  }
  throw std::runtime_error("no peer library at " + places[0] + "; run scripts/fetch_peer.sh or set FRAZIL_PEER");
}

OrtSession::OrtSession(const Ort& ort, const std::string& model_path, const OrtOptions& options) : ort_(ort) {
  abi::Options* raw = nullptr;
  ort_.call(abi::kCreateSessionOptions, &raw);
  auto scope = scoped(raw, [this](abi::Options* object) { ort_.call(abi::kReleaseSessionOptions, object); });
  ort_.call(abi::kSetExecutionMode, raw, abi::kSequential);
  ort_.call(abi::kSetOptimizationLevel, raw, static_cast<int>(options.level));
  ort_.call(abi::kSetIntraOpThreads, raw, options.intra_threads);
  ort_.call(abi::kSetInterOpThreads, raw, 1);
  ort_.call(abi::kCreateSession, ort_.env_, model_path.c_str(), raw, &session_);
  try {
    inputs_ = ports(false);
    outputs_ = ports(true);
  } catch (...) {
    ort_.call(abi::kReleaseSession, session_);
    throw;
  }
}

OrtSession::~OrtSession() { ort_.call(abi::kReleaseSession, session_); }

std::vector<Port> OrtSession::ports(bool outputs) const {
  abi::Allocator* allocator = nullptr;
  ort_.call(abi::kGetDefaultAllocator, &allocator);
  std::size_t count = 0;
  outputs ? ort_.call(abi::kGetOutputCount, session_, &count) : ort_.call(abi::kGetInputCount, session_, &count);
  std::vector<Port> ports(count);
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    abi::TypeInfo* type = nullptr;
    if (outputs) {
      ort_.call(abi::kGetOutputName, session_, i, allocator, &name);
      ort_.call(abi::kGetOutputType, session_, i, &type);
    } else {
      ort_.call(abi::kGetInputName, session_, i, allocator, &name);
      ort_.call(abi::kGetInputType, session_, i, &type);
    }
    auto scope = scoped(type, [this](abi::TypeInfo* object) { ort_.call(abi::kReleaseTypeInfo, object); });
    ports[i].name = name;
    ort_.call(abi::kAllocatorFree, allocator, static_cast<void*>(name));
    int kind = 0;
    ort_.call(abi::kGetOnnxType, type, &kind);
    if (kind != abi::kTensorType) continue;
    const abi::TensorInfo* info = nullptr;
    int elem = 0;
    std::size_t rank = 0;
    ort_.call(abi::kCastToTensorInfo, type, &info);
    ort_.call(abi::kGetElementType, info, &elem);
    ort_.call(abi::kGetRank, info, &rank);
    ports[i].elem = static_cast<Elem>(elem);
    ports[i].dims.resize(rank);
    ort_.call(abi::kGetDims, info, ports[i].dims.data(), rank);
  }
  return ports;
}

std::vector<HostTensor> OrtSession::run(const NamedTensors& inputs) const {
  OrtPrepared prepared(*this, inputs);
  prepared.run();
  return prepared.outputs();
}

namespace {

std::size_t index_of(const std::vector<Port>& ports, const std::string& name) {
  const auto found = std::ranges::find(ports, name, &Port::name);
  if (found == ports.end()) throw std::runtime_error("the model has no " + name);
  return static_cast<std::size_t>(found - ports.begin());
}

}  // namespace

OrtPrepared::OrtPrepared(const OrtSession& session, const Requests& requests) : session_(session) {
  for (const Port& port : session_.inputs()) input_names_.push_back(port.name.c_str());
  for (const Port& port : session_.outputs()) output_names_.push_back(port.name.c_str());
  output_values_.resize(output_names_.size(), nullptr);
  try {
    make_requests(requests);
  } catch (...) {
    release_all();
    throw;
  }
}

void OrtPrepared::make_requests(const Requests& requests) {
  for (const Carry& c : requests.carried) {
    carried_.push_back({index_of(session_.outputs(), c.output), index_of(session_.inputs(), c.input),
                        make_value(requests.initial.at(c.input))});
  }
  for (const NamedTensors& request : requests.each) {
    auto& values = requests_.emplace_back(input_names_.size(), nullptr);
    for (const auto& [name, tensor] : request) values[index_of(session_.inputs(), name)] = make_value(tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i] && !requests.initial.contains(input_names_[i])) {
        throw std::runtime_error(std::string("no tensor for input ") + input_names_[i]);
      }
    }
  }
}

OrtPrepared::~OrtPrepared() { release_all(); }

void OrtPrepared::release(abi::Value*& value) const {
  if (value) session_.ort_.call(abi::kReleaseValue, value);
  value = nullptr;
}

void OrtPrepared::release_outputs() {
  for (abi::Value*& value : output_values_) release(value);
}

void OrtPrepared::release_all() {
  release_outputs();
  for (Carried& c : carried_) release(c.initial);
  for (auto& values : requests_) {
    for (abi::Value*& value : values) release(value);
  }
}

void OrtPrepared::run() {
  for (std::size_t n = 0; n < requests_.size(); ++n) step(n);
}

void OrtPrepared::step(std::size_t n) {
  auto& inputs = requests_[n < requests_.size() ? n : n % requests_.size()];
  for (const Carried& c : carried_) {
    inputs[c.input] = n == 0 ? c.initial : std::exchange(output_values_[c.output], nullptr);
  }
  release_outputs();
  session_.ort_.call(abi::kRun, session_.session_, nullptr, input_names_.data(), inputs.data(), inputs.size(),
                     output_names_.data(), output_names_.size(), output_values_.data());
  for (const Carried& c : carried_) {
    if (n == 0) inputs[c.input] = nullptr;
    release(inputs[c.input]);
  }
}

std::vector<HostTensor> OrtPrepared::outputs() const {
  std::vector<HostTensor> tensors;
  for (abi::Value* value : output_values_) {
    if (!value) throw std::runtime_error("outputs() without a request before it");
    tensors.push_back(read_value(value));
  }
  return tensors;
}

abi::Value* OrtPrepared::make_value(const HostTensor& tensor) const {
  const Ort& ort = session_.ort_;
  if (elem_size(tensor.elem) == 0) throw std::runtime_error("inputs of this element type are not supported");
  abi::Allocator* allocator = nullptr;
  ort.call(abi::kGetDefaultAllocator, &allocator);
  abi::Value* value = nullptr;
  ort.call(abi::kCreateTensor, allocator, tensor.dims.data(), tensor.dims.size(), static_cast<int>(tensor.elem),
           &value);
  void* data = nullptr;
  ort.call(abi::kGetTensorData, value, &data);
  if (!tensor.data.empty()) std::memcpy(data, tensor.data.data(), tensor.data.size());
  return value;
}

HostTensor OrtPrepared::read_value(abi::Value* value) const {
  const Ort& ort = session_.ort_;
  int is_tensor = 0;
  ort.call(abi::kIsTensor, value, &is_tensor);
  if (!is_tensor) throw std::runtime_error("an output is no tensor");
  abi::TensorInfo* info = nullptr;
  ort.call(abi::kGetTensorInfo, value, &info);
  auto scope = scoped(info, [&ort](abi::TensorInfo* object) { ort.call(abi::kReleaseTensorInfo, object); });
  int elem = 0;
  std::size_t rank = 0;
  ort.call(abi::kGetElementType, info, &elem);
  ort.call(abi::kGetRank, info, &rank);
  Dims dims(rank);
  ort.call(abi::kGetDims, info, dims.data(), rank);
  if (elem_size(static_cast<Elem>(elem)) == 0) throw std::runtime_error("an output's element type is not supported");
  HostTensor tensor(static_cast<Elem>(elem), std::move(dims));
  void* data = nullptr;
  ort.call(abi::kGetTensorData, value, &data);
  if (!tensor.data.empty()) std::memcpy(tensor.data.data(), data, tensor.data.size());
  return tensor;
}

}  // namespace bench
