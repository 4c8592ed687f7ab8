#include "tool/spec.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/value/hash.h"
#include "tool/fill.h"

namespace frazil::tool {
namespace {

bool parse_int(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Sizes parse_sizes(std::string_view text) {
  Sizes sizes;
  if (text == "scalar") return sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    std::int64_t extent = 0;
    if (!parse_int(text.substr(at, end - at), extent) || extent < 0) {
      fail(Code::bad_input,
           "'{}' is not a value: expected @FILE, a .npy or .pb file, dims like 1x3x224 or scalar, or =NUMBER", text);
    }
    sizes.push_back(extent);
    at = end + 1;
  }
  return sizes;
}

std::size_t find_name(const std::vector<Port>& ports, std::string_view name, std::string_view what) {
  const auto at = std::ranges::find(ports, name, &Port::name);
  if (at != ports.end()) return static_cast<std::size_t>(at - ports.begin());
  std::string list;
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < ports.size() && i < kShown; ++i) list += (i > 0 ? ", '" : "'") + ports[i].name + "'";
  if (ports.size() > kShown) list += ", ...";
  fail(Code::bad_input, "the model has no {} '{}'; it has {}", what, name, ports.empty() ? "none" : list);
}

}  // namespace

Array::Kind file_kind(const Port& port) { return port.optional && !port.has_default ? Array::Kind::none : port.kind; }

std::vector<api::Named> named(const Model& model, const std::vector<Array>& values) {
  std::vector<api::Named> all;
  for (std::size_t i = 0; i < values.size(); ++i) all.push_back({model.inputs()[i].name, values[i]});
  return all;
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  if (text.starts_with('=')) {
    spec.text = text.substr(1);
    return spec;
  }
  if (text.starts_with('@') || text.ends_with(".npy") || text.ends_with(".pb")) {
    spec.kind = Spec::Kind::file;
    spec.text = text.substr(text.starts_with('@') ? 1 : 0);
    if (spec.text.empty()) fail(Code::bad_input, "'@' needs a path after it");
    return spec;
  }
  spec.kind = Spec::Kind::random;
  const std::size_t colon = text.find(':');
  spec.sizes = parse_sizes(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    const std::string_view range = text.substr(colon + 1);
    const std::size_t dots = range.find("..");
    if (dots == std::string_view::npos || dots == 0 || dots + 2 >= range.size()) {
      fail(Code::bad_input, "'{}': expected a range FROM..TO after the ':'", text);
    }
    spec.range.emplace(range.substr(0, dots), range.substr(dots + 2));
  }
  return spec;
}

std::pair<std::string, std::string> split_pair(std::string_view text, std::string_view flag) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) fail(Code::bad_input, "{} '{}': expected a pair with '='", flag, text);
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

std::size_t ValueSource::find_input(std::string_view name) const { return find_name(model_.inputs(), name, "input"); }

std::size_t ValueSource::find_output(std::string_view name) const {
  return find_name(model_.outputs(), name, "output");
}

Array ValueSource::make(std::size_t input, const Spec& spec, const std::string& folder, std::uint64_t request) const {
  const Port& port = model_.inputs()[input];
  return within(fmt::format("input '{}': ", port.name), [&] {
    if (spec.kind == Spec::Kind::file) return from_file(port, spec.text, folder);
    if (port.kind != Array::Kind::tensor) {
      fail(Code::bad_input, "its type is {}, so that it takes a .pb file only", port.full_type);
    }
    if (spec.kind == Spec::Kind::fill) return filled(port, spec.text);
    return random(port, spec, Hasher().add(seed_).add(port.name).add(request).value());
  });
}

Array ValueSource::from_file(const Port& port, std::string path, const std::string& folder) const {
  if (!folder.empty() && std::filesystem::path(path).is_relative()) path = std::filesystem::path(folder) / path;
  constexpr std::string_view kMagic = "\x93NUMPY";
  bool npy = path.ends_with(".npy");
  if (!npy && !path.ends_with(".pb")) {
    std::string first(kMagic.size(), '\0');
    std::ifstream(path, std::ios::binary).read(first.data(), static_cast<std::streamsize>(first.size()));
    npy = first == kMagic;
  }
  return npy ? Array::read_npy(path) : Array::read_pb(path, file_kind(port));
}

Array ValueSource::random(const Port& port, const Spec& spec, std::uint64_t key) const {
  check_bytes(port.dtype, spec.sizes, max_bytes_);
  if (!spec.range) return random_array(port.dtype, spec.sizes, key);
  return random_array_in(port.dtype, spec.sizes, key, spec.range->first, spec.range->second);
}

Array ValueSource::filled(const Port& port, std::string_view text) const {
  const Sizes sizes = port.ranked ? model_.sizes(port.name) : Sizes();
  check_bytes(port.dtype, sizes, max_bytes_);
  return filled_array(port.dtype, sizes, text);
}

}  // namespace frazil::tool
