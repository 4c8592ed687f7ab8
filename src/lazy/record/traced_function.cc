#include "lazy/record/traced_function.h"

#include <algorithm>

#include "lazy/program/run.h"
#include "lazy/record/extents.h"
#include "lazy/record/trace.h"

namespace frazil::lazy {
namespace {

Result<const KnownType*> type_of(const Ref& ref, std::size_t argument) {
  if (ref.node == nullptr) return fail(Code::bad_input, "argument {} of a function is omitted", argument);
  const Output& output = ref.node->out()[ref.output];
  if (output.type == nullptr) FRAZIL_CHECK(run(ref));
  if (output.type == nullptr) return fail(Code::unsupported, "argument {} of a function is not a tensor", argument);
  return output.type;
}

Result<std::vector<std::uint64_t>> signature_of(std::span<const Ref> arguments) {
  std::vector<std::uint64_t> signature;
  Extents extents;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    FRAZIL_TRY(const KnownType* const type, type_of(arguments[i], i));
    signature.push_back(static_cast<std::uint64_t>(type->elem) << 32U | type->sizes.size());
    for (const std::int64_t extent : type->sizes) signature.push_back(extents.class_of(extent));
  }
  return signature;
}

std::string name_of(const std::function<std::string(std::size_t)>& naming, char letter, std::size_t position) {
  return naming ? naming(position) : fmt::format("{}{}", letter, position);
}

}  // namespace

Result<Graph> TracedFunction::trace(std::span<const Ref> like, const Names& names) const {
  Trace trace(name_);
  Extents extents;
  std::vector<Handle> arguments;
  for (std::size_t i = 0; i < like.size(); ++i) {
    FRAZIL_TRY(const KnownType* const type, type_of(like[i], i));
    arguments.push_back(
        trace.input(name_of(names.input, 'x', i), Type::tensor(type->elem, extents.shape_of(type->sizes, trace.to()))));
  }
  FRAZIL_TRY(const std::vector<Handle> results, body_(arguments));
  for (std::size_t k = 0; k < results.size(); ++k) {
    FRAZIL_TRY(const Value value, trace.value_of(results[k].ref()));
    if (!value) return fail(Code::bad_input, "function '{}' returns an omitted array", name_);
    trace.to().output(name_of(names.output, 'y', k), {&trace.to(), value});
  }
  FRAZIL_CHECK(trace.to().status());
  return trace.take();
}

Result<const Function*> TracedFunction::graph_for(std::span<const Ref> arguments) {
  const Last* const last = last_.load(std::memory_order_acquire);
  if (last != nullptr && is_for(*last, arguments)) return last->function;
  FRAZIL_TRY(const Signature signature, signature_of(arguments));
  FRAZIL_TRY(const Function* const found, find_or_make(signature, arguments));
  remember(arguments, *found);
  return found;
}

bool TracedFunction::is_for(const Last& known, std::span<const Ref> arguments) {
  if (known.count != arguments.size()) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Ref& argument = arguments[i];
    if (argument.node == nullptr || argument.node->out()[argument.output].type != known.types[i]) return false;
  }
  return true;
}

Result<const Function*> TracedFunction::find_or_make(const Signature& signature, std::span<const Ref> arguments) {
  {
    const std::scoped_lock lock(mutex_);
    const auto at = graphs_.find(signature);
    if (at != graphs_.end()) return at->second.get();
  }
  FRAZIL_TRY(Graph graph, trace(arguments));
  const Owner made(new Function(std::move(graph)));
  const std::scoped_lock lock(mutex_);
  return graphs_.try_emplace(signature, made).first->second.get();
}

void TracedFunction::remember(std::span<const Ref> arguments, const Function& function) {
  constexpr std::size_t kMaxLasts = 64;
  const std::scoped_lock lock(mutex_);
  if (arguments.size() > Last::kMaxTypes || lasts_.size() >= kMaxLasts) return;
  Last& now = lasts_.emplace_back();
  for (const Ref& argument : arguments) now.types[now.count++] = argument.node->out()[argument.output].type;
  now.function = &function;
  last_.store(&now, std::memory_order_release);
}

}  // namespace frazil::lazy
