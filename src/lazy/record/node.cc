#include "lazy/record/node.h"

#include <array>
#include <new>
#include <vector>

#include "lazy/program/function.h"

namespace frazil::lazy {
namespace {

constexpr std::size_t kUnit = 64, kNodeClasses = 8;  // pooled sizes: multiples of kUnit

thread_local bool pool_has_ended = false;  // objects in static storage may be destroyed after the thread's pool

/// Freed nodes of a thread, by size.
struct Pool {
  std::array<std::vector<void*>, kNodeClasses> free;
  Pool() {
    for (auto& list : free) list.reserve(kMaxFree);  // so that freeing does not allocate
  }
  ~Pool() {
    pool_has_ended = true;
    for (auto& list : free) {
      for (void* const memory : list) ::operator delete(memory);
    }
  }
  static constexpr std::size_t kMaxFree = 1U << 14U;  // per size
};

/// Returns the thread's pool; null after its destruction.
Pool* pool() {
  if (pool_has_ended) return nullptr;
  thread_local Pool pool;
  return &pool;
}

std::size_t bytes_of(std::size_t outputs, std::size_t inputs) {
  return sizeof(Node) + outputs * sizeof(Output) + inputs * sizeof(Ref);
}

void destroy(Node* node) noexcept {
  for (Output& output : node->out()) output.~Output();
  const std::size_t size_class = node->size_class;
  node->~Node();
  Pool* const kept = size_class == 0 ? nullptr : pool();
  if (kept == nullptr || kept->free[size_class].size() == kept->free[size_class].capacity()) {
    ::operator delete(node);
  } else {
    kept->free[size_class].push_back(node);
  }
}

}  // namespace

Node* make_node(std::size_t outputs, std::size_t inputs) {
  const std::size_t bytes = bytes_of(outputs, inputs), size_class = (bytes + kUnit - 1) / kUnit;
  void* memory = nullptr;
  if (Pool* const kept = size_class < kNodeClasses ? pool() : nullptr) {
    auto& free = kept->free[size_class];
    if (!free.empty()) {
      memory = free.back();
      free.pop_back();
    }
  }
  if (memory == nullptr) memory = ::operator new(size_class * kUnit);
  Node* const node = new (memory) Node;
  node->size_class = static_cast<std::uint8_t>(size_class < kNodeClasses ? size_class : 0);
  node->inputs = static_cast<std::uint16_t>(inputs);
  node->outputs = static_cast<std::uint16_t>(outputs);
  for (Output& output : node->out()) new (&output) Output;
  for (Ref& input : node->in()) new (&input) Ref;
  return node;
}

// Frees a long chain of nodes without recursion: nodes without references wait in a list.
void free_node(Node* node) noexcept {
  thread_local Node* waiting = nullptr;
  thread_local bool busy = false;
  node->next_free = waiting;
  waiting = node;
  if (std::exchange(busy, true)) return;
  while (waiting != nullptr) {
    Node* const next = waiting;
    waiting = next->next_free;
    release_inputs(*next);
    destroy(next);
  }
  busy = false;
}

void release_inputs(Node& node) noexcept {
  const std::span<Ref> inputs = node.in();
  node.inputs = 0;
  for (const Ref& input : inputs) release(input.node);
  const Operation* const operation = std::exchange(node.operation, nullptr);
  if (operation != nullptr && operation->function != nullptr && operation->function->release()) {
    delete operation->function;
  }
}

Handle of_datum(Datum datum, NodeKind kind) {
  Handle handle(Ref{make_node(1, 0), 0});
  Output& output = handle.output();
  if (datum.is_tensor()) output.type = known_type(datum.tensor().elem(), datum.tensor().sizes());
  output.block = HeldRef(new Held);
  output.block->datum = std::move(datum);
  handle.node()->kind = kind;
  return handle;
}

Handle of_row(const Handle& parameter, std::int64_t index) {
  const Output& table = parameter.output();
  Handle handle(Ref{make_node(1, 1), 0});
  Output& output = handle.output();
  output.type = row_type(*table.type);
  output.block = table.block;
  output.row = static_cast<std::uint32_t>(index);
  handle.node()->kind = NodeKind::table_row;
  handle.node()->in()[0] = parameter.ref();
  retain(parameter.node());
  return handle;
}

Datum datum_of(const Output& output) {
  const Held& block = *output.block.get();
  if (output.row == Output::kWhole) return block.datum;
  const auto offset = static_cast<std::size_t>(output.data() - block.datum.tensor().buffer().data());
  const Sizes& sizes = output.type->sizes;
  return Tensor(output.type->elem, sizes, contiguous_strides(sizes), block.datum.tensor().buffer(), offset);
}

}  // namespace frazil::lazy
