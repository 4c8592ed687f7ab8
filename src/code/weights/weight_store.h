#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/thread/mutex.h"
#include "base/value/elem.h"
#include "base/value/error.h"
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

/// B of products, as GemmKernel::pack_b packs it: `count` adjacent matrices.
struct PackedMatrices {
  static constexpr std::string_view kName = "matrices";
  Elem elem = Elem::f32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_step = 0, col_step = 0;  ///< in the weight, in elements
  std::int64_t count = 1;
  auto operator<=>(const PackedMatrices&) const = default;
  static void fields(auto& self, auto&& v) {
    v("elem", self.elem);
    v("rows", self.rows);
    v("cols", self.cols);
    v("row_step", self.row_step);
    v("col_step", self.col_step);
    v("count", self.count);
  }
};

/// Weights of a convolution.
struct PackedKernels {
  static constexpr std::string_view kName = "kernels";
  Elem elem = Elem::f32;
  bool channels_last = false;  ///< of the image
  bool adjacent = true;        ///< dilation_w is 1
  bool zero_points = false;    ///< weights have them
  std::int64_t out_c = 0, in_c = 0, kernel_h = 0, kernel_w = 0, groups = 1;
  auto operator<=>(const PackedKernels&) const = default;
  static void fields(auto& self, auto&& v) {
    v("elem", self.elem);
    v("channels_last", self.channels_last);
    v("adjacent", self.adjacent);
    v("zero_points", self.zero_points);
    v("out_c", self.out_c);
    v("in_c", self.in_c);
    v("kernel_h", self.kernel_h);
    v("kernel_w", self.kernel_w);
    v("groups", self.groups);
  }
};

/// The packed bytes of a weight depend on its elements and on this alone: equal formats give equal bytes.
using PackFormat = std::variant<PackedMatrices, PackedKernels>;

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
