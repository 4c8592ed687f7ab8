#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernel/simd/isa.h"
#include "kernel/window/conv.h"

namespace frazil::kernel {

/// The cost of work on one core with one instruction set. All constants are in nanoseconds and greater than 0. They
/// decide how work is shared between threads, which changes no bits. They also decide whether a convolution may be
/// transformed, which changes bits.
struct Tuning {
  double product;           ///< a multiply-add of a large f32 product whose operands are in the caches
  double wide_product;      ///< the same for f64 or wide integers
  double byte_product;      ///< the same for bytes, both operands packed
  double cached_byte;       ///< a byte of a product's second operand, read from the caches
  double memory_byte;       ///< its additional time if it is read from memory
  double conv;              ///< a multiply-add of a convolution as a plain sum
  double depthwise;         ///< the same where each channel is its own group
  double winograd_product;  ///< a multiply-add at one of the 36 points of a transformed tile
  double winograd_point;    ///< one point of a tile of one channel, transformed in either direction
  double winograd_weight;   ///< one transformed weight
  double element;           ///< an operation on an element of f32
  double softmax;           ///< an element of a softmax
  double wake;              ///< time until a sleeping thread has begun to help
};

struct TuningConstant {
  std::string_view name;
  double Tuning::* value;
};
std::span<const TuningConstant> tuning_constants();
/// The range of every constant.
constexpr double kMinConstant = 1e-6, kMaxConstant = 1e9;

/// Returns the reference table. That of avx512 was measured; those of base and neon are estimates (decision 0095).
const Tuning& reference_tuning(Isa isa);

/// Returns the table of the vector set in use: the installed one, else the reference. Thread-safe; the result stays
/// valid.
const Tuning& tuning();
/// Installs a table for kernels that are prepared after the call. Thread-safe.
void install_tuning(Isa isa, const Tuning& tuning);
/// Restores the reference table. Thread-safe.
void forget_tuning(Isa isa);

/// Returns the time of a product of [m, k] and [k, n] on one core. `each` is the constant of one multiply-add; elements
/// of the second operand have `element` bytes. The time does not decrease with greater extents.
double product_nanoseconds(const Tuning& t, double Tuning::* each, std::int64_t m, std::int64_t n, std::int64_t k,
                           std::size_t element);

/// Return the time of a convolution as a plain sum, and with channels last by Winograd's F(4x4, 3x3).
double conv_nanoseconds(const Tuning& t, const ConvParams& p);
double winograd_nanoseconds(const Tuning& t, const ConvParams& p);
/// Returns the part of winograd_nanoseconds() that adjacent units of one block of tiles share: the transform of its
/// inputs.
double winograd_set_up(const Tuning& t, const ConvParams& p);
/// Returns whether the transforms pay; false if not nhwc_has_winograd().
bool is_winograd_profitable(const Tuning& t, const ConvParams& p);

/// Work of at least shared_from() nanoseconds is shared with other threads. Long work is cut into parts of
/// shared_part() nanoseconds.
double shared_from(const Tuning& t);
double shared_part(const Tuning& t);

}  // namespace frazil::kernel
