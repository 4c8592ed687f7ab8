#include "server/state/paged_tensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

bool same_shape(const PagedPart& a, const PagedPart& b) {
  return a.value == b.value && a.dtype == b.dtype && a.axis == b.axis && a.blocks == b.blocks &&
         a.row_bytes == b.row_bytes;
}

/// The positions [begin, begin + count) of tensors, concatenated as in a page.
class Slice {
 public:
  Slice(const std::vector<PagedPart>& parts, std::span<const Rows> rows, std::uint64_t begin, std::uint64_t count)
      : parts_(parts), rows_(rows), begin_(begin), count_(count) {}

  void copy_to(char* page) const {
    each_run([&](const char* run, std::size_t bytes) {
      std::memcpy(page, run, bytes);
      page += bytes;
      return true;
    });
  }
  bool equals(std::string_view page) const {
    return each_run([&](const char* run, std::size_t bytes) {
      const bool same = page.starts_with(std::string_view(run, bytes));
      page.remove_prefix(same ? bytes : 0);
      return same;
    });
  }

 private:
  /// Passes runs of bytes in the order of a page to `take` until it returns false. Returns true if it never did.
  bool each_run(const auto& take) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t row = parts_[i].row_bytes;
      const char* at = rows_[i].data + begin_ * row;
      for (std::size_t b = 0; b < parts_[i].blocks; ++b, at += rows_[i].block_stride) {
        if (!take(at, count_ * row)) return false;
      }
    }
    return true;
  }

  const std::vector<PagedPart>& parts_;
  std::span<const Rows> rows_;
  std::uint64_t begin_, count_;
};

std::uint64_t positions_of_page(std::size_t page_bytes, std::size_t position_bytes) {
  return std::bit_floor(std::max<std::uint64_t>(page_bytes / position_bytes, 1));
}

std::optional<PagedPart> paged_part(const std::vector<NamedArray>& values, const Growth& growth) {
  const api::Array& value = values[growth.value].second;
  if (!value.is_tensor()) return {};
  return PagedPart::make(growth.value, value.dtype(), value.sizes(), growth.axis);
}

/// Allocates memory that is aligned for kernels. Aligned allocation by the heap would not reuse freed blocks of the
/// same size.
std::shared_ptr<char> uninitialised(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  std::size_t space = bytes + kAlignment;
  const std::shared_ptr<char[]> all = std::make_shared_for_overwrite<char[]>(space);
  void* at = all.get();
  return {all, static_cast<char*>(std::align(kAlignment, bytes, at, space))};
}

}  // namespace

Rows rows_of(const api::Array& tensor, const PagedPart& part) {
  const auto width = static_cast<std::int64_t>(api::byte_size(part.dtype));
  const api::Array::Layout layout = tensor.layout();
  std::int64_t step = width;
  std::optional<std::int64_t> block;
  for (std::size_t axis = part.sizes.size(); axis-- > 0; step *= part.sizes[axis]) {
    if (part.sizes[axis] == 1) continue;
    const std::int64_t stride = layout.strides[axis] * width;
    if (axis < part.axis && !block) block = step = stride;
    if (stride != step) return {static_cast<const char*>(tensor.data()), part.length() * part.row_bytes};
  }
  return {static_cast<const char*>(layout.data), static_cast<std::size_t>(block.value_or(0))};
}

std::vector<PageList> PagedTensors::lists_for(const std::vector<NamedArray>& values, const Growing& growing,
                                              std::size_t page_bytes) {
  std::vector<PageList> lists;
  const auto most = growing.empty() ? 0 : std::ranges::max(growing, {}, &Growth::group).group;
  for (std::size_t group = 0; group <= most && !growing.empty(); ++group) {
    PageList list;
    bool fits = true;
    for (const Growth& growth : growing) {
      if (growth.group != group) continue;
      auto part = paged_part(values, growth);
      fits = fits && part && (list.parts.empty() || part->length() == list.length());
      if (fits) list.parts.push_back(std::move(*part));
    }
    if (!fits) continue;
    list.per_page = positions_of_page(page_bytes, list.position_bytes());
    lists.push_back(std::move(list));
  }
  return lists;
}

PagedTensors::PagedTensors(PageList list, const std::vector<NamedArray>& values, const PagedTensors* before,
                           std::uint64_t same, PagePool& pool)
    : list_(std::move(list)) {
  std::vector<Rows> rows;
  for (const PagedPart& part : list_.parts) rows.push_back(rows_of(values[part.value].second, part));
  const std::uint64_t per_page = list_.per_page, full = length() / per_page;
  pages_.reserve(full);
  if (before != nullptr && !takes_from(*before)) before = nullptr;
  for (std::uint64_t k = 0; k < full; ++k) {
    const Slice slice(list_.parts, rows, k * per_page, per_page);
    if (before != nullptr && k < before->pages_.size()) {
      const PagePtr& old = before->pages_[k];
      if ((k + 1) * per_page <= same || slice.equals(old->bytes())) {
        pages_.push_back(old);
        continue;
      }
      before = nullptr;
    }
    Page::Draft draft(page_bytes());
    slice.copy_to(draft.data());
    pages_.push_back(pool.share(std::move(draft)));
  }
  const std::uint64_t rest = length() % per_page;
  if (rest == 0) return;
  list_.tail.resize(rest * list_.position_bytes());
  Slice(list_.parts, rows, full * per_page, rest).copy_to(list_.tail.data());
}

PagedTensors::PagedTensors(PageList list, const std::function<PagePtr(const PageId&)>& page) : list_(std::move(list)) {
  for (const PageId& id : std::exchange(list_.pages, {})) {
    pages_.push_back(page(id));
    if (pages_.back()->bytes().size() != page_bytes()) throw StateFault("one of its pages has another size");
  }
}

bool PagedTensors::takes_from(const PagedTensors& other) const {
  return list_.per_page == other.list_.per_page && std::ranges::equal(list_.parts, other.list_.parts, same_shape);
}

api::Array PagedTensors::gather(std::size_t index) const {
  const PagedPart& part = list_.parts[index];
  std::size_t before = 0;
  for (std::size_t i = 0; i < index; ++i) before += list_.parts[i].position_bytes();
  const std::size_t bytes = length() * part.position_bytes();
  const auto memory = uninitialised(bytes);
  char* const to = memory.get();
  const std::size_t block = part.length() * part.row_bytes;
  const auto put = [&](const char* from, std::uint64_t begin, std::uint64_t count) {
    const std::size_t run = count * part.row_bytes;
    from += count * before;
    for (std::size_t b = 0; b < part.blocks; ++b, from += run) {
      std::memcpy(to + b * block + begin * part.row_bytes, from, run);
    }
  };
  std::uint64_t at = 0;
  for (const PagePtr& page : pages_) {
    put(page->bytes().data(), at, list_.per_page);
    at += list_.per_page;
  }
  if (at < length()) put(list_.tail.data(), at, length() - at);
  return api::Array::borrow(part.dtype, part.sizes, std::as_bytes(std::span(to, bytes)), memory);
}

PageList PagedTensors::list() const {
  PageList list = list_;
  for (const PagePtr& page : pages_) list.pages.push_back(page->id());
  return list;
}

std::size_t PagedTensors::memory() const {
  return list_.tail.capacity() + pages_.capacity() * sizeof(PagePtr) + list_.parts.size() * 2 * sizeof(PagedPart);
}

}  // namespace frazil::server
