#include "server/rest_json.h"

#include "server/config_port.h"
#include "server/json_text.h"
#include "server/port.h"

namespace frazil::server {
namespace {

constexpr std::string_view kExtensions =
    R"x(["binary_tensor_data","classification","generate","model_configuration","model_repository","parameters","schedule_policy",)x"
    R"x("sequence","sequence(string_id)","statistics"])x";

void append_port(std::string& json, const api::Port& port) {
  json += R"({"name":)";
  append_json(json, port.name);
  json += R"(,"datatype":)";
  append_json(json, protocol_datatype(port));
  json += R"(,"shape":[)";
  append_list(json, protocol_shape(port), [&](std::int64_t extent) { append_number(json, extent); });
  json += "]}";
}

void append_ports(std::string& json, std::string_view key, const std::vector<api::Port>& ports) {
  ((json += ",\"") += key) += "\":[";
  append_list(json, ports, [&](const api::Port& port) { append_port(json, port); });
  json += ']';
}

void append_config(std::string& json, std::string_view key, const std::vector<ConfigPort>& ports) {
  ((json += ",\"") += key) += "\":[";
  append_list(json, ports, [&](const ConfigPort& port) {
    json += R"({"name":)";
    append_json(json, port.name);
    json += R"(,"data_type":)";
    append_json(json, port.type);
    json += R"(,"dims":[)";
    append_list(json, port.dims, [&](std::int64_t extent) { append_number(json, extent); });
    json += "]}";
  });
  json += ']';
}

void append_duration(std::string& json, std::string_view key, std::uint64_t count, std::uint64_t nanoseconds) {
  append_key(json, key);
  json += '{';
  append_member(json, "count", count);
  append_member(json, "ns", nanoseconds);
  json += '}';
}

void append_timed(std::string& json, std::string_view key, const Timed& timed) {
  append_duration(json, key, timed.count(), timed.nanoseconds());
}

void append_statistics(std::string& json, const Served& served) {
  const Statistics& s = served.statistics();
  json += R"({"name":)";
  append_json(json, served.name());
  json += R"(,"version":)";
  append_json(json, served.version());
  json += R"(,"last_inference":)";
  append_number(json, s.last_inference_ms.load());
  append_member(json, "inference_count", s.success.count());
  append_member(json, "execution_count", s.runs.count());
  json += R"(,"inference_stats":{)";
  append_timed(json, "success", s.success);
  append_timed(json, "fail", s.fail);
  append_timed(json, "queue", s.queue);
  append_timed(json, "compute_input", s.compute_input);
  append_timed(json, "compute_infer", s.compute_infer);
  append_timed(json, "compute_output", s.compute_output);
  const Timed none;
  append_timed(json, "cache_hit", none);
  append_timed(json, "cache_miss", none);
  json += R"(},"batch_stats":[)";
  append_list(json, s.batches.by_size(), [&](const auto& entry) {
    const auto& [size, runs] = entry;
    const auto ns = [](Nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
    json += R"({"batch_size":)";
    append_number(json, size);
    append_duration(json, "compute_input", runs.count, ns(runs.input));
    append_duration(json, "compute_infer", runs.count, ns(runs.infer));
    append_duration(json, "compute_output", runs.count, ns(runs.output));
    json += '}';
  });
  json += "]}";
}

}  // namespace

Reply server_metadata_json(std::string_view version) {
  Reply reply{.body = R"({"name":"frazil","version":)"};
  append_json(reply.body, version);
  ((reply.body += R"(,"extensions":)") += kExtensions) += '}';
  return reply;
}

Reply model_metadata_json(const Served& served, const List& versions) {
  Reply reply{.body = R"({"name":)"};
  append_json(reply.body, served.name());
  reply.body += R"(,"versions":[)";
  append_list(reply.body, versions, [&](const auto& version) { append_json(reply.body, version->version()); });
  reply.body += R"(],"platform":)";
  append_json(reply.body, served.platform());
  append_ports(reply.body, "inputs", served.inputs());
  append_ports(reply.body, "outputs", served.all_outputs());
  reply.body += '}';
  return reply;
}

Reply model_config_json(const Served& served) {
  Reply reply{.body = R"({"name":)"};
  append_json(reply.body, served.name());
  reply.body += R"(,"platform":)";
  append_json(reply.body, served.platform());
  reply.body += R"(,"model_transaction_policy":{"decoupled":)";
  reply.body += served.emitted().empty() ? "false}" : "true}";
  reply.body += R"(,"max_batch_size":)";
  append_number(reply.body, served.most_in_batch());
  append_config(reply.body, "input", config_inputs(served));
  append_config(reply.body, "output", config_outputs(served));
  reply.body += '}';
  return reply;
}

Reply statistics_json(const List& list) {
  Reply reply{.body = R"({"model_stats":[)"};
  append_list(reply.body, list, [&](const auto& served) { append_statistics(reply.body, *served); });
  reply.body += "]}";
  return reply;
}

Reply index_json(const Repository& models, bool ready) {
  Reply reply{.body = "["};
  const auto append = [&](std::string_view name, std::string_view version, std::string_view state,
                          std::string_view reason) {
    reply.body += reply.body.size() > 1 ? R"(,{"name":)" : R"({"name":)";
    append_json(reply.body, name);
    for (const auto& [key, value] : {std::pair("version", version), {"state", state}, {"reason", reason}}) {
      ((reply.body += ",\"") += key) += "\":";
      append_json(reply.body, value);
    }
    reply.body += '}';
  };
  for (const auto& served : models.all()) append(served->name(), served->version(), "READY", "");
  if (!ready) {
    for (const auto& one : models.not_ready()) {
      append(one.name, std::to_string(one.version), "UNAVAILABLE", one.reason);
    }
  }
  reply.body += ']';
  return reply;
}

}  // namespace frazil::server
