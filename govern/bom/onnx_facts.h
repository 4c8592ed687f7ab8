#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace frazil::govern {

/// The content of an ONNX file, as written: before type rules, inlining of functions and upgrades of operators.
struct OnnxFacts {
  struct Operator {
    std::string domain, name;  ///< "" is ai.onnx
    std::int64_t opset = 0;    ///< 0: the file does not import the domain
    auto operator<=>(const Operator&) const = default;
  };
  std::map<Operator, std::uint64_t> operators;  ///< nodes of all graphs, subgraphs and functions
  std::vector<std::string> external;            ///< locations of external data, sorted, without duplicates
};

/// Reads a serialized ModelProto. Reads dense and sparse tensors of initializers and attributes. Throws
/// Code::bad_model, with `what`, for damaged bytes and for graphs nested deeper than 64.
OnnxFacts read_onnx_facts(std::string_view bytes, std::string_view what);

}  // namespace frazil::govern
