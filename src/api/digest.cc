#include <array>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "api/access.h"
#include "ir/text.h"

namespace frazil::api {
namespace {

using Sum = std::array<unsigned char, 32>;

/// SHA-256 (FIPS 180-4) of parts that are added one by one.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (context_ == nullptr) throw std::bad_alloc();
    ok_ = EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }
  void add(const void* data, std::size_t bytes) { ok_ = ok_ && EVP_DigestUpdate(context_.get(), data, bytes) == 1; }
  /// With its length, so that different parts never make equal bytes.
  void add(std::string_view text) {
    const std::uint64_t length = text.size();
    add(&length, sizeof length);
    add(text.data(), text.size());
  }
  Sum sum() {
    Sum sum{};
    ok_ = ok_ && EVP_DigestFinal_ex(context_.get(), sum.data(), nullptr) == 1;
    if (!ok_) refuse(frazil::Code::internal, "libcrypto cannot compute SHA-256");
    return sum;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  bool ok_ = false;
};

Sum sum_of(const Tensor& tensor) {
  Sha256 sha;
  sha.add(tensor.type_str());
  if (tensor.elem() == Elem::string) {
    for (const std::string& text : tensor.as<std::string>()) sha.add(text);
  } else {
    sha.add(tensor.data(), tensor.bytes());
  }
  return sha.sum();
}

/// Sums of constants, which versions of a model share: each is computed once while its memory lives. Thread-safe.
class ConstantSums {
 public:
  Sum of(const Tensor& tensor) {
    constexpr std::size_t kFewBytes = 4096;  // faster to compute than to find
    if (tensor.bytes() <= kFewBytes) return sum_of(tensor);
    const Key key{tensor.data(), tensor.type_str()};
    {
      const std::scoped_lock lock(mutex_);
      const auto at = known_.find(key);
      if (at != known_.end() && tensor.buffer().is(at->second.tag)) return at->second.sum;
    }
    const Sum sum = sum_of(tensor);
    if (tensor.buffer().tag().expired()) return sum;  // nobody tells how long the memory lives
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

  std::mutex mutex_;
  std::map<Key, Entry> known_;
  std::size_t kept_ = 64;
};

Sum sum_of(const Graph& graph) {
  static auto& sums = *new ConstantSums;  // models may outlive main()
  Sha256 sha;
  sha.add(print(graph));
  for (const auto& [name, tensor] : weights_of(graph)) {
    sha.add(name);
    const Sum sum = sums.of(tensor);
    sha.add(sum.data(), sum.size());
  }
  return sha.sum();
}

}  // namespace

std::string Model::digest() const {
  const std::scoped_lock lock(impl_->digest_mutex);
  if (impl_->digest.empty()) {
    std::string text = "sha256:";
    for (const unsigned char byte : sum_of(*impl_->graph)) text += fmt::format("{:02x}", byte);
    impl_->digest = std::move(text);
  }
  return impl_->digest;
}

}  // namespace frazil::api
