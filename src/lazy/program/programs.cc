#include "lazy/program/programs.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <unordered_map>

#include "base/os/knobs.h"
#include "base/thread/mutex.h"
#include "base/value/hash.h"
#include "lazy/program/append.h"
#include "lazy/program/function.h"
#include "lazy/record/extents.h"
#include "pass/loops/join_inputs.h"

namespace frazil::lazy {
namespace {

/// A writer of the graph of a cone.
class GraphWriter {
 public:
  GraphWriter(const Cone& cone, bool literals_fixed, Found& found)
      : cone_(cone), literals_fixed_(literals_fixed), found_(found) {}

  Result<Graph> write() {
    for (std::size_t i = 0; i < cone_.leaves.size(); ++i) FRAZIL_CHECK(leaf(static_cast<std::uint32_t>(i)));
    // Other cones may share these nodes, and their walks number the nodes differently.
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
  static constexpr std::size_t kMaxFixed = 4;
  std::vector<std::pair<Key, std::shared_ptr<const Found>>> fixed;  // by the elements of literals
  std::shared_ptr<const Found> general;                             // literals are inputs
  bool needs_literals = false;                                      // a general program cannot be made
  std::list<Key>::iterator place;                                   // in Programs::recent_

  template <class F>
  void each_program(F&& visit) const {
    for (const auto& [literals, found] : fixed) visit(*found->program);
    if (general != nullptr) visit(*general->program);
  }
};

/// The form of a cone's literals in a program.
enum class Literals : std::uint8_t {
  few,     ///< constants, in one of several programs of the structure
  inputs,  ///< inputs
  own,     ///< constants, in a structure of its own, because the program with inputs cannot be made
};

/// Returns the key of a cone's structure together with its literals.
Key own_key(const Cone& cone) {
  Key key = cone.key;
  key.push_back(~std::uint64_t{0});  // a separator: no cone's key continues with it
  key.insert(key.end(), cone.literals.begin(), cone.literals.end());
  return key;
}

/// The time of runs without a program, by structure. If two structures share a slot or a hash, their programs are only
/// made earlier or later. Thread-safe.
class Trials {
 public:
  std::chrono::nanoseconds time(std::uint64_t structure) {
    const std::scoped_lock lock(mutex_);
    const Trial& trial = trial_of(structure);
    return trial.structure == structure ? trial.time : std::chrono::nanoseconds(0);
  }
  void add(std::uint64_t structure, std::chrono::nanoseconds time) {
    const std::scoped_lock lock(mutex_);
    Trial& trial = trial_of(structure);
    if (trial.structure != structure) trial = {structure, {}};
    trial.time += time;
  }

 private:
  struct Trial {
    std::uint64_t structure = 0;
    std::chrono::nanoseconds time{0};
  };
  static constexpr std::size_t kMaximum = 1U << 13U;

  Trial& trial_of(std::uint64_t structure) { return trials_[structure % kMaximum]; }

  Mutex mutex_;
  std::vector<Trial> trials_ = std::vector<Trial>(kMaximum);
};

/// Estimates how long making a program takes, from the nodes of its graph: 60 us, and 20 us per node. Measured on the
/// machine of docs/measurements.md.
std::chrono::nanoseconds time_to_make(const Cone& cone) {
  constexpr std::chrono::microseconds kProgram(60), kNode(20);
  std::size_t nodes = 0;
  for (const Node* const node : cone.nodes) {
    const Function* const function = node->operation->function;
    nodes += function == nullptr ? 1 : function->graph().node_count();
  }
  return kProgram + nodes * kNode;
}

enum class Make : std::uint8_t { always, where_it_pays };

class Programs {
 public:
  static Programs& all() {
    static Programs programs;
    return programs;
  }

  Result<ProgramLookup> find(const Cone& cone, Make when) {
    for (;;) {
      Literals literals = Literals::few;
      if (auto known = recall(cone, literals)) {
        ++found_;
        return ProgramLookup{std::move(known)};
      }
      if (when == Make::where_it_pays) {
        const std::uint64_t structure = HashOfWords{}(literals == Literals::own ? own_key(cone) : cone.key);
        if (!pays(cone, structure)) return ProgramLookup{nullptr, structure};
      }
      // The mutex is free here, because type rules may call functions of the user.
      auto made = make(cone, literals != Literals::inputs);
      if (made) {
        ++made_;
        keep(cone, literals, *made);
        return ProgramLookup{*std::move(made)};
      }
      if (literals != Literals::inputs) return std::unexpected(std::move(made).error());
      const std::scoped_lock lock(mutex_);
      structure_of(cone.key).needs_literals = true;
    }
  }

