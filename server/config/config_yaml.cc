#include "server/config/config_yaml.h"

#include <algorithm>
#include <limits>
#include <set>

#include "server/config/governance_yaml.h"
#include "server/config/peer_yaml.h"
#include "server/config/yaml.h"
#include "server/core/digest.h"
#include "server/core/url_parts.h"

namespace frazil::server {
namespace {

using std::chrono::microseconds;

constexpr double kMaxSeconds = 365.0 * 86'400;
constexpr std::size_t kMaxKeyBytes = 1000;

microseconds read_time(const YamlNode& node, std::uint64_t least) {
  return microseconds(node.whole(least, kMaxMicroseconds));
}

std::vector<std::string> read_names(const YamlNode& node) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const YamlNode& item : node.items()) {
    names.push_back(item.name());
    if (!seen.insert(names.back()).second) item.fail("expected distinct names, got " + shown(names.back()) + " twice");
  }
  return names;
}

/// Reads one axis: AXIS or {axis: AXIS, value: NUMBER}.
Padding read_padding(const std::string& input, const YamlNode& node) {
  Padding padding{.input = input};
  const auto read_axis = [&](const YamlNode& axis) { padding.axis = axis.whole(0, kMaxAxis); };
  if (!node.is_map()) {
    read_axis(node);
    return padding;
  }
  node.fields(
      {{"axis", read_axis}, {"value", [&](const YamlNode& x) { padding.value = x.number(-kInfinity, kInfinity); }}});
  return padding;
}

std::vector<Padding> read_paddings(const YamlNode& node) {
  std::vector<Padding> paddings;
  for (const auto& [input, value] : node.entries()) paddings.push_back(read_padding(input, value));
  return paddings;
}

std::vector<std::uint64_t> read_sizes(const YamlNode& node) {
  std::vector<std::uint64_t> sizes;
  for (const YamlNode& item : node.items()) sizes.push_back(item.whole(1, kMaxCount));
  return sizes;
}

void check_batching(const YamlNode& node, Batching& batching) {
  for (const char* key : {"axis", "preferred", "delay_us", "pad", "max_waste", "regroup"}) {
    const auto field = node.find(key);
    if (field && batching.most == 0) field->fail("requires a max_batch_size of at least 1");
  }
  for (const char* key : {"axis", "pad", "max_waste"}) {
    const auto field = node.find(key);
    if (field && batching.regroup != Regroup::off)
      field->fail("cannot be combined with 'regroup', which does not join requests along an axis");
  }
  if (const auto lengths = node.find("lengths"); lengths && batching.paddings.empty()) {
    lengths->fail("requires the key 'pad'");
  }
  for (std::size_t i = 0; i < batching.preferred.size(); ++i) {
    if (batching.preferred[i] <= batching.most) continue;
    node.at("preferred").items()[i].expected("at most max_batch_size, " + std::to_string(batching.most));
  }
  std::ranges::sort(batching.preferred);
  const auto same = std::ranges::unique(batching.preferred);
  batching.preferred.erase(same.begin(), same.end());
  if (batching.default_level > batching.levels) {
    node.at("default_priority").expected("at most priority_levels, " + std::to_string(batching.levels));
  }
}

/// Reads {INPUT: AXIS}.
std::pair<std::string, std::size_t> read_batch_axis(const YamlNode& node) {
  const auto entries = node.entries();
  if (entries.size() != 1) node.expected("one entry INPUT: AXIS");
  return {entries.front().first, entries.front().second.whole(0, kMaxAxis)};
}

Regroup read_regroup(const YamlNode& node) {
  if (node.is_scalar() && node.text() == "always") return Regroup::always;
  return node.boolean() ? Regroup::where_it_pays : Regroup::off;
}

