#include "lazy/program.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <unordered_map>

#include "base/hash.h"
#include "base/mutex.h"
#include "lazy/append.h"
#include "lazy/around.h"
#include "lazy/extents.h"
#include "pass/batch.h"
#include "pass/join_inputs.h"

namespace frazil::lazy {
namespace {

Mutex options_mutex;
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
    FRAZIL_TRY(Graph batched, pass::batch(*graph_, positions));
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
  session->set_stop(&running.stop);
  running.session = session.get();
  Status status = session->run(inputs, outputs);
  running.session = nullptr;
  session->set_stop(nullptr);
  const std::scoped_lock lock(mutex_);
  form->free.push_back(std::move(session));
  return status;
}

Status Program::ready() {
  std::optional<Fault> fault;
  unlocked(
      [&] {
        if (const auto made = form({}); !made) fault = made.error();
      },
      [] {});
  if (fault) return std::unexpected(*std::move(fault));
  return {};
}

Status Program::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  return run_batch({}, inputs, outputs);
}

Status Program::run_batch(const std::vector<bool>& stacked, std::span<const Datum> inputs,
                          std::vector<Datum>& outputs) {
  Status status;
  Running running;
  const auto cancel = [&] {
    running.stop.exchange(true, std::memory_order_acq_rel);
    if (exec::Session* const session = running.session) session->cancel();
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
    const Sizes& sizes = output.type->sizes;
    Shape shape = kind == NodeKind::literal ? Shape(sizes.begin(), sizes.end()) : extents_.shape_of(sizes, builder_);
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

/// All programs of one structure.
struct Structure {
  static constexpr std::size_t kMostFixed = 4;
  std::vector<std::pair<Key, std::shared_ptr<const Found>>> fixed;  // by the elements of literals
  std::shared_ptr<const Found> general;                             // literals are inputs
  bool needs_literals = false;                                      // there is no general program
  std::list<Key>::iterator place;                                   // among those used lately
};

/// How a program has the literals of a cone.
enum class Literals : std::uint8_t {
  few,     ///< as constants, beside other programs of the structure
  inputs,  ///< as inputs
  own,     ///< as constants, in a structure of its own, as there is no program with inputs
};

/// The structure of a cone with its literals.
Key own_key(const Cone& cone) {
  Key key = cone.key;
  key.push_back(~std::uint64_t{0});  // follows no key of a cone
  key.insert(key.end(), cone.literals.begin(), cone.literals.end());
  return key;
}

std::atomic<std::uint64_t> programs_made = 0, programs_found = 0;

class Programs {
 public:
  static Programs& all() {
    static Programs programs;
    return programs;
  }

  Result<std::shared_ptr<const Found>> find(const Cone& cone) {
    for (;;) {
      Literals literals = Literals::few;
      if (auto known = recall(cone, literals)) {
        ++programs_found;
        return known;
      }
      // Without the mutex: types may be asked of functions of the user.
      auto made = make(cone, literals != Literals::inputs);
      if (made) {
        keep(cone, literals, *made);
        return made;
      }
      if (literals != Literals::inputs) return made;
      const std::scoped_lock lock(mutex_);
      structure_of(cone.key).needs_literals = true;
    }
  }

 private:
  static constexpr std::size_t kMost = 4096;

  Structure* used(const Key& key) {
    const auto at = structures_.find(key);
    if (at == structures_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, at->second.place);
    return &at->second;
  }

  static std::shared_ptr<const Found> fixed_in(const Structure& structure, const Cone& cone) {
    for (const auto& [literals, found] : structure.fixed) {
      if (literals == cone.literals) return found;
    }
    return nullptr;
  }

  /// The program that there is; null: none, and how the one to make has literals.
  std::shared_ptr<const Found> recall(const Cone& cone, Literals& literals) {
    const std::scoped_lock lock(mutex_);
    const Structure* structure = used(cone.key);
    if (structure == nullptr) return nullptr;
    if (auto found = fixed_in(*structure, cone)) return found;
    if (structure->fixed.size() < Structure::kMostFixed) return nullptr;
    literals = structure->needs_literals ? Literals::own : Literals::inputs;
    if (literals == Literals::inputs) return structure->general;
    structure = used(own_key(cone));
    return structure == nullptr ? nullptr : fixed_in(*structure, cone);
  }

  void keep(const Cone& cone, Literals literals, const std::shared_ptr<const Found>& made) {
    const std::scoped_lock lock(mutex_);
    Structure& structure = structure_of(literals == Literals::own ? own_key(cone) : cone.key);
    if (literals == Literals::inputs) {
      structure.general = made;
    } else if (fixed_in(structure, cone) == nullptr && structure.fixed.size() < Structure::kMostFixed) {
      structure.fixed.emplace_back(cone.literals, made);
    }
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
    if (auto joined = pass::join_inputs(graph)) {
      graph = std::move(joined->graph);
      std::vector<std::vector<std::uint32_t>> inputs;
      for (const auto& parts : joined->from) {
        auto& leaves = inputs.emplace_back();
        for (const std::uint32_t part : parts) leaves.push_back(found->inputs[part][0]);
      }
      found->inputs = std::move(inputs);
    }
    found->program = std::make_shared<Program>(std::make_shared<const Graph>(std::move(graph)));
    if (!literals_fixed) FRAZIL_CHECK(found->program->ready());
    ++programs_made;
    return found;
  }

  Mutex mutex_;
  std::unordered_map<Key, Structure, HashOfWords> structures_;
  std::list<Key> recent_;  // the one used last first
};

}  // namespace

Result<std::shared_ptr<const Found>> find_program(const Cone& cone) { return Programs::all().find(cone); }

ProgramCounts program_counts() { return {.made = programs_made, .found = programs_found}; }

}  // namespace frazil::lazy
