#include "server/rest_json.h"

#include <optional>

#include "server/datatype.h"
#include "server/json_text.h"

namespace frazil::server {
namespace {

using api::Array;

constexpr std::string_view kExtensions =
    R"x(["binary_tensor_data","classification","generate","model_configuration","model_repository","parameters","schedule_policy",)x"
    R"x("sequence","sequence(string_id)","statistics"])x";

void append_port(std::string& json, const api::Port& port) {
  json += R"({"name":)";
  append_json(json, port.name);
  const std::string_view datatype = port.kind == Array::Kind::tensor ? datatype_of(port.dtype) : std::string_view();
  json += R"(,"datatype":)";
  append_json(json, datatype.empty() ? port.type : datatype);
  json += R"(,"shape":[)";
  append_list(json, port.dims, [&](const std::string& dim) {
    std::int64_t extent = 0;
    const auto parsed = std::from_chars(dim.data(), dim.data() + dim.size(), extent);
    const bool known = parsed.ec == std::errc() && parsed.ptr == dim.data() + dim.size();
    append_number(json, known ? extent : -1);
  });
  json += "]}";
}

void append_ports(std::string& json, std::string_view key, const std::vector<api::Port>& ports) {
  ((json += ",\"") += key) += "\":[";
  append_list(json, ports, [&](const api::Port& port) { append_port(json, port); });
  json += ']';
}

void append_timed(std::string& json, std::string_view key, const Timed& timed, bool first = false) {
  if (!first) json += ',';
  append_json(json, key);
  json += R"(:{"count":)";
  append_number(json, timed.count());
  json += R"(,"ns":)";
  append_number(json, timed.nanoseconds());
  json += '}';
}

void append_field(std::string& json, std::string_view key, std::uint64_t value) {
  json += ',';
  append_json(json, key);
  json += ':';
  append_number(json, value);
}

void append_duration(std::string& json, std::string_view key, std::uint64_t count, Nanoseconds time) {
  json += ',';
  append_json(json, key);
  json += R"(:{"count":)";
  append_number(json, count);
  json += R"(,"ns":)";
  append_number(json, time.count());
  json += '}';
}

void append_statistics(std::string& json, const Served& served) {
  const Statistics& s = served.statistics();
  json += R"({"name":)";
  append_json(json, served.name());
  json += R"(,"version":)";
  append_json(json, served.version());
  json += R"(,"last_inference":)";
  append_number(json, s.last_inference_ms.load());
  append_field(json, "inference_count", s.success.count());
  append_field(json, "execution_count", s.runs.count());
  json += R"(,"inference_stats":{)";
  append_timed(json, "success", s.success, true);
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
    json += R"({"batch_size":)";
    append_number(json, size);
    append_duration(json, "compute_input", runs.count, runs.input);
    append_duration(json, "compute_infer", runs.count, runs.infer);
    append_duration(json, "compute_output", runs.count, runs.output);
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
  append_ports(reply.body, "outputs", served.outputs());
  reply.body += '}';
  return reply;
}

Reply model_config_json(const Served& served) {
  Reply reply{.body = R"({"name":)"};
  append_json(reply.body, served.name());
  reply.body += R"(,"platform":)";
  append_json(reply.body, served.platform());
  reply.body += R"(,"max_batch_size":)";
  append_number(reply.body, served.most_in_batch());
  append_ports(reply.body, "input", served.inputs());
  append_ports(reply.body, "output", served.outputs());
  reply.body += '}';
  return reply;
}

Reply statistics_json(const List& list) {
  Reply reply{.body = R"({"model_stats":[)"};
  append_list(reply.body, list, [&](const auto& served) { append_statistics(reply.body, *served); });
  reply.body += "]}";
  return reply;
}

Reply index_json(const List& list) {
  Reply reply{.body = "["};
  append_list(reply.body, list, [&](const auto& served) {
    reply.body += R"({"name":)";
    append_json(reply.body, served->name());
    reply.body += R"(,"version":)";
    append_json(reply.body, served->version());
    reply.body += R"(,"state":"READY","reason":""})";
  });
  reply.body += ']';
  return reply;
}

}  // namespace frazil::server
