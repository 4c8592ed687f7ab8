#include "server/state/state_pages.h"

#include <stdexcept>
#include <utility>

#include "server/state/state_bytes.h"
#include "server/state/state_store.h"

namespace frazil::server {

PagePool& StatePages::pool_of(std::string_view key) {
  const std::string tenant(StateKey::tenant_in(key));
  const std::scoped_lock lock(mutex_);
  return pools_.try_emplace(tenant, tenant, all_).first->second;
}

State::Options StatePages::how(std::string_view key) {
  return {.pool = pool_of(key), .page_bytes = page_bytes_, .pages_at_once = shared_};
}

State::Ptr StatePages::after(std::string_view key, const State::Ptr& before, const State::Values& values,
                             const std::shared_ptr<const Growing>& growing) {
  try {
    return State::after(before, values, growing, how(key));
  } catch (const std::length_error& error) {
    throw Refusal(Http::unavailable, std::string("the sequence's state cannot be kept: ") + error.what());
  }
}

State::Ptr StatePages::read(std::string_view key, const std::shared_ptr<const std::string>& bytes) {
  PagePool& from = pool_of(key);
  StateContent content = content_of_state(bytes);
  std::vector<PageId> missing;
  Pages pages;
  for (const PageList& list : content.lists) {
    for (const PageId& id : list.pages) {
      const auto [at, added] = pages.try_emplace(id, from.find(id));
      if (added && at->second == nullptr) missing.push_back(id);
    }
  }
  if (!missing.empty() && !load(missing, pages, from)) return nullptr;
  return State::read(bytes, std::move(content), [&](const PageId& id) { return pages.at(id); });
}

/// Returns false if Redis has evicted a page.
bool StatePages::load(const std::vector<PageId>& ids, Pages& to, PagePool& from) {
  auto pages = keeper_->load_pages(ids);
  std::vector<PagePtr> made;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!pages[i] && shared_) return false;
    if (!pages[i]) throw StateFault("one of its pages is not there");
    made.push_back(from.unseal(ids[i], std::move(*pages[i])));
    if (made.back() == nullptr) throw StateFault("one of its pages is damaged");
    to[ids[i]] = made.back();
  }
  keeper_->loaded(made);
  return true;
}

void StatePages::save(const std::string& key, const State::Ptr& state, std::chrono::microseconds left) {
  const State::Ptr paged = State::cold(state, how(key));
  keeper_->save(key, *paged->kept_bytes(), paged->pages(), left);
}

}  // namespace frazil::server
