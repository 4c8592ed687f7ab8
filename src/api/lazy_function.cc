#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include <frazil/lazy.h>

#include "api/access.h"
#include "api/bind.h"
#include "api/lazy_access.h"
#include "lazy/function.h"
#include "lazy/record.h"
#include "lazy/run.h"
#include "lazy/trace.h"

namespace frazil::api {
namespace {

using lazy::Handle;
using lazy::Ref;
using lazy::Trace;

/// A graph for each class of arguments: element types, ranks, and which extents are 0, 1 or equal.
using Signature = std::vector<std::uint64_t>;

const lazy::KnownType& type_of(const Ref& ref, std::size_t argument) {
  if (ref.node == nullptr) refuse(frazil::Code::bad_input, "argument {} of a function is omitted", argument);
  const lazy::Output& output = ref.node->out()[ref.output];
  if (output.type == nullptr) check(lazy::run(ref));
  if (output.type == nullptr) refuse(frazil::Code::unsupported, "argument {} of a function is no tensor", argument);
  return *output.type;
}

/// Numbers extents: 0 and 1 are themselves, equal ones are one symbol.
class Extents {
 public:
  std::uint64_t class_of(std::int64_t extent) {
    if (extent <= 1) return static_cast<std::uint64_t>(extent);
    const auto at = std::ranges::find(seen_, extent);
    const auto number = static_cast<std::uint64_t>(at - seen_.begin());
    if (at == seen_.end()) seen_.push_back(extent);
    return number + 2;
  }

 private:
  std::vector<std::int64_t> seen_;
};

Signature signature_of(std::span<const Ref> arguments) {
  Signature signature;
  Extents extents;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const lazy::KnownType& type = type_of(arguments[i], i);
    signature.push_back(static_cast<std::uint64_t>(type.elem) << 32U | type.sizes.size());
    for (const std::int64_t extent : type.sizes) signature.push_back(extents.class_of(extent));
  }
  return signature;
}

Type type_for(Trace& trace, const lazy::KnownType& type, Extents& extents) {
  Shape shape;
  for (const std::int64_t extent : type.sizes) {
    const std::uint64_t number = extents.class_of(extent);
    shape.push_back(number < 2 ? Dim(extent) : trace.to().dim(fmt::format("n{}", number - 2), {.min = 2}));
  }
  return Type::tensor(type.elem, std::move(shape));
}

std::string name_of(const Function::Naming& naming, char letter, std::size_t position) {
  return naming ? naming(position) : fmt::format("{}{}", letter, position);
}

Graph trace(const std::string& name, const Function::Body& body, std::span<const Ref> like,
            const Function::Naming& input = {}, const Function::Naming& output = {}) {
  Trace trace(name);
  Extents extents;
  std::vector<LazyArray> arguments;
  for (std::size_t i = 0; i < like.size(); ++i) {
    const Type type = type_for(trace, type_of(like[i], i), extents);
    arguments.push_back(LazyAccess::array(trace.input(name_of(input, 'x', i), type).ref()));
  }
  const std::vector<LazyArray> results = body(arguments);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Value value = take(trace.value_of(LazyAccess::ref(results[k])));
    if (!value) refuse(frazil::Code::bad_input, "function '{}' returns an omitted array", name);
    trace.to().output(name_of(output, 'y', k), {&trace.to(), value});
  }
  check(trace.to().status());
  return trace.take();
}

std::vector<Ref> refs_of(std::span<const LazyArray> arrays) {
  std::vector<Ref> refs;
  for (const LazyArray& array : arrays) refs.push_back(LazyAccess::ref(array));
  return refs;
}

/// The arrays that operands are; numbers become arrays.
std::vector<LazyArray> arrays_of(std::span<const Operand> operands) {
  std::vector<LazyArray> arrays;
  for (const Operand& operand : operands) {
    const LazyArray* const array = LazyAccess::array_of(operand);
    arrays.push_back(array != nullptr ? *array : LazyAccess::array(LazyAccess::literal(operand, std::nullopt).ref()));
  }
  return arrays;
}

}  // namespace

