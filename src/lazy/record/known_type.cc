#include "lazy/record/known_type.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>

#include "base/thread/mutex.h"

namespace frazil::lazy {
namespace {

constexpr std::size_t kMaxTypes = 1U << 20U;

struct View {
  Elem elem;
  std::span<const std::int64_t> sizes;
};

struct Less {
  using is_transparent = void;
  static bool less(Elem a, std::span<const std::int64_t> x, Elem b, std::span<const std::int64_t> y) {
    if (a != b) return a < b;
    return std::ranges::lexicographical_compare(x, y);
  }
  bool operator()(const KnownType& a, const KnownType& b) const { return less(a.elem, a.sizes, b.elem, b.sizes); }
  bool operator()(const KnownType& a, const View& b) const { return less(a.elem, a.sizes, b.elem, b.sizes); }
  bool operator()(const View& a, const KnownType& b) const { return less(a.elem, a.sizes, b.elem, b.sizes); }
};

}  // namespace

const KnownType* known_type(Elem elem, std::span<const std::int64_t> sizes) {
  static Mutex mutex;
  static std::set<KnownType, Less> types;  // addresses are stable
  const std::scoped_lock lock(mutex);
  const auto at = types.find(View{elem, sizes});
  if (at != types.end()) return &*at;
  const auto bytes = byte_count(elem, sizes);
  if (types.size() >= kMaxTypes || !bytes) return nullptr;
  return &*types.emplace(elem, Sizes(sizes.begin(), sizes.end()), *bytes).first;
}

}  // namespace frazil::lazy
