#include "server/grpc/grpc_management.h"

#include <protozero/pbf_writer.hpp>

#include "server/core/log_settings.h"
#include "server/grpc/grpc_fields.h"
#include "server/service/trace_settings.h"

namespace frazil::server::proto {
namespace {

using protozero::pbf_writer;

constexpr std::size_t kMaxSettings = 64;

void check_may_change(const Service& service, const Tenants::Identity& identity, std::string_view action) {
  service.gate().check_on(Feature::model_control);
  identity.check_admin();
  service.gate().check_action(control_rule(action), identity, "");
}

/// Adds an entry of a map from strings to messages; `write` receives the writer of the value.
template <class F>
void add_entry(pbf_writer& to, std::string_view key, F write) {
  pbf_writer entry(to, 1);
  entry.add_string(1, key.data(), key.size());
  pbf_writer value(entry, 2);
  write(value);
}

LogSettings::Value log_value(std::string_view bytes) {
  Fields fields(bytes, "LogSettingsRequest.SettingValue");
  LogSettings::Value value;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: value = fields.truth("bool_param"); break;
      case 2: value = std::uint64_t{fields.varint("uint32_param")}; break;
      case 3: value = std::string(fields.text("string_param")); break;
      default: fields.skip();
    }
  }
  return value;
}

LogSettings::List read_log_settings(std::string_view bytes) {
  Fields fields(bytes, "LogSettingsRequest");
  LogSettings::List settings;
  while (fields.next()) {
    if (fields.tag() != 1) {
      fields.skip();
      continue;
    }
    expect_room(settings, kMaxSettings, "settings");
    const auto [key, value] = read_entry(fields.bytes("settings"), "settings");
    settings.emplace_back(key, log_value(value));
  }
  return settings;
}

void add_log_value(pbf_writer& to, const LogSettings::Value& value) {
  if (const bool* const truth = std::get_if<bool>(&value)) to.add_bool(1, *truth);
  if (const auto* const number = std::get_if<std::uint64_t>(&value)) to.add_uint64(2, *number);
  if (const auto* const text = std::get_if<std::string>(&value)) to.add_string(3, *text);
}

std::vector<std::string> trace_values(std::string_view bytes) {
  Fields fields(bytes, "TraceSettingRequest.SettingValue");
  std::vector<std::string> values;
  while (fields.next()) {
    if (fields.tag() != 1) {
      fields.skip();
      continue;
    }
    expect_room(values, kMaxSettings, "values of a setting");
    values.emplace_back(fields.text("value"));
  }
  return values;
}

struct TraceRequest {
  TraceSettings settings;
  std::string model;
};

TraceRequest read_trace_request(std::string_view bytes) {
  Fields fields(bytes, "TraceSettingRequest");
  TraceRequest request;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: {
        expect_room(request.settings, kMaxSettings, "settings");
        const auto [key, value] = read_entry(fields.bytes("settings"), "settings");
        request.settings.emplace_back(key, trace_values(value));
        break;
      }
      case 2: request.model = fields.text("model_name"); break;
      default: fields.skip();
    }
  }
  return request;
}

/// Reads a request of the three methods for shared memory, which share their fields.
SharedMemory::Region read_region(std::string_view bytes) {
  Fields fields(bytes, "the request");
  SharedMemory::Region region;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: region.name = fields.text("name"); break;
      case 2: region.key = fields.text("key"); break;
      case 3: region.offset = fields.varint("offset"); break;
      case 4: region.byte_size = fields.varint("byte_size"); break;
      default: fields.skip();
    }
  }
  return region;
}

}  // namespace

std::string log_settings_response(Service& service, const Tenants::Identity& identity, std::string_view request) {
  const LogSettings::List settings = read_log_settings(request);
  if (!settings.empty()) {
    check_may_change(service, identity, "log_settings");
    service.options().log->change(settings);
  }
  std::string bytes;
  pbf_writer to(bytes);
  for (const auto& setting : service.options().log->list()) {
    add_entry(to, setting.first, [&](pbf_writer& inner) { add_log_value(inner, setting.second); });
  }
  return bytes;
}

std::string trace_setting_response(Service& service, const Tenants::Identity& identity, std::string_view request) {
  const TraceRequest asked = read_trace_request(request);
  if (!asked.model.empty()) identity.check(asked.model);
  if (!asked.settings.empty()) {
    check_may_change(service, identity, "trace_settings");
    if (!asked.model.empty()) refuse("model_name: the trace settings of a model are those of the server");
    change_trace_settings(service.paths(), asked.settings, service.options().governor, identity.name());
  }
  std::string bytes;
  pbf_writer to(bytes);
  for (const auto& setting : trace_settings(service.paths())) {
    add_entry(to, setting.first, [&](pbf_writer& inner) {
      for (const std::string& value : setting.second) inner.add_string(1, value);
    });
  }
  return bytes;
}

std::string shared_memory_status(const SharedMemory& memory, const Tenants::Identity& identity,
                                 std::string_view request) {
  std::string bytes;
  pbf_writer to(bytes);
  for (const SharedMemory::Region& region : memory.list(identity, read_region(request).name)) {
    add_entry(to, region.name, [&](pbf_writer& inner) {
      inner.add_string(1, region.name);
      inner.add_string(2, region.key);
      inner.add_uint64(3, region.offset);
      inner.add_uint64(4, region.byte_size);
    });
  }
  return bytes;
}

std::string register_shared_memory(SharedMemory& memory, const Tenants::Identity& identity, std::string_view request) {
  memory.add(identity, read_region(request));
  return {};
}

std::string unregister_shared_memory(SharedMemory& memory, const Tenants::Identity& identity,
                                     std::string_view request) {
  memory.remove(identity, read_region(request).name);
  return {};
}

}  // namespace frazil::server::proto
