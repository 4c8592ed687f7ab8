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

// Recorded values. A node and the nodes that it depends on belong to one thread at a time; only parameters are shared.
namespace frazil::lazy {

/// The place where the user's program recorded a node. `file` must outlive all uses.
struct Place {
  const char* file = nullptr;  ///< null: unknown
  std::uint32_t line = 0;
  bool operator==(const Place&) const = default;
};

/// A value that the user gave or a run made, or the values of many nodes, stacked along a first axis.
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

/// A result of a node. Does not own the node.
struct Ref {
  Node* node = nullptr;  ///< null: an omitted optional input
  std::uint32_t output = 0;
  bool operator==(const Ref&) const = default;
};

struct Output {
  static constexpr std::uint32_t kWhole = ~0U;

  const KnownType* type = nullptr;  ///< null: unknown until it has run, or not a tensor
  HeldRef block;                    ///< null: it has not run
  std::uint32_t row = kWhole;       ///< row in a block of stacked values, each of type `type`
  Value traced;                     ///< value in the graph, for a traced node

  /// Returns the elements of a computed tensor.
  const std::byte* data() const { return block->datum.tensor().data() + (row == kWhole ? 0 : row * type->bytes); }
};

enum class NodeKind : std::uint8_t {
  pending,    ///< recorded, not run
  value,      ///< given by the user, or computed
  parameter,  ///< a value that never changes: a constant in compiled programs
  literal,  ///< a small value from the program's text: a constant as long as few different values are seen in its place
  table_row,  ///< a row of a parameter
  traced,     ///< a value of a graph that is being recorded
};

struct Node {
  std::uint32_t refs = 0;
  std::uint32_t sequence = 0;  ///< increases from record to record of a thread, and wraps around
  std::uint32_t depth = 0;     ///< length of the longest chain of pending nodes below it
  std::uint16_t inputs = 0, outputs = 0;
  NodeKind kind = NodeKind::pending;
  std::uint8_t size_class = 0;
  bool memoised = false;  ///< its results go to its function's table
  const Operation* operation = nullptr;
  Place place;
  // Scratch data of one walk.
  std::uint32_t mark = 0, number = 0, uses = 0;
  union {
    std::uint64_t trace = 0;  ///< kind traced: the number of its recording
    Node* next_free;          ///< a freed node: the next one in the list
  };

  bool pending() const { return kind == NodeKind::pending; }
  bool shared() const { return kind == NodeKind::parameter; }
  std::span<Output> out() { return {reinterpret_cast<Output*>(this + 1), outputs}; }
  std::span<Ref> in() { return {reinterpret_cast<Ref*>(reinterpret_cast<Output*>(this + 1) + outputs), inputs}; }
};

/// Returns the output of a reference. Precondition: the reference is not null.
inline const Output& output_of(const Ref& ref) { return ref.node->out()[ref.output]; }

/// Makes a node with unset inputs and no references.
Node* make_node(std::size_t outputs, std::size_t inputs);
/// Frees a node without references. Releases the nodes that it refers to.
void free_node(Node* node) noexcept;
/// Releases the inputs of a node that has run.
void release_inputs(Node& node) noexcept;

inline void retain(Node* node) {
  if (node == nullptr) return;
  if (node->shared()) {
    std::atomic_ref(node->refs).fetch_add(1, std::memory_order_relaxed);
  } else {
    ++node->refs;
  }
}
inline void release(Node* node) noexcept {
  if (node == nullptr) return;
  const bool last =
      node->shared() ? std::atomic_ref(node->refs).fetch_sub(1, std::memory_order_acq_rel) == 1 : --node->refs == 0;
  if (last) free_node(node);
}

/// A result of a node; keeps the node alive.
class Handle {
 public:
  Handle() = default;
  explicit Handle(Ref ref) : ref_(ref) { retain(ref_.node); }
  Handle(const Handle& other) : Handle(other.ref_) {}
  Handle(Handle&& other) noexcept : ref_(std::exchange(other.ref_, {})) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(ref_, other.ref_);
    return *this;
  }
  ~Handle() { release(ref_.node); }

  explicit operator bool() const { return ref_.node != nullptr; }
  Ref ref() const { return ref_; }
  Node* node() const { return ref_.node; }
  Output& output() const { return ref_.node->out()[ref_.output]; }

 private:
  Ref ref_;
};

/// Makes a node with a computed value.
Handle of_datum(Datum datum, NodeKind kind = NodeKind::value);
/// Makes a node for row `index` of a parameter, along its first axis. Precondition: the row exists.
Handle of_row(const Handle& parameter, std::int64_t index);
/// Returns the value of a computed result. Rows share the memory of their block.
Datum datum_of(const Output& output);

}  // namespace frazil::lazy
