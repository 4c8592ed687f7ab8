#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "lazy/memory/spare.h"
#include "lazy/record/counted.h"
#include "lazy/record/known_type.h"
#include "lazy/record/operation.h"
#include "tensor/datum.h"

// Recorded values. A node and what it depends on belong to one thread at a time; only parameters are shared.
namespace frazil::lazy {

/// Where the user's program recorded a node. `file` outlives the program's use of it.
struct Place {
  const char* file = nullptr;  ///< null: unknown
  std::uint32_t line = 0;
  bool operator==(const Place&) const = default;
};

/// What the user gave or a run made: a value, or the values of many nodes, stacked along a first axis.
struct Held : Counted {
  Held() = default;
  ~Held() {
    if (datum.is_tensor()) give_back(std::move(datum.mutable_tensor()));
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Datum datum;
};
using HeldRef = Owner<Held>;

struct Node;

/// One result of a node; does not own it.
struct Ref {
  Node* node = nullptr;  ///< null: an omitted optional input
  std::uint32_t output = 0;
  bool operator==(const Ref&) const = default;
};

struct Output {
  static constexpr std::uint32_t kWhole = ~0U;

  const KnownType* type = nullptr;  ///< null: known once it has run, or no tensor
  HeldRef block;                    ///< none: it has not run
  std::uint32_t row = kWhole;       ///< in a block of stacked values, which then has `type` for each
  Value traced;                     ///< of a traced node

  /// The elements of a tensor that is there.
  const std::byte* data() const { return block->datum.tensor().data() + (row == kWhole ? 0 : row * type->bytes); }
};

enum class NodeKind : std::uint8_t {
  pending,    ///< recorded, not run
  value,      ///< given by the user, or it has run
  parameter,  ///< a value that never changes: a constant of what is compiled
  literal,    ///< a small value that the program's text gives: a constant as long as few are seen in its place
  table_row,  ///< a row of a parameter
  traced,     ///< a value of a graph that is recorded
};

struct Node {
  std::uint32_t refs = 0;
  std::uint32_t sequence = 0;  ///< grows from record to record of a thread, and wraps around
  std::uint32_t depth = 0;     ///< of pending nodes below it
  std::uint16_t inputs = 0, outputs = 0;
  NodeKind kind = NodeKind::pending;
  std::uint8_t size_class = 0;
  bool memoised = false;  ///< its results go to its function's table
  const Operation* operation = nullptr;
  Place place;
  // Scratch of one walk.
  std::uint32_t mark = 0, number = 0, uses = 0;
  union {
    std::uint64_t trace = 0;  ///< of kind traced: the number of the recording that it belongs to
    Node* next_free;          ///< of a node that nothing refers to
  };

  bool pending() const { return kind == NodeKind::pending; }
  bool shared() const { return kind == NodeKind::parameter; }
  std::span<Output> out() { return {reinterpret_cast<Output*>(this + 1), outputs}; }
  std::span<Ref> in() { return {reinterpret_cast<Ref*>(reinterpret_cast<Output*>(this + 1) + outputs), inputs}; }
};

/// Precondition: the reference is not null.
inline const Output& output_of(const Ref& ref) { return ref.node->out()[ref.output]; }

/// A node without inputs set; refs is 0.
Node* make_node(std::size_t outputs, std::size_t inputs);
/// Called when nothing refers to the node any more; lets go of what it refers to.
void free_node(Node* node) noexcept;
/// The node has run: it needs its inputs no more.
void release_inputs(Node& node) noexcept;

inline void keep(Node* node) {
  if (node == nullptr) return;
  if (node->shared()) {
    std::atomic_ref(node->refs).fetch_add(1, std::memory_order_relaxed);
  } else {
    ++node->refs;
  }
}
inline void let_go(Node* node) noexcept {
  if (node == nullptr) return;
  const bool last =
      node->shared() ? std::atomic_ref(node->refs).fetch_sub(1, std::memory_order_acq_rel) == 1 : --node->refs == 0;
  if (last) free_node(node);
}

/// A result of a node that is kept.
class Handle {
 public:
  Handle() = default;
  explicit Handle(Ref ref) : ref_(ref) { keep(ref_.node); }
  Handle(const Handle& other) : Handle(other.ref_) {}
  Handle(Handle&& other) noexcept : ref_(std::exchange(other.ref_, {})) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(ref_, other.ref_);
    return *this;
  }
  ~Handle() { let_go(ref_.node); }

  explicit operator bool() const { return ref_.node != nullptr; }
  Ref ref() const { return ref_; }
  Node* node() const { return ref_.node; }
  Output& output() const { return ref_.node->out()[ref_.output]; }

 private:
  Ref ref_;
};

/// A value that is there.
Handle of_datum(Datum datum, NodeKind kind = NodeKind::value);
/// Row `index` of the first axis of a parameter. Precondition: it has that many.
Handle of_row(const Handle& parameter, std::int64_t index);
/// The value of a result that has run. Rows share the memory of their block.
Datum datum_of(const Output& output);

}  // namespace frazil::lazy
