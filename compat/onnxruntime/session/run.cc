// One run of a session: names and types are checked, a session of the pool runs, results become values.
#include <algorithm>
#include <array>
#include <memory_resource>
#include <string_view>
#include <thread>
#include <utility>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/session/profile.h"
#include "compat/onnxruntime/session/session.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/element_types.h"
#include "compat/onnxruntime/value/value.h"

namespace frazil::ort {
namespace {

[[noreturn]] void fail_terminated() { fail(ORT_FAIL, "Exiting due to terminate flag being set to true."); }

/// Returns the place of this name, which is most often the one at `guess`; null if there is none.
const Place* find(const std::vector<Place>& places, std::string_view name, std::size_t guess) {
  if (guess < places.size() && places[guess].name == name) return &places[guess];
  const auto found = std::ranges::find(places, name, &Place::name);
  return found == places.end() ? nullptr : &*found;
}

void check_extents(const Place& place, std::span<const std::int64_t> sizes) {
  const OrtTensorTypeAndShapeInfo& wanted = place.type.tensor;
  if (!wanted.has_shape || wanted.dims.empty()) return;  // ONNX Runtime takes a scalar's type for one of any rank
  if (sizes.size() != wanted.dims.size()) {
    fail(ORT_INVALID_ARGUMENT, "Invalid rank for input: {}: got {} axes, the model has {}", place.name, sizes.size(),
         wanted.dims.size());
  }
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (wanted.dims[axis] >= 0 && wanted.dims[axis] != sizes[axis]) {
      fail(ORT_INVALID_ARGUMENT, "Got invalid dimensions for input: {}: axis {} has extent {}, in the model it has {}",
           place.name, axis, sizes[axis], wanted.dims[axis]);
    }
  }
}

// Kinds other than tensors are checked by the run.
void check_input(const Place& place, const OrtValue& value) {
  if (place.type.kind != ONNX_TYPE_TENSOR || !value.is_tensor()) return;
  const ONNXTensorElementDataType type = element_type(value.dtype());
  if (type != place.type.tensor.type) {
    fail(ORT_INVALID_ARGUMENT, "Unexpected input data type. Actual: (tensor({})) , expected: ({})", name_of(type),
         text_of(place.type));
  }
  check_extents(place, value.sizes());
}

const Place& input_place(const OrtSession& session, const char* name, std::size_t guess) {
  require(name, "input_names");
  if (const Place* const place = find(session.inputs, name, guess); place != nullptr) return *place;
  if (const Place* const place = find(session.initializers, name, 0); place != nullptr) return *place;
  fail(ORT_INVALID_ARGUMENT, "Invalid input name: {}", name);
}

const Place& output_place(const OrtSession& session, const char* name, std::size_t guess) {
  require(name, "output_names");
  if (const Place* const place = find(session.outputs, name, guess); place != nullptr) return *place;
  fail(ORT_INVALID_ARGUMENT, "Invalid output name: {}", name);
}

/// Programs pass scalars as tensors with one element.
api::Array operand(const Place& place, const OrtValue& value) {
  const bool scalar =
      place.type.kind == ONNX_TYPE_TENSOR && place.type.tensor.has_shape && place.type.tensor.dims.empty();
  return scalar && value.is_tensor() && !value.sizes().empty() ? value.scalar_operand() : value.operand();
}

/// Fills the operands of all inputs of the model, in its order; an empty one takes its default.
void fill_operands(const OrtSession& session, std::span<const char* const> names,
                   std::span<const OrtValue* const> values, std::span<api::Array> operands) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Place& place = input_place(session, names[i], i);
    require(values[i], "inputs");
    check_input(place, *values[i]);
    operands[place.position] = operand(place, *values[i]);
  }
  for (const Place& place : session.inputs) {
    if (operands[place.position].empty() && place.type.kind != ONNX_TYPE_OPTIONAL) {
      fail(ORT_FAIL, "Missing Input: {}", place.name);
    }
  }
}

/// While it lives, the flag of the options stops the session.
class Termination {
 public:
  Termination(const OrtRunOptions* options, api::Session& session) : options_(options), session_(session) {
    if (options_ == nullptr) return;
    session_.set_stop(&options_->terminated);
    const std::scoped_lock lock(options_->mutex);
    options_->running.insert(&session_);
  }
  ~Termination() {
    if (options_ == nullptr) return;
    const std::scoped_lock lock(options_->mutex);
    options_->running.erase(&session_);
  }
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

 private:
  const OrtRunOptions* options_;
  api::Session& session_;
};

void run_once(const OrtRunOptions* options, api::Session& session, std::span<const api::Array> operands,
              api::Results& results) {
  const Termination termination(options, session);
  try {
    session.run(operands, results);
  } catch (const api::Error& error) {
    if (error.code() == api::Code::cancelled) fail_terminated();
    throw;
  }
}

