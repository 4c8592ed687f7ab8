#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/node_runs.h"
#include "plan/plan_writer.h"

namespace frazil {

/// The lowered form of a run of nodes, in numbers of its own, so that it can be put wherever such a run occurs: in an
/// edited graph, in another specialisation, in the next layer of the same model. Immutable.
///
/// Slots are numbered from 0: first those of the run's values that other nodes define (by the value's number in
/// NodeRun::values), then `slots`. Registers are those of `extents`, whose first ones are the run's symbols. Nodes are
/// positions in NodeRun::nodes.
struct Section {
  struct LocalSlot {
    Elem elem = Elem::f32;
    std::uint32_t value = kNone;       ///< what it holds, in NodeRun::values
    bool constant = false;             ///< of the value itself, wherever that has its slot
    std::uint32_t storage_of = kNone;  ///< an earlier slot that it is a view of; kNone: a storage of its own
    Place place = Place::arena;
    Reg bytes = kNoReg;
    std::vector<Reg> shape, strides;
    Reg offset = kNoReg;
  };
  std::uint32_t values = 0;  ///< of the run
  DimProgram extents;
  std::vector<Reg> registers;  ///< in the order in which steps and slots ask for registers
  std::vector<LocalSlot> slots;
  std::vector<Step> steps;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> results;  ///< value, slot
  std::vector<std::string> texts;
  std::vector<std::shared_ptr<const FusedKernel>> fused;
  std::vector<std::uint32_t> stables;  ///< of the nodes that `fused` was made for
};

/// The sections of plans that are in use, by the hash of their runs. Thread-safe.
class SectionCache {
 public:
  /// Null if there is none.
  std::shared_ptr<const Section> find(std::uint64_t hash);
  /// Keeps the section for as long as a plan refers to it.
  void add(std::uint64_t hash, const std::shared_ptr<const Section>& section);
  /// Forgets sections that no plan refers to. add() does so now and then.
  void sweep();
  /// That of the process.
  static SectionCache& shared();

 private:
  void forget_unused();

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<const Section>> sections_;
  std::size_t sweep_at_ = 64;
};

/// Takes down what is written into a plan from now on as a section.
class SectionRecorder {
 public:
  explicit SectionRecorder(PlanWriter& writer);
  ~SectionRecorder();
  SectionRecorder(const SectionRecorder&) = delete;
  SectionRecorder& operator=(const SectionRecorder&) = delete;
  /// What has been written for the run; null where it cannot stand elsewhere, which is never wrong.
  std::shared_ptr<const Section> section(const NodeRun& run);

 private:
  friend class SectionMaker;
  PlanWriter& w_;
  std::vector<Dim> asked_;
  const std::size_t steps_, slots_, storages_, fused_, groups_;
};

/// Writes the section's steps and slots for the run.
void place_section(PlanWriter& writer, const Fusion& fusion, const Section& section, const NodeRun& run);

}  // namespace frazil
