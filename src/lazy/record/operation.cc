#include "lazy/record/operation.h"

#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/thread/mutex.h"

namespace frazil::lazy {
namespace {

constexpr std::size_t kMaxOperations = 1U << 16U;

/// Operations by operator. An operator is used with few different attributes.
struct Table {
  Mutex mutex;
  std::deque<Operation> all;
  std::unordered_map<const OpDef*, std::vector<const Operation*>> by_op;
};

Table& table() {
  static Table table;
  return table;
}

}  // namespace

std::uint32_t next_operation_id() {
  static std::atomic<std::uint32_t> next = 1;
  return next++;
}

Result<const Operation*> operation(const OpDef& op, Attrs attrs, std::size_t outputs) {
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  std::vector<const Operation*>& known = all.by_op[&op];
  for (const Operation* each : known) {
    if (each->outputs == outputs && same(op.attrs, each->attrs.get(), attrs.get())) return each;
  }
  if (all.all.size() >= kMaxOperations) {
    return fail(Code::limit,
                "{}: the program has used {} operators with different attributes; pass what changes as an input",
                op.name, kMaxOperations);
  }
  all.all.push_back({.id = next_operation_id(),
                     .op = &op,
                     .attrs = std::move(attrs),
                     .outputs = static_cast<std::uint32_t>(outputs)});
  known.push_back(&all.all.back());
  return known.back();
}

}  // namespace frazil::lazy
