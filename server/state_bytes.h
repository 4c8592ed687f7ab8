#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "server/page_list.h"
#include "server/raw_bytes.h"
#include "server/request.h"

// The state of a sequence as bytes, for a folder, for Redis and for other replicas.
//
// Little-endian: "FZST", u32 form, u64 turn, u64 size of the rest, u64 checksum of all else; then u32 number of values
// and for each its name and value. A text is u32 size and bytes. A value is u8 kind (0 none, 1 tensor, 2 sequence,
// 3 map) and for a tensor u8 ONNX's number of the type, u8 rank, i64 extents and the elements: texts, or zero bytes up
// to a multiple of 16 and the elements as they lie in memory; for a sequence u32 number of items and values; for a map
// u32 number of entries, and a key and a value each.
//
// Form 1 ends there. In form 2, of states with tensors in pages, these tensors are of kind none, and u32 number of
// lists of pages follows: of each u32 number of tensors, and for each u32 place among the values, u8 type, u8 rank, i64
// extents, u8 axis; u64 positions of a page, u32 number of full pages, the SHA-256 of each, and the rest as a text.
namespace frazil::server {

/// Bytes that are no state: damaged, or of a form that this version does not know.
class StateFault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The first bytes tell states apart, by turn and checksum.
inline constexpr std::size_t kStateHead = 32;

struct StateContent {
  std::vector<NamedArray> values;  ///< none for those that are in a list of pages
  std::vector<PageList> lists;
};

/// `turn`: how many turns the sequence has had. Throws std::length_error for what the form cannot hold: names and texts
/// of 4 GiB, 255 extents, lists in lists deeper than 8. Has form 1 where there are no lists.
std::string bytes_of_state(const std::vector<NamedArray>& values, std::uint64_t turn,
                           const std::vector<PageList>& lists = {});

/// Throws StateFault unless the bytes are as bytes_of_state() has made them.
void check_state(std::string_view bytes);
/// Of bytes that check_state() takes.
std::uint64_t turn_of_state(std::string_view bytes);
/// Tensors of numbers lie in the bytes and keep them. Lists of pages fit. Throws StateFault; takes memory in proportion
/// to the bytes whatever they say.
StateContent content_of_state(const std::shared_ptr<const std::string>& bytes);

/// Differs for certain when the bytes differ in one aligned word of 8 bytes. Against damage, not against intent.
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

/// Reads what ByteWriter has written; throws StateFault at the end.
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
  /// A number of things of which each takes at least `least` bytes.
  std::size_t count(std::size_t least);
  void align(std::size_t to) { raw((to - at_ % to) % to); }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace frazil::server
