#include "server/state/state.h"

#include <algorithm>
#include <utility>

namespace frazil::server {
namespace {

using api::Array;

constexpr std::size_t kValueBytes = 384;  // memory per value, excluding names and elements

/// Returns true if most of the tensor's memory block is its own elements, so that sharing the block wastes little.
bool is_worth_its_block(const Array& tensor) {
  constexpr std::size_t kRoom = std::size_t{64} << 10U;
  const std::size_t block = tensor.layout().block;
  return block != 0 && block <= 4 * tensor.bytes() + kRoom;
}

bool all_tensors(const State::Values& values, const std::vector<PageList>& lists, auto condition) {
  return std::ranges::all_of(lists, [&](const PageList& list) {
    return std::ranges::all_of(list.parts, [&](const PagedPart& part) { return condition(values[part.value].second); });
  });
}

void drop(State::Values& values, const std::vector<PagedPart>& parts) {
  for (const PagedPart& part : parts) values[part.value].second = Array();
}

bool lie_together(const Array& now, const PagedPart& part, const Array& before, const PagedPart& old) {
  if (before.empty() || part.value != old.value) return false;
  const Rows a = rows_of(now, part), b = rows_of(before, old);
  return a.data == b.data && a.block_stride == b.block_stride;
}

/// Returns how many positions are known to be unchanged: all previous ones if the tensors use the same memory, else 0.
std::uint64_t same_positions(const State::Values& values, const PageList& list, const State::Values& before,
                             const PagedTensors& old) {
  if (list.parts.size() != old.parts().size() || list.length() < old.length()) return 0;
  for (std::size_t i = 0; i < list.parts.size(); ++i) {
    const PagedPart &part = list.parts[i], &old_part = old.parts()[i];
    if (!lie_together(values[part.value].second, part, before[old_part.value].second, old_part)) return 0;
  }
  return old.length();
}

std::size_t memory_of(const NamedArray& value) {
  std::size_t sum = kValueBytes + value.first.capacity();
  const Array& array = value.second;
  if (!array.is_tensor() || array.dtype() != api::Dtype::string) return sum;
  for (const std::string& text : array.values<std::string>()) sum += sizeof(std::string) + text.capacity();
  return sum;
}

}  // namespace

void State::set_rest(const Values& values, const std::vector<PageList>& lists) {
  if (lists.empty()) {
    bytes_ = std::make_shared<const std::string>(bytes_of_state(values, turn_));
  } else {
    Values rest = values;
    for (const PageList& list : lists) drop(rest, list.parts);
    bytes_ = std::make_shared<const std::string>(bytes_of_state(rest, turn_));
  }
  values_ = content_of_state(bytes_).values;
}

void State::set_hot(const Values& values, const std::vector<PageList>& lists) {
  for (const PageList& list : lists) {
    for (const PagedPart& part : list.parts) {
      Array& value = values_[part.value].second;
      value = values[part.value].second.alias();
      hot_bytes_ += value.layout().block;
    }
  }
}

void State::make_pages(const Values& values, std::vector<PageList> lists, const State* before, PagePool& pool) {
  std::vector<PagedTensors> made;
  const std::vector<PagedTensors> none, &olds = before == nullptr ? none : before->lists();
  for (PageList& list : lists) {
    const PagedTensors* const old = made.size() < olds.size() ? &olds[made.size()] : nullptr;
    const bool known = old != nullptr && before->whole_ && before->hot();
    const std::uint64_t same = known ? same_positions(values, list, before->values_, *old) : 0;
    made.emplace_back(std::move(list), values, old, same, pool);
  }
  lists_ = std::make_shared<const std::vector<PagedTensors>>(std::move(made));
  whole_ = true;
}

void State::measure() {
  memory_ = bytes_->capacity() + hot_bytes_;
  for (const NamedArray& value : values_) memory_ += memory_of(value);
  for (const PagedTensors& list : lists()) memory_ += list.memory();
}

State::Ptr State::after(const Ptr& before, const Values& values, const std::shared_ptr<const Growing>& growing,
                        const Options& how) {
  const std::shared_ptr<State> state(new State);
  state->turn_ = (before == nullptr ? 0 : before->turn_) + 1;
  std::vector<PageList> lists;
  if (growing != nullptr && how.page_bytes > 0) lists = PagedTensors::lists_for(values, *growing, how.page_bytes);
  state->set_rest(values, lists);
  if (!lists.empty()) {
    const bool hot = all_tensors(values, lists, is_worth_its_block);
    if (hot) state->set_hot(values, lists);
    if (!hot || how.pages_at_once) {
      state->make_pages(values, std::move(lists), before.get(), how.pool);
    } else {
      state->lists_ = before == nullptr ? nullptr : before->lists_;
      state->whole_ = false;
    }
    state->growing_ = growing;
  }
  state->measure();
  return state;
}

State::Ptr State::read(const std::shared_ptr<const std::string>& bytes, StateContent content,
                       const std::function<PagePtr(const PageId&)>& page) {
  const std::shared_ptr<State> state(new State);
  state->turn_ = turn_of_state(*bytes);
  state->bytes_ = bytes;
  state->values_ = std::move(content.values);
  std::vector<PagedTensors> lists;
  for (PageList& list : content.lists) lists.emplace_back(std::move(list), page);
  if (!lists.empty()) state->lists_ = std::make_shared<const std::vector<PagedTensors>>(std::move(lists));
  state->measure();
  return state;
}

State::Ptr State::lost() {
  const std::shared_ptr<State> state(new State);
  state->bytes_ = std::make_shared<const std::string>();
  state->lost_ = true;
  state->measure();
  return state;
}

State::Ptr State::cold(const Ptr& state, const Options& how) {
  if (state == nullptr || !state->hot()) return state;
  const std::shared_ptr<State> cold(new State);
  cold->turn_ = state->turn_;
  cold->bytes_ = state->bytes_;
  cold->lists_ = state->lists_;
  if (!state->whole_) {
    cold->make_pages(state->values_, PagedTensors::lists_for(state->values_, *state->growing_, how.page_bytes),
                     state.get(), how.pool);
  }
  cold->values_ = state->values_;
  for (const PagedTensors& list : cold->lists()) drop(cold->values_, list.parts());
  cold->measure();
  return cold;
}

const std::vector<PagedTensors>& State::lists() const {
  static const std::vector<PagedTensors> none;
  return lists_ == nullptr ? none : *lists_;
}

Array State::value_at(std::size_t index) const {
  const Array& value = values_[index].second;
  if (!value.empty() || !whole_) return value;
  for (const PagedTensors& list : lists()) {
    const auto part = std::ranges::find(list.parts(), index, &PagedPart::value);
    if (part != list.parts().end()) return list.gather(static_cast<std::size_t>(part - list.parts().begin()));
  }
  return value;
}

std::optional<Array> State::value(std::string_view name) const {
  const auto at = std::ranges::find(values_, name, &NamedArray::first);
  if (at == values_.end()) return {};
  return value_at(static_cast<std::size_t>(at - values_.begin()));
}

State::Values State::values() const {
  Values values;
  for (std::size_t i = 0; i < values_.size(); ++i) values.emplace_back(values_[i].first, value_at(i));
  return values;
}

std::shared_ptr<const std::string> State::kept_bytes() const {
  if (lists_ == nullptr) return bytes_;
  std::vector<PageList> lists;
  Values rest = values_;
  for (const PagedTensors& list : *lists_) {
    lists.push_back(list.list());
    drop(rest, list.parts());
  }
  return std::make_shared<const std::string>(bytes_of_state(rest, turn_, lists));
}

std::vector<PagePtr> State::pages() const {
  std::vector<PagePtr> pages;
  for (const PagedTensors& list : lists()) pages.insert(pages.end(), list.pages().begin(), list.pages().end());
  return pages;
}

}  // namespace frazil::server
