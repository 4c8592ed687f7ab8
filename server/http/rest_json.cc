#include "server/http/rest_json.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "server/core/json_text.h"
#include "server/core/port.h"
#include "server/model/config_port.h"
#include "server/service/extensions.h"

namespace frazil::server {
namespace {

void write_ports(JsonText& json, std::string_view key, const std::vector<api::Port>& ports) {
  json.key(key);
  json.array(ports, [&](const api::Port& port) {
    json.begin_object();
    json.member("name", port.name);
    json.member("datatype", protocol_datatype(port));
    json.key("shape");
    json.array(protocol_shape(port));
    json.end_object();
  });
}

void write_config(JsonText& json, std::string_view key, const std::vector<ConfigPort>& ports) {
  json.key(key);
  json.array(ports, [&](const ConfigPort& port) {
    json.begin_object();
    json.member("name", port.name);
    json.member("data_type", port.type);
    json.key("dims");
    json.array(port.dims);
    json.end_object();
  });
}

std::uint64_t count_of(std::chrono::microseconds time) { return static_cast<std::uint64_t>(time.count()); }

void write_dynamic_batching(JsonText& json, const Batching& batching) {
  json.key("dynamic_batching");
  json.begin_object();
  json.key("preferred_batch_size");
  json.array(batching.preferred);
  json.member("max_queue_delay_microseconds", count_of(batching.delay));
  json.member("preserve_ordering", false);
  json.member("priority_levels", batching.levels);
  json.member("default_priority_level", batching.default_level);
  json.key("default_queue_policy");
  json.begin_object();
  json.member("timeout_action", "REJECT");
  json.member("default_timeout_microseconds", count_of(batching.time_out.value_or(std::chrono::microseconds(0))));
  json.member("allow_timeout_override", true);
  json.member("max_queue_size", batching.max_queued);
  json.end_object();
  json.end_object();
}

void write_state(JsonText& json, const ConfigState& state) {
  json.begin_object();
  json.member("input_name", state.input.name);
  json.member("output_name", state.output);
  json.member("data_type", state.input.type);
  json.key("dims");
  json.array(state.input.dims);
  json.end_object();
}

/// Writes sequence_batching. Requests of different sequences are batched like those without a sequence, which is
/// Triton's strategy "oldest".
void write_sequence_batching(JsonText& json, const Served& served) {
  const ModelConfig& config = served.config();
  json.key("sequence_batching");
  json.begin_object();
  json.member("max_sequence_idle_microseconds", count_of(config.sequences.idle));
  json.key("control_input");
  json.begin_array();
  json.end_array();
  json.key("oldest");
  json.begin_object();
  json.key("preferred_batch_size");
  json.array(config.batching.preferred);
  json.member("max_queue_delay_microseconds", count_of(config.batching.delay));
  json.member("preserve_ordering", false);
  json.end_object();
  json.key("state");
  json.array(config_states(served), [&](const ConfigState& state) { write_state(json, state); });
  json.end_object();
}

void write_scheduling(JsonText& json, const Served& served) {
  switch (scheduling_of(served)) {
    case Scheduling::none: return;
    case Scheduling::dynamic_batching: return write_dynamic_batching(json, served.config().batching);
    case Scheduling::sequence_batching: return write_sequence_batching(json, served);
  }
}

void write_duration(JsonText& json, std::string_view key, std::uint64_t count, std::uint64_t nanoseconds) {
  json.key(key);
  json.begin_object();
  json.member("count", count);
  json.member("ns", nanoseconds);
  json.end_object();
}

void write_timed(JsonText& json, std::string_view key, const Timed& timed) {
  write_duration(json, key, timed.count(), timed.nanoseconds());
}

void write_batch_statistics(JsonText& json, const Batches& batches) {
  json.key("batch_stats");
  json.array(batches.by_size(), [&](const auto& entry) {
    const auto& [size, runs] = entry;
    const auto ns = [](Nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
    json.begin_object();
    json.member("batch_size", size);
    write_duration(json, "compute_input", runs.count, ns(runs.input));
    write_duration(json, "compute_infer", runs.count, ns(runs.infer));
    write_duration(json, "compute_output", runs.count, ns(runs.output));
    json.end_object();
  });
}

void write_statistics(JsonText& json, const Served& served, const Statistics& s) {
  json.begin_object();
  json.member("name", served.name());
  json.member("version", served.version());
  json.member("last_inference", s.last_inference_ms.load());
  json.member("inference_count", s.success.count());
  json.member("execution_count", s.runs.count());
  json.key("inference_stats");
  json.begin_object();
  write_timed(json, "success", s.success);
  write_timed(json, "fail", s.fail);
  write_timed(json, "queue", s.queue);
  write_timed(json, "compute_input", s.compute_input);
  write_timed(json, "compute_infer", s.compute_infer);
  write_timed(json, "compute_output", s.compute_output);
  const Timed none;
  write_timed(json, "cache_hit", none);
  write_timed(json, "cache_miss", none);
  json.end_object();
  write_batch_statistics(json, s.batches);
  json.end_object();
}

}  // namespace

Reply server_metadata_json(const ServiceOptions& options) {
  JsonText json;
  json.begin_object();
  json.member("name", "frazil");
  json.member("version", options.version);
  json.key("extensions");
  std::vector<std::string_view> extensions{"binary_tensor_data", "generate"};
  extensions.insert(extensions.end(), std::begin(kExtensions), std::end(kExtensions));
  std::ranges::sort(extensions);
  json.array(extensions);
  json.member("code_generator", options.code_generator);
  json.end_object();
  return {.body = json.take()};
}

Reply model_metadata_json(const Served& served, const List& versions) {
  JsonText json;
  json.begin_object();
  json.member("name", served.name());
  json.key("versions");
  json.array(versions, [&](const auto& version) { json.value(version->version()); });
  json.member("platform", served.platform());
  write_ports(json, "inputs", client_inputs(served));
  write_ports(json, "outputs", all_outputs(served));
  json.end_object();
  return {.body = json.take()};
}

Reply model_ready_json(const Served& served) {
  JsonText json;
  json.begin_object();
  json.member("name", served.name());
  json.member("ready", true);
  json.end_object();
  return {.body = json.take()};
}

Reply model_config_json(const Served& served) {
  JsonText json;
  json.begin_object();
  json.member("name", served.name());
  json.member("platform", served.platform());
  json.key("model_transaction_policy");
  json.begin_object();
  json.member("decoupled", !served.emitted().empty());
  json.end_object();
  json.member("max_batch_size", served.config().batching.most);
  write_config(json, "input", config_inputs(served));
  write_config(json, "output", config_outputs(served));
  write_scheduling(json, served);
  json.end_object();
  return {.body = json.take()};
}

Reply statistics_json(const List& list, const Tenants::Identity& identity) {
  JsonText json;
  json.begin_object();
  json.key("model_stats");
  json.array(list, [&](const auto& served) { write_statistics(json, *served, served->counts().seen_by(identity)); });
  json.end_object();
  return {.body = json.take()};
}

Reply index_json(const std::vector<Service::IndexEntry>& index) {
  JsonText json;
  json.array(index, [&](const Service::IndexEntry& entry) {
    json.begin_object();
    json.member("name", entry.name);
    json.member("version", entry.version);
    json.member("state", entry.reason.empty() ? "READY" : "UNAVAILABLE");
    json.member("reason", entry.reason);
    json.end_object();
  });
  return {.body = json.take()};
}

Reply reloaded_json(const Service::Reloaded& came) {
  JsonText json;
  json.begin_object();
  json.key("changed");
  json.array(came.changed);
  json.key("left");
  json.array(came.left);
  json.end_object();
  return {.body = json.take()};
}

Reply policy_json(const PolicyReloaded& came) {
  JsonText json;
  json.begin_object();
  json.member("changed", came.changed);
  json.member("policy", came.digest);
  json.member("serial", came.serial);
  json.end_object();
  return {.body = json.take()};
}

}  // namespace frazil::server
