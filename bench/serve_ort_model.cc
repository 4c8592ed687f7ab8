#include "bench/serve_ort_model.h"

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <dlfcn.h>

namespace bench {
namespace {

using frazil::api::Array;
using frazil::api::Dtype;

struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct MemoryInfo;
struct TensorInfo;
struct Value;

struct ApiBase {
  const void* (*get_api)(std::uint32_t version);
  const char* (*version_string)();
};
constexpr std::uint32_t kApiVersion = 16;

/// An entry of the C API's table, to which versions only append: its place and signature.
template <std::size_t Index, class Signature>
struct Entry;
template <std::size_t Index, class Result, class... Args>
struct Entry<Index, Result(Args...)> {
  static auto at(void* const* table) { return reinterpret_cast<Result (*)(Args...)>(table[Index]); }
};
template <std::size_t Index, class... Args>
using Checked = Entry<Index, Status*(Args...)>;

using GetErrorMessage = Entry<2, const char*(const Status*)>;
using CreateEnv = Checked<3, int, const char*, Env**>;
using CreateSession = Checked<7, const Env*, const char*, const SessionOptions*, Session**>;
using Run = Checked<9, Session*, const void*, const char* const*, const Value* const*, std::size_t, const char* const*,
                    std::size_t, Value**>;
using CreateSessionOptions = Checked<10, SessionOptions**>;
using SetOptimizationLevel = Checked<23, SessionOptions*, int>;
using SetIntraOpThreads = Checked<24, SessionOptions*, int>;
using SetInterOpThreads = Checked<25, SessionOptions*, int>;
using CreateTensorOver =
    Checked<49, const MemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t, int, Value**>;
using GetTensorData = Checked<51, Value*, void**>;
using GetElementType = Checked<60, const TensorInfo*, int*>;
using GetRank = Checked<61, const TensorInfo*, std::size_t*>;
using GetDims = Checked<62, const TensorInfo*, std::int64_t*, std::size_t>;
using GetTensorInfo = Checked<65, const Value*, TensorInfo**>;
using CreateCpuMemoryInfo = Checked<69, int, int, MemoryInfo**>;
using ReleaseEnv = Entry<92, void(Env*)>;
using ReleaseStatus = Entry<93, void(Status*)>;
using ReleaseMemoryInfo = Entry<94, void(MemoryInfo*)>;
using ReleaseSession = Entry<95, void(Session*)>;
using ReleaseValue = Entry<96, void(Value*)>;
using ReleaseTensorInfo = Entry<99, void(TensorInfo*)>;
using ReleaseSessionOptions = Entry<100, void(SessionOptions*)>;

constexpr int kLogErrors = 3, kAllOptimizations = 99, kDeviceAllocator = 0, kDefaultMemory = 0;

/// The peer's number of an element type is ONNX's.
Dtype dtype_of_number(int number) {
  using enum Dtype;
  for (const Dtype dtype : {f32, i64, i32, boolean, u8, i8, f64, f16, bf16, u16, i16, u32, u64}) {
    if (frazil::api::onnx_number(dtype) == number) return dtype;
  }
  throw std::runtime_error("onnxruntime: a result of element type " + std::to_string(number));
}

class Table {
 public:
  explicit Table(const std::string& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(std::string("cannot open the peer: ") + dlerror());
    const auto get_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
    if (get_base == nullptr) throw std::runtime_error(library + " has no OrtGetApiBase");
    entries_ = static_cast<void* const*>(get_base()->get_api(kApiVersion));
    if (entries_ == nullptr) throw std::runtime_error(library + " is too old");
  }
  template <class E, class... Args>
  auto call(Args... args) const {
    return E::at(entries_)(args...);
  }
  template <class E, class... Args>
  void check(Args... args) const {
    Status* const status = E::at(entries_)(args...);
    if (status == nullptr) [[likely]]
      return;
    const std::string message = call<GetErrorMessage>(static_cast<const Status*>(status));
    call<ReleaseStatus>(status);
    throw std::runtime_error("onnxruntime: " + message);
  }

