#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/op/op.h"
#include "ir/text/text.h"
#include "ir/text/text_literal.h"
#include "ir/text/text_names.h"
#include "ir/text/text_walk.h"
#include "sym/name.h"
#include "tensor/onnx_proto.h"

namespace frazil {
namespace {

constexpr std::int64_t kMaxInline = 16;
constexpr std::size_t kMaxIndent = 32;

bool is_inline(const Tensor& t) { return t.count() <= kMaxInline; }

/// Collects the names of constants shown as @name, so that generated names do not collide with them.
class WeightNames {
 public:
  explicit WeightNames(const Graph& graph) : graph_(graph) { (void)walk(graph, *this); }
  std::unordered_set<std::string> names;

  Status enter(BlockId) { return {}; }
  Status node(NodeId id) { return add(graph_.node(id).in); }
  Status done(NodeId) { return {}; }
  Status leave(BlockId id) { return add(graph_.block(id).results); }

 private:
  Status add(const std::vector<Value>& uses) {
    for (Value v : uses) {
      const Constant* c = v ? graph_.constant(v) : nullptr;
      if (c && !is_inline(c->tensor) && !graph_.value_name(v).empty()) names.insert(graph_.value_name(v));
    }
    return {};
  }
  const Graph& graph_;
};

/// The texts of values: %name, %3, @weight or a literal. A value gets its text when it is first shown.
class ValueTexts {
 public:
  explicit ValueTexts(const Graph& graph) : graph_(graph), weight_names_(WeightNames(graph).names) {}

  /// Returns the text of a value that is no constant: %wanted if that name is free, else a number.
  const std::string& define(Value v, const std::string& wanted) {
    auto [it, fresh] = names_.try_emplace(v.id);
    if (!fresh) return it->second;
    const bool named = !wanted.empty() && used_.insert(wanted).second;
    it->second = named ? "%" + name_text(wanted) : fmt::format("%{}", ++numbered_);
    return it->second;
  }
  const std::string& name(Value v) { return define(v, graph_.value_name(v)); }

  /// Returns the text of an operand.
  std::string use(Value v) {
    if (!v) return "_";
    const Constant* c = graph_.constant(v);
    if (!c) return name(v);
    if (is_inline(c->tensor)) return literal(c->tensor);
    auto [it, fresh] = names_.try_emplace(v.id);
    if (fresh) it->second = tensor(c->tensor, graph_.value_name(v));
    return it->second;
  }

  /// Returns an inline literal, or a weight with the requested or a generated name.
  std::string tensor(const Tensor& t, const std::string& wanted) {
    if (is_inline(t)) return literal(t);
    std::string name = wanted;
    if (wanted.empty() || !weights_used_.insert(wanted).second) {
      name = fmt::format("w{}", weights_.size());
      while (weight_names_.contains(name) || !weights_used_.insert(name).second) name += '_';
    }
    weights_.emplace_back(name, t);
    return "@" + name_text(name);
  }

  /// Returns the tensors that are shown as @name.
  const std::vector<std::pair<std::string, Tensor>>& weights() const { return weights_; }
  /// Returns the texts by value.
  const std::unordered_map<std::uint32_t, std::string>& all() const { return names_; }

 private:
  const Graph& graph_;
  std::unordered_set<std::string> weight_names_, weights_used_, used_;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::vector<std::pair<std::string, Tensor>> weights_;
  std::size_t numbered_ = 0;
};

/// Returns the texts of attributes. Applied with std::visit.
struct AttributeText {
  ValueTexts& values;

  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(float v) const {
    std::string text;
    append_element(text, Elem::f32, reinterpret_cast<const std::byte*>(&v));
    return text;
  }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const Tensor& v) const { return v.defined() ? values.tensor(v, {}) : "_"; }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    std::string text = "[";
    for (const T& v : list) text += (text.size() > 1 ? ", " : "") + (*this)(v);
    return text + "]";
  }
};

class Printer {
 public:
  explicit Printer(const Graph& graph)
      : graph_(graph), dims_(graph.scope(), DimText::Rename::unbacked), values_(graph) {}

  std::string run() {
    inputs();
    const std::string symbols = bounds();
    (void)walk(graph_, *this);
    std::string head = symbols;
    for (const auto& [name, tensor] : values_.weights()) {
      head += fmt::format("weight @{}: {}\n", name_text(name), tensor.type_str());
    }
    return head + out_;
  }

  std::map<std::string, Tensor, std::less<>> weights() {
    (void)run();
    return {values_.weights().begin(), values_.weights().end()};
  }

  std::vector<std::pair<Value, std::string>> value_texts() {
    (void)run();
    std::vector<std::pair<Value, std::string>> texts;
    for (const auto& [value, shown] : values_.all()) texts.emplace_back(Value{value}, shown);
    return texts;
  }

  Status enter(BlockId id) {
    ++depth_;
    if (id == Graph::kMain) return {};
    const Block& block = graph_.block(id);
    const Node& owner = graph_.node(block.owner);
    const auto index = static_cast<std::size_t>(std::ranges::find(owner.blocks, id) - owner.blocks.begin());
    put(" {}(", std::get<Region>(owner.op->form).block_attrs[index]);
    for (std::size_t k = 0; k < block.params.size(); ++k) {
      put("{}{}: {}", k == 0 ? "" : ", ", values_.name(block.params[k]), dims_.str(graph_.type(block.params[k])));
    }
    out_ += ") {\n";
    return {};
  }

