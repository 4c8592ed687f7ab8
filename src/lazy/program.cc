#include "lazy/program.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <unordered_map>

#include "base/hash.h"
#include "lazy/append.h"
#include "lazy/around.h"
#include "lazy/extents.h"
#include "pass/batch.h"
#include "pass/join_inputs.h"

namespace frazil::lazy {
namespace {

std::mutex options_mutex;
RunOptions options_now;  // under the mutex

RunOptions run_options() {
  const std::scoped_lock lock(options_mutex);
  return options_now;
}

}  // namespace

void set_run_options(RunOptions options) {
  const std::scoped_lock lock(options_mutex);
  options_now = std::move(options);
}

// ---- running ----

Status Program::make(const std::vector<bool>& stacked, Form& form) const {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i]) positions.push_back(i);
  }
  std::shared_ptr<const Graph> graph = graph_;
  if (!positions.empty()) {
    FRAZIL_TRY(Graph batched, batch(*graph_, positions));
    graph = std::make_shared<const Graph>(std::move(batched));
  }
  FRAZIL_TRY(form.executable, exec::Executable::make(std::move(graph), run_options().options));
  return {};
}

Result<Program::Form*> Program::form(const std::vector<bool>& stacked) {
  const std::scoped_lock lock(mutex_);
  const auto [at, fresh] = forms_.try_emplace(stacked);
  Form& form = at->second;
  if (fresh) {
    if (Status made = make(stacked, form); !made) form.fault = std::move(made).error();
  }
  if (form.fault) return std::unexpected(*form.fault);
  return &form;
}

Status Program::run_form(const std::vector<bool>& stacked, std::span<const Datum> inputs, std::vector<Datum>& outputs,
                         Running& running) {
  FRAZIL_TRY(Form* const form, this->form(stacked));
  std::unique_ptr<exec::Session> session;
  {
    const std::scoped_lock lock(mutex_);
    if (!form->free.empty()) {
      session = std::move(form->free.back());
      form->free.pop_back();
    }
  }
  if (session == nullptr) session = run_options().open(*form->executable);
  running = session.get();
  Status status = session->run(inputs, outputs);
  running = nullptr;
  const std::scoped_lock lock(mutex_);
  form->free.push_back(std::move(session));
  return status;
}

Status Program::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  return run_batch({}, inputs, outputs);
}

Status Program::run_batch(const std::vector<bool>& stacked, std::span<const Datum> inputs,
                          std::vector<Datum>& outputs) {
  Status status;
  Running running = nullptr;
  const auto cancel = [&] {
    if (exec::Session* const session = running) session->cancel();
  };
  unlocked([&] { status = run_form(stacked, inputs, outputs, running); }, cancel);
  return status;
}

std::vector<Datum> Program::lent_results(std::size_t elements) const {
  std::vector<Datum> lent(last_types_.size());
  for (std::size_t k = 0; k < lent.size(); ++k) {
    const KnownType* const type = last_types_[k].load(std::memory_order_acquire);
    if (type == nullptr || type->elem == Elem::string) continue;
    auto memory = spare_tensor(Elem::u8, {static_cast<std::int64_t>(type->bytes * elements)});
    if (memory) lent[k] = std::move(*memory);
  }
  return lent;
}

void Program::remember(std::span<const KnownType* const> types) {
  for (std::size_t k = 0; k < last_types_.size(); ++k) last_types_[k].store(types[k], std::memory_order_release);
}

Result<std::string> Program::explain() {
  Result<std::string> text;
  const auto explain = [&]() -> Result<std::string> {
    FRAZIL_TRY(Form* const itself, form({}));
    return itself->executable->explain();
  };
  unlocked([&] { text = explain(); }, [] {});
  return text;
}

// ---- making ----

namespace {

/// Writes the graph of a cone.
class GraphWriter {
 public:
  GraphWriter(const Cone& cone, bool literals_fixed, Found& found)
      : cone_(cone), literals_fixed_(literals_fixed), found_(found) {}

  Result<Graph> write() {
    for (std::size_t i = 0; i < cone_.leaves.size(); ++i) FRAZIL_CHECK(leaf(static_cast<std::uint32_t>(i)));
    // Numbers of an earlier walk: nodes that several cones have may have others by now.
    for (std::uint32_t i = 0; i < cone_.nodes.size(); ++i) cone_.nodes[i]->number = i;
    for (Node* const node : cone_.nodes) FRAZIL_CHECK(add(*node));
    for (std::size_t k = 0; k < cone_.results.size(); ++k) {
      builder_.output(fmt::format("y{}", k), {&builder_, value_of(cone_.results[k])});
    }
    FRAZIL_CHECK(builder_.status());
    graph_.name = "recorded";
    return std::move(graph_);
  }

