#include "ir/op/op_set.h"

namespace frazil {

bool OpSet::add(const std::shared_ptr<const OpDef>& op) { return ops_.try_emplace({op->domain, op->name}, op).second; }

const OpDef* OpSet::find(std::string_view domain, std::string_view name) const {
  const auto it = ops_.find({domain, name});
  return it == ops_.end() ? nullptr : it->second.get();
}

const OpDef* find_operator(const OpSet* own, std::string_view domain, std::string_view name) {
  const OpDef* const found = own == nullptr ? nullptr : own->find(domain, name);
  return found == nullptr ? OpRegistry::global().find(domain, name) : found;
}

}  // namespace frazil
