#include "server/host/sandbox_yaml.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "server/config/governance_yaml.h"

namespace frazil::server {
namespace {

SandboxLevel most_from(const YamlNode& node) {
  const SandboxLevel level = read_sandbox_level(node);
  if (level == SandboxLevel::limits) node.expected("none, no-network or isolated: files and sockets are always closed");
  return level;
}

void add_declared(SandboxSpec& to, const YamlNode& list, SandboxPath::Use use, const std::string& folder) {
  if (!list.is_list()) list.expected("a list of files and folders");
  for (const YamlNode& item : list.items()) {
    const auto path = std::filesystem::absolute(std::filesystem::path(folder) / item.name()).lexically_normal();
    std::error_code error;
    if (!std::filesystem::exists(path, error)) item.expected("a file or folder that exists");
    to.paths.push_back({.path = path, .use = use, .required = true});
  }
}

std::uint64_t bytes_from(const YamlNode& node, std::uint64_t least) {
  const std::uint64_t bytes = node.bytes();
  if (bytes < least) node.expected("at least " + std::to_string(least) + " bytes");
  return bytes;
}

/// Returns the least level of a step that declares none.
SandboxLevel usual_level(const SandboxSpec& spec) {
  if (spec.most == SandboxLevel::none) return SandboxLevel::none;
  return spec.network ? SandboxLevel::limits : SandboxLevel::no_network;
}

void read_fields(const YamlNode& node, const HostScope& scope, PythonCommand& command) {
  SandboxSpec& spec = command.sandbox;
  constexpr std::uint64_t kLeastMemory = std::uint64_t{64} << 20U, kMostMilliseconds = 86'400'000;
  const auto read_cpu = [&](const YamlNode& n) {
    command.cpu_limit = std::chrono::milliseconds(n.whole(1, kMostMilliseconds));
  };
  node.fields({{"level", kReadElsewhere},
               {"most", [&](const YamlNode& n) { spec.most = most_from(n); }},
               {"read", [&](const YamlNode& n) { add_declared(spec, n, SandboxPath::Use::read, scope.folder); }},
               {"write", [&](const YamlNode& n) { add_declared(spec, n, SandboxPath::Use::write, scope.folder); }},
               {"tmp", [&](const YamlNode& n) { spec.tmp = n.boolean(); }},
               {"memory", [&](const YamlNode& n) { spec.memory_bytes = bytes_from(n, kLeastMemory); }},
               {"file", [&](const YamlNode& n) { spec.file_bytes = bytes_from(n, 0); }},
               {"cpu_ms", read_cpu}});
}

}  // namespace

void read_sandbox(const YamlNode& step, const HostScope& scope, PythonCommand& command) {
  const auto node = step.find("sandbox");
  SandboxSpec& spec = command.sandbox;
  if (node && node->is_scalar()) {
    if (node->name() != "none") node->expected("none, or a map");
    spec.most = SandboxLevel::none;
  } else if (node) {
    read_fields(*node, scope, command);
  }
  const auto level = node && node->is_map() ? node->find("level") : std::nullopt;
  spec.least = std::max(level ? read_sandbox_level(*level) : usual_level(spec), scope.least_sandbox);
}

std::string declaration_of_sandbox(const PythonCommand& command) {
  const SandboxSpec& spec = command.sandbox;
  std::string text = std::string(name_of(command.level)) + (spec.network ? " network" : "") + (spec.tmp ? " tmp" : "");
  text += ' ' + std::to_string(spec.memory_bytes) + ' ' + std::to_string(spec.file_bytes);
  if (command.cpu_limit) text += " cpu " + std::to_string(command.cpu_limit->count());
  for (const SandboxPath& path : spec.paths) text += '\n' + std::to_string(static_cast<int>(path.use)) + path.path;
  return text;
}

}  // namespace frazil::server
