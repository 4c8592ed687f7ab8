#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>

#include <frazil/session_pool.h>

#include "api/c/handles.h"

frazil_model::Port::Port(const frazil::api::Port& of) : port(of) {
  for (const std::string& dim : of.dims) dims.push_back(dim.c_str());
}

frazil_model::frazil_model(frazil::api::Model of) : model(std::move(of)), info(model) {
  for (const frazil::api::Port& port : model.inputs()) inputs.emplace_back(port);
  for (const frazil::api::Port& port : model.outputs()) outputs.emplace_back(port);
}

frazil_model::Info::Info(const frazil::api::Model& of) : data(of.metadata()) {
  for (const auto& [domain, version] : data.opsets) {
    domains.push_back(domain.c_str());
    versions.push_back(version);
  }
  for (const auto& [key, value] : data.properties) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
}

namespace frazil::api::c {
namespace {

void set_limit(std::optional<uint64_t>& to, uint64_t value) {
  if (value != 0 && value != FRAZIL_UNSET) to = value;
}

LoadOptions load_options(const frazil_load_options* given) {
  LoadOptions options;
  if (given == nullptr) return options;
  check_size(*given, offsetof(frazil_load_options, deadline_ms), "frazil_load_options");
  options.fix_defaults = given->fix_defaults != 0;
  set_limit(options.memory_limit, given->memory_limit);
  set_limit(options.max_elements, given->max_elements);
  set_limit(options.max_nodes, given->max_nodes);
  set_limit(options.max_nesting, given->max_nesting);
  set_limit(options.max_name_bytes, given->max_name_bytes);
  if (given->size < offsetof(frazil_load_options, log)) return options;
  if (!(given->deadline_ms < 0)) options.deadline_ms = given->deadline_ms;
  if (given->size < sizeof(frazil_load_options)) return options;
  options.log = log_of(given->log, given->log_least, given->log_release, given->log_context);
  return options;
}

Options session_options(const frazil_session_options* given) {
  Options options;
  if (given == nullptr) return options;
  check_size(*given, sizeof(frazil_session_options), "frazil_session_options");
  if (given->tier != nullptr) options.tier = given->tier;
  if (given->threads != FRAZIL_UNSET) {
    options.threads = static_cast<unsigned>(std::min<uint64_t>(given->threads, UINT_MAX));
  }
  set_limit(options.memory_limit, given->memory_limit);
  set_limit(options.arena_limit, given->arena_limit);
  set_limit(options.max_elements, given->max_elements);
  set_limit(options.max_steps, given->max_steps);
  if (!(given->deadline_ms <= 0)) options.deadline_ms = given->deadline_ms;
  options.seed = given->seed;
  options.strict_numerics = given->strict_numerics != 0;
  return options;
}

const std::vector<frazil_model::Port>& ports_of(const frazil_model* model, frazil_side side) {
  const frazil_model& of = need(model, "the model");
  if (side != FRAZIL_INPUTS && side != FRAZIL_OUTPUTS) refuse("there is no side " + std::to_string(side));
  return side == FRAZIL_INPUTS ? of.inputs : of.outputs;
}

frazil_port port_of(const frazil_model::Port& of) {
  return {sizeof(frazil_port),
          of.port.name.c_str(),
          of.port.type.c_str(),
          static_cast<frazil_kind>(of.port.kind),
          static_cast<frazil_dtype>(of.port.dtype),
          of.port.optional ? 1 : 0,
          of.port.ranked ? 1 : 0,
          of.dims.size(),
          of.dims.data(),
          of.port.extents.data(),
          of.port.full_type.c_str()};
}

/// Stores handles for all outputs, or for none.
void store(const std::vector<Array>& values, std::span<frazil_array*> outputs) {
  std::vector<std::unique_ptr<frazil_array>> handles;
  for (const Array& value : values) handles.emplace_back(new_array(value));
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = handles[k].release();
}

/// Returns the arrays of inputs. A null input takes its default.
std::vector<Array> arrays_of(const frazil_array* const* inputs, std::size_t count) {
  std::vector<Array> arrays;
  for (const frazil_array* input : need(inputs, count, "the inputs")) {
    arrays.push_back(input == nullptr ? Array() : input->array);
  }
  return arrays;
}

void check_room(const Model& model, std::size_t given) {
  const std::size_t count = model.outputs().size();
  if (given == count) return;
  refuse("the model has " + std::to_string(count) + " outputs, got room for " + std::to_string(given));
}

/// Returns the names that are not outputs of the model.
std::vector<std::string> inner_of(const Model& model, const std::vector<std::string>& names) {
  std::vector<std::string> inner;
  for (const std::string& name : names) {
    if (std::ranges::find(model.outputs(), name, &Port::name) == model.outputs().end()) inner.push_back(name);
  }
  return inner;
}

std::vector<Named> named_of(const char* const* names, const frazil_array* const* inputs, std::size_t count) {
  const auto keys = need(names, count, "the inputs' names");
  const auto arrays = need(inputs, count, "the inputs");
  std::vector<Named> named;
  for (std::size_t i = 0; i < count; ++i) {
    named.push_back({&need(keys[i], "an input's name"), array_of(arrays[i], "an input")});
  }
  return named;
}

std::vector<std::string> names_of(const char* const* names, std::size_t count) {
  std::vector<std::string> texts;
  for (const char* name : need(names, count, "the outputs' names")) texts.push_back(text_of(name, "an output's name"));
  return texts;
}

void store_named(const Results& results, const std::vector<std::string>& names, std::span<frazil_array*> outputs) {
  std::vector<Array> values;
  for (const std::string& name : names) values.push_back(results[name]);
  store(values, outputs);
}

std::span<frazil_array*> cleared(frazil_array** outputs, std::size_t count) {
  const auto to = need(outputs, count, "the outputs");
  std::ranges::fill(to, nullptr);
  return to;
}

}  // namespace
}  // namespace frazil::api::c

