#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <frazil/array.h>
#include <frazil/model.h>

namespace frazil::api {

/// A value of a graph under construction. It is cheap to copy and valid only in the builder or patch that returned it.
/// A default-constructed Term is an omitted optional input.
class Term {
 public:
  Term() = default;
  explicit operator bool() const { return owner_ != nullptr; }

 private:
  friend struct Access;
  const void* owner_ = nullptr;
  std::uint32_t id_ = ~0u;
};

/// An extent of an input: a number, or the name of a symbol. All extents with the same symbol are equal.
class Extent {
 public:
  template <std::integral I>
  Extent(I number) : v_(static_cast<std::int64_t>(number)) {}
  Extent(std::string symbol) : v_(std::move(symbol)) {}
  Extent(const char* symbol) : v_(std::string(symbol)) {}

 private:
  friend struct Access;
  std::variant<std::int64_t, std::string> v_;
};

/// The value of an attribute.
class Attribute {
 public:
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                             std::vector<std::string>, Array>;
  template <std::integral I>
  Attribute(I v) : v_(static_cast<std::int64_t>(v)) {}
  template <std::floating_point F>
  Attribute(F v) : v_(static_cast<float>(v)) {}
  Attribute(const char* v) : v_(std::string(v)) {}
  Attribute(std::string v) : v_(std::move(v)) {}
  template <std::integral I>
  Attribute(std::initializer_list<I> v) : v_(std::vector<std::int64_t>(v.begin(), v.end())) {}
  Attribute(std::vector<std::int64_t> v) : v_(std::move(v)) {}
  Attribute(std::vector<float> v) : v_(std::move(v)) {}
  Attribute(std::vector<std::string> v) : v_(std::move(v)) {}
  Attribute(Array v) : v_(std::move(v)) {}
  const Value& value() const { return v_; }

 private:
  Value v_;
};
using Attributes = std::vector<std::pair<std::string, Attribute>>;

/// A builder that adds nodes to a graph, to the body of a control-flow operator, or to a patch. Types are inferred as
/// nodes are added. An invalid call throws Code::bad_model and adds nothing. A nested body may use values of the
/// enclosing bodies.
///
/// Operators are named as in ONNX. Operators of other domains have the domain as a prefix: "ai.onnx.ml.Scaler". `frazil
/// ops` lists them.
class Body {
 public:
  virtual ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  Term constant(const Array& value, std::string_view name = {});
  template <class T>
  Term scalar(T value) {
    return constant(Array::scalar(value));
  }
  /// Adds a node with one result. `name` names both. A node with several results names them NAME.0, NAME.1, ...
  Term op(std::string_view op, const std::vector<Term>& inputs, const Attributes& attributes = {},
          std::string_view name = {});
  /// Adds a node with `outputs` results.
  std::vector<Term> ops(std::string_view op, const std::vector<Term>& inputs, const Attributes& attributes,
                        std::size_t outputs, std::string_view name = {});

  /// A function that builds a body: takes its parameters and returns its results. It is called exactly once, before the
  /// call that takes it returns.
  using Fill = std::function<std::vector<Term>(Body& body, std::span<const Term> params)>;
  struct Region {
    std::size_t params = 0;
    Fill fill;
  };
  /// Adds a control-flow node with one Region per body, in ONNX's order.
  std::vector<Term> region(std::string_view op, const std::vector<Term>& inputs, const std::vector<Region>& regions,
                           const Attributes& attributes, std::size_t outputs, std::string_view name = {});
  /// A value of `outputs`: as many results as the first body returns.
  static constexpr std::size_t kAll = ~std::size_t{0};