struct Function::Impl {
  /// The graph for arguments of these types, which most calls have again.
  struct Last {
    static constexpr std::size_t kMost = 8;
    std::array<const lazy::KnownType*, kMost> types{};
    std::size_t count = 0;
    const lazy::Function* function = nullptr;
  };

  std::string name;
  Body body;
  std::mutex mutex;
  std::map<Signature, lazy::Owner<lazy::Function>> graphs;  // under the mutex
  std::deque<Last> lasts;                                   // under the mutex; each stays as it is
  std::atomic<const Last*> last = nullptr;

  const lazy::Function& graph_for(std::span<const Ref> arguments) {
    const Last* const recent = last.load(std::memory_order_acquire);
    if (recent != nullptr && is_for(*recent, arguments)) return *recent->function;
    const Signature signature = signature_of(arguments);
    const lazy::Function& found = find_or_make(signature, arguments);
    const std::scoped_lock lock(mutex);
    constexpr std::size_t kMostLasts = 64;
    if (arguments.size() <= Last::kMost && lasts.size() < kMostLasts) {
      Last& now = lasts.emplace_back();
      for (const Ref& argument : arguments) now.types[now.count++] = argument.node->out()[argument.output].type;
      now.function = &found;
      last.store(&now, std::memory_order_release);
    }
    return found;
  }

 private:
  static bool is_for(const Last& known, std::span<const Ref> arguments) {
    if (known.count != arguments.size()) return false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Ref& argument = arguments[i];
      if (argument.node == nullptr || argument.node->out()[argument.output].type != known.types[i]) return false;
    }
    return true;
  }

  const lazy::Function& find_or_make(const Signature& signature, std::span<const Ref> arguments) {
    {
      const std::scoped_lock lock(mutex);
      const auto at = graphs.find(signature);
      if (at != graphs.end()) return *at->second;
    }
    const lazy::Owner made(new lazy::Function(trace(name, body, arguments)));
    const std::scoped_lock lock(mutex);
    return *graphs.try_emplace(signature, made).first->second;
  }
};

Function::Function(std::string name, Body body) : impl_(std::make_shared<Impl>()) {
  start_lazy();
  impl_->name = std::move(name);
  impl_->body = std::move(body);
}

namespace {

/// The references of operands, of which numbers become arrays that `numbers` holds.
class References {
 public:
  explicit References(std::span<const Operand> operands) : many_(operands.size() > kFew ? operands.size() : 0) {
    refs_ = many_.empty() ? std::span(few_).first(operands.size()) : std::span(many_);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const LazyArray* const array = LazyAccess::array_of(operands[i]);
      refs_[i] = array != nullptr ? LazyAccess::ref(*array)
                                  : numbers_.emplace_back(LazyAccess::literal(operands[i], std::nullopt)).ref();
    }
  }
  std::span<const Ref> all() const { return refs_; }

 private:
  static constexpr std::size_t kFew = 8;
  std::array<Ref, kFew> few_;
  std::vector<Ref> many_;
  std::span<Ref> refs_;
  std::vector<Handle> numbers_;
};

}  // namespace

std::vector<LazyArray> Function::call(std::span<const Operand> arguments) const {
  // A function that is traced has the nodes of those that it calls.
  if (Trace::current() != nullptr) return impl_->body(arrays_of(arguments));
  const References refs(arguments);
  const lazy::Operation& operation = impl_->graph_for(refs.all()).operation();
  const lazy::Place place = arguments.empty() ? lazy::Place{} : LazyAccess::place(arguments[0]);
  return results_of(api::take(lazy::record(operation, refs.all(), place)), operation.outputs);
}

