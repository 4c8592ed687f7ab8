#pragma once

#include <string>

namespace frazil::test {

/// An ONNX file: an endless loop over x: f32[N]. Defined in limits_test.cc, as the public headers cannot be included
/// with internal ones.
std::string endless_model();

}  // namespace frazil::test
