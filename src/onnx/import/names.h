#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/limits/limits.h"
#include "base/value/error.h"
#include "ir/graph/handles.h"

namespace frazil::onnx {

/// The names of nested blocks. An inner name hides an outer one. The time of a look-up does not depend on the depth.
template <class T>
class ScopedNames {
 public:
  void push() { marks_.push_back(entries_.size()); }
  void pop() {
    while (entries_.size() > marks_.back()) {
      const Entry& e = entries_.back();
      if (e.hidden == kNone) {
        top_.erase(e.name);
      } else {
        top_[e.name] = e.hidden;
      }
      entries_.pop_back();
    }
    marks_.pop_back();
  }

  /// Defines a name. Returns false if the innermost block already has it.
  bool define(std::string_view name, T value) {
    const auto [it, fresh] = top_.try_emplace(name, entries_.size());
    if (!fresh && it->second >= marks_.back()) return false;
    entries_.push_back({name, value, fresh ? kNone : it->second});
    it->second = entries_.size() - 1;
    return true;
  }
  std::optional<T> find(std::string_view name) const {
    const auto it = top_.find(name);
    return it == top_.end() ? std::nullopt : std::optional(entries_[it->second].value);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Entry {
    std::string_view name;
    T value;
    std::size_t hidden;
  };
  std::unordered_map<std::string_view, std::size_t> top_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> marks_;
};

/// Values by name. An absent value means that the name denotes no value.
using Names = ScopedNames<Value>;

/// Fails if the name is not UTF-8 or longer than the limit. `what` is what has the name, such as "an input".
Status check_name(std::string_view what, std::string_view name, const LoadLimits& limits);

}  // namespace frazil::onnx
