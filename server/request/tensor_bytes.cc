#include "server/request/tensor_bytes.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "server/core/message.h"
#include "server/core/raw_bytes.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;

using Length = std::uint32_t;  ///< prefix of an element of BYTES

std::string_view take(std::string_view& bytes, std::size_t size, const std::string& what) {
  if (size > bytes.size()) refuse(what + ": an element is cut off");
  const std::string_view taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return taken;
}

Array strings_from(api::Sizes sizes, std::uint64_t count, std::string_view bytes, const std::string& what) {
  if (count > bytes.size() / sizeof(Length)) refuse(what + ": its shape has more elements than its bytes");
  Array array(Dtype::string, std::move(sizes));
  std::size_t elements = 0;
  const auto values = array.mutable_values<std::string>();
  while (!bytes.empty() && elements < values.size()) {
    Length size = 0;
    std::memcpy(&size, take(bytes, sizeof size, what).data(), sizeof size);
    values[elements++] = take(bytes, size, what);
  }
  if (!bytes.empty() || elements != values.size()) {
    refuse(what + ": its shape has " + std::to_string(values.size()) + " elements, its bytes have another number");
  }
  return array;
}

}  // namespace

std::uint64_t elements_of(const api::Sizes& sizes, std::uint64_t most, const std::string& what) {
  std::uint64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : sizes) {
    if (extent < 0) refuse(what + ": \"shape\" has a negative extent");
    empty |= extent == 0;
    if (extent != 0 && count > most / static_cast<std::uint64_t>(extent))
      count = most + 1;
    else if (extent != 0)
      count *= static_cast<std::uint64_t>(extent);
  }
  if (!empty && count > most) refuse(what + ": \"shape\" has more elements than the request has bytes");
  return empty ? 0 : count;
}

Array tensor_from(Dtype dtype, api::Sizes sizes, std::uint64_t count, std::string_view bytes, const std::string& what,
                  std::shared_ptr<const void> keep_alive) {
  if (dtype == Dtype::string) return strings_from(std::move(sizes), count, bytes, what);
  if (bytes.size() != count * api::byte_size(dtype)) {
    refuse(what + ": its shape has " + std::to_string(count * api::byte_size(dtype)) + " bytes, its data have " +
           std::to_string(bytes.size()));
  }
  if (dtype == Dtype::boolean && std::ranges::any_of(bytes, [](char c) { return c != 0 && c != 1; })) {
    refuse(what + ": an element of BOOL is a byte 0 or 1");
  }
  return Array::borrow(dtype, std::move(sizes), std::as_bytes(std::span(bytes)), std::move(keep_alive));
}

std::uint64_t binary_size(const Array& array) {
  if (array.dtype() != Dtype::string) return array.bytes();
  std::uint64_t size = 0;
  for (const std::string& value : array.values<std::string>()) size += sizeof(Length) + value.size();
  return size;
}

void append_bytes(std::string& to, const Array& array) {
  if (array.dtype() != Dtype::string) {
    to.append(static_cast<const char*>(array.data()), array.bytes());
    return;
  }
  for (const std::string& value : array.values<std::string>()) {
    append_raw(to, static_cast<Length>(value.size()));
    to += value;
  }
}

}  // namespace frazil::server