Batching read_batching(const YamlNode& node) {
  Batching batching;
  node.fields({{"max_batch_size", [&](const YamlNode& x) { batching.most = x.whole(0, kMaxCount); }},
               {"preferred", [&](const YamlNode& x) { batching.preferred = read_sizes(x); }},
               {"delay_us", [&](const YamlNode& x) { batching.delay = read_time(x, 0); }},
               {"max_queue", [&](const YamlNode& x) { batching.max_queued = x.whole(0, kMaxCount); }},
               {"priority_levels", [&](const YamlNode& x) { batching.levels = x.whole(1, kMaxLevels); }},
               {"default_priority", [&](const YamlNode& x) { batching.default_level = x.whole(1, kMaxLevels); }},
               {"timeout_us", [&](const YamlNode& x) { batching.time_out = read_time(x, 1); }},
               {"axis", [&](const YamlNode& x) { batching.batch_axis = read_batch_axis(x); }},
               {"pad", [&](const YamlNode& x) { batching.paddings = read_paddings(x); }},
               {"lengths", [&](const YamlNode& x) { batching.lengths = x.name(); }},
               {"max_waste", [&](const YamlNode& x) { batching.max_waste = x.number(0, 1); }},
               {"regroup", [&](const YamlNode& x) { batching.regroup = read_regroup(x); }}});
  check_batching(node, batching);
  return batching;
}

/// Reads OUTPUT or {output: OUTPUT, axis: AXIS}.
StateLink read_state_link(const std::string& input, const YamlNode& node) {
  StateLink link{.input = input, .output = (node.is_map() ? node.at("output") : node).name()};
  if (!node.is_map()) return link;
  node.fields({{"output", kReadElsewhere}, {"axis", [&](const YamlNode& x) { link.axis = x.whole(0, kMaxAxis); }}});
  return link;
}

std::vector<StateLink> read_states(const YamlNode& node) {
  std::vector<StateLink> states;
  for (const auto& [input, output] : node.entries()) states.push_back(read_state_link(input, output));
  return states;
}

VersionPolicy read_versions(const YamlNode& node) {
  using Kind = VersionPolicy::Kind;
  VersionPolicy policy;
  if (node.is_list()) {
    policy.kind = Kind::specific;
    for (const YamlNode& item : node.items()) {
      policy.specific.push_back(item.whole(1, std::numeric_limits<std::int64_t>::max()));
    }
    if (policy.specific.empty()) node.fail("expected at least one version");
  } else if (node.is_map()) {
    policy.kind = Kind::latest;
    policy.latest = node.at("latest").whole(1, kMaxCount);
    node.fields({{"latest", kReadElsewhere}});
  } else if (!node.is_scalar() || node.text() != "all") {
    node.expected("all, {latest: N} or a list of versions");
  }
  return policy;
}

/// Reads a file in the model's folder.
std::string read_inner_file(const YamlNode& node) {
  const std::string file = node.name();
  const std::string framed = "/" + file + "/";
  if (file.starts_with('/') || framed.find("/../") != std::string::npos) node.expected("a file in the model's folder");
  return file;
}

Tolerance read_tolerance(const YamlNode& node) {
  Tolerance tolerance;
  node.fields({{"rtol", [&](const YamlNode& x) { tolerance.relative = x.number(0, 1e9); }},
               {"atol", [&](const YamlNode& x) { tolerance.absolute = x.number(0, kInfinity); }}});
  return tolerance;
}

ModelConfig read_model(const YamlNode& node) {
  ModelConfig model;
  const auto read_idle = [&](const YamlNode& x) {
    model.sequences.idle = microseconds(static_cast<std::int64_t>(x.number(0.001, kMaxSeconds) * 1e6));
  };
  const auto read_labels = [&](const YamlNode& x) {
    for (const auto& [output, file] : x.entries()) model.labels.emplace_back(output, read_inner_file(file));
  };
  const auto read_defaults = [&](const YamlNode& x) {
    const auto defaults = x.is_scalar() ? defaults_from(x.text()) : std::nullopt;
    if (!defaults) x.expected("fixed or inputs");
    model.defaults = *defaults;
  };
  const auto read_limit = [&](const YamlNode& x) {
    model.memory_limit = x.bytes();
    if (*model.memory_limit == 0) x.expected("at least 1 byte");
  };
  node.fields({{"batching", [&](const YamlNode& x) { model.batching = read_batching(x); }},
               {"state", [&](const YamlNode& x) { model.sequences.states = read_states(x); }},
               {"idle_s", read_idle},
               {"versions", [&](const YamlNode& x) { model.versions = read_versions(x); }},
               {"labels", read_labels},
               {"defaults", read_defaults},
               {"deadline_ms", [&](const YamlNode& x) { model.deadline_ms = x.number(0.001, kMaxMilliseconds); }},
               {"memory_limit", read_limit},
               {"warm_up", [&](const YamlNode& x) { model.warm_up = x.whole(0, kMaxCount); }},
               {"canary", [&](const YamlNode& x) { model.canary = read_tolerance(x); }}});
  if (node.find("idle_s") && model.sequences.states.empty()) {
    node.at("idle_s").fail("requires the key 'state'");
  }
  return model;
}

