#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <frazil/array.h>
#include <frazil/build.h>
#include <frazil/model.h>

namespace frazil::api {

/// A read-only view of the nodes and values of a model, for programs that show or check graphs. Descriptions are made
/// when they are read. Nodes, values and blocks have numbers, which are the same in each view of a model; the numbers
/// of removed ones are not reused. Cheap to make; it keeps the model. Threads may share it.
///
///   const GraphView graph(model);
///   for (std::uint32_t id : graph.nodes()) std::puts(graph.node(id).op.c_str());
class GraphView {
 public:
  explicit GraphView(const Model& model);

  /// A node: one application of an operator.
  struct Node {
    std::string name;     ///< name of the ONNX node; may be empty
    std::string text;     ///< as in errors: "node 'If_12' (If)", or "node #7 (Add)" for a node without a name
    std::string op;       ///< "MatMul"
    std::string domain;   ///< "" is ai.onnx
    std::uint32_t event;  ///< NodeEvent::id
    std::uint32_t block;  ///< the block that contains it
    std::vector<std::optional<std::uint32_t>> inputs;  ///< values; nullopt: an optional input that is not given
    std::vector<std::uint32_t> outputs;
    std::vector<std::uint32_t> bodies;  ///< blocks of an If or a Loop
    Attributes attributes;              ///< those that differ from their default
    bool draws = false;  ///< it draws random numbers, or its results may differ from run to run otherwise
  };
  /// A value: a parameter of a block, an output of a node, or a constant.
  struct Value {
    std::string name;                   ///< may be empty
    std::string type;                   ///< as Port::type
    std::optional<std::uint32_t> node;  ///< the node that computes it
    std::optional<Array> constant;
  };
  /// The graph itself (number 0), or a body of a node.
  struct Block {
    std::optional<std::uint32_t> owner;  ///< the node whose body it is
    std::vector<std::uint32_t> parameters, nodes, results;
  };

  /// Returns the nodes of all blocks, block by block; a body follows the block that contains its node.
  std::vector<std::uint32_t> nodes() const;
  std::uint32_t block_count() const;
  std::uint32_t value_count() const;  ///< value numbers are less than this
  /// Throw Code::bad_input for a number that does not exist.
  Node node(std::uint32_t id) const;
  Value value(std::uint32_t id) const;
  Block block(std::uint32_t id) const;
  /// Returns the bytes of a constant, and nullopt for any other value.
  std::optional<std::size_t> constant_bytes(std::uint32_t value) const;

 private:
  Model model_;
};

/// The descriptions and properties in a model file, of the model and of its parts, in order and with repeated keys.
/// Texts may hold any bytes.
struct Annotations {
  /// The remarks on one subject. Keys may occur twice.
  struct Note {
    std::string subject;  ///< the node or the value; empty for the model and the graph
    std::string doc;      ///< doc_string
    std::vector<std::pair<std::string, std::string>> properties;
  };
  std::vector<std::pair<std::string, std::int64_t>> opsets;  ///< by domain; ai.onnx is ""
  Note model, graph;
  std::vector<Note> nodes;         ///< of nodes that still exist
  std::vector<Note> values;        ///< of values of the main graph, by name
  std::vector<Note> quantization;  ///< parameters of quantised tensors
};
/// Returns the annotations, which are empty if the model is not from a file.
Annotations annotations(const Model& model);

}  // namespace frazil::api
