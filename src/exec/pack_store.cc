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

Result<const std::byte*> PackStore::get(std::span<const std::byte> weight, std::string_view format, std::size_t bytes,
                                        const std::function<void(std::byte*)>& fill) {
  const std::scoped_lock lock(mutex_);
  const std::pair<const void*, std::string> key(weight.data(), format);
  if (const auto it = packed_.find(key); it != packed_.end()) return it->second.data();
  FRAZIL_TRY(Buffer buffer, shared_buffer(bytes));
  fill(buffer.data());
  if (stop_requested()) return fail(Code::cancelled, "the packing of weights was interrupted");
  release_pages(weight);
  return packed_.emplace(key, std::move(buffer)).first->second.data();
}

}  // namespace frazil
