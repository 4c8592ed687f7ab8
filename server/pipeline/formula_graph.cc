#include <algorithm>
#include <array>
#include <optional>

#include <frazil/error.h>
#include <frazil/host_operator.h>

#include "server/core/json_text.h"
#include "server/pipeline/formula_parts.h"
#include "server/pipeline/pipeline_graph.h"

// Formulas as nodes of a graph.
namespace frazil::server {
namespace {

using api::Array;
using api::Term;
using Part = Formula::Part;
using PartKind = Part::Kind;
using Type = Part::Type;

[[noreturn]] void refuse_value(const std::string& why) { throw api::Error(api::Code::bad_input, why); }

// ---- functions of a tensor ----

double fold(const Array& tensor, const std::string& name, double start, double (*step)(double, double)) {
  if (tensor.count() == 0) refuse_value(name + " of a tensor without elements");
  double folded = start;
  for (std::int64_t i = 0; i < tensor.count(); ++i) folded = step(folded, tensor.number(i));
  return folded;
}

double sum_of(const Array& tensor) {
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) sum += tensor.number(i);
  return sum;
}

double nonzero(const Array& tensor) {
  double count = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) count += tensor.number(i) != 0 ? 1 : 0;
  return count;
}

double argmax_of(const Array& tensor) {
  if (tensor.count() == 0) refuse_value("argmax of a tensor without elements");
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < tensor.count(); ++i) {
    if (tensor.number(i) > tensor.number(best)) best = i;
  }
  return static_cast<double>(best);
}

double item_of(const Array& tensor) {
  if (tensor.count() == 1) return tensor.number(0);
  refuse_value("item of a tensor with " + std::to_string(tensor.count()) + " elements");
}

struct Reduction {
  std::string_view name;
  double (*apply)(const Array&);
};

constexpr Reduction kReductions[] = {
    {"max",
     [](const Array& t) {
       return fold(t, "max", t.count() == 0 ? 0 : t.number(0), [](double a, double b) { return std::max(a, b); });
     }},
    {"min",
     [](const Array& t) {
       return fold(t, "min", t.count() == 0 ? 0 : t.number(0), [](double a, double b) { return std::min(a, b); });
     }},
    {"mean",
     [](const Array& t) {
       return fold(t, "mean", 0, [](double a, double b) { return a + b; }) / static_cast<double>(t.count());
     }},
    {"sum", sum_of},
    {"argmax", argmax_of},
    {"count", nonzero},
    {"any", [](const Array& t) { return nonzero(t) > 0 ? 1.0 : 0.0; }},
    {"all", [](const Array& t) { return nonzero(t) == static_cast<double>(t.count()) ? 1.0 : 0.0; }},
    {"item", item_of},
};

double size_of(const Array& tensor, double axis) {
  const api::Sizes& sizes = tensor.sizes();
  if (axis < 0 || axis >= static_cast<double>(sizes.size())) {
    refuse_value("size: the tensor has no axis " + number_text(axis));
  }
  return static_cast<double>(sizes[static_cast<std::size_t>(axis)]);
}

// ---- operators ----

constexpr const char* kReduce = "frazil.server.Reduce";
constexpr const char* kSizeFunction = "frazil.server.Size";
constexpr const char* kNumber = "frazil.server.NumberParameter";
constexpr const char* kText = "frazil.server.TextParameter";

api::HostOperator operator_of(const char* name, std::string doc, std::size_t inputs, api::Dtype result) {
  api::HostOperator op = operator_named(name, std::move(doc));
  op.inputs = inputs;
  op.types = [result](const api::NodeAttributes&, std::span<const api::TensorType>) {
    return std::vector{api::TensorType{.dtype = result, .dims = {}}};
  };
  return op;
}

void register_functions() {
  api::HostOperator reduce = operator_of(kReduce, "A function of all elements of a tensor", 1, api::Dtype::f64);
  reduce.attributes = {{"function", ""}};
  reduce.views = true;
  reduce.run = [](const api::NodeAttributes& attributes, std::span<const Array> in) {
    const auto* const at = std::ranges::find(kReductions, attributes.text("function"), &Reduction::name);
    if (at == std::end(kReductions)) refuse_value("there is no function '" + attributes.text("function") + "'");
    return std::vector{Array::scalar(at->apply(in[0]))};
  };
  api::register_operator(std::move(reduce));
  api::HostOperator size = operator_of(kSizeFunction, "The extent of a tensor along an axis", 2, api::Dtype::f64);
  size.views = true;
  size.run = [](const api::NodeAttributes&, std::span<const Array> in) {
    return std::vector{Array::scalar(size_of(in[0], in[1].number(0)))};
  };
  api::register_operator(std::move(size));
}

[[noreturn]] void refuse_parameter(const std::string& name, const char* expected) {
  refuse_value("parameter '" + name + "': expected " + expected);
}

double number_of(const std::string& name, const Parameter& parameter) {
  if (const auto* truth = std::get_if<bool>(&parameter)) return *truth ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<std::int64_t>(&parameter)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&parameter)) return *real;
  refuse_parameter(name, "a number");
}

