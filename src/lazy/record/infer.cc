#include "lazy/record/infer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "base/value/hash.h"
#include "lazy/program/append.h"

namespace frazil::lazy {
namespace {

using Types = std::vector<const KnownType*>;

/// The last types of an operation. Most calls have the same again.
struct Last {
  static constexpr std::size_t kMaxTypes = 6;
  std::array<const KnownType*, kMaxTypes> types{};  // inputs, then results
  std::uint8_t inputs = 0, outputs = 0;
  bool set = false;
};

/// The cache of a thread.
struct Memory {
  static constexpr std::size_t kMaxTypes = 1U << 13U, kMaxOperations = 1U << 16U;
  std::vector<Last> last;
  std::unordered_map<std::vector<std::uint64_t>, Types, HashOfWords> all;
};

Memory& memory() {
  thread_local Memory memory;
  return memory;
}

bool is_literal(const Ref& input) { return input.node != nullptr && input.node->kind == NodeKind::literal; }

const KnownType* type_of(const Ref& input) {
  return input.node == nullptr ? nullptr : input.node->out()[input.output].type;
}

/// Returns true if all inputs have a type, none is a literal, on whose value results may depend, and the types fit into
/// Last.
bool is_plain(Node& node) {
  return node.inputs + node.outputs <= Last::kMaxTypes &&
         std::ranges::all_of(node.in(), [](const Ref& i) { return type_of(i) != nullptr && !is_literal(i); });
}

bool recall(const Last& last, Node& node) {
  if (!last.set || last.inputs != node.inputs || last.outputs != node.outputs) return false;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (last.types[i] != type_of(node.in()[i])) return false;
  }
  for (std::size_t k = 0; k < node.outputs; ++k) node.out()[k].type = last.types[node.inputs + k];
  return true;
}

void remember(Last& last, Node& node) {
  last.inputs = static_cast<std::uint8_t>(node.inputs);
  last.outputs = static_cast<std::uint8_t>(node.outputs);
  for (std::size_t i = 0; i < node.inputs; ++i) last.types[i] = type_of(node.in()[i]);
  for (std::size_t k = 0; k < node.outputs; ++k) last.types[node.inputs + k] = node.out()[k].type;
  last.set = true;
}

/// Returns the operation, the types, and the elements of literals.
std::vector<std::uint64_t> key_of(Node& node) {
  std::vector<std::uint64_t> key{node.operation->id};
  for (const Ref& input : node.in()) {
    key.push_back(reinterpret_cast<std::uint64_t>(type_of(input)));
    if (!is_literal(input)) continue;
    const Output& output = input.node->out()[input.output];
    for (std::size_t at = 0; at < output.type->bytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::copy_n(output.data() + at, std::min(sizeof word, output.type->bytes - at),
                  reinterpret_cast<std::byte*>(&word));
      key.push_back(word);
    }
  }
  return key;
}

const KnownType* known_type_of(const Type& type) {
  if (!type.is_tensor() || !type.ranked) return nullptr;
  Sizes sizes;
  for (const Dim dim : type.shape) {
    if (!dim.is_const()) return nullptr;
    sizes.push_back(dim.value());
  }
  return known_type(type.elem, sizes);
}

Result<Types> inferred(Node& node) {
  Graph graph;
  Builder builder(graph);
  std::vector<Value> inputs;
  for (const Ref& input : node.in()) {
    const KnownType* const type = type_of(input);
    if (input.node == nullptr) {
      inputs.emplace_back();
    } else if (is_literal(input)) {
      inputs.push_back(builder.constant(input.node->out()[0].block->datum.tensor()).value);
    } else {
      inputs.push_back(builder
                           .input(fmt::format("x{}", inputs.size()),
                                  Type::tensor(type->elem, {type->sizes.begin(), type->sizes.end()}))
                           .value);
    }
  }
  FRAZIL_TRY(const std::vector<Value> results, append(builder, *node.operation, inputs, node.place));
  Types types;
  for (const Value result : results) types.push_back(known_type_of(graph.type(result)));
  return types;
}

Status infer_anew(Node& node) {
  Memory& known = memory();
  std::vector<std::uint64_t> key = key_of(node);
  auto at = known.all.find(key);
  if (at == known.all.end()) {
    FRAZIL_TRY(Types types, inferred(node));
    if (known.all.size() >= Memory::kMaxTypes) known.all.clear();
    at = known.all.emplace(std::move(key), std::move(types)).first;
  }
  for (std::size_t k = 0; k < node.outputs; ++k) node.out()[k].type = at->second[k];
  return {};
}

}  // namespace

Status infer_types(Node& node) {
  const bool typed = std::ranges::all_of(node.in(), [](const Ref& i) { return i.node == nullptr || type_of(i); });
  if (!typed) return {};
  const std::uint32_t id = node.operation->id;
  if (!is_plain(node) || id >= Memory::kMaxOperations) return infer_anew(node);
  std::vector<Last>& last = memory().last;
  if (id >= last.size()) last.resize(id + 1);
  if (recall(last[id], node)) return {};
  FRAZIL_CHECK(infer_anew(node));
  remember(last[id], node);
  return {};
}

}  // namespace frazil::lazy