using namespace frazil::api;     // NOLINT(google-build-using-namespace)
using namespace frazil::api::c;  // NOLINT(google-build-using-namespace)

frazil_code frazil_model_load(const char* path, const frazil_load_options* options, frazil_model** model,
                              frazil_error** error) {
  return guarded(error, [&] {
    frazil_model*& to = result(model);
    to = new frazil_model(Model::load(text_of(path, "the path"), load_options(options)));
  });
}

frazil_code frazil_model_from_bytes(const void* data, size_t bytes, const frazil_load_options* options,
                                    frazil_model** model, frazil_error** error) {
  return guarded(error, [&] {
    frazil_model*& to = result(model);
    const auto from = need(static_cast<const std::byte*>(data), bytes, "the data");
    to = new frazil_model(Model::from_bytes(from, load_options(options)));
  });
}

frazil_code frazil_model_from_text(const char* text, const char* const* names, const frazil_array* const* weights,
                                   size_t count, const frazil_load_options* options, frazil_model** model,
                                   frazil_error** error) {
  return guarded(error, [&] {
    frazil_model*& to = result(model);
    const auto keys = need(names, count, "the names");
    const auto values = need(weights, count, "the weights");
    std::map<std::string, Array> given;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = text_of(keys[i], "a name");
      if (!given.emplace(name, array_of(values[i], "a weight")).second) refuse("weight '" + name + "' is given twice");
    }
    to = new frazil_model(Model::from_text(text_of(text, "the text"), given, load_options(options)));
  });
}

void frazil_model_free(frazil_model* model) { delete model; }

frazil_code frazil_model_name(const frazil_model* model, const char** name, frazil_error** error) {
  return guarded(error, [&] { result(name) = need(model, "the model").model.name().c_str(); });
}

frazil_code frazil_model_port_count(const frazil_model* model, frazil_side side, size_t* count, frazil_error** error) {
  return guarded(error, [&] { result(count) = ports_of(model, side).size(); });
}

frazil_code frazil_model_port(const frazil_model* model, frazil_side side, size_t index, frazil_port* port,
                              frazil_error** error) {
  return guarded(error, [&] {
    frazil_port& to = need(port, "the port");
    const auto& ports = ports_of(model, side);
    if (index >= ports.size()) refuse("port " + std::to_string(index) + " of " + std::to_string(ports.size()));
    fill(to, port_of(ports[index]), offsetof(frazil_port, extents), "frazil_port");
  });
}

