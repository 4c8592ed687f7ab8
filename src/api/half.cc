#include <frazil/half.h>

#include "base/value/float.h"

namespace frazil::api {

Half::Half(float value) : bits(float_to_half(value)) {}
Half::operator float() const { return half_to_float(bits); }
BFloat16::BFloat16(float value) : bits(float_to_bfloat16(value)) {}
BFloat16::operator float() const { return bfloat16_to_float(bits); }

}  // namespace frazil::api
