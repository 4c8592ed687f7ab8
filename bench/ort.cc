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

template <class Function, class... Args>
auto Ort::call(Function OrtApi::* function, Args... args) const {
  if constexpr (std::is_same_v<decltype((api_->*function)(args...)), OrtStatus*>) {
    OrtStatus* const status = (api_->*function)(args...);
    if (status == nullptr) [[likely]]
      return;
    const std::string message = api_->GetErrorMessage(status);
    api_->ReleaseStatus(status);
    throw std::runtime_error("onnxruntime: " + message);
  } else {
    return (api_->*function)(args...);
  }
}

namespace {

constexpr std::uint32_t kApiVersion = 16;

/// Owns one of the peer's objects for the length of a scope.
template <class T, class Free>
std::unique_ptr<T, Free> scoped(T* object, Free free) {
  return {object, free};
}

}  // namespace

Ort::Ort(const std::string& library) {
  handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw std::runtime_error(std::string("cannot open the peer: ") + dlerror());
  auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle_, "OrtGetApiBase"));
  if (!get_base) throw std::runtime_error(library + " has no OrtGetApiBase");
  version_ = get_base()->GetVersionString();
  api_ = get_base()->GetApi(kApiVersion);
  if (api_ == nullptr) throw std::runtime_error(library + " is too old: version " + version_);
  call(&OrtApi::CreateEnv, ORT_LOGGING_LEVEL_ERROR, "bench", &env_);
}

// The library is not closed: its threads and static state do not survive a dlclose.
Ort::~Ort() { call(&OrtApi::ReleaseEnv, env_); }

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
  OrtSessionOptions* raw = nullptr;
  ort_.call(&OrtApi::CreateSessionOptions, &raw);
  auto scope = scoped(raw, [this](OrtSessionOptions* object) { ort_.call(&OrtApi::ReleaseSessionOptions, object); });
  ort_.call(&OrtApi::SetSessionExecutionMode, raw, ORT_SEQUENTIAL);
  ort_.call(&OrtApi::SetSessionGraphOptimizationLevel, raw, static_cast<GraphOptimizationLevel>(options.level));
  ort_.call(&OrtApi::SetIntraOpNumThreads, raw, options.intra_threads);
  ort_.call(&OrtApi::SetInterOpNumThreads, raw, 1);
  ort_.call(&OrtApi::CreateSession, ort_.env_, model_path.c_str(), raw, &session_);
  try {
    inputs_ = ports(false);
    outputs_ = ports(true);
  } catch (...) {
    ort_.call(&OrtApi::ReleaseSession, session_);
    throw;
  }
}

OrtSession::~OrtSession() { ort_.call(&OrtApi::ReleaseSession, session_); }

