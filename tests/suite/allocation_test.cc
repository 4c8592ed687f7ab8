#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "suite/tiers.h"

// Loops do not allocate per iteration. This file counts every allocation of the process: operator new calls malloc.

#if defined(FRAZIL_SANITIZED)
#define FRAZIL_COUNTS_ALLOCATIONS 0
#else
#define FRAZIL_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<std::uint64_t> g_allocations{0};
}

#if FRAZIL_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** place, std::size_t alignment, std::size_t bytes) {
  *place = memalign(alignment, bytes);
  return *place != nullptr ? 0 : 12;
}
}
#endif

namespace frazil::test {
namespace {

struct LoopCase {
  const char* name;
  const char* text;
  const char* inputs;  ///< besides the count %n
};

void PrintTo(const LoopCase& c, std::ostream* out) { *out << c.name; }

const LoopCase kLoopCases[] = {
    {"ScalarArithmetic",
     R"(graph g(%n: i64[], %x: f32[]) {
          %y = Loop(%n, _, %x) body(%i, %on, %v) {
            %a = Mul(%v, f32[] 0.5)
            %b = Add(%a, f32[] 1)
            yield %on, %b
          }
          return y = %y
        })",
     "%x = f32[] 3"},
    {"ScalarCondition",
     R"(graph g(%n: i64[], %x: i64[]) {
          %y = Loop(_, bool[] true, %x) body(%i, %on, %v) {
            %w = Add(%v, i64[] 1)
            %more = Less(%w, %n)
            yield %more, %w
          }
          return y = %y
        })",
     "%x = i64[] 0"},
    {"MatMulOfACarriedRow",
     R"(graph g(%n: i64[], %x: f32[1,128], %w: f32[128,128]) {
          %y = Loop(%n, _, %x) body(%i, %on, %v) {
            %p = MatMul(%v, %w)
            %q = Tanh(%p)
            yield %on, %q
          }
          return y = %y
        })",
     ""},
    {"SymbolicExtents",
     R"(graph g(%n: i64[], %x: f32[N,4]) {
          %y = Loop(%n, _, %x) body(%i, %on, %v) {
            %m = ReduceMax(%v, i64[1] 1)
            %q = Sub(%v, %m)
            yield %on, %q
          }
          return y = %y
        })",
     "%x = f32[3,4] [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]"},
    {"IfInside",
     R"(graph g(%n: i64[], %x: f32[8]) {
          %y = Loop(%n, _, %x) body(%i, %on, %v) {
            %r = Mod(%i, i64[] 2)
            %odd = Equal(%r, i64[] 1)
            %w = If(%odd) then_branch() {
              %a = Add(%v, %x)
              yield %a
            } else_branch() {
              %b = Mul(%v, f32[] 0.5)
              yield %b
            }
            yield %on, %w
          }
          return y = %y
        })",
     "%x = f32[8] 1"},
    {"IfOfDifferentExtents",
     R"(graph g(%n: i64[], %x: f32[8], %z: f32[3]) {
          %y, %s = Loop(%n, _, %x, f32[] 0) body(%i, %on, %v, %s) {
            %r = Mod(%i, i64[] 2)
            %odd = Equal(%r, i64[] 1)
            %w = If(%odd) then_branch() {
              yield %x
            } else_branch() {
              yield %z
            }
            %t = ReduceMax(%w) {keepdims = 0}
            %u = Max(%s, %t)
            yield %on, %w, %u
          }
          return y = %y, s = %s
        })",
     "%x = f32[8] 1, %z = f32[3] 2"},
    {"CarriedValuesThatChangePlaces",
     R"(graph g(%n: i64[], %a: f32[8], %b: f32[8]) {
          %p, %q = Loop(%n, _, %a, %b) body(%i, %on, %v, %w) {
            yield %on, %w, %v
          }
          return p = %p, q = %q
        })",
     "%a = f32[8] 1, %b = f32[8] 2"},
    {"LoopInside",
     R"(graph g(%n: i64[], %x: f32[4]) {
          %y = Loop(%n, _, %x) body(%i, %on, %v) {
            %w = Loop(i64[] 2, _, %v) body(%j, %in, %u) {
              %t = Mul(%u, f32[] 0.5)
              yield %in, %t
            }
            yield %on, %w
          }
          return y = %y
        })",
     "%x = f32[4] 1"},
};

class Allocations : public ::testing::TestWithParam<LoopCase> {
 protected:
  void open() {
    graph_ = graph_of(GetParam().text);
    tier_ = std::make_unique<Tier0>(graph_);
    ASSERT_TRUE(*tier_);
    inputs_ = in_order(graph_, GetParam().inputs);
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      if (inputs_[i].empty()) inputs_[i] = weight(graph_.type(graph_.main().params[i]));
    }
  }
  static Tensor weight(const Type& type) {
    Sizes sizes;
    for (const Dim& d : type.shape) sizes.push_back(d.value());
    Tensor t = Tensor::make(Elem::f32, sizes).value();
    const auto values = t.as_mutable<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i % 17) - 0.08f;
    return t;
  }
  std::uint64_t allocations_of(std::int64_t iterations) {
    inputs_[0] = Tensor::scalar(iterations);
    const std::uint64_t before = g_allocations.load();
    const Status status = tier_->session->run(inputs_, outputs_);
    const std::uint64_t taken = g_allocations.load() - before;
    EXPECT_TRUE(status) << status.error().text();
    return taken;
  }
  Graph graph_;
  std::unique_ptr<Tier0> tier_;
  std::vector<Datum> inputs_, outputs_;
};

TEST_P(Allocations, AreTheSameForAThousandAndAMillionIterations) {
  if (!FRAZIL_COUNTS_ALLOCATIONS) GTEST_SKIP() << "a sanitizer has its own malloc";
  ASSERT_NO_FATAL_FAILURE(open());
  allocations_of(1000);
  const std::uint64_t thousand = allocations_of(1000);
  const std::uint64_t million = allocations_of(1'000'000);
  EXPECT_EQ(million, thousand);
  EXPECT_GE(tier_->session->counters().iterations, 1'002'000u);
  EXPECT_EQ(tier_->session->counters().plans, 1u);
}

INSTANTIATE_TEST_SUITE_P(Loops, Allocations, ::testing::ValuesIn(kLoopCases),
                         [](const auto& loop) { return std::string(loop.param.name); });

TEST(AllocationCounter, Counts) {
  if (!FRAZIL_COUNTS_ALLOCATIONS) GTEST_SKIP() << "a sanitizer has its own malloc";
  const std::uint64_t before = g_allocations.load();
  const auto made = Tensor::make(Elem::f32, {100});
  EXPECT_GT(g_allocations.load(), before);
}

}  // namespace
}  // namespace frazil::test
