#pragma once

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/edit/patch.h"
#include "ir/text/text.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"
#include "random_program.h"
#include "suite/tiers.h"

// Random edits of random programs. An edited graph equals the graph that its text is parsed to, in its text and in the
// bits of its results, and an edit changes neither the text nor the results of the graph that it starts from.
namespace frazil::test {

class RandomEdits {
 public:
  struct Done {
    std::uint64_t edits = 0, refused = 0, inside = 0, weights = 0, removed = 0, cut = 0, runs = 0, failed = 0;
  };

  /// Edits the program of a seed `edits` times, each time the last version. Returns the first difference.
  std::optional<std::string> check(std::uint64_t seed, int edits) {
    const auto bytes = std::bit_cast<std::array<std::uint8_t, 8>>(seed);
    fuzz::Choices choices(bytes);
    sizes_ = {.wide = 12, .narrow = 5, .ranked = 40, .guards = seed % 4 == 0 ? 2 : 0};
    const fuzz::RandomProgram program = fuzz::random_program(choices, sizes_);
    choices_ = &choices;
    requests_ = &program.requests;
    wrong_.clear();
    auto graph = parse(program.text, [this](std::string_view name) { return fuzz::program_weight(name, sizes_); });
    if (!graph) return graph.error().text();
    auto now = std::make_shared<const Graph>(*std::move(graph));
    for (int k = 0; k < edits && wrong_.empty(); ++k) {
      if (auto next = edit(*now, k)) now = check_edit(now, std::move(*next));
    }
    if (wrong_.empty()) return std::nullopt;
    return fmt::format("seed {}: {}\n{}", seed, wrong_, print(*now));
  }
  const Done& done() const { return done_; }

 private:
  template <class... A>
  void fail(fmt::format_string<A...> format, A&&... args) {
    if (wrong_.empty()) wrong_ = patch_ + ": " + fmt::format(format, std::forward<A>(args)...);
  }

  // ---- one edit ----

  std::optional<Graph> edit(const Graph& graph, int number) {
    Patch patch(graph, fmt::format("edit {}", number));
    std::vector<NodeId> nodes;
    for (const NodeId n : graph.nodes()) {
      if (is_floats(graph, graph.node(n).out[0])) nodes.push_back(n);
    }
    for (std::size_t count = 1 + choices_->below(2); count > 0; --count) {
      change(graph, choices_->pick(nodes), patch, number);
    }
    patch_ = patch.str();
    auto made = std::move(patch).commit();
    ++(made ? done_.edits : done_.refused);  // two changes of one patch may exclude each other
    return made ? std::optional(*std::move(made)) : std::nullopt;
  }

  static bool is_floats(const Graph& graph, Value v) {
    return v && graph.type(v).is_tensor() && graph.type(v).elem == Elem::f32 && graph.type(v).ranked;
  }

  void change(const Graph& graph, NodeId id, Patch& patch, int number) {
    const Node& node = graph.node(id);
    done_.inside += node.parent != Graph::kMain ? 1 : 0;
    switch (choices_->below(6)) {
      case 0: return patch.replace(node.out[0], ops::Sin(patch.tap(node.out[0])));
      case 1: return add_share(node.out[0], patch);
      case 2: return change_weight(graph, node, patch);
      case 3: return leave_out(graph, id, patch);
      case 4: return cut(graph, node.out[0], patch);
      default:
        if (node.parent == Graph::kMain)
          patch.build().output(fmt::format("e{}_{}", number, id.id), patch.tap(node.out[0]));
    }
  }

  void add_share(Value v, Patch& patch) {
    const Expr x = patch.tap(v);
    const Expr share = patch.build().scalar(0.1f + 0.1f * static_cast<float>(choices_->below(7)));
    patch.replace(v, ops::Sin(ops::Add(x, ops::Mul(x, share))));
  }

  /// Leaves rows out: the types of what follows change. Runs may fail where rows meet others.
  void cut(const Graph& graph, Value v, Patch& patch) {
    if (graph.type(v).rank() == 0 || graph.type(v).shape[0].is_const()) return;
    const std::array<std::int64_t, 1> first{0}, end{static_cast<std::int64_t>(20 + choices_->below(60))};
    Builder& b = patch.build();
    patch.replace(v, ops::Slice(patch.tap(v), b.ints(first), b.ints(end)));
    ++done_.cut;
  }