frazil_code frazil_model_metadata(const frazil_model* model, frazil_metadata* metadata, frazil_error** error) {
  return guarded(error, [&] {
    const frazil_model::Info& of = need(model, "the model").info;
    const Metadata& data = of.data;
    const frazil_metadata made{sizeof(frazil_metadata),
                               data.producer.c_str(),
                               data.producer_version.c_str(),
                               data.domain.c_str(),
                               data.description.c_str(),
                               data.graph_name.c_str(),
                               data.graph_description.c_str(),
                               data.model_version,
                               data.ir_version,
                               of.domains.size(),
                               of.domains.data(),
                               of.versions.data(),
                               of.keys.size(),
                               of.keys.data(),
                               of.values.data()};
    fill(need(metadata, "the metadata"), made, sizeof(frazil_metadata), "frazil_metadata");
  });
}

frazil_code frazil_model_save(const frazil_model* model, const char* path, uint64_t external_bytes,
                              frazil_error** error) {
  return guarded(error, [&] {
    need(model, "the model").model.save(text_of(path, "the path"), {.opset = {}, .external_bytes = external_bytes});
  });
}

frazil_code frazil_model_text(const frazil_model* model, char** text, frazil_error** error) {
  return guarded(error, [&] {
    char*& to = result(text);
    to = copy_text(need(model, "the model").model.text());
  });
}

frazil_code frazil_model_explain(const frazil_model* model, char** text, frazil_error** error) {
  return guarded(error, [&] {
    char*& to = result(text);
    to = copy_text(need(model, "the model").model.explain());
  });
}

frazil_code frazil_session_open(const frazil_model* model, const frazil_session_options* options,
                                frazil_session** session, frazil_error** error) {
  return guarded(error, [&] {
    frazil_session*& to = result(session);
    const Model& of = need(model, "the model").model;
    to = new frazil_session{of, of.open(session_options(options))};
  });
}

void frazil_session_free(frazil_session* session) { delete session; }

frazil_code frazil_session_run(frazil_session* session, const frazil_array* const* inputs, size_t input_count,
                               frazil_array** outputs, size_t output_count, frazil_error** error) {
  return guarded(error, [&] {
    const auto to = cleared(outputs, output_count);
    frazil_session& in = need(session, "the session");
    check_room(in.model, output_count);
    const std::vector<Array> arrays = arrays_of(inputs, input_count);
    const Results results = in.session.run(std::span<const Array>(arrays));
    store({results.begin(), results.end()}, to);
  });
}

frazil_code frazil_session_run_named(frazil_session* session, const char* const* input_names,
                                     const frazil_array* const* inputs, size_t input_count,
                                     const char* const* output_names, frazil_array** outputs, size_t output_count,
                                     frazil_error** error) {
  return guarded(error, [&] {
    const auto to = cleared(outputs, output_count);
    frazil_session& in = need(session, "the session");
    const auto named = named_of(input_names, inputs, input_count);
    const auto wanted = names_of(output_names, output_count);
    const auto inner = inner_of(in.model, wanted);
    store_named(inner.empty() ? in.session.run(std::span<const Named>(named))
                              : in.session.fetch(std::span<const Named>(named), inner),
                wanted, to);
  });
}

frazil_code frazil_model_run(const frazil_model* model, const frazil_array* const* inputs, size_t input_count,
                             frazil_array** outputs, size_t output_count, frazil_error** error) {
  return guarded(error, [&] {
    const auto to = cleared(outputs, output_count);
    const Model& of = need(model, "the model").model;
    check_room(of, output_count);
    const std::vector<Array> arrays = arrays_of(inputs, input_count);
    const Results results = of.run(std::span<const Array>(arrays));
    store({results.begin(), results.end()}, to);
  });
}