  /// A branch of an If. Both branches return the same number of results.
  using Side = std::function<std::vector<Term>(Body& body)>;
  std::vector<Term> if_else(Term condition, const Side& then, const Side& otherwise, std::string_view name = {}) {
    const auto region_of = [](const Side& side) {
      if (!side) return Region{0, {}};
      return Region{0, [&side](Body& body, std::span<const Term>) { return side(body); }};
    };
    return region("If", {condition}, {region_of(then), region_of(otherwise)}, {}, kAll, name);
  }
  /// Adds a Loop. Returns the final carried values, then each of the `collected` values stacked along a new first axis.
  ///
  /// `fill` takes the iteration number, the condition and the carried values. It returns the condition, the carried
  /// values and the values to collect. `trips` is the maximal number of iterations. `trips` and `condition` may be
  /// default-constructed, that is, absent.
  std::vector<Term> loop(Term trips, Term condition, const std::vector<Term>& carried, const Fill& fill,
                         std::size_t collected = 0, std::string_view name = {}) {
    std::vector<Term> inputs{trips, condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    return region("Loop", inputs, {{carried.size() + 2, fill}}, {}, carried.size() + collected, name);
  }

  /// Returns the inferred type, such as "f32[N,3]".
  std::string type(Term term) const;

 protected:
  friend struct Access;
  struct Impl;
  explicit Body(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A builder of a model, node by node.
///
///   GraphBuilder graph("affine");
///   Term x = graph.input("x", Dtype::f32, {"N", 3});
///   graph.output("y", graph.op("Add", {x, graph.scalar(1.0f)}));
///   Model model = graph.build();
class GraphBuilder : public Body {
 public:
  explicit GraphBuilder(std::string_view name = "graph");
  /// Throws Code::bad_model if the name is in use.
  Term input(std::string_view name, Dtype dtype, const std::vector<Extent>& dims);
  /// Adds an input of any rank.
  Term input(std::string_view name, Dtype dtype);
  /// Throws Code::bad_model if the name is in use.
  void output(std::string_view name, Term value);
  /// Makes a model of the current graph. Nodes that are added afterwards do not change the model.
  Model build(const LoadOptions& options = {}) const;
};

/// An edit of a model. commit() applies all changes together and returns a new model. Sessions of the old model are
/// unaffected.
///
///   Patch patch(model, "clip");
///   Term x = patch.tap("relu_out");
///   patch.replace("relu_out", patch.op("Min", {x, patch.scalar(6.0f)}));
///   Model clipped = patch.commit();
class Patch : public Body {
 public:
  explicit Patch(const Model& model, std::string_view name);
  /// Returns the value of this name, or of the output of this name, for use in new nodes. It denotes the value before
  /// the patch. Accepts every name that texts, errors, profiles and debuggers show: see
  /// docs/reference/python.md#names. Throws Code::bad_input if the model has none or several of this name.
  Term tap(std::string_view value);
  /// Adds an input to the model. To feed a value, replace it by an input:
  ///
  ///   patch.replace("relu_out", patch.input("relu_out", Dtype::f32, {"N", 64}));
  Term input(std::string_view name, Dtype dtype, const std::vector<Extent>& dims);
  /// Replaces every use of the value, including as a model output, by `with`, which takes its name. If the patch taps
  /// the old value, that value gets the name NAME#1. Accepts the same names as tap().
  void replace(std::string_view value, Term with);
  /// Replaces the values `outputs` of one body by the results of an If named `name`. The If computes `outputs` where
  /// `condition` holds, and `otherwise` elsewhere. Returns the results of the If.
  ///
  /// Nodes that only `outputs` needs move into the first branch, so that a run that takes the other branch does not
  /// execute them. Nodes that the condition, `otherwise` or other nodes need stay outside, and so do the producers of
  /// `inputs`. commit() throws Code::bad_model if the producer of an output would stay outside.
  ///
  ///   patch.wrap({"layer2"}, patch.tap("busy"), [&](Body&) { return std::vector{patch.tap("layer1")}; });
  std::vector<Term> wrap(const std::vector<std::string>& outputs, Term condition, const Side& otherwise,
                         const std::vector<std::string>& inputs = {}, std::string_view name = {});
  /// Removes the node of this name, or the node that produces the value of this name. Its results must have no uses
  /// after the patch is applied.
  void remove(std::string_view node);
  void set_attribute(std::string_view node, std::string_view attribute, const Attribute& value);
  /// Throws Code::bad_model if the name is in use.
  void add_output(std::string_view name, Term value);
  void remove_output(std::string_view name);
  /// Returns the edited model, which keeps the policy of the old one. The patch cannot be used afterwards. Throws
  /// Code::bad_model or Code::bad_input, naming the patch, for invalid changes.
  Model commit();
};

}  // namespace frazil::api