void Function::call(std::span<const Operand> arguments, std::span<LazyArray> results) const {
  if (Trace::current() != nullptr) {
    std::vector<LazyArray> made = impl_->body(arrays_of(arguments));
    return std::ranges::move(made, results.begin()), void();
  }
  const References refs(arguments);
  const lazy::Operation& operation = impl_->graph_for(refs.all()).operation();
  if (operation.outputs != results.size()) {
    refuse(frazil::Code::bad_input, "function '{}' returns {} arrays, not {}", impl_->name, operation.outputs,
           results.size());
  }
  const lazy::Place place = arguments.empty() ? lazy::Place{} : LazyAccess::place(arguments[0]);
  const Handle handle = api::take(lazy::record(operation, refs.all(), place));
  for (std::uint32_t k = 0; k < results.size(); ++k) results[k] = LazyAccess::array({handle.node(), k});
}

Model Function::model(std::span<const LazyArray> arguments, const Naming& input, const Naming& output) const {
  return Access::model(trace(impl_->name, impl_->body, refs_of(arguments), input, output), nullptr);
}

// ---- control flow ----

namespace {

/// Fills a body of a region: `make` gets its parameters and returns its results.
void fill(Trace& trace, NodeId region, std::size_t index,
          const std::function<std::vector<LazyArray>(const std::vector<LazyArray>&)>& make) {
  const BlockId block = trace.to().graph().node(region).blocks[index];
  std::vector<LazyArray> params;
  for (const Value param : trace.to().graph().block(block).params) {
    params.push_back(LazyAccess::array(trace.handle_of(std::span(&param, 1)).ref()));
  }
  std::vector<Value> results;
  trace.open_block(block);
  try {
    for (const LazyArray& result : make(params)) results.push_back(api::take(trace.value_of(LazyAccess::ref(result))));
  } catch (...) {
    trace.close_block();
    trace.abandon();
    throw;
  }
  trace.close_block();
  trace.to().yield(region, index, std::move(results));
}

std::vector<LazyArray> close(Trace& trace, NodeId region, std::size_t outputs) {
  check(trace.to().close(region, std::vector<bool>(outputs, true)));
  return results_of(trace.handle_of(trace.to().graph().node(region).out), outputs);
}

}  // namespace

std::vector<LazyArray> cond(Operand predicate, const Branch& then, const Branch& otherwise) {
  const LazyArray condition = arrays_of(std::span(&predicate, 1))[0];
  Trace* const trace = Trace::current();
  if (trace == nullptr) return condition.item<bool>() ? then() : otherwise();
  const Value value = api::take(trace->value_of(LazyAccess::ref(condition)));
  const NodeId region = api::take(trace->to().open(find_op("If"), {value}, default_attrs(find_op("If")), {0, 0}, ""));
  fill(*trace, region, 0, [&](const auto&) { return then(); });
  fill(*trace, region, 1, [&](const auto&) { return otherwise(); });
  const Graph& graph = trace->to().graph();
  return close(*trace, region, graph.block(graph.node(region).blocks[0]).results.size());
}

Arrays loop(const std::function<LazyArray(const Arrays&)>& condition, const std::function<Arrays(const Arrays&)>& body,
            Arrays carried) {
  Trace* const trace = Trace::current();
  if (trace == nullptr) {
    while (condition(carried).template item<bool>()) carried = body(carried);
    return carried;
  }
  const LazyArray first = condition(carried);
  std::vector<Value> inputs{{}, api::take(trace->value_of(LazyAccess::ref(first)))};
  for (const LazyArray& each : carried) inputs.push_back(api::take(trace->value_of(LazyAccess::ref(each))));
  const OpDef& op = find_op("Loop");
  const NodeId region = api::take(trace->to().open(op, inputs, default_attrs(op), {carried.size() + 2}, ""));
  fill(*trace, region, 0, [&](const std::vector<LazyArray>& params) {
    Arrays next = body(Arrays(params.begin() + 2, params.end()));
    next.insert(next.begin(), condition(next));
    return next;
  });
  return close(*trace, region, carried.size());
}

}  // namespace frazil::api
