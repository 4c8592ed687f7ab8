#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "suite/tiers.h"

// Tests which values of the arena share memory. The values of a pool use the same memory one after the other.
namespace frazil::test {
namespace {

struct MemoryCase {
  const char* what;
  const char* text;
  PassSet passes;
  const char* value;
  std::vector<const char*> same_pool, other_pool;  ///< as that of `value`
};

const MemoryCase kMemoryCases[] = {
    {"the last reader of an operand works in place",
     R"(graph g(%x: f32[N,8], %w: f32[8,8]) {
       %a = MatMul(%x, %w) %b = Tanh(%a) %c = MatMul(%b, %w) %y = Neg(%c) return y = %y })",
     PassSet::none(),
     "a",
     {"b"},
     {"c"}},
    {"an operand that is read later stays",
     R"(graph g(%x: f32[N,8], %w: f32[8,8]) {
       %a = MatMul(%x, %w) %b = Tanh(%a) %c = Add(%a, %b) %y = MatMul(%c, %w) return y = %y })",
     PassSet::none(),
     "a",
     {"c"},
     {"b"}},
    {"an operand that is read in another order as well stays",
     R"(graph g(%x: f32[8,8], %w: f32[8,8]) {
       %a = MatMul(%x, %w) %t = Transpose(%a) %b = Add(%a, %t) %y = MatMul(%b, %w) return y = %y })",
     PassSet::none(),
     "a",
     {},
     {"b"}},
    {"the second operand may be the one",
     R"(graph g(%x: f32[N,8], %w: f32[8,8]) {
       %a = MatMul(%x, %w) %b = Sub(%x, %a) %y = MatMul(%b, %w) return y = %y })",
     PassSet::none(),
     "a",
     {"b"},
     {}},
    {"an operand of fewer elements stays",
     R"(graph g(%x: f32[N,8], %w: f32[8,1], %u: f32[8,8]) {
       %a = MatMul(%x, %w) %b = Add(%x, %a) %y = MatMul(%b, %u) return y = %y })",
     PassSet::none(),
     "a",
     {},
     {"b"}},
    {"an operand of as many bytes and wider elements stays",
     R"(graph g(%x: f32[N,2], %z: f64[N,8], %t: f64[8,1], %w: f32[2,2]) {
       %a = MatMul(%z, %t) %b = Pow(%x, %a) %y = MatMul(%b, %w) return y = %y })",
     PassSet::none(),
     "a",
     {},
     {"b"}},
    {"memory is used again after the last reader",
     R"(graph g(%x: f32[N,8], %w: f32[8,8]) {
       %a = MatMul(%x, %w) %b = MatMul(%a, %w) %c = MatMul(%b, %w) %y = MatMul(%c, %w) return y = %y })",
     PassSet::none(),
     "a",
     {"c"},
     {"b"}},
    {"a value from outside of a loop lives until the loop ends",
     R"(graph g(%x: f32[N,8], %w: f32[8,8], %n: i64[]) {
       %a = MatMul(%x, %w)
       %v = Loop(%n, _, %x) body(%i, %on, %u) {
         %b = MatMul(%a, %w) %c = MatMul(%b, %w) %next = MatMul(%c, %w) yield %on, %next }
       %d = MatMul(%v, %w)
       %y = MatMul(%d, %w)
       return y = %y })",
     PassSet::none(),
     "a",
     {"d"},
     {"b", "c", "next", "u"}},
    {"what a loop swaps lives as long as the loop",
     R"(graph g(%x: f32[N,8], %w: f32[8,8], %n: i64[]) {
       %v = Loop(%n, _, %x) body(%i, %on, %u) {
         %b = MatMul(%u, %w) %c = MatMul(%b, %w) %next = MatMul(%c, %w) %d = Tanh(%next) %e = MatMul(%d, %w)
         yield %on, %next, %e }
       return v = %v })",
     PassSet::none(),
     "next",
     {},
     {"u", "b", "c", "d"}},
};

/// The pool of the value of a name.
std::uint32_t pool_of(const Plan& plan, std::string_view name) {
  for (const Slot& slot : plan.slots) {
    if (slot.value && plan.graph->value_name(slot.value) == name) return plan.storages[slot.storage].pool;
  }
  ADD_FAILURE() << "no value '" << name << "' in\n" << plan.str();
  return kNone;
}

TEST(PlanMemory, ValuesShareWhatNobodyElseNeeds) {
  for (const MemoryCase& row : kMemoryCases) {
    SCOPED_TRACE(row.what);
    const Tier0 tier(graph_of(row.text), row.passes);
    ASSERT_TRUE(tier);
    const Plan& plan = tier.executable->plan();
    const std::uint32_t pool = pool_of(plan, row.value);
    EXPECT_NE(pool, kNone) << plan.str();
    for (const char* name : row.same_pool) EXPECT_EQ(pool_of(plan, name), pool) << name << "\n" << plan.str();
    for (const char* name : row.other_pool) EXPECT_NE(pool_of(plan, name), pool) << name << "\n" << plan.str();
  }
}

}  // namespace
}  // namespace frazil::test
