#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
  /// Returns the name that Body::op takes: "Add", "ai.onnx.ml.Scaler".
  std::string full_name() const { return domain.empty() ? name : domain + "." + name; }
};

/// Returns all operators, including those that the program defined, sorted by domain and name.
std::vector<OperatorInfo> operators();

}  // namespace frazil::api