 private:
  void* const* entries_ = nullptr;
};

/// A tensor of the peer; several views may share it.
class OwnedValue {
 public:
  OwnedValue(const Table& table, Value* value) : table_(table), value_(value) {}
  ~OwnedValue() { table_.call<ReleaseValue>(value_); }
  OwnedValue(const OwnedValue&) = delete;
  OwnedValue& operator=(const OwnedValue&) = delete;

 private:
  const Table& table_;
  Value* value_;
};

}  // namespace

struct OrtModel::Impl {
  Table table;
  Env* env = nullptr;
  Session* session = nullptr;
  MemoryInfo* memory = nullptr;
  std::vector<std::string> inputs, outputs;
  std::vector<const char*> input_names, output_names;

  Impl(const std::string& library, const std::string& path, std::vector<std::string> inputs_,
       std::vector<std::string> outputs_)
      : table(library), inputs(std::move(inputs_)), outputs(std::move(outputs_)) {
    for (const std::string& name : inputs) input_names.push_back(name.c_str());
    for (const std::string& name : outputs) output_names.push_back(name.c_str());
    table.check<CreateEnv>(kLogErrors, "bench", &env);
    table.check<CreateCpuMemoryInfo>(kDeviceAllocator, kDefaultMemory, &memory);
    SessionOptions* options = nullptr;
    table.check<CreateSessionOptions>(&options);
    table.check<SetOptimizationLevel>(options, kAllOptimizations);
    table.check<SetIntraOpThreads>(options, 1);
    table.check<SetInterOpThreads>(options, 1);
    table.check<CreateSession>(env, path.c_str(), options, &session);
    table.call<ReleaseSessionOptions>(options);
  }
  ~Impl() {
    table.call<ReleaseSession>(session);
    table.call<ReleaseMemoryInfo>(memory);
    table.call<ReleaseEnv>(env);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// The peer takes the bytes as writable, although it reads inputs alone.
  std::unique_ptr<OwnedValue> view(const Array& array, Value*& value) const {
    const auto& sizes = array.sizes();
    table.check<CreateTensorOver>(memory, const_cast<void*>(array.data()), array.bytes(), sizes.data(), sizes.size(),
                                  frazil::api::onnx_number(array.dtype()), &value);
    return std::make_unique<OwnedValue>(table, value);
  }

  Array take(Value* value) const {
    auto owned = std::make_shared<OwnedValue>(table, value);
    TensorInfo* info = nullptr;
    int number = 0;
    std::size_t rank = 0;
    void* data = nullptr;
    table.check<GetTensorInfo>(value, &info);
    table.check<GetElementType>(info, &number);
    table.check<GetRank>(info, &rank);
    frazil::api::Sizes sizes(rank);
    table.check<GetDims>(info, sizes.data(), rank);
    table.call<ReleaseTensorInfo>(info);
    table.check<GetTensorData>(value, &data);
    const Dtype dtype = dtype_of_number(number);
    std::size_t bytes = frazil::api::byte_size(dtype);
    for (const std::int64_t extent : sizes) bytes *= static_cast<std::size_t>(extent);
    return Array::borrow(dtype, std::move(sizes), {static_cast<const std::byte*>(data), bytes}, std::move(owned));
  }
};

OrtModel::OrtModel(const std::string& library, const std::string& path, std::vector<std::string> inputs,
                   std::vector<std::string> outputs)
    : impl_(std::make_unique<const Impl>(library, path, std::move(inputs), std::move(outputs))) {}

OrtModel::~OrtModel() = default;

std::vector<Array> OrtModel::run(std::span<const Array> inputs) const {
  std::vector<std::unique_ptr<OwnedValue>> owned;
  std::vector<const Value*> values;
  for (const Array& input : inputs) {
    Value* value = nullptr;
    owned.push_back(impl_->view(input, value));
    values.push_back(value);
  }
  std::vector<Value*> results(impl_->output_names.size(), nullptr);
  impl_->table.check<Run>(impl_->session, nullptr, impl_->input_names.data(), values.data(), values.size(),
                          impl_->output_names.data(), results.size(), results.data());
  std::vector<Array> arrays;
  for (Value* const result : results) arrays.push_back(impl_->take(result));
  return arrays;
}

}  // namespace bench
