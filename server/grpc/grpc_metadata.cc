#include <algorithm>
#include <chrono>
#include <limits>

#include <protozero/pbf_writer.hpp>

#include "server/core/port.h"
#include "server/grpc/grpc_message.h"
#include "server/grpc/grpc_tensor.h"
#include "server/model/config_port.h"

// Responses about the server and its models.
namespace frazil::server::proto {
namespace {

using protozero::pbf_writer;
using Tag = protozero::pbf_tag_type;

std::uint64_t microseconds(std::chrono::microseconds time) { return static_cast<std::uint64_t>(time.count()); }

/// Writes a ModelInput or ModelOutput, which differ in the field of the extents.
void add_config_port(pbf_writer& to, Tag tag, Tag dims, const ConfigPort& port) {
  pbf_writer inner(to, tag);
  inner.add_string(1, port.name);
  inner.add_enum(2, port.number);
  inner.add_packed_int64(dims, port.dims.begin(), port.dims.end());
}

void add_batching(pbf_writer& config, const Batching& batching) {
  pbf_writer to(config, 11);
  to.add_packed_int32(1, batching.preferred.begin(), batching.preferred.end());
  to.add_uint64(2, microseconds(batching.delay));
  to.add_uint64(4, batching.levels);
  to.add_uint64(5, batching.default_level);
  pbf_writer policy(to, 6);
  policy.add_uint64(2, microseconds(batching.time_out.value_or(std::chrono::microseconds(0))));
  policy.add_bool(3, true);
  policy.add_uint32(4, static_cast<std::uint32_t>(batching.max_queued));
}

/// Writes sequence_batching with the strategy "oldest", as in REST.
void add_sequences(pbf_writer& config, const Served& served) {
  const Batching& batching = served.config().batching;
  pbf_writer to(config, 13);
  to.add_uint64(1, microseconds(served.config().sequences.idle));
  {
    pbf_writer oldest(to, 4);
    oldest.add_packed_int32(2, batching.preferred.begin(), batching.preferred.end());
    oldest.add_uint64(3, microseconds(batching.delay));
  }
  for (const ConfigState& state : config_states(served)) {
    pbf_writer inner(to, 5);
    inner.add_string(1, state.input.name);
    inner.add_string(2, state.output);
    inner.add_enum(3, state.input.number);
    inner.add_packed_int64(4, state.input.dims.begin(), state.input.dims.end());
  }
}

void add_scheduling(pbf_writer& config, const Served& served) {
  switch (scheduling_of(served)) {
    case Scheduling::none: return;
    case Scheduling::dynamic_batching: return add_batching(config, served.config().batching);
    case Scheduling::sequence_batching: return add_sequences(config, served);
  }
}

void add_duration(pbf_writer& to, Tag tag, std::uint64_t count, std::uint64_t nanoseconds) {
  pbf_writer duration(to, tag);
  duration.add_uint64(1, count);
  duration.add_uint64(2, nanoseconds);
}

void add_duration(pbf_writer& to, Tag tag, const Timed& timed) {
  add_duration(to, tag, timed.count(), timed.nanoseconds());
}

void add_batches(pbf_writer& to, const Batches& batches) {
  const auto nanoseconds = [](Nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
  for (const auto& [size, runs] : batches.by_size()) {
    pbf_writer inner(to, 7);
    inner.add_uint64(1, size);
    add_duration(inner, 2, runs.count, nanoseconds(runs.input));
    add_duration(inner, 3, runs.count, nanoseconds(runs.infer));
    add_duration(inner, 4, runs.count, nanoseconds(runs.output));
  }
}

void add_statistics(pbf_writer& to, const Served& served, const Statistics& s) {
  pbf_writer model(to, 1);
  model.add_string(1, served.name());
  model.add_string(2, served.version());
  model.add_uint64(3, static_cast<std::uint64_t>(s.last_inference_ms.load()));
  model.add_uint64(4, s.success.count());
  model.add_uint64(5, s.runs.count());
  {
    pbf_writer inference(model, 6);
    add_duration(inference, 1, s.success);
    add_duration(inference, 2, s.fail);
    add_duration(inference, 3, s.queue);
    add_duration(inference, 4, s.compute_input);
    add_duration(inference, 5, s.compute_infer);
    add_duration(inference, 6, s.compute_output);
  }
  add_batches(model, s.batches);
}

}  // namespace

std::string write_server_metadata(std::string_view version, std::span<const std::string_view> extensions) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, "frazil");
  to.add_string(2, version.data(), version.size());
  for (const std::string_view extension : extensions) to.add_string(3, extension.data(), extension.size());
  return bytes;
}

std::string write_model_metadata(const Served& served, const ServedModels& versions) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, served.name());
  for (const auto& version : versions) to.add_string(2, version->version());
  const std::string_view platform = served.platform();
  to.add_string(3, platform.data(), platform.size());
  for (const api::Port& port : client_inputs(served))
    add_tensor(to, 4, port.name, protocol_datatype(port), protocol_shape(port));
  for (const api::Port& port : all_outputs(served))
    add_tensor(to, 5, port.name, protocol_datatype(port), protocol_shape(port));
  return bytes;
}

std::string write_model_config(const Served& served) {
  const std::uint64_t most = served.config().batching.most;
  const std::string_view platform = served.platform();
  std::string bytes;
  pbf_writer to(bytes);
  pbf_writer config(to, 1);
  config.add_string(1, served.name());
  config.add_string(2, platform.data(), platform.size());
  config.add_int32(4, static_cast<std::int32_t>(std::min<std::uint64_t>(most, std::numeric_limits<int>::max())));
  for (const ConfigPort& port : config_inputs(served)) add_config_port(config, 5, 4, port);
  for (const ConfigPort& port : config_outputs(served)) add_config_port(config, 6, 3, port);
  add_scheduling(config, served);
  if (!served.emitted().empty()) pbf_writer(config, 19).add_bool(1, true);
  config.commit();
  return bytes;
}

std::string write_model_statistics(const ServedModels& models, const Tenants::Identity& identity) {
  std::string bytes;
  pbf_writer to(bytes);
  for (const auto& served : models) add_statistics(to, *served, served->counts().seen_by(identity));
  return bytes;
}

std::string write_repository_index(const std::vector<Service::IndexEntry>& index) {
  std::string bytes;
  pbf_writer to(bytes);
  for (const Service::IndexEntry& entry : index) {
    pbf_writer model(to, 1);
    model.add_string(1, entry.name);
    model.add_string(2, entry.version);
    model.add_string(3, entry.reason.empty() ? "READY" : "UNAVAILABLE");
    if (!entry.reason.empty()) model.add_string(4, entry.reason);
  }
  return bytes;
}

std::string write_health_check(Serving serving) {
  std::string bytes;
  pbf_writer(bytes).add_enum(1, static_cast<std::int32_t>(serving));
  return bytes;
}

}  // namespace frazil::server::proto