  Status node(NodeId id) {
    const Node& n = graph_.node(id);
    indent();
    for (std::size_t i = 0; i < n.out.size(); ++i) {
      out_ += i == 0 ? "" : ", ";
      out_ += n.out[i] ? fmt::format("{}: {}", values_.name(n.out[i]), dims_.str(graph_.type(n.out[i]))) : "_";
    }
    if (!n.out.empty()) out_ += " = ";
    if (!n.op->domain.empty()) put("{}::", n.op->domain);
    put("{}(", n.op->name);
    list(n.in);
    out_ += ')';
    attributes(n);
    assumed(id);
    if (n.blocks.empty()) end_node(n);
    return {};
  }

  void assumed(NodeId id) {
    if (const auto side = assumed_branch(graph_, graph_.node(id))) return put(" assume {}", *side);
    bool first = true;
    for (const Assumption& a : assumptions_at(graph_, id)) {
      put("{} {}", std::exchange(first, false) ? " assume" : ",", a.value);
    }
  }

  Status done(NodeId id) {
    end_node(graph_.node(id));
    return {};
  }

  Status leave(BlockId id) {
    indent();
    const Block& block = graph_.block(id);
    if (id == Graph::kMain) {
      out_ += "return";
      for (std::size_t i = 0; i < block.results.size(); ++i) {
        put("{}{} = {}", i == 0 ? " " : ", ", name_text(graph_.output_names()[i]), values_.use(block.results[i]));
      }
    } else {
      out_ += block.results.empty() ? "yield" : "yield ";
      list(block.results);
    }
    out_ += '\n';
    --depth_;
    indent();
    out_ += id == Graph::kMain ? "}\n" : "}";
    return {};
  }

 private:
  template <class... A>
  void put(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<A>(args)...);
  }
  void indent() { out_.append(2 * std::min(depth_, kMaxIndent), ' '); }

  void end_node(const Node& n) {
    if (!n.name.empty()) out_ += " " + quoted(n.name);
    out_ += '\n';
  }

  void list(const std::vector<Value>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) out_ += (i == 0 ? "" : ", ") + values_.use(values[i]);
  }

  void inputs() {
    put("graph {}(", name_text(graph_.name));
    const auto& params = graph_.main().params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const Type& type = graph_.type(params[i]);
      put("{}{}: {}", i == 0 ? "" : ", ", values_.define(params[i], graph_.input_names()[i]), dims_.str(type));
      if (const Tensor* value = graph_.input_default(i)) out_ += " = " + input_default(type, *value);
    }
    out_ += graph_.choices().none ? ") assume none {\n" : ") {\n";
  }

  std::string input_default(const Type& type, const Tensor& value) {
    const bool same = type == Type::tensor(value.elem(), Shape(value.sizes().begin(), value.sizes().end()));
    return same && is_inline(value) ? values_text(value) : values_.tensor(value, {});
  }

  /// Returns lines for input symbols whose bounds are not the default.
  std::string bounds() {
    std::set<std::string> lines;
    for (Value v : graph_.main().params) {
      for (const Type* t = &graph_.type(v); t; t = t->item.get()) {
        for (Dim d : t->shape) add_bounds(d, lines);
      }
    }
    std::string out;
    for (const std::string& line : lines) out += line;
    return out;
  }

  void add_bounds(Dim d, std::set<std::string>& lines) {
    for (SymbolId s : graph_.scope().symbols_of(d)) {
      const Bounds b = symbol_bounds(graph_.scope(), s);
      if (b == Bounds{}) continue;
      lines.insert(fmt::format("dim {} in {}..{}\n", sym::quoted_name(dims_.name(s)),
                               b.min == Dim::kMin ? "" : std::to_string(b.min),
                               b.max == Dim::kMax ? "" : std::to_string(b.max)));
    }
  }

  std::string attribute(const AttrField& field, const AttrValue& value) {
    if (field.element_type) return std::string(name_of(*elem_from_onnx(std::get<std::int64_t>(value))));
    return std::visit(AttributeText{values_}, value);
  }

  void attributes(const Node& n) {
    std::string text;
    const Attrs defaults = default_attrs(*n.op);
    for (const AttrField& f : n.op->attrs.fields) {
      const auto value = f.get(n.attrs.get()), usual = f.get(defaults.get());
      if (!value || (!f.required && usual && same(*value, *usual))) continue;
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", f.name, attribute(f, *value));
    }
    if (!text.empty()) put(" {{{}}}", text);
  }

  const Graph& graph_;
  DimText dims_;
  ValueTexts values_;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

std::vector<std::pair<Value, std::string>> value_texts(const Graph& graph) { return Printer(graph).value_texts(); }

std::map<std::string, Tensor, std::less<>> weights_of(const Graph& graph) { return Printer(graph).weights(); }

}  // namespace frazil