std::vector<Port> OrtSession::ports(bool outputs) const {
  OrtAllocator* allocator = nullptr;
  ort_.call(&OrtApi::GetAllocatorWithDefaultOptions, &allocator);
  std::size_t count = 0;
  outputs ? ort_.call(&OrtApi::SessionGetOutputCount, session_, &count)
          : ort_.call(&OrtApi::SessionGetInputCount, session_, &count);
  std::vector<Port> ports(count);
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    if (outputs) {
      ort_.call(&OrtApi::SessionGetOutputName, session_, i, allocator, &name);
      ort_.call(&OrtApi::SessionGetOutputTypeInfo, session_, i, &type);
    } else {
      ort_.call(&OrtApi::SessionGetInputName, session_, i, allocator, &name);
      ort_.call(&OrtApi::SessionGetInputTypeInfo, session_, i, &type);
    }
    auto scope = scoped(type, [this](OrtTypeInfo* object) { ort_.call(&OrtApi::ReleaseTypeInfo, object); });
    ports[i].name = name;
    ort_.call(&OrtApi::AllocatorFree, allocator, static_cast<void*>(name));
    ONNXType kind = ONNX_TYPE_UNKNOWN;
    ort_.call(&OrtApi::GetOnnxTypeFromTypeInfo, type, &kind);
    if (kind != ONNX_TYPE_TENSOR) continue;
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    ONNXTensorElementDataType elem = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    ort_.call(&OrtApi::CastTypeInfoToTensorInfo, type, &info);
    ort_.call(&OrtApi::GetTensorElementType, info, &elem);
    ort_.call(&OrtApi::GetDimensionsCount, info, &rank);
    ports[i].elem = static_cast<Elem>(elem);
    ports[i].dims.resize(rank);
    ort_.call(&OrtApi::GetDimensions, info, ports[i].dims.data(), rank);
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

void OrtPrepared::release(OrtValue*& value) const {
  if (value) session_.ort_.call(&OrtApi::ReleaseValue, value);
  value = nullptr;
}

void OrtPrepared::release_outputs() {
  for (OrtValue*& value : output_values_) release(value);
}

void OrtPrepared::release_all() {
  release_outputs();
  for (Carried& c : carried_) release(c.initial);
  for (auto& values : requests_) {
    for (OrtValue*& value : values) release(value);
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
  session_.ort_.call(&OrtApi::Run, session_.session_, nullptr, input_names_.data(), inputs.data(), inputs.size(),
                     output_names_.data(), output_names_.size(), output_values_.data());
  for (const Carried& c : carried_) {
    if (n == 0) inputs[c.input] = nullptr;
    release(inputs[c.input]);
  }
}

std::vector<HostTensor> OrtPrepared::outputs() const {
  std::vector<HostTensor> tensors;
  for (OrtValue* value : output_values_) {
    if (!value) throw std::runtime_error("outputs() without a request before it");
    tensors.push_back(read_value(value));
  }
  return tensors;
}

OrtValue* OrtPrepared::make_value(const HostTensor& tensor) const {
  const Ort& ort = session_.ort_;
  if (elem_size(tensor.elem) == 0) throw std::runtime_error("inputs of this element type are not supported");
  OrtAllocator* allocator = nullptr;
  ort.call(&OrtApi::GetAllocatorWithDefaultOptions, &allocator);
  OrtValue* value = nullptr;
  ort.call(&OrtApi::CreateTensorAsOrtValue, allocator, tensor.dims.data(), tensor.dims.size(),
           static_cast<ONNXTensorElementDataType>(tensor.elem), &value);
  void* data = nullptr;
  ort.call(&OrtApi::GetTensorMutableData, value, &data);
  if (!tensor.data.empty()) std::memcpy(data, tensor.data.data(), tensor.data.size());
  return value;
}

HostTensor OrtPrepared::read_value(OrtValue* value) const {
  const Ort& ort = session_.ort_;
  int is_tensor = 0;
  ort.call(&OrtApi::IsTensor, value, &is_tensor);
  if (!is_tensor) throw std::runtime_error("an output is no tensor");
  OrtTensorTypeAndShapeInfo* info = nullptr;
  ort.call(&OrtApi::GetTensorTypeAndShape, value, &info);
  auto scope = scoped(
      info, [&ort](OrtTensorTypeAndShapeInfo* object) { ort.call(&OrtApi::ReleaseTensorTypeAndShapeInfo, object); });
  ONNXTensorElementDataType elem = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::size_t rank = 0;
  ort.call(&OrtApi::GetTensorElementType, info, &elem);
  ort.call(&OrtApi::GetDimensionsCount, info, &rank);
  Dims dims(rank);
  ort.call(&OrtApi::GetDimensions, info, dims.data(), rank);
  if (elem_size(static_cast<Elem>(elem)) == 0) throw std::runtime_error("an output's element type is not supported");
  HostTensor tensor(static_cast<Elem>(elem), std::move(dims));
  void* data = nullptr;
  ort.call(&OrtApi::GetTensorMutableData, value, &data);
  if (!tensor.data.empty()) std::memcpy(tensor.data.data(), data, tensor.data.size());
  return tensor;
}

}  // namespace bench
