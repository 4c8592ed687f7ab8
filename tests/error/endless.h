#pragma once

#include <string>

namespace frazil::test {

/// An ONNX file: an endless loop over x: f32[N]. Written in limits_test.cc, as the public headers stand beside no
/// others.
std::string endless_model();

}  // namespace frazil::test
