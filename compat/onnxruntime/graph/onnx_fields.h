#pragma once

/// The field numbers of onnx.proto that the library reads and writes.
namespace frazil::ort::fields {

namespace model {
constexpr unsigned kIr = 1, kGraph = 7, kOpset = 8, kFunction = 25;
}
namespace opset {
constexpr unsigned kDomain = 1, kVersion = 2;
}
namespace graph {
constexpr unsigned kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace function {
constexpr unsigned kNode = 7;
}
namespace node {
constexpr unsigned kInput = 1, kOutput = 2, kName = 3, kOp = 4, kAttribute = 5, kDomain = 7;
}
namespace attribute {
constexpr unsigned kName = 1, kFloat = 2, kInt = 3, kString = 4, kTensor = 5, kGraph = 6, kFloats = 7, kInts = 8,
                   kStrings = 9, kGraphs = 11, kType = 20;
enum Type { float_ = 1, int_ = 2, string_ = 3, tensor_ = 4, floats = 6, ints = 7, strings = 8 };
}  // namespace attribute
namespace tensor {
constexpr unsigned kDims = 1, kType = 2, kStrings = 6, kName = 8, kRaw = 9;
}
namespace port {
constexpr unsigned kName = 1, kType = 2;
}
namespace type {
constexpr unsigned kTensor = 1, kSequence = 4, kMap = 5, kOptional = 9;
constexpr unsigned kElement = 1, kSecond = 2;  ///< the parts of each: element or key; shape or value
}  // namespace type
namespace extent {
constexpr unsigned kDim = 1, kValue = 1, kParam = 2;
}

}  // namespace frazil::ort::fields
