#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernel/simd/isa.h"
#include "kernel/window/conv.h"

namespace frazil::kernel {

/// What work takes on one core with one instruction set. All are nanoseconds, and greater than 0. They decide how work
/// is shared between threads, which changes no bits, and whether a convolution may be transformed, which does.
struct Tuning {
  double product;           ///< of f32: a multiply-add of a large product whose operands are near
  double wide_product;      ///< of f64 or wide integers
  double byte_product;      ///< of bytes, both operands packed
  double near_byte;         ///< a byte of a product's second operand, read from the caches
  double far_byte;          ///< what it takes more where it is read from memory
  double conv;              ///< a multiply-add of a convolution as a plain sum
  double depthwise;         ///< the same where each channel is its own group
  double winograd_product;  ///< a multiply-add at one of the 36 points of a transformed tile
  double winograd_point;    ///< one point of a tile of one channel, transformed there or back
  double winograd_weight;   ///< one transformed weight
  double element;           ///< an operation on an element of f32
  double softmax;           ///< an element of a softmax
  double wake;              ///< until a thread that sleeps has begun to help
};

struct TuningConstant {
  std::string_view name;
  double Tuning::* value;
};
std::span<const TuningConstant> tuning_constants();
/// No constant is outside of these.
constexpr double kLeastConstant = 1e-6, kMostConstant = 1e9;

/// Measured on the machines that decision 0095 names; for neon estimated.
const Tuning& reference_tuning(Isa isa);

/// The table of the vector set in use: the installed one, else the reference. Thread-safe; the result stays valid.
const Tuning& tuning();
/// For what is prepared from now on. Thread-safe.
void install_tuning(Isa isa, const Tuning& tuning);
/// Back to the reference. Thread-safe.
void forget_tuning(Isa isa);

/// A product of [m, k] and [k, n] on one core, whose second operand has elements of `element` bytes. Not less for
/// greater extents.
double product_nanoseconds(const Tuning& t, double Tuning::* each, std::int64_t m, std::int64_t n, std::int64_t k,
                           std::size_t element);

/// A convolution as a plain sum, and with channels last by Winograd's F(4x4, 3x3).
double conv_nanoseconds(const Tuning& t, const ConvParams& p);
double winograd_nanoseconds(const Tuning& t, const ConvParams& p);
/// Of that, what adjacent units of one block of tiles do once: its inputs' transform.
double winograd_set_up(const Tuning& t, const ConvParams& p);
/// Whether the transforms pay; false where there are none (nhwc_has_winograd()).
bool winograd_pays(const Tuning& t, const ConvParams& p);

/// Work of at least shared_from() is shared with other threads. Long work is cut into parts of shared_part().
double shared_from(const Tuning& t);
double shared_part(const Tuning& t);

}  // namespace frazil::kernel