  void ran_without(std::uint64_t structure, std::chrono::nanoseconds time) {
    ++without_;
    trials_.add(structure, time);
  }

  ProgramCounts counts() {
    const std::scoped_lock lock(mutex_);
    ProgramCounts counts = kept_now();
    counts.made = made_;
    counts.found = found_;
    counts.without = without_;
    return counts;
  }

 private:
  static constexpr std::size_t kMaximum = 4096;
  static constexpr std::size_t kRecentStructures = 16;          // the most recent structures, which keep their sessions
  static constexpr std::size_t kMaxSessionBytes = 256U << 20U;  // of all sessions

  bool pays(const Cone& cone, std::uint64_t structure) {
    return cone.nodes.size() == 1 || has_large_results(cone.nodes) || trials_.time(structure) >= time_to_make(cone);
  }

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

  /// Returns the existing program. Otherwise returns null and sets the form of literals in the program to make.
  std::shared_ptr<const Found> recall(const Cone& cone, Literals& literals) {
    const std::scoped_lock lock(mutex_);
    const Structure* structure = used(cone.key);
    if (structure == nullptr) return nullptr;
    if (auto found = fixed_in(*structure, cone)) return found;
    if (structure->fixed.size() < Structure::kMaxFixed) return nullptr;
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
    } else if (fixed_in(structure, cone) == nullptr && structure.fixed.size() < Structure::kMaxFixed) {
      structure.fixed.emplace_back(cone.literals, made);
    }
    if (++made_since_bounded_ >= kRecentStructures) bound();
  }

  Structure& structure_of(const Key& key) {
    const auto at = structures_.find(key);
    if (at != structures_.end()) return at->second;
    if (structures_.size() >= kMaximum) forget_last();
    recent_.push_front(key);
    Structure& structure = structures_[key];
    structure.place = recent_.begin();
    return structure;
  }

  void forget_last() {
    structures_.erase(recent_.back());
    recent_.pop_back();
  }

  ProgramCounts kept_now() const {
    ProgramCounts counts{.kept = structures_.size()};
    for (const auto& [key, structure] : structures_) {
      structure.each_program([&](const Program& program) {
        counts.kept_bytes += program.bytes();
        counts.session_bytes += program.session_bytes();
      });
    }
    return counts;
  }

  /// Closes sessions and drops programs, least recently used first, until all bounds hold.
  void bound() {
    made_since_bounded_ = 0;
    const std::size_t most = knobs() ? knobs()->lazy_bytes : Knobs{}.lazy_bytes;
    ProgramCounts counts = kept_now();
    while (counts.kept_bytes > most && structures_.size() > kRecentStructures) {
      structures_.at(recent_.back()).each_program([&](const Program& program) {
        counts.kept_bytes -= program.bytes();
        counts.session_bytes -= program.session_bytes();
      });
      forget_last();
    }
    std::size_t left = structures_.size();
    for (auto key = recent_.rbegin(); counts.session_bytes > kMaxSessionBytes && left > kRecentStructures;
         ++key, --left) {
      structures_.at(*key).each_program([&](Program& program) {
        counts.session_bytes -= program.session_bytes();
        program.close_sessions();
      });
    }
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
    return found;
  }

  Mutex mutex_;
  std::unordered_map<Key, Structure, HashOfWords> structures_;
  std::list<Key> recent_;  // most recently used first
  std::size_t made_since_bounded_ = 0;
  std::atomic<std::uint64_t> made_ = 0, found_ = 0, without_ = 0;
  Trials trials_;
};

}  // namespace

Result<std::shared_ptr<const Found>> find_program(const Cone& cone) {
  FRAZIL_TRY(ProgramLookup sought, Programs::all().find(cone, Make::always));
  return std::move(sought.program);
}

Result<ProgramLookup> seek_program(const Cone& cone) { return Programs::all().find(cone, Make::where_it_pays); }

void ran_without_program(std::uint64_t structure, std::chrono::nanoseconds time) {
  Programs::all().ran_without(structure, time);
}

ProgramCounts program_counts() { return Programs::all().counts(); }

}  // namespace frazil::lazy
