#pragma once

#include <algorithm>
#include <ranges>
#include <string>

#include "server/pipeline/node.h"

namespace frazil::server {

/// Returns the least expected duration of a block. `list`: elements with a `block`, at least one.
template <class List>
Clock::duration least_expected(const List& list) {
  return std::ranges::min(list | std::views::transform([](const auto& one) { return one.block.expected(); }));
}

/// Returns the index of the block with a name. Throws Refusal (bad_request). `list`: elements with a `block`.
template <class List>
std::int64_t index_of_block(const Flow& flow, const std::string& node, const std::string& name, const List& list) {
  const auto at = std::ranges::find(list, name, [](const auto& one) { return one.block.name; });
  if (at == list.end())
    throw Refusal(Http::bad_request, "node '" + flow.path_of(node) + "' has no branch '" + name + "'");
  return at - list.begin();
}
/// A branch that is entered, and why it replaces the chosen one.
struct Afforded {
  std::size_t branch;
  const char* why = "";  ///< "budget", "deadline" or "as recorded"; empty: it is the chosen one
};

/// Returns the chosen branch, or the cheaper one of it that a replayed request entered.
template <class List>
Afforded recorded_branch(const std::string& recorded, const List& list, std::size_t chosen) {
  for (std::optional<std::size_t> at = chosen; at; at = list[*at].cheaper) {
    if (list[*at].block.name == recorded) return {.branch = *at, .why = *at == chosen ? "" : "as recorded"};
  }
  return {.branch = chosen};
}

/// Returns the chosen branch if the request's budget and time can pay it, and otherwise the first of its cheaper
/// branches that they can pay, or the last one. A replay enters what was recorded. `list`: elements with a `block` and
/// `cheaper`.
template <class List>
Afforded afforded(const Flow& flow, const std::string& node, const char* kind, const List& list, std::size_t chosen) {
  if (is_replay(flow.recording)) return recorded_branch(flow.forced(node, kind).value_or(""), list, chosen);
  Afforded entered{.branch = chosen};
  while (const auto cheaper = list[entered.branch].cheaper) {
    const Block& block = list[entered.branch].block;
    const bool in_time = !flow.deadline || block.expected() < flow.left();
    if (in_time && flow.cost->enter_branch(&block)) break;
    entered = {.branch = *cheaper, .why = in_time ? "budget" : "deadline"};
  }
  return entered;
}

/// Returns the index of the case or arm that the request forces for a node, or -1 if it forces none. `list`: elements
/// with a `block`.
template <class List>
std::int64_t forced_block(const Flow& flow, const std::string& node, const char* kind, const List& list) {
  const auto forced = flow.request->choices.find(flow.path_of(node));
  if (forced == flow.request->choices.end()) return -1;
  const std::int64_t at = index_of_block(flow, node, forced->second, list);
  flow.decided({.node = node, .kind = kind, .taken = forced->second, .why = "forced by the request"});
  return at;
}

}  // namespace frazil::server
