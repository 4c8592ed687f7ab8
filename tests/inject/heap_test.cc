#include "inject/heap.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <execinfo.h>
#include <gtest/gtest.h>
#include <malloc.h>

namespace frazil::test {
namespace {

constexpr std::size_t kMaxSites = std::size_t{1} << 16;
constexpr int kCallers = 9;  ///< including this file's functions

struct Watch {
  bool counts = false, notes_sites = false;
  Refusal refusal = Refusal::never;
  std::uint64_t at = 0, asked = 0, refused = 0;
};
constinit thread_local Watch watch;
constinit std::atomic<std::int64_t> live_blocks{0}, live_bytes{0};

std::array<std::uint64_t, 2 * kMaxSites> known_sites;  ///< a hash table; 0 is a free entry
std::array<std::uint64_t, kMaxSites> first_at;
std::size_t site_count = 0;

std::uint64_t hash_of_callers() {
  void* frames[kCallers];
  const int count = ::backtrace(frames, kCallers);
  std::uint64_t hash = 1;
  for (int k = 0; k < count; ++k) hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames[k])) * 0x9e3779b97f4a7c15u;
  return hash | 1;
}

void note_site(std::uint64_t allocation) {
  const std::uint64_t hash = hash_of_callers();
  std::size_t place = (hash >> 20) % known_sites.size();
  while (known_sites[place] != 0 && known_sites[place] != hash) place = (place + 1) % known_sites.size();
  if (known_sites[place] == hash || site_count == kMaxSites) return;
  known_sites[place] = hash;
  first_at[site_count++] = allocation;
}

bool is_refused() noexcept {
  if (!watch.counts) return false;
  const std::uint64_t number = watch.asked++;
  if (watch.notes_sites) note_site(number);
  const bool refused = (watch.refusal == Refusal::once && number == watch.at) ||
                       (watch.refusal == Refusal::from_there_on && number >= watch.at);
  watch.refused += refused;
  return refused;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (is_refused()) return nullptr;
  const std::size_t padded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const p = alignment <= alignof(std::max_align_t) ? std::malloc(padded) : std::aligned_alloc(alignment, padded);
  if (p == nullptr) return nullptr;
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(static_cast<std::int64_t>(::malloc_usable_size(p)), std::memory_order_relaxed);
  return p;
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const p = take(bytes, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void give_back(void* p) noexcept {
  if (p == nullptr) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  live_bytes.fetch_sub(static_cast<std::int64_t>(::malloc_usable_size(p)), std::memory_order_relaxed);
  std::free(p);
}

constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

Live live_now() { return {live_blocks.load(), live_bytes.load()}; }

Refusing::Refusing(Refusal refusal, std::uint64_t at) { watch = {.counts = true, .refusal = refusal, .at = at}; }
Refusing::~Refusing() { watch.counts = false; }
std::uint64_t Refusing::asked() const { return watch.asked; }
std::uint64_t Refusing::refused() const { return watch.refused; }

Sites::Sites() {
  hash_of_callers();  // the first backtrace of a process loads a library
  known_sites.fill(0);
  site_count = 0;
  watch = {.counts = true, .notes_sites = true};
}
Sites::~Sites() { watch.counts = false; }
std::span<const std::uint64_t> Sites::first_allocations() const { return std::span(first_at).first(site_count); }

}  // namespace frazil::test

using frazil::test::give_back;
using frazil::test::kPlain;
using frazil::test::take;
using frazil::test::take_or_throw;

void* operator new(std::size_t n) { return take_or_throw(n, kPlain); }
void* operator new[](std::size_t n) { return take_or_throw(n, kPlain); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n, kPlain); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n, kPlain); }
void* operator new(std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { give_back(p); }
void operator delete[](void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_back(p); }

namespace frazil::test {
namespace {

TEST(Heap, CountsWhatLives) {
  const Live before = live_now();
  auto* const numbers = new std::vector<int>(100);
  EXPECT_EQ(live_now().blocks, before.blocks + 2);
  EXPECT_GE(live_now().bytes, before.bytes + 400);
  delete numbers;
  EXPECT_EQ(live_now(), before);
}

TEST(Heap, RefusesOnce) {
  std::array<bool, 3> given{};
  std::uint64_t asked = 0, refused = 0;
  {
    const Refusing refusing(Refusal::once, 1);
    for (bool& g : given) {
      void* const p = ::operator new(8, std::nothrow);
      g = p != nullptr;
      ::operator delete(p);
    }
    asked = refusing.asked(), refused = refusing.refused();
  }
  EXPECT_EQ(given, (std::array{true, false, true}));
  EXPECT_EQ(asked, 3u);
  EXPECT_EQ(refused, 1u);
}

TEST(Heap, RefusesAllThatFollow) {
  int thrown = 0;
  {
    const Refusing refusing(Refusal::from_there_on, 1);
    for (int k = 0; k < 3; ++k) {
      try {
        ::operator delete(::operator new(256, std::align_val_t{64}), std::align_val_t{64});
      } catch (const std::bad_alloc&) {
        ++thrown;
      }
    }
  }
  EXPECT_EQ(thrown, 2);
}

[[gnu::noinline]] void here() { ::operator delete(::operator new(8)); }

TEST(Heap, TellsSitesApart) {
  volatile int times = 3;  // prevents unrolling
  const Sites sites;
  for (int k = 0; k < times; ++k) here();
  ::operator delete(::operator new(8));
  here();
  const auto first = sites.first_allocations();
  EXPECT_EQ(std::vector(first.begin(), first.end()), (std::vector<std::uint64_t>{0, 3, 4}));
}

}  // namespace
}  // namespace frazil::test