/// Reads a key, as it is or as sha256:HEX, and returns sha256:HEX. Keys are secrets, so no message contains one.
std::string read_key(const YamlNode& node) {
  if (!node.is_scalar()) node.fail("expected a key");
  const std::string key = node.text();
  const bool visible = std::ranges::all_of(key, [](char c) { return c > 0x20 && c < 0x7f; });
  if (key.empty() || key.size() > kMaxKeyBytes || !visible) node.fail("expected 1 to 1000 visible ASCII characters");
  const auto sum = digest_of_key(key);
  if (!sum) node.fail("expected 64 hexadecimal digits after sha256:");
  return std::string(kDigestMark) + *sum;
}

/// Reads the identifiers of a tenant, which must be unique among all tenants.
std::vector<std::string> read_distinct(const YamlNode& list, std::set<std::string>& known,
                                       const std::function<std::string(const YamlNode&)>& read_one) {
  if (!list.is_list()) list.fail("expected a list");
  std::vector<std::string> read;
  for (const YamlNode& item : list.items()) {
    read.push_back(read_one(item));
    if (!known.insert(read.back()).second)
      item.fail("duplicate value: expected values that are unique among all tenants");
  }
  if (read.empty()) list.fail("expected at least one");
  return read;
}

/// The identifiers of the tenants read so far.
struct TenantNames {
  std::set<std::string> names, keys, certificates;
};

Tenant read_tenant(const YamlNode& node, TenantNames& known) {
  Tenant tenant{.name = node.at("name").name()};
  if (!known.names.insert(tenant.name).second) {
    node.at("name").fail("expected distinct names, got " + shown(tenant.name) + " twice");
  }
  const auto read_allowed = [&](const YamlNode& x) {
    tenant.models = read_names(x);
    if (tenant.models.empty()) x.fail("expected at least one model; without this key the tenant may use all");
  };
  node.fields(
      {{"name", kReadElsewhere},
       {"keys", [&](const YamlNode& x) { tenant.keys = read_distinct(x, known.keys, read_key); }},
       {"certificates",
        [&](const YamlNode& x) { tenant.certificates = read_distinct(x, known.certificates, &YamlNode::name); }},
       {"max_waiting", [&](const YamlNode& x) { tenant.max_waiting = x.whole(0, kMaxCount); }},
       {"requests_per_second", [&](const YamlNode& x) { tenant.requests_per_second = x.number(0.001, 1e9); }},
       {"models", read_allowed},
       {"admin", [&](const YamlNode& x) { tenant.admin = x.boolean(); }}});
  if (tenant.keys.empty() && tenant.certificates.empty()) node.fail("expected the key 'keys' or 'certificates'");
  return tenant;
}

std::vector<Tenant> read_tenants(const YamlNode& node) {
  std::vector<Tenant> tenants;
  TenantNames known;
  if (node.is_list() && node.items().empty())
    node.fail("expected at least one tenant; without this key everybody may use the server");
  for (const YamlNode& item : node.items()) tenants.push_back(read_tenant(item, known));
  return tenants;
}