frazil_code frazil_model_run_named(const frazil_model* model, const char* const* input_names,
                                   const frazil_array* const* inputs, size_t input_count,
                                   const char* const* output_names, frazil_array** outputs, size_t output_count,
                                   frazil_error** error) {
  return guarded(error, [&] {
    const auto to = cleared(outputs, output_count);
    const Model& of = need(model, "the model").model;
    const auto named = named_of(input_names, inputs, input_count);
    const auto wanted = names_of(output_names, output_count);
    for (const std::string& name : inner_of(of, wanted)) refuse("the model has no output '" + name + "'");
    store_named(of.run(std::span<const Named>(named)), wanted, to);
  });
}

frazil_code frazil_model_with_pool(const frazil_model* model, const frazil_session_options* options,
                                   uint64_t max_sessions, uint64_t memory_limit, frazil_model** other,
                                   frazil_error** error) {
  return guarded(error, [&] {
    frazil_model*& to = result(other);
    PoolOptions pool{.session = session_options(options), .max_sessions = {}, .memory_limit = {}};
    if (max_sessions != FRAZIL_UNSET) pool.max_sessions = max_sessions;
    if (memory_limit != FRAZIL_UNSET) pool.memory_limit = memory_limit;
    to = new frazil_model(need(model, "the model").model.with_pool(pool));
  });
}

frazil_code frazil_model_pool_counts(const frazil_model* model, frazil_pool_counts* counts, frazil_error** error) {
  return guarded(error, [&] {
    const auto now = need(model, "the model").model.pool().counts();
    fill(need(counts, "the counts"),
         {sizeof(frazil_pool_counts), now.sessions, now.idle, now.waiting, now.held_bytes, now.opened},
         sizeof(frazil_pool_counts), "frazil_pool_counts");
  });
}

frazil_code frazil_model_drop_idle(const frazil_model* model, double milliseconds, size_t* closed,
                                   frazil_error** error) {
  return guarded(error, [&] {
    if (closed != nullptr) *closed = 0;
    if (!(milliseconds >= 0)) refuse("milliseconds: expected at least 0");
    constexpr double kMost = 1e12;
    const std::chrono::duration<double, std::milli> time(std::min(milliseconds, kMost));
    const auto dropped =
        need(model, "the model").model.pool().drop_idle(std::chrono::duration_cast<std::chrono::nanoseconds>(time));
    if (closed != nullptr) *closed = dropped;
  });
}

frazil_code frazil_session_cancel(frazil_session* session, frazil_error** error) {
  return guarded(error, [&] { need(session, "the session").session.cancel(); });
}

frazil_code frazil_session_start(frazil_session* session, const frazil_array* const* inputs, size_t input_count,
                                 frazil_error** error) {
  return guarded(error, [&] {
    frazil_session& in = need(session, "the session");
    if (in.started.valid()) refuse("a run has been started already: wait for it");
    in.started = in.session.run_async(arrays_of(inputs, input_count));
  });
}

frazil_code frazil_session_wait(frazil_session* session, frazil_array** outputs, size_t output_count,
                                frazil_error** error) {
  return guarded(error, [&] {
    const auto to = cleared(outputs, output_count);
    frazil_session& in = need(session, "the session");
    if (!in.started.valid()) refuse("no run has been started");
    check_room(in.model, output_count);
    const Results results = in.started.get();
    store({results.begin(), results.end()}, to);
  });
}

frazil_code frazil_session_bind_output(frazil_session* session, const char* name, frazil_dtype dtype, void* data,
                                       size_t bytes, frazil_error** error) {
  return guarded(error, [&] {
    Session& in = need(session, "the session").session;
    const std::string output = text_of(name, "the name");
    if (data == nullptr) return in.unbind_output(output);
    in.bind_output(output, c::dtype_of(dtype), {static_cast<std::byte*>(data), bytes});
  });
}

frazil_code frazil_session_set_deadline(frazil_session* session, double milliseconds, frazil_error** error) {
  return guarded(error, [&] {
    const bool none = milliseconds < 0;
    need(session, "the session").session.set_deadline(none ? std::nullopt : std::optional<double>(milliseconds));
  });
}

frazil_code frazil_session_trim(frazil_session* session, frazil_error** error) {
  return guarded(error, [&] { need(session, "the session").session.trim(); });
}
