#include "exec/pack_store.h"

#include "base/io.h"

namespace frazil {

Result<const std::byte*> PackStore::get(std::span<const std::byte> weight, std::string_view format, std::size_t bytes,
                                        const std::function<void(std::byte*)>& fill) {
  const std::scoped_lock lock(mutex_);
  const std::pair<const void*, std::string> key(weight.data(), format);
  if (const auto it = packed_.find(key); it != packed_.end()) return it->second.data();
  FRAZIL_TRY(Buffer buffer, Buffer::allocate(bytes));
  fill(buffer.data());
  release_pages(weight);
  return packed_.emplace(key, std::move(buffer)).first->second.data();
}

}  // namespace frazil
