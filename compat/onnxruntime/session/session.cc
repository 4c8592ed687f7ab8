#include "compat/onnxruntime/session/session.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <frazil/build.h>

#include "compat/onnxruntime/custom/operators.h"
#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/session/load_error.h"
#include "compat/onnxruntime/session/profile.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/value.h"

namespace frazil::ort {
namespace {

Place place_of(const api::Port& port, std::size_t position) {
  return {.name = port.name, .type = type_of(port), .position = position};
}

api::LoadOptions load_options(const OrtSessionOptions& options, const std::string& folder) {
  api::LoadOptions load;
  load.folder = folder;
  load.lenient = true;
  load.log = log_of(logger_of(options));
  load.stop = options.cancelled->get_token();
  load.extents = options.extents;
  load.denoted_extents = options.denoted_extents;
  load.files = options.files;
  return load;
}

/// Replaces weights of the model by the values of AddInitializer.
api::Model with_initializers(const api::Model& model, const OrtSessionOptions& options) {
  if (options.initializers.empty()) return model;
  api::Patch patch(model, "initializers");
  for (const auto& [name, value] : options.initializers) patch.replace(name, patch.constant(value->operand()));
  return patch.commit();
}

/// Loads a file whose nodes use custom operators.
LoadedModel load_custom(const std::string& file, api::LoadOptions load, const OrtSessionOptions& options) {
  auto operators = std::make_unique<CustomOperators>(options);
  const std::string prepared = operators->prepared(file);
  load.operators = operators->host();
  api::Model model = api::Model::from_bytes(std::as_bytes(std::span(prepared)), load);
  operators->make_kernels(model);
  return {std::move(operators), with_initializers(model, options)};
}

/// Loads, with the codes of ONNX Runtime for what goes wrong. External data lie in `folder`.
template <class Load, class Bytes>
LoadedModel loaded(const OrtSessionOptions& options, const std::string& folder, const Load& load, const Bytes& bytes) {
  try {
    const api::LoadOptions with = load_options(options, folder);
    if (!options.domains.empty()) return load_custom(bytes(), with, options);
    return {nullptr, with_initializers(load(with), options)};
  } catch (const api::Error& error) {
    throw Failure(load_code(error, bytes), error.what());
  }
}

OrtSession* make_session(LoadedModel model, const OrtSessionOptions& options) {
  auto session = std::make_unique<OrtSession>(std::move(model), options);
  if (!options.optimized_path.empty()) session->model.save(options.optimized_path);
  return session.release();
}

const OrtSessionOptions& or_default(const OrtSessionOptions* options) {
  static const OrtSessionOptions defaults;
  return options == nullptr ? defaults : *options;
}

const Place& place(const std::vector<Place>& places, std::size_t index, const char* what) {
  if (index >= places.size()) {
    fail(ORT_INVALID_ARGUMENT, "{} {} of a model with {}", what, index, places.size());
  }
  return places[index];
}

/// The three lists that programs read by index.
template <auto List>
OrtStatus* count_of(const OrtSession* session, std::size_t* out) {
  return guarded([&] {
    require(session, "session");
    *out = (session->*List).size();
  });
}
template <auto List>
OrtStatus* type_at(const OrtSession* session, std::size_t index, const char* what, OrtTypeInfo** type_info) {
  return guarded([&] {
    require(session, "session");
    *type_info = new OrtTypeInfo(place(session->*List, index, what).type);
  });
}
template <auto List>
OrtStatus* name_at(const OrtSession* session, std::size_t index, const char* what, OrtAllocator* allocator,
                   char** value) {
  return guarded([&] {
    require(session, "session");
    require(allocator, "allocator");
    *value = allocate_text(*allocator, place(session->*List, index, what).name);
  });
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

LoadedModel load_file(const std::string& path, const OrtSessionOptions& options) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    fail(ORT_NO_SUCHFILE, "Load model from {} failed: there is no such file", path);
  }
  return loaded(
      options, folder_of(path), [&](const api::LoadOptions& load) { return api::Model::load(path, load); },
      [&] { return content_of(path); });
}

LoadedModel load_bytes(const void* data, std::size_t size, const OrtSessionOptions& options,
                       const std::string& folder) {
  require(data, "model_data");
  const std::span bytes(static_cast<const std::byte*>(data), size);
  return loaded(
      options, folder, [&](const api::LoadOptions& load) { return api::Model::from_bytes(bytes, load); },
      [&] { return std::string(static_cast<const char*>(data), size); });
}

}  // namespace frazil::ort

OrtSession::OrtSession(frazil::ort::LoadedModel loaded, const OrtSessionOptions& given)
    : options(given), model(loaded.model) {
  if (options.profile_prefix) {
    profiling = std::make_unique<Profiling>();
    profiling->start_ns = frazil::ort::now_ns();
  }
  set_model(std::move(loaded));
}

void OrtSession::set_model(frazil::ort::LoadedModel loaded) {
  namespace ort = frazil::ort;
  model = loaded.model;
  inputs.clear();
  initializers.clear();
  outputs.clear();
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const frazil::api::Port& port = model.inputs()[i];
    (port.has_default ? initializers : inputs).push_back(ort::place_of(port, i));
  }
  for (std::size_t i = 0; i < model.outputs().size(); ++i) outputs.push_back(ort::place_of(model.outputs()[i], i));
  std::vector<std::size_t> every(outputs.size());
  std::ranges::generate(every, [i = std::size_t{0}]() mutable { return i++; });
  all = std::make_shared<const ort::Variant>(
      ort::Variant{std::move(every), frazil::api::SessionPool(model, pool_options())});
  const std::scoped_lock lock(mutex_);
  variants_.clear();
  operators = std::move(loaded.operators);
  model.open(pool_options().session);  // a model that cannot be planned fails here, as it does in ONNX Runtime
}

