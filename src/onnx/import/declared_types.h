#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/read/decode.h"

namespace frazil::onnx {

/// Adds the types of the ValueInfoProtos, as TypeProtos by the name of their value. The first type of a name counts.
Status read_declared(const std::vector<Bytes>& value_infos, std::map<std::string_view, Bytes>& types);

/// The types that a model declares for its values. They are hints: execution follows inference.
class DeclaredTypes {
 public:
  /// `name` is the value's name in messages, `type` a TypeProto.
  void add(Value value, std::string name, Bytes type);
  /// Warns of types that contradict the inferred ones, unless these follow an assumption.
  void compare(const Graph& graph, const Source& source, std::vector<std::string>& warnings) const;
  /// Adds the first contradiction to a fault, because it may explain the failure.
  Fault explain(Fault fault, const Graph& graph, const Source& source) const;

 private:
  struct Declared {
    Value value;
    std::string name;
    Bytes type;
  };
  /// The first types that contradict the inferred ones, and the number of all of them.
  struct Contradictions {
    std::vector<std::string> first;
    std::size_t count = 0;
  };
  Contradictions contradictions(const Graph& graph, const Source& source) const;

  std::vector<Declared> declared_;
};

}  // namespace frazil::onnx