 private:
  Status leaf(std::uint32_t index) {
    const Ref& ref = cone_.leaves[index];
    const Output& output = ref.node->out()[ref.output];
    const NodeKind kind = ref.node->kind;
    if (output.type == nullptr) {
      return fail(Code::unsupported, "a sequence, a map or an empty optional cannot be an input of recorded operators");
    }
    if (kind == NodeKind::parameter) found_.parameters.push_back(output.block);
    if (kind == NodeKind::parameter || (kind == NodeKind::literal && literals_fixed_)) {
      leaves_.push_back(builder_.constant(datum_of(output).tensor()).value);
      return {};
    }
    Shape shape = extents_.shape_of(output.type->sizes, builder_);
    leaves_.push_back(
        builder_.input(fmt::format("x{}", index), Type::tensor(output.type->elem, std::move(shape))).value);
    found_.inputs.push_back({index});
    return {};
  }

  Status add(Node& node) {
    std::vector<Value> inputs;
    for (const Ref& input : node.in()) inputs.push_back(value_of(input));
    FRAZIL_TRY(results_.emplace_back(), append(builder_, *node.operation, inputs, node.place));
    return {};
  }

  Value value_of(const Ref& ref) const {
    if (ref.node == nullptr) return {};
    if (ref.node->pending()) return results_[ref.node->number][ref.output];
    return leaves_[static_cast<std::size_t>(std::ranges::find(cone_.leaves, ref) - cone_.leaves.begin())];
  }

  const Cone& cone_;
  const bool literals_fixed_;
  Found& found_;
  Graph graph_;
  Builder builder_{graph_};
  std::vector<Value> leaves_;
  std::vector<std::vector<Value>> results_;  // by node
  Extents extents_;
};

using Key = std::vector<std::uint64_t>;

struct HashOf {
  std::size_t operator()(const Key& key) const {
    Hasher hasher;
    for (const std::uint64_t word : key) hasher.add(word);
    return hasher.value();
  }
};

/// All programs of one structure.
struct Structure {
  static constexpr std::size_t kMostFixed = 4;
  std::vector<std::pair<Key, std::shared_ptr<const Found>>> fixed;  // by the elements of literals
  std::shared_ptr<const Found> general;                             // literals are inputs
  std::list<Key>::iterator place;                                   // among those used lately
};

std::atomic<std::uint64_t> programs_made = 0, programs_found = 0;

class Programs {
 public:
  static Programs& all() {
    static Programs programs;
    return programs;
  }

  Result<std::shared_ptr<const Found>> find(const Cone& cone) {
    bool fixed = true;
    if (auto known = recall(cone, fixed)) {
      ++programs_found;
      return known;
    }
    FRAZIL_TRY(auto made, make(cone, fixed));  // without the mutex: types may be asked of functions of the user
    keep(cone, fixed, made);
    return made;
  }

 private:
  static constexpr std::size_t kMost = 4096;

  /// The program that there is; null: none, and whether the one to make has fixed literals.
  std::shared_ptr<const Found> recall(const Cone& cone, bool& fixed) {
    const std::scoped_lock lock(mutex_);
    const auto at = structures_.find(cone.key);
    if (at == structures_.end()) return nullptr;
    const Structure& structure = at->second;
    recent_.splice(recent_.begin(), recent_, structure.place);
    for (const auto& [literals, found] : structure.fixed) {
      if (literals == cone.literals) return found;
    }
    fixed = structure.fixed.size() < Structure::kMostFixed;
    return fixed ? nullptr : structure.general;
  }

  void keep(const Cone& cone, bool fixed, const std::shared_ptr<const Found>& made) {
    const std::scoped_lock lock(mutex_);
    Structure& structure = structure_of(cone.key);
    if (!fixed) {
      structure.general = made;
      return;
    }
    const bool known =
        std::ranges::any_of(structure.fixed, [&](const auto& each) { return each.first == cone.literals; });
    if (!known && structure.fixed.size() < Structure::kMostFixed) structure.fixed.emplace_back(cone.literals, made);
  }

  Structure& structure_of(const Key& key) {
    const auto at = structures_.find(key);
    if (at != structures_.end()) return at->second;
    if (structures_.size() >= kMost) {
      structures_.erase(recent_.back());
      recent_.pop_back();
    }
    recent_.push_front(key);
    Structure& structure = structures_[key];
    structure.place = recent_.begin();
    return structure;
  }

  static Result<std::shared_ptr<const Found>> make(const Cone& cone, bool literals_fixed) {
    auto found = std::make_shared<Found>();
    FRAZIL_TRY(Graph graph, GraphWriter(cone, literals_fixed, *found).write());
    if (auto joined = join_inputs(graph)) {
      graph = std::move(joined->graph);
      std::vector<std::vector<std::uint32_t>> inputs;
      for (const auto& parts : joined->from) {
        auto& leaves = inputs.emplace_back();
        for (const std::uint32_t part : parts) leaves.push_back(found->inputs[part][0]);
      }
      found->inputs = std::move(inputs);
    }
    found->program = std::make_shared<Program>(std::make_shared<const Graph>(std::move(graph)));
    ++programs_made;
    return found;
  }

  std::mutex mutex_;
  std::unordered_map<Key, Structure, HashOf> structures_;
  std::list<Key> recent_;  // the one used last first
};

}  // namespace

Result<std::shared_ptr<const Found>> find_program(const Cone& cone) { return Programs::all().find(cone); }

ProgramCounts program_counts() { return {.made = programs_made, .found = programs_found}; }

}  // namespace frazil::lazy
