#include "server/core/port.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "server/core/datatype.h"

namespace frazil::server {

std::optional<std::int64_t> fixed_extent(const std::string& dim) {
  std::int64_t extent = 0;
  const char* const end = dim.data() + dim.size();
  const auto parsed = std::from_chars(dim.data(), end, extent);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(extent) : std::nullopt;
}

bool is_symbol(const std::string& dim) {
  const auto in_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return !dim.empty() && std::isdigit(static_cast<unsigned char>(dim.front())) == 0 &&
         std::ranges::all_of(dim, in_word);
}

std::optional<std::size_t> position_of(const std::vector<api::Port>& ports, std::string_view name) {
  const auto at = std::ranges::find(ports, name, &api::Port::name);
  if (at == ports.end()) return std::nullopt;
  return static_cast<std::size_t>(at - ports.begin());
}

api::Array zeros_of(const api::Port& port, std::optional<std::size_t> growing) {
  api::Sizes sizes;
  for (const std::string& dim : port.dims) sizes.push_back(fixed_extent(dim).value_or(1));
  if (growing) sizes[*growing] = 0;
  return {port.dtype, std::move(sizes)};
}

api::Sizes protocol_shape(const api::Port& port) {
  api::Sizes sizes;
  for (const std::string& dim : port.dims) sizes.push_back(fixed_extent(dim).value_or(-1));
  return sizes;
}

std::string_view protocol_datatype(const api::Port& port) {
  const bool tensor = port.kind == api::Array::Kind::tensor;
  const std::string_view datatype = tensor ? datatype_of(port.dtype) : std::string_view();
  return datatype.empty() ? std::string_view(port.type) : datatype;
}

}  // namespace frazil::server
