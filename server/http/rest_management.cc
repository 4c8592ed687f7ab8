#include "server/core/json_text.h"
#include "server/core/log_settings.h"
#include "server/http/rest_at_once.h"
#include "server/request/json_tensor.h"
#include "server/service/trace_settings.h"

// Triton's extensions for logging, tracing and shared memory.
namespace frazil::server::at_once {
namespace {

/// Calls f(key, value) for each field of a body, which must be an object.
template <class F>
void for_each_field(std::string_view body, F f) {
  check_short(body);
  const JsonObject json(body);
  for (const auto& [key, value] : json.root()) f(std::string(key), value);
}

// ---- logging ----

LogSettings::Value log_value(const std::string& key, dom::element value) {
  if (value.is_bool()) return bool(value);
  if (value.is_uint64()) return std::uint64_t{value};
  return std::string(get<std::string_view>(value, "setting '" + key + "'", "true, false, a number or a string"));
}

Reply log_settings_json(const LogSettings& settings) {
  JsonText json;
  json.begin_object();
  for (const auto& setting : settings.list()) {
    std::visit([&](const auto& of_type) { json.member(setting.first, of_type); }, setting.second);
  }
  json.end_object();
  return {.body = json.take()};
}

// ---- tracing ----

std::vector<std::string> trace_values(const std::string& key, dom::element value) {
  const std::string what = "setting '" + key + "'";
  if (value.is_null()) return {};
  if (!value.is_array()) return {std::string(get<std::string_view>(value, what, "a string, a list of them, or null"))};
  std::vector<std::string> values;
  for (const dom::element one : dom::array(value)) values.emplace_back(get<std::string_view>(one, what, "strings"));
  if (values.empty()) refuse(what + ": expected a value");
  return values;
}

Reply trace_settings_json(const PathLog& paths) {
  JsonText json;
  json.begin_object();
  for (const auto& [key, values] : trace_settings(paths)) {
    json.key(key);
    key == "trace_level" ? json.array(values) : json.value(values.front());
  }
  json.end_object();
  return {.body = json.take()};
}

}  // namespace

Reply log_settings(Service& service, const Asked&) { return log_settings_json(*service.options().log); }

Reply set_log_settings(Service& service, const Asked& asked) {
  LogSettings::List settings;
  for_each_field(asked.message.body, [&](const std::string& key, dom::element value) {
    settings.emplace_back(key, log_value(key, value));
  });
  service.options().log->change(settings);
  return log_settings_json(*service.options().log);
}

Reply trace_setting(Service& service, const Asked&) { return trace_settings_json(service.paths()); }

Reply set_trace_setting(Service& service, const Asked& asked) {
  TraceSettings settings;
  for_each_field(asked.message.body, [&](const std::string& key, dom::element value) {
    settings.emplace_back(key, trace_values(key, value));
  });
  change_trace_settings(service.paths(), settings, service.options().governor, asked.identity.name());
  return trace_settings_json(service.paths());
}

Reply set_model_trace_setting(Service&, const Asked& asked) {
  throw Refusal(Http::bad_request, "the trace settings of model '" + asked.names.model +
                                       "' are those of the server: use /v2/trace/setting");
}

// ---- shared memory ----

Reply shared_memory_status(Service& service, const Asked& asked) {
  JsonText json;
  json.array(service.shared_memory().list(asked.identity, asked.names.item), [&](const SharedMemory::Region& region) {
    json.begin_object();
    json.member("name", region.name);
    json.member("key", region.key);
    json.member("offset", region.offset);
    json.member("byte_size", region.byte_size);
    json.end_object();
  });
  return {.body = json.take()};
}

Reply register_shared_memory(Service& service, const Asked& asked) {
  SharedMemory::Region region{.name = asked.names.item};
  for_each_field(asked.message.body, [&](const std::string& key, dom::element value) {
    const std::string what = "field \"" + key + "\"";
    if (key == "key") {
      region.key = std::string(get<std::string_view>(value, what, "a string"));
    } else if (key == "offset") {
      region.offset = get<std::uint64_t>(value, what, "a number of bytes");
    } else if (key == "byte_size") {
      region.byte_size = get<std::uint64_t>(value, what, "a number of bytes");
    } else {
      refuse(what + ": expected key, offset or byte_size");
    }
  });
  service.shared_memory().add(asked.identity, region);
  return {.body = "{}"};
}

Reply unregister_shared_memory(Service& service, const Asked& asked) {
  service.shared_memory().remove(asked.identity, asked.names.item);
  return {.body = "{}"};
}

}  // namespace frazil::server::at_once
