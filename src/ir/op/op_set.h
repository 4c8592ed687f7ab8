#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "ir/op/op.h"

namespace frazil {

/// The operators that one model has beside those of the registry. Nodes refer to operators by address; the attributes
/// of such a node must keep its operator alive.
class OpSet {
 public:
  /// Returns false, and ignores the operator, if one of the same domain and name exists.
  bool add(const std::shared_ptr<const OpDef>& op);
  /// Returns null if there is none.
  const OpDef* find(std::string_view domain, std::string_view name) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, std::shared_ptr<const OpDef>> ops_;  // by domain, name
};

/// Returns the operator of `own`, which may be null, or else of the registry, or else null.
const OpDef* find_operator(const OpSet* own, std::string_view domain, std::string_view name);

}  // namespace frazil
