#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "tensor/buffer.h"

namespace frazil::code {

/// A part of a weight's bytes, with the buffer that it lies in.
struct WeightRef {
  const Buffer* buffer = nullptr;  ///< null: no weight
  std::span<const std::byte> bytes;
  bool moving = false;  ///< the operand is a part of these bytes, which may be another one in each run
  /// True for an operand that is these bytes.
  explicit operator bool() const { return buffer != nullptr && !moving; }
  WeightRef part(std::size_t offset, std::size_t size) const { return {buffer, bytes.subspan(offset, size), moving}; }
};

/// How a weight is packed: a kernel's layout and what it depends on. Equal formats give equal bytes.
struct PackFormat {
  enum class Layout : std::uint8_t { gemm_b, conv, conv_nhwc, byte_conv_nhwc };
  Layout layout = Layout::gemm_b;
  std::array<std::int64_t, 5> numbers{};
  auto operator<=>(const PackFormat&) const = default;
};

/// The packed form of a weight. It lives as long as somebody refers to it.
class PackedWeight {
 public:
  PackedWeight(std::shared_ptr<Buffer> memory, std::byte* data, std::size_t bytes)
      : memory_(std::move(memory)), data_(data), bytes_(bytes) {}
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class WeightStore;
  std::shared_ptr<Buffer> memory_;  ///< small forms share one
  std::byte* data_;
  std::size_t bytes_;
};

/// A packed form of a part of some bytes.
struct PackedPart {
  std::size_t offset = 0, bytes = 0;
  PackFormat format;
  std::shared_ptr<const PackedWeight> form;
};

/// Packed forms of weights, shared by all models, specialisations and sessions of the process, by the identity of the
/// buffer, the part of it and the format. Thread-safe. A form is packed once; others that need it wait for it, and no
/// other caller waits.
class WeightStore {
 public:
  static WeightStore& global();

  /// The packed form of `weight`; `fill` writes it where there is none. The weight's own pages are given back once it
  /// is packed, where they can be read again from its file. Code::cancelled when the run has to stop.
  Result<std::shared_ptr<const PackedWeight>> get(const WeightRef& weight, const PackFormat& format, std::size_t bytes,
                                                  const std::function<void(std::byte*)>& fill);

  /// The forms of parts of `weight` that somebody refers to.
  std::vector<PackedPart> forms_of(std::span<const std::byte> weight) const;
  /// Takes `memory` for the packed form of `weight`, until the last who refers to the result lets go.
  std::shared_ptr<const PackedWeight> adopt(const WeightRef& weight, const PackFormat& format, Buffer memory);

  /// How often a form was packed since the process began.
  std::uint64_t packed_count() const;

 private:
  struct Key {
    std::weak_ptr<const void> buffer;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    PackFormat format;
    bool operator<(const Key& other) const;
  };
  struct Entry {
    std::weak_ptr<const PackedWeight> form;
    std::shared_ptr<class Latch> packing;  ///< set while somebody packs it
  };
  Result<PackedWeight> take(std::size_t bytes);
  Result<PackedWeight> pack(const WeightRef& weight, std::size_t bytes, const std::function<void(std::byte*)>& fill);
  /// A form that leaves the table when the last who refers to it lets go.
  std::shared_ptr<const PackedWeight> shared(PackedWeight form, const Key& key);
  void forget(const Key& key) noexcept;

  mutable Mutex mutex_;
  std::map<Key, Entry> entries_;
  std::uint64_t packed_count_ = 0;
  std::weak_ptr<Buffer> chunk_;  ///< small forms share one, so that its pages can be huge
  std::size_t used_ = 0;         ///< of it
};

/// The packed weights that one executable refers to. Thread-safe.
class WeightRefs {
 public:
  /// As WeightStore::get; the form stays until this object dies.
  Result<const std::byte*> get(const WeightRef& weight, const PackFormat& format, std::size_t bytes,
                               const std::function<void(std::byte*)>& fill);
  /// Of all forms together.
  std::size_t bytes() const;

 private:
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<const PackedWeight>> forms_;  // sorted
};

}  // namespace frazil::code
