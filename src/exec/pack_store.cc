#include "exec/pack_store.h"

#include "base/governor.h"
#include "base/io.h"

namespace frazil {
namespace {

/// All sessions share it, so that it counts against nobody's limit.
Result<Buffer> shared_buffer(std::size_t bytes) {
  const Governed nobody(nullptr);
  return Buffer::allocate(bytes);
}

}  // namespace

Result<std::byte*> PackStore::take(std::size_t bytes) {
  constexpr std::size_t kChunk = std::size_t{16} << 20;
  bytes = aligned(bytes);
  bytes_ += bytes;
  if (bytes >= kChunk / 2) {
    FRAZIL_TRY(Buffer own, shared_buffer(bytes));
    owned_.push_back(std::move(own));
    return owned_.back().data();
  }
  if (used_ + bytes > chunk_.size()) {
    FRAZIL_TRY(chunk_, shared_buffer(kChunk));
    owned_.push_back(chunk_);
    used_ = 0;
  }
  return chunk_.data() + std::exchange(used_, used_ + bytes);
}

std::size_t PackStore::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

Result<const std::byte*> PackStore::get(std::span<const std::byte> weight, std::string_view format, std::size_t bytes,
                                        const std::function<void(std::byte*)>& fill) {
  const std::scoped_lock lock(mutex_);
  const std::pair<const void*, std::string> key(weight.data(), format);
  if (const auto it = packed_.find(key); it != packed_.end()) return it->second;
  FRAZIL_TRY(std::byte* const to, take(bytes));
  fetch_pages(weight);
  fill(to);
  if (stop_requested()) return fail(Code::cancelled, "the packing of weights was interrupted");
  release_pages(weight);
  return packed_.emplace(key, to).first->second;
}

}  // namespace frazil
