#include "reduce.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>

#include "differ.h"
#include "draft.h"
#include "ir/text/text.h"
#include "random_attr.h"

namespace frazil::fuzz {
namespace {

/// A case whose graph can be edited.
struct Sketch {
  Draft draft;
  std::vector<std::vector<Datum>> runs;
  Isa isa = Isa::base;
  PassSet passes;
};

Sketch sketch_of(const Case& c) { return {draft_of(c.graph), c.runs, c.isa, c.passes}; }

/// All blocks, outer ones first.
std::vector<DraftBlock*> blocks_of(Draft& draft) {
  std::vector<DraftBlock*> all{&draft.main};
  each_node(draft.main, [&](DraftNode& node) {
    for (DraftBlock& block : node.blocks) all.push_back(&block);
  });
  return all;
}

std::vector<DraftNode*> nodes_of(Draft& draft) {
  std::vector<DraftNode*> all;
  each_node(draft.main, [&](DraftNode& node) { all.push_back(&node); });
  return all;
}

/// The tensor cut to `sizes`, which are not larger.
Tensor cut(const Tensor& t, const Sizes& sizes) {
  const Tensor source = t.packed().value();
  Tensor out = Tensor::make(t.elem(), sizes).value();
  const Sizes from = contiguous_strides(t.sizes()), to = contiguous_strides(sizes);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    std::int64_t at = 0, left = i;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      at += left / to[d] * from[d];
      left %= to[d];
    }
    const std::size_t size = byte_size(t.elem());
    if (t.elem() == Elem::string) {
      out.as_mutable<std::string>()[static_cast<std::size_t>(i)] =
          source.as<std::string>()[static_cast<std::size_t>(at)];
    } else {
      std::memcpy(out.mutable_data() + static_cast<std::size_t>(i) * size,
                  source.data() + static_cast<std::size_t>(at) * size, size);
    }
  }
  return out;
}

/// The tensor with element `i` (or all, where i < 0) set to `value`.
std::optional<Tensor> with_element(const Tensor& t, std::int64_t i, int value) {
  if (t.elem() == Elem::string || !t.defined()) return std::nullopt;
  Tensor out = cut(t, t.sizes());
  const std::size_t size = byte_size(t.elem());
  const std::size_t from = i < 0 ? 0 : static_cast<std::size_t>(i) * size;
  const auto bytes = std::span(out.data(), out.bytes()).subspan(from, i < 0 ? out.bytes() : size);
  // Zeros are the simplest: they do not become ones again.
  if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) return std::nullopt;
  for (std::int64_t k = std::max<std::int64_t>(i, 0); k < (i < 0 ? t.count() : i + 1); ++k) {
    std::byte* at = out.mutable_data() + static_cast<std::size_t>(k) * size;
    std::memset(at, 0, size);
    const auto number = static_cast<float>(value);
    const double wide = value;
    if (t.elem() == Elem::f64) std::memcpy(at, &wide, 8);
    if (t.elem() == Elem::f32) std::memcpy(at, &number, 4);
    if (is_small_float(t.elem())) from_f32(t.elem(), &number, at, 1);
    if (is_int(t.elem()) || t.elem() == Elem::boolean) *at = static_cast<std::byte>(value);
  }
  if (identical(out, t)) return std::nullopt;
  return out;
}

/// The type with the extents that a value has.
DraftType concrete(const DraftType& type, const Datum& value) {
  DraftType made = type;
  if (!type.type.is_tensor() || !value.is_tensor()) return made;
  made.type.ranked = true;
  made.dims.clear();
  for (std::int64_t d : value.tensor().sizes()) made.dims.push_back(std::to_string(d));
  return made;
}

class Reducer {
 public:
  Reducer(Sketch start, std::string kind, const std::function<std::string(const Case&)>& failure)
      : now_(std::move(start)), kind_(std::move(kind)), failure_(failure) {}

  Sketch run() {
    using R = Reducer;
    constexpr auto kSteps = std::to_array({&R::runs, &R::outputs, &R::remove_nodes, &R::hoist, &R::bypass, &R::freeze,
                                           &R::inputs, &R::extents, &R::attributes, &R::values});
    for (bool again = true; again && budget_ > 0;) {
      again = false;
      for (const auto step : kSteps) again |= (this->*step)();
    }
    return std::move(now_);
  }

 private:
  /// Keeps the candidate when it still fails in the same way.
  bool keep(Sketch candidate) {
    if (--budget_ < 0 || std::chrono::steady_clock::now() > end_) return false;
    prune(candidate.draft);
    drop_unused_inputs(candidate);
    auto graph = build(candidate.draft);
    if (!graph) return false;
    const Case c{std::move(*graph), candidate.runs, candidate.isa, candidate.passes};
    if (failure_(c) != kind_) return false;
    now_ = std::move(candidate);
    return true;
  }

