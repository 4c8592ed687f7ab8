#include <map>
#include <mutex>
#include <span>

#include "api/access.h"
#include "base/thread/mutex.h"
#include "base/value/sha256.h"
#include "ir/text/text.h"

namespace frazil::api {
namespace {

using Sum = Sha256::Sum;

Sum sum_of(const Tensor& constant) {
  const Tensor tensor = take(constant.packed());
  Sha256 sha;
  sha.add_text(tensor.type_str());
  if (tensor.elem() == Elem::string) {
    for (const std::string& text : tensor.as<std::string>()) sha.add_text(text);
  } else {
    sha.add(std::span(tensor.data(), tensor.bytes()));
  }
  return sha.sum();
}

/// A cache of the digests of constants, which versions of a model share. Each is computed once while its memory lives.
/// Thread-safe.
class ConstantSums {
 public:
  Sum of(const Tensor& tensor) {
    constexpr std::size_t kFewBytes = 4096;  // computing is faster than a look-up
    if (tensor.bytes() <= kFewBytes) return sum_of(tensor);
    const Key key{tensor.data(), tensor.type_str()};
    {
      const std::scoped_lock lock(mutex_);
      const auto at = known_.find(key);
      if (at != known_.end() && tensor.buffer().is(at->second.tag)) return at->second.sum;
    }
    const Sum sum = sum_of(tensor);
    if (tensor.buffer().tag().expired()) return sum;  // the lifetime of the memory is unknown
    const std::scoped_lock lock(mutex_);
    if (known_.size() >= 2 * kept_) forget();
    known_.insert_or_assign(key, Entry{tensor.buffer().tag(), sum});
    return sum;
  }

 private:
  using Key = std::pair<const std::byte*, std::string>;
  struct Entry {
    std::weak_ptr<const void> tag;
    Sum sum;
  };
  void forget() {
    std::erase_if(known_, [](const auto& entry) { return entry.second.tag.expired(); });
    kept_ = std::max<std::size_t>(known_.size(), 64);
  }

  Mutex mutex_;
  std::map<Key, Entry> known_;
  std::size_t kept_ = 64;
};

Sum sum_of(const Graph& graph) {
  static auto& sums = *new ConstantSums;  // models may outlive main()
  Sha256 sha;
  sha.add_text(print(graph));
  for (const auto& [name, tensor] : weights_of(graph)) {
    sha.add_text(name);
    const Sum sum = sums.of(tensor);
    sha.add(std::as_bytes(std::span(sum)));
  }
  return sha.sum();
}

}  // namespace

std::string Model::digest() const {
  const std::scoped_lock lock(impl_->digest_mutex);
  if (impl_->digest.empty()) impl_->digest = "sha256:" + hex_of(sum_of(*impl_->graph));
  return impl_->digest;
}

}  // namespace frazil::api