frazil::api::PoolOptions OrtSession::pool_options() const {
  const int threads = options.per_session_threads ? options.intra_op_threads : frazil::ort::global_threads();
  frazil::api::PoolOptions pool;
  pool.session.threads =
      static_cast<unsigned>(std::clamp(threads, 0, static_cast<int>(frazil::api::Options::kMaxThreads)));
  return pool;
}

std::shared_ptr<const frazil::ort::Variant> OrtSession::variant(std::span<const std::size_t> wanted) {
  const std::scoped_lock lock(mutex_);
  for (const auto& made : variants_) {
    if (std::ranges::equal(made->outputs, wanted)) return made;
  }
  if (variants_.size() == kVariants) return all;
  frazil::api::Patch patch(model, "outputs");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!std::ranges::binary_search(wanted, i)) patch.remove_output(outputs[i].name);
  }
  variants_.push_back(std::make_shared<const frazil::ort::Variant>(
      frazil::ort::Variant{{wanted.begin(), wanted.end()}, frazil::api::SessionPool(patch.commit(), pool_options())}));
  return variants_.back();
}

namespace frazil::ort {

OrtStatus* CreateSession(const OrtEnv*, const char* model_path, const OrtSessionOptions* options, OrtSession** out) {
  return guarded([&] {
    require(model_path, "model_path");
    *out = make_session(load_file(model_path, or_default(options)), or_default(options));
  });
}
OrtStatus* CreateSessionFromArray(const OrtEnv*, const void* model_data, std::size_t model_data_length,
                                  const OrtSessionOptions* options, OrtSession** out) {
  return guarded([&] {
    const OrtSessionOptions& given = or_default(options);
    const auto folder = given.config.find("session.model_external_initializers_file_folder_path");
    *out = make_session(
        load_bytes(model_data, model_data_length, given, folder == given.config.end() ? "" : folder->second), given);
  });
}
OrtStatus* CreateSessionWithPrepackedWeightsContainer(const OrtEnv* env, const char* model_path,
                                                      const OrtSessionOptions* options, OrtPrepackedWeightsContainer*,
                                                      OrtSession** out) {
  return CreateSession(env, model_path, options, out);
}
OrtStatus* CreateSessionFromArrayWithPrepackedWeightsContainer(const OrtEnv* env, const void* model_data,
                                                               std::size_t model_data_length,
                                                               const OrtSessionOptions* options,
                                                               OrtPrepackedWeightsContainer*, OrtSession** out) {
  return CreateSessionFromArray(env, model_data, model_data_length, options, out);
}
void ReleaseSession(OrtSession* input) { delete input; }

OrtStatus* SessionGetInputCount(const OrtSession* session, std::size_t* out) {
  return count_of<&OrtSession::inputs>(session, out);
}
OrtStatus* SessionGetOutputCount(const OrtSession* session, std::size_t* out) {
  return count_of<&OrtSession::outputs>(session, out);
}
OrtStatus* SessionGetOverridableInitializerCount(const OrtSession* session, std::size_t* out) {
  return count_of<&OrtSession::initializers>(session, out);
}
OrtStatus* SessionGetInputTypeInfo(const OrtSession* session, std::size_t index, OrtTypeInfo** type_info) {
  return type_at<&OrtSession::inputs>(session, index, "input", type_info);
}
OrtStatus* SessionGetOutputTypeInfo(const OrtSession* session, std::size_t index, OrtTypeInfo** type_info) {
  return type_at<&OrtSession::outputs>(session, index, "output", type_info);
}
OrtStatus* SessionGetOverridableInitializerTypeInfo(const OrtSession* session, std::size_t index,
                                                    OrtTypeInfo** type_info) {
  return type_at<&OrtSession::initializers>(session, index, "overridable initializer", type_info);
}
OrtStatus* SessionGetInputName(const OrtSession* session, std::size_t index, OrtAllocator* allocator, char** value) {
  return name_at<&OrtSession::inputs>(session, index, "input", allocator, value);
}
OrtStatus* SessionGetOutputName(const OrtSession* session, std::size_t index, OrtAllocator* allocator, char** value) {
  return name_at<&OrtSession::outputs>(session, index, "output", allocator, value);
}
OrtStatus* SessionGetOverridableInitializerName(const OrtSession* session, std::size_t index, OrtAllocator* allocator,
                                                char** value) {
  return name_at<&OrtSession::initializers>(session, index, "overridable initializer", allocator, value);
}

OrtStatus* SessionEndProfiling(OrtSession* session, OrtAllocator* allocator, char** out) {
  return guarded([&] {
    require(session, "session");
    require(allocator, "allocator");
    std::string file;
    if (session->profiling != nullptr) {
      const std::scoped_lock lock(session->profiling->mutex);
      session->profiling->ended = true;
      file = write_trace(session->profiling->profiler, *session->options.profile_prefix, session->model.name());
    }
    *out = allocate_text(*allocator, file);
  });
}
OrtStatus* SessionGetProfilingStartTimeNs(const OrtSession* session, std::uint64_t* out) {
  return guarded([&] {
    require(session, "session");
    *out = session->profiling == nullptr ? 0 : session->profiling->start_ns;
  });
}

}  // namespace frazil::ort