  static void drop_unused_inputs(Sketch& s) {
    const auto used = uses(s.draft);
    for (std::size_t i = s.draft.inputs.size(); i-- > 0;) {
      if (used.contains(s.draft.inputs[i].value)) continue;
      s.draft.inputs.erase(s.draft.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      for (auto& run : s.runs) run.erase(run.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Tries edit(copy, k) for k = count - 1 ... 0.
  template <class Edit>
  bool each(std::size_t count, Edit edit) {
    bool any = false;
    for (std::size_t k = count; k-- > 0;) {
      Sketch copy = now_;
      if (edit(copy, k)) any |= keep(std::move(copy));
    }
    return any;
  }

  bool runs() {
    if (now_.runs.size() < 2) return false;
    return each(now_.runs.size(), [](Sketch& s, std::size_t k) {
      if (k >= s.runs.size() || s.runs.size() < 2) return false;
      s.runs.erase(s.runs.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    });
  }

  bool outputs() {
    const bool fewer = each(now_.draft.output_names.size(), [](Sketch& s, std::size_t k) {
      if (s.draft.output_names.size() < 2 || k >= s.draft.output_names.size()) return false;
      s.draft.output_names.erase(s.draft.output_names.begin() + static_cast<std::ptrdiff_t>(k));
      s.draft.main.results.erase(s.draft.main.results.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    });
    const bool unwanted = each(nodes_of(now_.draft).size(), [](Sketch& s, std::size_t k) {
      const auto nodes = nodes_of(s.draft);
      if (k >= nodes.size()) return false;
      const auto used = uses(s.draft);
      auto& out = nodes[k]->out;
      const std::size_t before = out.size();
      for (int& v : out) {
        if (!used.contains(v)) v = kNoValue;
      }
      while (!out.empty() && out.back() == kNoValue) out.pop_back();
      return out.size() != before;
    });
    return fewer || unwanted;
  }

  /// Outputs a node's operand instead of what is made of it.
  bool remove_nodes() {
    return each(now_.draft.main.nodes.size(), [&](Sketch& s, std::size_t k) {
      if (k >= s.draft.main.nodes.size()) return false;
      const DraftNode node = s.draft.main.nodes[k];
      const auto is_out = [&](int v) { return std::ranges::find(node.out, v) != node.out.end(); };
      s.draft.main.nodes.erase(s.draft.main.nodes.begin() + static_cast<std::ptrdiff_t>(k));
      bool any = false;
      for (std::size_t r = s.draft.main.results.size(); r-- > 0;) {
        if (!is_out(s.draft.main.results[r])) continue;
        s.draft.main.results.erase(s.draft.main.results.begin() + static_cast<std::ptrdiff_t>(r));
        s.draft.output_names.erase(s.draft.output_names.begin() + static_cast<std::ptrdiff_t>(r));
        any = true;
      }
      for (int v : node.in) {
        if (!any || v == kNoValue || s.draft.constants.contains(v)) continue;
        s.draft.main.results.push_back(v);
        s.draft.output_names.push_back(fmt::format("r{}", v));
      }
      std::ranges::sort(s.draft.output_names);
      const auto twice = std::ranges::unique(s.draft.output_names);
      return any && twice.empty() && !s.draft.main.results.empty();
    });
  }

  /// Nodes of a block take the place of the node that has it, params become what the node is given.
  bool hoist() {
    bool any = false;
    for (std::size_t b = blocks_of(now_.draft).size(); b-- > 0;) {
      for (std::size_t shift : {0, 1, 2}) {
        Sketch copy = now_;
        if (hoist_block(copy, b, shift) && keep(std::move(copy))) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  /// `shift`: how many results come before those that are outputs.
  static bool hoist_block(Sketch& s, std::size_t b, std::size_t shift) {
    const auto all = blocks_of(s.draft);
    if (b == 0 || b >= all.size()) return false;
    const DraftBlock* wanted = all[b];
    for (DraftBlock* outer : all) {
      for (std::size_t n = 0; n < outer->nodes.size(); ++n) {
        for (const DraftBlock& block : outer->nodes[n].blocks) {
          if (&block != wanted) continue;
          replace(s.draft, *outer, n, DraftBlock(block), shift);
          return true;
        }
      }
    }
    return false;
  }

  static void replace(Draft& draft, DraftBlock& outer, std::size_t n, DraftBlock inner, std::size_t shift) {
    const DraftNode node = outer.nodes[n];
    outer.nodes.erase(outer.nodes.begin() + static_cast<std::ptrdiff_t>(n));
    outer.nodes.insert(outer.nodes.begin() + static_cast<std::ptrdiff_t>(n), inner.nodes.begin(), inner.nodes.end());
    for (std::size_t k = 0; k < node.out.size(); ++k) {
      if (k + shift < inner.results.size()) replace_uses(draft.main, node.out[k], inner.results[k + shift]);
    }
    for (std::size_t k = 0; k < inner.params.size(); ++k) {
      int given = k < node.in.size() ? node.in[k] : kNoValue;
      if (given == kNoValue) {
        given = draft.next++;
        draft.constants.emplace(given, k == 0 ? Tensor::scalar(std::int64_t{0}) : Tensor::scalar(true));
      }
      replace_uses(draft.main, inner.params[k], given);
    }
  }

  /// Uses of a result become uses of one of the node's operands.
  bool bypass() {
    bool any = false;
    for (std::size_t n = nodes_of(now_.draft).size(); n-- > 0;) {
      for (std::size_t i = 0; i < 4; ++i) {
        Sketch copy = now_;
        const auto nodes = nodes_of(copy.draft);
        if (n >= nodes.size() || i >= nodes[n]->in.size() || nodes[n]->in[i] == kNoValue) continue;
        const int operand = nodes[n]->in[i];
        for (int v : std::vector<int>(nodes[n]->out)) {
          if (v != kNoValue) replace_uses(copy.draft.main, v, operand);
        }
        if (keep(std::move(copy))) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  /// What a node of the main block makes becomes an input with the values that it has.
  bool freeze() {
    return each(now_.draft.main.nodes.size(), [&](Sketch& s, std::size_t k) {
      if (k >= s.draft.main.nodes.size()) return false;
      for (int v : std::vector<int>(s.draft.main.nodes[k].out)) {
        if (v != kNoValue && !freeze_value(s, v)) return false;
      }
      return true;
    });
  }

  bool freeze_value(Sketch& s, int v) {
    Draft alone = s.draft;
    alone.main.results = {v};
    alone.output_names = {"y"};
    std::map<int, Value> values;
    const auto graph = build(alone, &values);
    if (!graph) return false;
    const Type& type = graph->type(values[v]);
    DraftInput input{fmt::format("f{}", v), s.draft.next++, draft_type(type, graph->scope())};
    for (auto& run : s.runs) {
      const auto results = run_on_reference(*graph, run);
      if (!results) return false;
      run.push_back((*results)[0]);
    }
    if (!type.is_tensor()) {
      const DraftType& item = input.type.item[0];
      if (std::ranges::any_of(item.dims, [](const std::string& d) { return d.contains('?'); })) return false;
    }
    input.type = concrete(input.type, s.runs[0].back());
    replace_uses(s.draft.main, v, input.value);
    s.draft.inputs.push_back(std::move(input));
    return true;
  }

  /// Inputs become constants, or get the extents of the run.
  bool inputs() {
    const bool constants = each(now_.draft.inputs.size(), [](Sketch& s, std::size_t k) {
      if (k >= s.draft.inputs.size() || s.runs.size() != 1 || !s.runs[0][k].is_tensor()) return false;
      const Tensor& t = s.runs[0][k].tensor();
      if (t.count() > 16) return false;
      s.draft.constants.emplace(s.draft.next, t);
      replace_uses(s.draft.main, s.draft.inputs[k].value, s.draft.next++);
      return true;
    });
    const bool extents = each(now_.draft.inputs.size(), [](Sketch& s, std::size_t k) {
      if (k >= s.draft.inputs.size() || s.runs.size() != 1) return false;
      DraftType made = concrete(s.draft.inputs[k].type, s.runs[0][k]);
      if (made.dims == s.draft.inputs[k].type.dims) return false;
      s.draft.inputs[k].type = std::move(made);
      return true;
    });
    return constants || extents;
  }

  /// All inputs and constants that have an axis of extent `from` get `to` there; or only one of them.
  bool extents() {
    bool any = false;
    if (now_.runs.size() != 1) return false;
    for (std::int64_t from : {64, 32, 16, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2}) {
      for (std::int64_t to : {std::int64_t{1}, from / 2, from - 1}) {
        any |= resize(from, to, kNoValue);
      }
      for (const int v : sources()) any |= resize(from, 1, v);
    }
    return any;
  }
  std::vector<int> sources() const {
    std::vector<int> all;
    for (const auto& [v, t] : now_.draft.constants) all.push_back(v);
    for (const DraftInput& input : now_.draft.inputs) all.push_back(input.value);
    return all;
  }

  bool resize(std::int64_t from, std::int64_t to, int only) {
    Sketch copy = now_;
    bool changed = false;
    const auto cut_axes = [&](const Tensor& t) {
      Sizes sizes = t.sizes();
      for (std::int64_t& d : sizes) {
        if (d == from) d = to;
      }
      changed |= sizes != t.sizes();
      return cut(t, sizes);
    };
    for (auto& [v, t] : copy.draft.constants) {
      if (only == kNoValue || only == v) t = cut_axes(t);
    }
    for (std::size_t i = 0; i < copy.draft.inputs.size(); ++i) {
      Datum& value = copy.runs[0][i];
      if (!value.is_tensor() || (only != kNoValue && only != copy.draft.inputs[i].value)) continue;
      value = Datum(cut_axes(value.tensor()));
      for (std::string& d : copy.draft.inputs[i].type.dims) {
        if (d == std::to_string(from)) d = std::to_string(to);
      }
    }
    return changed && keep(std::move(copy));
  }

  bool attributes() {
    bool any = false;
    for (std::size_t n = nodes_of(now_.draft).size(); n-- > 0;) {
      const DraftNode* node = n < nodes_of(now_.draft).size() ? nodes_of(now_.draft)[n] : nullptr;
      for (std::size_t f = 0; node && f < node->op->attrs.fields.size(); ++f) {
        Sketch copy = now_;
        if (reset_attribute(*nodes_of(copy.draft)[n], f)) any |= keep(std::move(copy));
        node = nodes_of(now_.draft)[n];
      }
    }
    return any;
  }
  static bool reset_attribute(DraftNode& node, std::size_t f) {
    const AttrField& field = node.op->attrs.fields[f];
    if (is_always_given(field)) return false;
    const Attrs defaults = default_attrs(*node.op);
    const auto usual = field.get(defaults.get()), mine = field.get(node.attrs.get());
    if (usual.has_value() == mine.has_value() && (!usual || same(*usual, *mine))) return false;
    const std::shared_ptr<void> attrs = node.op->attrs.make();
    for (const AttrField& other : node.op->attrs.fields) {
      const auto value = other.get(node.attrs.get());
      if (&other != &field && value) (void)other.set(attrs.get(), *value);
    }
    node.attrs = attrs;
    return true;
  }

  bool values() {
    bool any = false;
    for (const int v : sources()) {
      const std::int64_t count = tensor_of(now_, v) ? tensor_of(now_, v)->count() : 0;
      bool all = false;
      for (int value : {0, 1}) all = all || set(v, -1, value);
      any |= all;
      for (std::int64_t i = 0; !all && i < std::min<std::int64_t>(count, 16); ++i) any |= set(v, i, 0) || set(v, i, 1);
    }
    return any;
  }
  static Tensor* tensor_of(Sketch& s, int v) {
    if (const auto c = s.draft.constants.find(v); c != s.draft.constants.end()) return &c->second;
    for (std::size_t i = 0; i < s.draft.inputs.size(); ++i) {
      if (s.draft.inputs[i].value == v && s.runs.size() == 1 && s.runs[0][i].is_tensor()) {
        return &s.runs[0][i].mutable_tensor();
      }
    }
    return nullptr;
  }
  bool set(int v, std::int64_t i, int value) {
    Sketch copy = now_;
    Tensor* t = tensor_of(copy, v);
    if (!t || t->count() == 0 || i >= t->count()) return false;
    auto changed = with_element(*t, i, value);
    if (!changed) return false;
    *t = std::move(*changed);
    return keep(std::move(copy));
  }

  Sketch now_;
  std::string kind_;
  const std::function<std::string(const Case&)>& failure_;
  int budget_ = 3000;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(20);
};

std::string datum_str(const Datum& value) {
  if (value.is_tensor()) return literal(value.tensor());
  if (!value.is_sequence()) return "none";
  std::string text;
  for (const Datum& item : value.sequence().items) text += (text.empty() ? "" : ", ") + datum_str(item);
  return "seq(" + text + ")";
}

std::string bindings_str(const std::vector<std::string>& names, const std::vector<Datum>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", names[i], datum_str(values[i]));
  }
  return text;
}

}  // namespace

Case reduce(const Case& c, const std::string& kind, const std::function<std::string(const Case&)>& failure) {
  const Sketch small = Reducer(sketch_of(c), kind, failure).run();
  auto graph = build(small.draft);
  if (!graph) return c;
  return {std::move(*graph), small.runs, small.isa, small.passes};
}

std::string as_test(const Case& c, std::string_view name, bool crashes) {
  std::string text = fmt::format("; case: {}\n{}", name, print(c.graph));
  for (const auto& run : c.runs) {
    const auto want = crashes ? Result<std::vector<Datum>>(fail(Code::internal, "?")) : run_on_reference(c.graph, run);
    text += fmt::format("; run {} => {}\n", bindings_str(c.graph.input_names(), run),
                        want ? bindings_str(c.graph.output_names(), *want) : "error " + want.error().text());
  }
  return text;
}

}  // namespace frazil::fuzz
