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

/// A value of a graph while it is built. Cheap; means something only to the builder or patch that gave it. A default
/// one stands for an optional input that is left out.
class Term {
 public:
  Term() = default;
  explicit operator bool() const { return owner_ != nullptr; }

 private:
  friend struct Access;
  const void* owner_ = nullptr;
  std::uint32_t id_ = ~0u;
};

/// An extent of an input: a number, or the name of a symbol, which means the same extent wherever it stands.
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

/// An attribute's value.
class Attribute {
 public:
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

 private:
  friend struct Access;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
               std::vector<std::string>, Array>
      v_;
};
using Attributes = std::vector<std::pair<std::string, Attribute>>;

/// A place that takes nodes: a graph, the body of a control-flow operator, or a patch. Types are inferred at once; what
/// does not fit is Code::bad_model at the call that adds it, and leaves no trace. Inner bodies may use outer values.
/// Operators go by their ONNX name; those of other domains as "ai.onnx.ml.Scaler". `frazil ops` lists them.
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
  /// A node with one result. `name` names the node and its result; of several results they are NAME.0, NAME.1, ...
  Term op(std::string_view op, const std::vector<Term>& inputs, const Attributes& attributes = {},
          std::string_view name = {});
  /// A node with `outputs` results.
  std::vector<Term> ops(std::string_view op, const std::vector<Term>& inputs, const Attributes& attributes,
                        std::size_t outputs, std::string_view name = {});

  /// Fills a body: gets its parameters, gives its results. Called once, at once.
  using Fill = std::function<std::vector<Term>(Body& body, std::span<const Term> params)>;
  struct Region {
    std::size_t params = 0;
    Fill fill;
  };
  /// A control-flow node: one Region for each of its bodies, in ONNX's order.
  std::vector<Term> region(std::string_view op, const std::vector<Term>& inputs, const std::vector<Region>& regions,
                           const Attributes& attributes, std::size_t outputs, std::string_view name = {});
  /// As many results as the first body gives.
  static constexpr std::size_t kAll = ~std::size_t{0};

  /// Both sides give the same number of results.
  using Side = std::function<std::vector<Term>(Body& body)>;
  std::vector<Term> if_else(Term condition, const Side& then, const Side& otherwise, std::string_view name = {}) {
    const auto region_of = [](const Side& side) {
      return Region{0, [&side](Body& body, std::span<const Term>) { return side(body); }};
    };
    return region("If", {condition}, {region_of(then), region_of(otherwise)}, {}, kAll, name);
  }
  /// Params of `fill`: iteration number, condition, carried values. Its results: condition, carried values, and what is
  /// collected. Gives the carried values at the end, and `collected` values stacked along a new first axis. `trips` and
  /// `condition` may be left out.
  std::vector<Term> loop(Term trips, Term condition, const std::vector<Term>& carried, const Fill& fill,
                         std::size_t collected = 0, std::string_view name = {}) {
    std::vector<Term> inputs{trips, condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    return region("Loop", inputs, {{carried.size() + 2, fill}}, {}, carried.size() + collected, name);
  }

  /// "f32[N,3]".
  std::string type(Term term) const;

 protected:
  friend struct Access;
  struct Impl;
  explicit Body(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Builds a model node by node.
///
///   GraphBuilder graph("affine");
///   Term x = graph.input("x", Dtype::f32, {"N", 3});
///   graph.output("y", graph.op("Add", {x, graph.scalar(1.0f)}));
///   Model model = graph.build();
class GraphBuilder : public Body {
 public:
  explicit GraphBuilder(std::string_view name = "graph");
  /// Code::bad_model for a name that is taken.
  Term input(std::string_view name, Dtype dtype, const std::vector<Extent>& dims);
  void output(std::string_view name, Term value);
  /// The graph so far; building may go on.
  Model build(const LoadOptions& options = {}) const;
};

/// Edits a model. All changes happen at once in commit(), which gives a new model; sessions of the old one go on.
///
///   Patch patch(model, "clip");
///   Term x = patch.tap("relu_out");
///   patch.replace("relu_out", patch.op("Min", {x, patch.scalar(6.0f)}));
///   Model clipped = patch.commit();
class Patch : public Body {
 public:
  explicit Patch(const Model& model, std::string_view name);
  /// A value of the model by its name, for use in new nodes: it means the value before this patch.
  /// Code::bad_input when there is none.
  Term tap(std::string_view value);
  /// Every use of the value becomes `with`, uses as the model's output included.
  void replace(std::string_view value, Term with);
  /// Removes a node, by its name, whose results nobody uses once the patch is applied.
  void remove(std::string_view node);
  void set_attribute(std::string_view node, std::string_view attribute, const Attribute& value);
  void add_output(std::string_view name, Term value);
  void remove_output(std::string_view name);
  /// The edited model; it keeps the old one's policy. The patch is used up.
  Model commit();
};

}  // namespace frazil::api