void run_profiled(OrtSession& session, const OrtRunOptions* options, api::Session& leased,
                  std::span<const api::Array> operands, api::Results& results) {
  if (options != nullptr && options->profile_prefix) {
    const api::Profiler profiler(kProfilerOptions);
    leased.start_profile(profiler);
    run_once(options, leased, operands, results);
    leased.stop_profile();
    write_trace(profiler, *options->profile_prefix, session.model.name());
    return;
  }
  OrtSession::Profiling& profiling = *session.profiling;
  const std::scoped_lock lock(profiling.mutex);
  if (!profiling.ended) leased.start_profile(profiling.profiler);
  run_once(options, leased, operands, results);
  leased.stop_profile();
}

void run_model(OrtSession& session, const Variant& variant, const OrtRunOptions* options,
               std::span<const api::Array> operands, api::Results& results) {
  const api::SessionPool::Lease lease = variant.pool.acquire();
  if (session.profiling != nullptr || (options != nullptr && options->profile_prefix))
    run_profiled(session, options, *lease, operands, results);
  else
    run_once(options, *lease, operands, results);
}

/// Returns the sessions that compute the outputs at `positions`.
std::shared_ptr<const Variant> variant_of(OrtSession& session, std::span<const std::size_t> positions) {
  if (std::ranges::equal(positions, session.all->outputs)) return session.all;
  std::vector<std::size_t> wanted(positions.begin(), positions.end());
  std::ranges::sort(wanted);
  wanted.erase(std::ranges::unique(wanted).begin(), wanted.end());
  return wanted.size() == session.outputs.size() ? session.all : session.variant(wanted);
}

void deliver(api::Array result, const Place& place, OrtValue*& value) {
  if (value == nullptr) {
    value = value_of(std::move(result)).release();
    return;
  }
  copy_elements(OrtValue(std::move(result)), *value, fmt::format("output '{}'", place.name));
}

/// Gives the results to the program's pointers. After a failure, those that were null are null again.
void deliver_all(const OrtSession& session, const Variant& variant, std::span<const std::size_t> positions,
                 api::Results& results, std::span<OrtValue*> values, std::pmr::memory_resource* memory) {
  std::pmr::vector<std::size_t> made(memory);
  made.reserve(values.size());
  try {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto found = std::ranges::lower_bound(variant.outputs, positions[i]);
      const auto at = static_cast<std::size_t>(found - variant.outputs.begin());
      const auto rest = positions.subspan(i + 1);
      const bool again = std::ranges::find(rest, positions[i]) != rest.end();
      if (values[i] == nullptr) made.push_back(i);
      deliver(again ? results[at] : results.take(at), session.outputs[positions[i]], values[i]);
    }
  } catch (...) {
    for (const std::size_t i : made) ReleaseValue(std::exchange(values[i], nullptr));
    throw;
  }
}

}  // namespace

void run(OrtSession& session, const OrtRunOptions* options, std::span<const char* const> input_names,
         std::span<const OrtValue* const> inputs, std::span<const char* const> output_names,
         std::span<OrtValue*> values) {
  if (output_names.empty()) fail(ORT_INVALID_ARGUMENT, "at least one output must be asked for");
  if (options != nullptr && options->terminated) fail_terminated();
  std::array<std::byte, 1024> scratch;  // the lists of a usual run need no allocation
  std::pmr::monotonic_buffer_resource memory(scratch.data(), scratch.size());
  std::pmr::vector<api::Array> operands(session.inputs.size() + session.initializers.size(), &memory);
  fill_operands(session, input_names, inputs, operands);
  std::pmr::vector<std::size_t> positions(output_names.size(), &memory);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    positions[i] = output_place(session, output_names[i], i).position;
  }
  const std::shared_ptr<const Variant> variant = variant_of(session, positions);
  api::Results results;
  run_model(session, *variant, options, operands, results);
  deliver_all(session, *variant, positions, results, values, &memory);
}

OrtStatus* Run(OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
               const OrtValue* const* inputs, std::size_t input_len, const char* const* output_names,
               std::size_t output_names_len, OrtValue** outputs) {
  return guarded([&] {
    require(session, "session");
    run(*session, run_options, {input_names, input_len}, {inputs, input_len}, {output_names, output_names_len},
        {outputs, output_names_len});
  });
}

// The arguments stay valid until the callback, which the caller waits for.
OrtStatus* RunAsync(OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
                    const OrtValue* const* input, std::size_t input_len, const char* const* output_names,
                    std::size_t output_names_len, OrtValue** output, RunAsyncCallbackFn run_async_callback,
                    void* user_data) {
  return guarded([&] {
    require(session, "session");
    require(run_async_callback, "run_async_callback");
    std::thread([=] {
      OrtStatus* const status =
          Run(session, run_options, input_names, input, input_len, output_names, output_names_len, output);
      run_async_callback(user_data, status == nullptr ? output : nullptr, status == nullptr ? output_names_len : 0,
                         status);
    }).detach();
  });
}

}  // namespace frazil::ort
