#pragma once

#include <cstdint>
#include <span>

#include "base/elem.h"

// A run of operations on f32 in one pass: what is between loads and stores stays in registers. For what stands around
// products of integers: conversions, factors, sums, limits and quantisation. Each operation rounds as the tile function
// of the same name does (kernel/tile.h).
namespace frazil::kernel {

/// One operation on the value at hand.
struct ChainStep {
  enum class Op : std::uint8_t {
    load,         ///< the value becomes operand `index`, as f32
    load_sum,     ///< or the i32 sum of operands `index` and `other`, as f32
    load_scaled,  ///< or operand `index`, i32, * operand `other` + operand `third`
    save,         ///< slot `index` becomes the value
    restore,      ///< the value becomes slot `index`
    add,          ///< value + second
    sub,          ///< value - second
    sub_from,     ///< second - value
    mul,          ///< value * second
    div,          ///< value / second
    div_into,     ///< second / value
    max,          ///< of value and second
    max_of,       ///< of second and value: another zero, another NaN
    min,
    min_of,
    round,     ///< half to even
    to_byte,   ///< truncated and saturated to `elem`, NaN to 0
    quantise,  ///< round(value / second) + `zero`, not below `low` or above `high`, to_byte
    store,     ///< result `index` becomes the value as `elem`
  };
  enum class From : std::uint8_t {
    constant,  ///< `number`
    one,       ///< the one f32 at operand `index`
    each,      ///< operand `index`, f32
    slot,      ///< slot `index`
  };
  Op op = Op::load;
  From from = From::constant;  ///< where the second operand is
  std::uint8_t index = 0, other = 0, third = 0;
  Elem elem = Elem::f32;                                                          ///< f32, i32, u8 or i8
  bool repeated = false;                                                          ///< load: one element stands for all
  enum class Zero : std::uint8_t { none, constant, one } zero_from = Zero::none;  ///< one: the f32 at operand `other`
  float number = 0;
  float zero = 0, low = 0, high = 0;
};

inline constexpr int kMostChainSlots = 6;
inline constexpr int kMostChainOperands = 24;  ///< and as many results
inline constexpr std::int64_t kChainRun = 64;  ///< elements that pass through together

/// Runs the steps for n elements. Operands and results are dense unless they are one element; a result may lie where an
/// operand of elements that are as wide, or wider, does. Values of u8 and i8 are f32 in between, and exact.
void run_chain(std::span<const ChainStep> steps, const void* const* operands, void* const* results, std::int64_t n);

/// The same for rows of n elements, between which pointers move by these bytes. `operands` and `results` are left
/// moved.
struct ChainRows {
  std::int64_t rows = 1;
  std::span<const std::int64_t> operand_steps, result_steps;
};
void run_chain_rows(std::span<const ChainStep> steps, const void** operands, void** results, std::int64_t n,
                    const ChainRows& rows);

}  // namespace frazil::kernel
