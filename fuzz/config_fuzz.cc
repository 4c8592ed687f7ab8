// Reads bytes as configuration: behind an even first byte as config.pbtxt, behind an odd one as YAML. What cannot be
// read is told on one line; what can be read is within its bounds.
#include <cmath>
#include <cstdint>

#include <frazil/error.h>

#include "require.h"
#include "server/config/config_pbtxt.h"
#include "server/config/config_yaml.h"
#include "server/config/yaml.h"

namespace frazil::fuzz {
namespace {

void require_line(std::string_view line) {
  require(line.starts_with("f:"), "a message without a place: {}", line);
  require(server::is_utf8(line), "a message that is not UTF-8: {}", line);
  for (const char c : line) {
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a message of several lines: {}", line);
  }
}

void require_sane(const server::ModelConfig& model) {
  const server::Batching& batching = model.batching;
  require(batching.default_level >= 1 && batching.default_level <= batching.levels, "a level that is none");
  require(batching.max_waste >= 0 && batching.max_waste <= 1, "a share of {}", batching.max_waste);
  std::uint64_t last = 0;
  for (const std::uint64_t size : batching.preferred) {
    require(size > last, "sizes that do not ascend");
    last = size;
  }
  for (const server::Padding& padding : batching.paddings) {
    require(padding.axis >= 1 && !padding.input.empty() && !std::isnan(padding.value), "a padding of nothing");
  }
  require(model.sequences.idle.count() > 0 && batching.delay.count() >= 0, "a time that is none");
}

void read_pbtxt(std::string_view text) {
  const server::ReadConfig read = server::read_config_pbtxt_text(text, "f");
  require_sane(read.config);
  for (const std::string& warning : read.warnings) require_line(warning);
}

void read_yaml(std::string_view text) {
  const server::ServerConfig config = server::read_server_config_text(text, "f");
  for (const auto& [name, model] : config.models) require_sane(model);
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    data[0] % 2 == 0 ? frazil::fuzz::read_pbtxt(text) : frazil::fuzz::read_yaml(text);
  } catch (const frazil::api::Error& error) {
    frazil::fuzz::require(error.code() == frazil::api::Code::bad_input, "another code");
    frazil::fuzz::require_line(error.what());
  }
  return 0;
}
