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

/// A part of a weight's bytes, with the buffer that contains it.
struct WeightRef {
  const Buffer* buffer = nullptr;  ///< null: no weight
  std::span<const std::byte> bytes;
  bool moving = false;  ///< the operand is a part of these bytes, possibly another one in each run
  /// Returns true for an operand that is all of these bytes.
  explicit operator bool() const { return buffer != nullptr && !moving; }
  WeightRef part(std::size_t offset, std::size_t size) const { return {buffer, bytes.subspan(offset, size), moving}; }
};

/// The format of B of products, as GemmKernel::pack_b packs it: `count` adjacent matrices.
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

/// The format of the weights of a convolution.
struct PackedKernels {
  static constexpr std::string_view kName = "kernels";
  Elem elem = Elem::f32;
  bool channels_last = false;  ///< layout of the image
  bool adjacent = true;        ///< dilation_w is 1
  bool zero_points = false;    ///< weights have zero points
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

/// The packed bytes of a weight depend only on its elements and its format: equal formats give equal bytes.
using PackFormat = std::variant<PackedMatrices, PackedKernels>;

/// The packed form of a weight. It lives as long as a reference to it.
class PackedWeight {
 public:
  PackedWeight(std::shared_ptr<Buffer> memory, std::byte* data, std::size_t bytes)
      : memory_(std::move(memory)), data_(data), bytes_(bytes) {}
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class WeightStore;
  std::shared_ptr<Buffer> memory_;  ///< small forms share one buffer
  std::byte* data_;
  std::size_t bytes_;
};

/// A packed form of a part of some bytes.
struct PackedPart {
  std::size_t offset = 0, bytes = 0;
  PackFormat format;
  std::shared_ptr<const PackedWeight> form;
};

/// The packed forms of weights, shared by all models, specialisations and sessions of the process. Their key is the
/// identity of the buffer, the part of it and the format. A form is packed once. Callers that need it meanwhile wait
/// for it; no others wait. Thread-safe.
class WeightStore {
 public:
  static WeightStore& global();

  /// Returns the packed form of `weight`. Calls `fill` to write it if there is none, and then releases the weight's own
  /// pages if they can be read again from its file. Fails with Code::cancelled if the run has to stop.
  Result<std::shared_ptr<const PackedWeight>> get(const WeightRef& weight, const PackFormat& format, std::size_t bytes,
                                                  const std::function<void(std::byte*)>& fill);

  /// Returns the forms of parts of `weight` that are referenced.
  std::vector<PackedPart> forms_of(std::span<const std::byte> weight) const;
  /// Stores `memory` as the packed form of `weight`. The store keeps it as long as the result is referenced.
  std::shared_ptr<const PackedWeight> adopt(const WeightRef& weight, const PackFormat& format, Buffer memory);

  /// Returns how often a form was packed since the process began.
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
    std::shared_ptr<class Latch> packing;  ///< set while the form is being packed
  };
  Result<PackedWeight> take(std::size_t bytes);
  Result<PackedWeight> pack(const WeightRef& weight, std::size_t bytes, const std::function<void(std::byte*)>& fill);
  /// Returns a form that leaves the table when its last reference is dropped.
  std::shared_ptr<const PackedWeight> shared(PackedWeight form, const Key& key);
  void forget(const Key& key) noexcept;

  mutable Mutex mutex_;
  std::map<Key, Entry> entries_;
  std::uint64_t packed_count_ = 0;
  std::weak_ptr<Buffer> chunk_;  ///< small forms share a chunk, so that its pages can be huge
  std::size_t used_ = 0;         ///< bytes of the chunk in use
};

/// The packed weights that one executable refers to. Thread-safe.
class WeightRefs {
 public:
  /// Does the same as WeightStore::get. The form stays until this object dies.
  Result<const std::byte*> get(const WeightRef& weight, const PackFormat& format, std::size_t bytes,
                               const std::function<void(std::byte*)>& fill);
  /// Returns the bytes of all forms together.
  std::size_t bytes() const;

 private:
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<const PackedWeight>> forms_;  // sorted
};

}  // namespace frazil::code