/// Registers an operator that returns a request's parameter, or its operand if the request has none.
template <class Read>
void register_parameter(const char* op_name, api::Dtype result, Read read) {
  api::HostOperator op = operator_of(op_name, "A parameter of the request", 1, result);
  op.attributes = {{"name", ""}};
  op.pure = false;
  op.start = [read](const api::HostStart& start, const api::HostReply& reply) {
    const std::string name = start.attributes.text("name");
    const auto& parameters = request_of(start).parameters;
    const auto at = parameters.find(name);
    reply.give({at == parameters.end() ? start.inputs.front() : Array::scalar(read(name, at->second))});
  };
  api::register_operator(std::move(op));
}

// ---- lowering ----

class FormulaLowering {
 public:
  FormulaLowering(api::Body& body, const Formula::Term& term) : body_(body), term_(term) {}

  /// Returns f64[] or string[].
  Term value(const Part& part) const {
    const Term made = typed(part);
    return part.type == Type::truth ? number_of_truth(made) : made;
  }

  Formula::Decision decision(const Part& root) const {
    if (root.kind == PartKind::binary && root.by->group == BinaryOperator::Group::comparison) {
      const Term left = value(*root.operands[0]);
      return {.truth = applied(*root.by, left, *root.operands[1]), .subject = left};
    }
    const Term made = typed(root);
    if (root.type == Type::truth) return {.truth = made, .subject = number_of_truth(made)};
    return {.truth = truth_of(made, root.type), .subject = made};
  }

 private:
  /// Returns f64[], bool[] or string[].
  Term typed(const Part& part) const {
    switch (part.kind) {
      case PartKind::number: return body_.scalar(part.number);
      case PartKind::text: return body_.scalar(part.text);
      case PartKind::parameter:
        return body_.op(part.type == Type::text ? kText : kNumber, {value(*part.operands[0])}, {{"name", part.text}});
      case PartKind::reduction: return body_.op(kReduce, {term_(part.slot)}, {{"function", part.text}}, name_of(part));
      case PartKind::size:
        return body_.op(kSizeFunction, {term_(part.slot), value(*part.operands[0])}, {}, name_of(part));
      case PartKind::negate: return body_.op("Neg", {value(*part.operands[0])});
      case PartKind::invert: return body_.op("Not", {truth(*part.operands[0])});
      case PartKind::binary:
        if (part.by->group == BinaryOperator::Group::logic) return logic(part);
        return applied(*part.by, value(*part.operands[0]), *part.operands[1]);
    }
    return {};
  }

  /// Returns the name of a function's node, which errors show.
  static std::string name_of(const Part& part) { return part.text + '(' + part.of + ')'; }

  Term applied(const BinaryOperator& by, Term left, const Part& right) const {
    const Term made = body_.op(by.op, {left, value(right)});
    return by.inverted ? body_.op("Not", {made}) : made;
  }

  Term logic(const Part& part) const {
    const bool both = part.by->op == "And";
    const auto decided = [&](api::Body& body) { return std::vector{body.scalar(!both)}; };
    const auto open = [&](api::Body& body) {
      return std::vector{FormulaLowering(body, term_).truth(*part.operands[1])};
    };
    const Term left = truth(*part.operands[0]);
    return (both ? body_.if_else(left, open, decided) : body_.if_else(left, decided, open)).front();
  }

  Term truth(const Part& part) const {
    const Term made = typed(part);
    return part.type == Type::truth ? made : truth_of(made, part.type);
  }
  Term truth_of(Term made, Type type) const {
    const Term zero = type == Type::text ? body_.scalar(std::string()) : body_.scalar(0.0);
    return body_.op("Not", {body_.op("Equal", {made, zero})});
  }
  Term number_of_truth(Term truth) const {
    return body_.op("Cast", {truth}, {{"to", api::onnx_number(api::Dtype::f64)}});
  }

  api::Body& body_;
  const Formula::Term& term_;
};

}  // namespace

bool is_reduction(std::string_view name) {
  return std::ranges::find(kReductions, name, &Reduction::name) != std::end(kReductions);
}

Formula::Decision Formula::decision(api::Body& body, const Formula::Term& term) const {
  return FormulaLowering(body, term).decision(*root_);
}

api::Term Formula::value(api::Body& body, const Formula::Term& term) const {
  return FormulaLowering(body, term).value(*root_);
}

std::string value_text(const Array& value) {
  if (value.dtype() == api::Dtype::string) return value.values<std::string>().front();
  return number_text(value.number(0));
}

void register_formula_operators() {
  register_functions();
  register_parameter(kNumber, api::Dtype::f64, number_of);
  register_parameter(kText, api::Dtype::string, [](const std::string& name, const Parameter& parameter) {
    if (const auto* text = std::get_if<std::string>(&parameter)) return *text;
    refuse_parameter(name, "a text");
  });
}

}  // namespace frazil::server