  void change_weight(const Graph& graph, const Node& node, Patch& patch) {
    for (const Value v : node.in) {
      const Constant* const constant = v ? graph.constant(v) : nullptr;
      if (constant == nullptr || constant->tensor.elem() != Elem::f32) continue;
      const Tensor packed = constant->tensor.packed().value();
      Tensor other = Tensor::make(Elem::f32, packed.sizes()).value();
      std::ranges::transform(packed.as<float>(), other.as_mutable<float>().begin(), [](float x) { return 0.75f * x; });
      patch.replace(v, patch.build().constant(std::move(other), graph.value_name(v).empty() ? "" : "changed"));
      ++done_.weights;
      return;
    }
  }

  /// Uses an operand of the same type instead of the result.
  void leave_out(const Graph& graph, NodeId id, Patch& patch) {
    const Node& node = graph.node(id);
    if (node.out.size() != 1 || !node.blocks.empty()) return;
    for (const Value v : node.in) {
      if (!v || graph.constant(v) != nullptr || graph.type(v) != graph.type(node.out[0])) continue;
      patch.replace(node.out[0], patch.tap(v));
      patch.remove(id);
      ++done_.removed;
      return;
    }
  }

  // ---- what it must not change, and what it must equal ----

  std::shared_ptr<const Graph> check_edit(const std::shared_ptr<const Graph>& before, Graph made) {
    const std::string text_before = print(*before);
    const std::size_t which = choices_->below(requests_->size());
    const auto old_plan = planned(before);
    const auto old_answer = old_plan == nullptr ? std::nullopt : run(*old_plan, which);
    const auto after = std::make_shared<const Graph>(std::move(made));
    compare(after, parsed(*after), which);
    if (print(*before) != text_before) fail("the graph before the edit has changed");
    if (old_plan != nullptr && run(*old_plan, which) != old_answer) fail("the results before the edit have changed");
    return after;
  }

  /// The same graph from its text.
  std::shared_ptr<const Graph> parsed(const Graph& graph) {
    const auto weights = weights_of(graph);
    auto made = parse(print(graph), [&](std::string_view name) {
      const auto at = weights.find(name);
      return at == weights.end() ? Tensor() : at->second;
    });
    if (made) return std::make_shared<const Graph>(*std::move(made));
    fail("its text does not parse: {}", made.error().text());
    return nullptr;
  }

  void compare(const std::shared_ptr<const Graph>& edited, const std::shared_ptr<const Graph>& fresh,
               std::size_t which) {
    if (fresh == nullptr) return;
    if (print(*edited) != print(*fresh)) fail("its text differs from that of the graph from nothing");
    const auto a = planned(edited), b = planned(fresh);
    if (a == nullptr || b == nullptr) return;
    const auto got = run(*a, which), want = run(*b, which);
    if (got.has_value() != want.has_value()) return fail("only one of the two runs");
    if (got && *got != *want) fail("its results differ from those of the graph from nothing");
  }

  std::shared_ptr<Executable> planned(const std::shared_ptr<const Graph>& graph) {
    auto made = Executable::make(graph, {.verify = 1});
    if (made) return *made;
    fail("planning: {}", made.error().text());
    return nullptr;
  }

  /// The bytes of all results; nullopt for a run that fails.
  std::optional<std::string> run(Executable& executable, std::size_t which) {
    ++done_.runs;
    const auto results = executable.open()->run((*requests_)[which]);
    if (!results) return ++done_.failed, std::nullopt;
    std::string bytes;
    for (const Datum& d : *results) {
      const Tensor packed = d.tensor().packed().value();
      bytes += type_str(packed.elem(), packed.sizes());
      bytes.append(reinterpret_cast<const char*>(packed.data()), packed.bytes());
    }
    return bytes;
  }

  fuzz::ProgramSizes sizes_;
  fuzz::Choices* choices_ = nullptr;
  const std::vector<std::vector<Datum>>* requests_ = nullptr;
  std::string patch_, wrong_;
  Done done_;
};

}  // namespace frazil::test
