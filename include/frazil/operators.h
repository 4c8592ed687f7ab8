#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>
#include <frazil/build.h>

namespace frazil::api {

/// The definition of an operator, for programs that offer all operators: bindings, editors, checkers.
struct OperatorInfo {
  enum class Use : std::uint8_t { required, optional, variadic };  ///< variadic: the last port, repeated
  struct Port {
    std::string name;
    std::string variable;      ///< ports with the same variable have the same element type
    std::vector<Dtype> types;  ///< accepted element types; empty: any value, tensor or not
    Use use = Use::required;
  };
  /// The kinds have the order of Attribute::Value.
  enum class Kind : std::uint8_t { integer, real, string, integers, reals, strings, tensor };
  struct Field {
    std::string name;
    Kind kind = Kind::integer;
    bool required = false;
    std::optional<Attribute> value;  ///< the default; unset if the attribute is required, or absent unless given
    std::string doc;
  };

  std::string name;
  std::string domain;  ///< "" is ai.onnx
  std::string doc;
  int since = 1;  ///< opset that the definition follows
  std::vector<Port> inputs, outputs;
  std::vector<Field> attributes;
  std::vector<std::string> bodies;  ///< control flow: the ONNX attributes that hold the bodies
  int oldest = 1;                   ///< oldest opset whose operator a load converts to this definition
  std::string form;                 ///< the form of its definition: "elementwise", "contraction", "composite", ...
  /// Returns the name that Body::op takes: "Add", "ai.onnx.ml.Scaler".
  std::string full_name() const { return domain.empty() ? name : domain + "." + name; }
};

/// Returns all operators, including those that the program defined, sorted by domain and name.
std::vector<OperatorInfo> operators();
/// An operator that nodes of a model file call.
struct UsedOperator {
  std::string name;
  std::string domain;      ///< "" is ai.onnx
  std::int64_t opset = 0;  ///< of the domain in the file; 0 if the file imports none
  std::size_t nodes = 0;   ///< number of calls, in subgraphs and functions of the file too
  bool available = false;  ///< a load knows the operator in this opset
  std::string full_name() const { return domain.empty() ? name : domain + "." + name; }
};
/// Returns the operators of an ONNX file, sorted by domain, name and opset, without loading the model: types,
/// attributes and weights are not read. Calls of functions that the file defines are not listed, but the nodes of these
/// functions are. Throws Code::bad_input if the file cannot be read, and Code::bad_model if it is damaged or has no
/// graph.
std::vector<UsedOperator> used_operators(const std::string& path);

/// Returns "int", "floats", ...
std::string_view name_of(OperatorInfo::Kind kind);

/// The passes that graphs go through before planning, and the rules of those that rewrite single nodes.
struct PassInfo {
  std::string name, doc;
  bool optional = true;  ///< FRAZIL_PASSES can leave it out
};
struct RuleInfo {
  std::string name;
  std::string doc;       ///< "Pow(x, 2) -> Mul(x, x)"
  std::string numerics;  ///< how results may change: "exact", ...
};
/// Return the passes in the order in which they run, and the rules. A pass may occur several times.
std::vector<PassInfo> passes();
std::vector<RuleInfo> rewrite_rules();

}  // namespace frazil::api
