#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/raw_bytes.h"
#include "server/request/request.h"
#include "server/state/page_list.h"

// Serialisation of a sequence's state, for a folder, for Redis and for other replicas.
//
// All numbers are little-endian. The header is "FZST", u32 form, u64 turn, u64 size of the rest, u64 checksum of all
// else. Then follow u32 number of values, and the name and value of each. A text is its u32 size and its bytes.
//
// A value is a u8 kind (0 none, 1 tensor, 2 sequence, 3 map) and its content:
// - A tensor has u8 type (ONNX's number), u8 rank, i64 extents and the elements. Strings are texts. Other elements are
//   stored as in memory after zero bytes up to a multiple of 16.
// - A sequence has u32 number of items and the values.
// - A map has u32 number of entries, and a key and a value for each.
//
// Form 1 ends there. In form 2, tensors in pages have kind none. It adds u32 number of page lists. Each list has u32
// number of tensors, and for each u32 index among the values, u8 type, u8 rank, i64 extents, u8 axis. Then follow u64
// positions per page, u32 number of full pages, the SHA-256 of each, and the tail as a text.
namespace frazil::server {

/// The error for bytes that are not a state: damaged, or of an unsupported form.
class StateFault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Size of the header, which identifies a state by its turn and checksum.
inline constexpr std::size_t kStateHead = 32;

struct StateContent {
  std::vector<NamedArray> values;  ///< empty arrays for values in page lists
  std::vector<PageList> lists;
};

/// Serialises a state. `turn` is the number of turns of the sequence. Throws std::length_error beyond the limits of the
/// form: names and texts of 4 GiB, 255 extents, lists nested deeper than 8. Without lists it writes form 1.
std::string bytes_of_state(const std::vector<NamedArray>& values, std::uint64_t turn,
                           const std::vector<PageList>& lists = {});

/// Throws StateFault unless the bytes are an undamaged result of bytes_of_state().
void check_state(std::string_view bytes);
/// Precondition: check_state() accepts the bytes.
std::uint64_t turn_of_state(std::string_view bytes);
/// Deserialises a state. Numeric tensors are views that keep the bytes alive. Page lists fit. Throws StateFault. Memory
/// use is proportional to the size of the bytes, regardless of announced sizes.
StateContent content_of_state(const std::shared_ptr<const std::string>& bytes);

/// Returns a checksum that always differs if one aligned 8-byte word differs. It detects damage, not manipulation.
std::uint64_t checksum_of(std::string_view bytes);

class ByteWriter {
 public:
  template <class T>
  void number(T value) {
    append_raw(bytes_, value);
  }
  void raw(std::string_view bytes) { bytes_.append(bytes); }
  void text(std::string_view text);
  void count(std::size_t count);
  void align(std::size_t to) { bytes_.append((to - bytes_.size() % to) % to, '\0'); }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads the output of ByteWriter. Throws StateFault at the end of the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view raw(std::size_t count);
  std::string_view text() { return raw(number<std::uint32_t>()); }
  /// Reads a number of items, each of at least `least` bytes.
  std::size_t count(std::size_t least);
  void align(std::size_t to) { raw((to - at_ % to) % to); }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace frazil::server