StateConfig read_state(const YamlNode& node) {
  StateConfig state;
  node.fields({{"memory", [&](const YamlNode& x) { state.memory_bytes = x.bytes(); }},
               {"max_sequences", [&](const YamlNode& x) { state.max_sequences = x.whole(1, kMaxCount); }},
               {"folder", [&](const YamlNode& x) { state.folder = x.name(); }},
               {"redis_prefix", [&](const YamlNode& x) { state.redis_prefix = x.text(); }},
               {"redis", kReadElsewhere},
               {"redis_user", kReadElsewhere},
               {"redis_password", kReadElsewhere},
               {"redis_database", kReadElsewhere},
               {"redis_tls", kReadElsewhere},
               {"pages", [&](const YamlNode& x) { state.page_bytes = x.boolean() ? state.page_bytes : 0; }}});
  RedisPlace place = read_redis(node, "");
  state.redis = std::move(place.address);
  state.redis_access = std::move(place.access);
  const auto prefix = node.find("redis_prefix");
  if (prefix && state.redis.empty()) prefix->fail("requires the key 'redis'");
  return state;
}

/// Reads HOST:PORT or a URL.
std::string read_collector(const YamlNode& node) {
  std::string text = node.text();
  if (!text.contains("://")) return read_address(node);
  const auto url = UrlParts::parse(text);
  if (!url || (url->scheme != "http" && url->scheme != "https")) {
    node.fail("expected HOST:PORT, http://HOST:PORT or https://HOST:PORT");  // without the text: it may have a password
  }
  return text;
}

PathConfig read_paths(const YamlNode& node) {
  PathConfig paths;
  node.fields({{"ring", [&](const YamlNode& x) { paths.ring = x.whole(0, 10'000'000); }},
               {"sample", [&](const YamlNode& x) { paths.sample = x.number(0, 1); }},
               {"inputs", [&](const YamlNode& x) { paths.inputs = x.boolean(); }},
               {"redact", [&](const YamlNode& x) { paths.redact = read_names(x); }},
               {"otlp", [&](const YamlNode& x) { paths.otlp = read_collector(x); }},
               {"otlp_tls", [&](const YamlNode& x) { paths.otlp_tls = read_tls_files(x, ""); }},
               {"check", [&](const YamlNode& x) { paths.check = x.number(0, 1); }}});
  if (node.find("otlp_tls") && !paths.otlp.starts_with("https:")) {
    node.at("otlp_tls").fail("requires an 'otlp' that begins with https://");
  }
  return paths;
}

std::vector<std::string> read_host_names(const YamlNode& node) {
  std::vector<std::string> names = read_names(node);
  for (const YamlNode& item : node.items()) {
    if (item.name().find_first_of(":/ ") != std::string::npos) item.expected("a host name without a port");
  }
  return names;
}

NetworkConfig read_network(const YamlNode& node) {
  NetworkConfig network;
  node.fields({{"model_control", [&](const YamlNode& x) { network.model_control = x.boolean(); }},
               {"replay", [&](const YamlNode& x) { network.replay = x.boolean(); }},
               {"tensors", [&](const YamlNode& x) { network.tensors = x.boolean(); }},
               {"client_shm", [&](const YamlNode& x) { network.client_shm = x.boolean(); }},
               {"host_names", [&](const YamlNode& x) { network.host_names = read_host_names(x); }}});
  return network;
}

ServerConfig config_from(const YamlNode& root) {
  ServerConfig config;
  if (root.is_null()) return config;
  const auto read_models = [&](const YamlNode& models) {
    for (const auto& [name, model] : models.entries()) config.models.emplace(name, read_model(model));
  };
  root.fields({{"models", read_models},
               {"tenants", [&](const YamlNode& x) { config.tenants = read_tenants(x); }},
               {"network", [&](const YamlNode& x) { config.network = read_network(x); }},
               {"state", [&](const YamlNode& x) { config.state = read_state(x); }},
               {"paths", [&](const YamlNode& x) { config.paths = read_paths(x); }},
               {"governance", [&](const YamlNode& x) { config.governance = read_governance(x); }}});
  return config;
}

}  // namespace

ServerConfig read_server_config(const std::string& path) { return config_from(read_yaml(path)); }

ServerConfig read_server_config_text(std::string_view text, const std::string& name) {
  return config_from(read_yaml_text(text, name));
}

}  // namespace frazil::server
