// Reads .npy files. What is read is written and read again, and stays the same.
#include <cstring>

#include "require.h"
#include "tensor/npy.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace frazil::fuzz {
namespace {

void read_once(std::span<const std::uint8_t> data) {
  const auto tensor = npy_from_bytes(std::as_bytes(data), "a.npy");
  if (!tensor) return require_plain(tensor.error());
  const auto bytes = npy_to_bytes(*tensor);
  if (!bytes) {  // bytes that are no text
    require_plain(bytes.error());
    return require(tensor->elem() == Elem::string, "not written: {}", bytes.error().text());
  }
  const auto again = npy_from_bytes(std::as_bytes(std::span(*bytes)), "b.npy");
  require(again.has_value(), "not read again: {}", again ? "" : again.error().text());
  require(identical(*again, *tensor), "{} changes when it is written", summary(*tensor));
}

/// Where an .npy file's header begins and ends, when its length is right.
struct Header {
  std::size_t begin = 0, end = 0;
  std::size_t width = 2;  ///< of the length before it
};
bool find_header(std::span<const std::uint8_t> data, Header& header) {
  if (data.size() < 12) return false;
  header.width = data[6] == 1 ? 2 : 4;
  header.begin = 8 + header.width;
  std::size_t length = 0;
  for (std::size_t i = header.width; i-- > 0;) length = length << 8 | data[8 + i];
  header.end = header.begin + length;
  return length <= data.size() - header.begin;
}

/// The header changed and its length with it.
std::size_t mutate_header(std::span<std::uint8_t> data, std::size_t size, const Header& header) {
  const std::vector<std::uint8_t> tail(data.begin() + static_cast<std::ptrdiff_t>(header.end),
                                       data.begin() + static_cast<std::ptrdiff_t>(size));
  const std::size_t room = data.size() - header.begin - tail.size();
  const std::size_t length = LLVMFuzzerMutate(data.data() + header.begin, header.end - header.begin, room);
  for (std::size_t i = 0; i < header.width; ++i) data[8 + i] = static_cast<std::uint8_t>(length >> (8 * i));
  std::ranges::copy(tail, data.begin() + static_cast<std::ptrdiff_t>(header.begin + length));
  return header.begin + length + tail.size();
}

}  // namespace
}  // namespace frazil::fuzz

using namespace frazil::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_once({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  Header header;
  if (seed % 2 == 0 || !find_header({data, size}, header)) return LLVMFuzzerMutate(data, size, max_size);
  return mutate_header({data, max_size}, size, header);
}
