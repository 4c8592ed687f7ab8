#include "bench/nbits.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/random.h"
#include "kernel/contract/nbits.h"

namespace bench {
namespace {

constexpr std::int64_t kBlock = 32;

struct Weights {
  std::vector<std::uint8_t> numbers;
  std::vector<float> scales;
};

using Shared = std::shared_ptr<const std::vector<Weights>>;

Shared make_weights(const NBitsRow& row) {
  std::vector<Weights> all(static_cast<std::size_t>(row.weights));
  Random random(3, "nbits");
  for (Weights& w : all) {
    w.numbers.resize(static_cast<std::size_t>(row.n * row.k / 2));
    w.scales.resize(static_cast<std::size_t>(row.n * row.k / kBlock));
    for (std::uint8_t& x : w.numbers) x = static_cast<std::uint8_t>(256 * random.uniform());
    for (float& x : w.scales) x = static_cast<float>(random.uniform());
  }
  return std::make_shared<const std::vector<Weights>>(std::move(all));
}

class Product : public Runner {
 public:
  Product(const NBitsRow& row, Shared weights)
      : row_(row),
        weights_(std::move(weights)),
        room_(static_cast<std::size_t>(frazil::kernel::nbits_scratch_floats({.count = row.k, .block = kBlock}))) {
    a_.assign(static_cast<std::size_t>(row.m * row.k), 0.5F);
    const std::int64_t arranged =
        frazil::kernel::nbits_arranged(row.m, row.k) * static_cast<std::int64_t>(sizeof(float));
    arranged_.reset(static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>(arranged))));
    c_.resize(static_cast<std::size_t>(row.m * row.n));
  }
  void run() override {
    for (const Weights& w : *weights_) {
      frazil::kernel::nbits_arrange(a_.data(), row_.m, row_.k, arranged_.get());
      frazil::kernel::nbits_product(
          {.column =
               {.bits = 4, .count = row_.k, .block = kBlock, .numbers = w.numbers.data(), .scales = w.scales.data()},
           .m = row_.m,
           .n = row_.n,
           .c = c_.data(),
           .c_row = row_.n},
          arranged_.get(), 0, row_.n, room_.data());
    }
  }

 private:
  NBitsRow row_;
  Shared weights_;
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::vector<float> a_, c_, room_;
  std::unique_ptr<float, Free> arranged_;
};

/// Sums of 64-bit words, in chains that GCC vectorises.
class Reader : public Runner {
 public:
  explicit Reader(Shared weights) : weights_(std::move(weights)) {}
  void run() override {
    for (const Weights& w : *weights_) {
      read(w.numbers.data(), w.numbers.size());
      read(w.scales.data(), w.scales.size() * sizeof(float));
    }
  }

 private:
  void read(const void* from, std::size_t bytes) {
    constexpr std::size_t kChains = 32;
    std::uint64_t sums[kChains] = {};
    const auto* at = static_cast<const std::byte*>(from);
    for (std::size_t i = 0; i + sizeof sums <= bytes; i += sizeof sums) {
      std::uint64_t words[kChains];
      std::memcpy(words, at + i, sizeof words);
      for (std::size_t k = 0; k < kChains; ++k) sums[k] += words[k];
    }
    for (std::uint64_t s : sums) total_ = total_ + s;
  }

  Shared weights_;
  volatile std::uint64_t total_ = 0;
};

}  // namespace

NBitsRunners nbits_runners(const NBitsRow& row) {
  if (!frazil::kernel::has_nbits_product({.bits = 4, .count = row.k, .block = kBlock})) return {};
  const Shared weights = make_weights(row);
  return {std::make_unique<Product>(row, weights), std::make_unique<Reader>(weights)};
}

}  // namespace bench
