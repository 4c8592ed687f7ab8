#include "server/state/state_bytes.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <frazil/error.h>

namespace frazil::server {
namespace {

constexpr std::string_view kStateMagic = "FZST";
constexpr std::uint32_t kStateForm = 1, kPagedStateForm = 2;
constexpr std::size_t kCheckedHead = kStateHead - sizeof(std::uint64_t);
constexpr std::size_t kStateAlignment = 16;
constexpr unsigned kMaxListDepth = 8;
constexpr std::size_t kMaxExtents = 255;

[[noreturn]] void damaged(const std::string& how) { throw StateFault("its bytes are damaged: " + how); }

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) { return std::rotl((sum ^ word) * 0x9e3779b97f4a7c15U, 29); }

std::uint64_t load_word(const char* at, std::size_t bytes = sizeof(std::uint64_t)) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}

std::uint64_t checksum_of_state(std::string_view bytes) {
  return mixed(checksum_of(bytes.substr(kStateHead)), checksum_of(bytes.substr(0, kCheckedHead)));
}

std::string_view bytes_in(const api::Array& tensor) {
  return {static_cast<const char*>(tensor.data()), tensor.bytes()};
}

// ---- writing ----

void write_value(ByteWriter& to, const api::Array& value, unsigned depth);

void write_shape(ByteWriter& to, api::Dtype dtype, const api::Sizes& sizes) {
  if (sizes.size() > kMaxExtents) throw std::length_error("a tensor of a state has more than 255 extents");
  to.number(static_cast<std::uint8_t>(api::onnx_number(dtype)));
  to.number(static_cast<std::uint8_t>(sizes.size()));
  for (const std::int64_t extent : sizes) to.number(extent);
}

void write_state_tensor(ByteWriter& to, const api::Array& tensor) {
  write_shape(to, tensor.dtype(), tensor.sizes());
  if (tensor.dtype() == api::Dtype::string) {
    for (const std::string& text : tensor.values<std::string>()) to.text(text);
  } else {
    to.align(kStateAlignment);
    if (tensor.bytes() > 0) to.raw(bytes_in(tensor));
  }
}

void write_items(ByteWriter& to, const std::vector<api::Array>& items, unsigned depth) {
  to.count(items.size());
  for (const api::Array& item : items) write_value(to, item, depth);
}

void write_entries(ByteWriter& to, const std::vector<std::pair<api::Array, api::Array>>& entries, unsigned depth) {
  to.count(entries.size());
  for (const auto& [key, value] : entries) {
    write_value(to, key, depth);
    write_value(to, value, depth);
  }
}

void write_value(ByteWriter& to, const api::Array& value, unsigned depth) {
  if (depth > kMaxListDepth) throw std::length_error("lists of a state are nested deeper than 8");
  const api::Array::Kind kind = value.kind();
  to.number(static_cast<std::uint8_t>(kind));
  if (kind == api::Array::Kind::tensor) write_state_tensor(to, value);
  if (kind == api::Array::Kind::sequence) write_items(to, value.items(), depth + 1);
  if (kind == api::Array::Kind::map) write_entries(to, value.entries(), depth + 1);
}

void write_list(ByteWriter& to, const PageList& list) {
  to.count(list.parts.size());
  for (const PagedPart& part : list.parts) {
    to.count(part.value);
    write_shape(to, part.dtype, part.sizes);
    to.number(static_cast<std::uint8_t>(part.axis));
  }
  to.number(list.per_page);
  to.count(list.pages.size());
  for (const PageId& page : list.pages) to.raw({page.data(), page.size()});
  to.text(list.tail);
}

std::size_t likely_size(const std::vector<NamedArray>& values, const std::vector<PageList>& lists) {
  std::size_t size = kStateHead;
  for (const PageList& list : lists) size += list.pages.size() * sizeof(PageId) + list.tail.size();
  for (const auto& [name, value] : values) {
    constexpr std::size_t kMore = 128;
    size += name.size() + kMore + (value.is_tensor() ? value.bytes() : 0);
  }
  return size;
}

// ---- reading ----

std::optional<api::Dtype> dtype_of_number(int number) {
  for (auto dtype = api::Dtype::boolean;; dtype = static_cast<api::Dtype>(static_cast<int>(dtype) + 1)) {
    if (api::onnx_number(dtype) == number) return dtype;
    if (dtype == api::Dtype::u2) return {};
  }
}

bool is_key(api::Dtype dtype) {
  return dtype == api::Dtype::string || (dtype >= api::Dtype::i8 && dtype <= api::Dtype::u64);
}

class StateReader {
 public:
  explicit StateReader(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)), from_(*bytes_) {
    from_.raw(kStateHead);
  }

  StateContent content(bool paged) {
    StateContent content{.values = std::vector<NamedArray>(from_.count(sizeof(std::uint32_t) + 1)), .lists = {}};
    for (auto& [name, array] : content.values) {
      name = from_.text();
      array = value(0);
    }
    if (paged) content.lists = lists(content.values);
    if (from_.left() != 0) damaged("they go on behind the last value");
    return content;
  }

 private:
  std::vector<PageList> lists(const std::vector<NamedArray>& values) {
    constexpr std::size_t least = 3 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
    std::vector<PageList> lists(from_.count(least));
    std::vector<bool> taken(values.size());
    for (PageList& list : lists) {
      list = page_list();
      if (!list.fits()) damaged("a list of pages does not fit its tensors");
      for (const PagedPart& part : list.parts) {
        const bool free = part.value < values.size() && values[part.value].second.empty() && !taken[part.value];
        if (!free) damaged("a list of pages is of a value that is none");
        taken[part.value] = true;
      }
    }
    return lists;
  }

  PageList page_list() {
    constexpr std::size_t least = sizeof(std::uint32_t) + 3;
    PageList list;
    for (std::size_t i = from_.count(least); i > 0; --i) list.parts.push_back(paged_part());
    list.per_page = from_.number<std::uint64_t>();
    list.pages.resize(from_.count(sizeof(PageId)));
    for (PageId& page : list.pages) std::memcpy(page.data(), from_.raw(page.size()).data(), page.size());
    list.tail = from_.text();
    return list;
  }

  PagedPart paged_part() {
    const auto value = from_.number<std::uint32_t>();
    auto [dtype, extents] = shape();
    const auto axis = from_.number<std::uint8_t>();
    auto part = PagedPart::make(value, dtype, std::move(extents), axis);
    if (!part) damaged("a tensor in pages has a shape that none can have");
    return std::move(*part);
  }

  api::Array value(unsigned depth) {
    if (depth > kMaxListDepth) damaged("lists are nested deeper than 8");
    switch (from_.number<std::uint8_t>()) {
      case static_cast<int>(api::Array::Kind::none): return {};
      case static_cast<int>(api::Array::Kind::tensor): return tensor();
      case static_cast<int>(api::Array::Kind::sequence): return sequence(depth + 1);
      case static_cast<int>(api::Array::Kind::map): return map(depth + 1);
      default: damaged("a value is of no known kind");
    }
  }

  api::Array sequence(unsigned depth) {
    std::vector<api::Array> items(from_.count(1));
    for (api::Array& item : items) item = value(depth);
    return api::Array::sequence(items);
  }

  api::Array map(unsigned depth) {
    std::vector<std::pair<api::Array, api::Array>> entries(from_.count(2));
    for (auto& [key, item] : entries) {
      key = value(depth);
      if (!key.is_tensor() || !key.sizes().empty() || !is_key(key.dtype())) {
        damaged("a key of a map is neither an integer nor a string");
      }
      item = value(depth);
    }
    return api::Array::map(entries);
  }

  std::pair<api::Dtype, api::Sizes> shape() {
    const auto dtype = dtype_of_number(from_.number<std::uint8_t>());
    if (!dtype) damaged("a tensor is of no known type");
    api::Sizes extents(from_.number<std::uint8_t>());
    for (std::int64_t& extent : extents) extent = from_.number<std::int64_t>();
    return {*dtype, std::move(extents)};
  }

  api::Array tensor() {
    auto [dtype, extents] = shape();
    return dtype == api::Dtype::string ? strings(std::move(extents)) : numbers(dtype, std::move(extents));
  }

  /// Returns the number of elements, each of at least `width` bytes.
  std::size_t elements(const api::Sizes& extents, std::size_t width) const {
    std::size_t count = 1;
    bool too_many = false;
    for (const std::int64_t extent : extents) {
      if (extent < 0) damaged("a tensor has a negative extent");
      too_many = __builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count) || too_many;
    }
    if (std::ranges::find(extents, 0) != extents.end()) return 0;
    if (too_many || count > from_.left() / width) damaged("a tensor is longer than they are");
    return count;
  }

  api::Array numbers(api::Dtype dtype, api::Sizes extents) {
    from_.align(kStateAlignment);
    const std::size_t width = api::byte_size(dtype);
    const std::string_view raw = from_.raw(elements(extents, width) * width);
    if (dtype == api::Dtype::boolean && std::ranges::any_of(raw, [](char byte) { return byte != 0 && byte != 1; })) {
      damaged("a truth value is neither 0 nor 1");
    }
    return api::Array::borrow(dtype, std::move(extents), std::as_bytes(std::span(raw)), bytes_);
  }

  api::Array strings(api::Sizes extents) {
    elements(extents, sizeof(std::uint32_t));
    api::Array array(api::Dtype::string, std::move(extents));
    for (std::string& text : array.mutable_values<std::string>()) text = from_.text();
    return array;
  }

  std::shared_ptr<const std::string> bytes_;
  ByteReader from_;
};

}  // namespace

std::uint64_t checksum_of(std::string_view bytes) {
  constexpr std::size_t kWord = sizeof(std::uint64_t), kLanes = 4;  // so that multiplications overlap
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kLanes * kWord; at += kLanes * kWord, left -= kLanes * kWord) {
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], load_word(at + i * kWord));
  }
  for (; left >= kWord; at += kWord, left -= kWord) lanes[0] = mixed(lanes[0], load_word(at));
  if (left > 0) lanes[0] = mixed(lanes[0], load_word(at, left));
  std::uint64_t sum = bytes.size();
  for (const std::uint64_t lane : lanes) sum = mixed(sum, lane);
  return sum;
}

void ByteWriter::count(std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("a text or list of a state has 4 GiB or more");
  }
  number(static_cast<std::uint32_t>(count));
}

void ByteWriter::text(std::string_view text) {
  count(text.size());
  raw(text);
}

std::string_view ByteReader::raw(std::size_t count) {
  if (count > left()) damaged("they end early");
  const std::string_view raw = bytes_.substr(at_, count);
  at_ += count;
  return raw;
}

std::size_t ByteReader::count(std::size_t least) {
  const std::size_t count = number<std::uint32_t>();
  if (count > left() / least) damaged("a list is longer than they are");
  return count;
}

std::string bytes_of_state(const std::vector<NamedArray>& values, std::uint64_t turn,
                           const std::vector<PageList>& lists) {
  ByteWriter to;
  to.reserve(likely_size(values, lists));
  to.raw(kStateMagic);
  to.number(lists.empty() ? kStateForm : kPagedStateForm);
  to.number(turn);
  to.number(std::uint64_t{0});
  to.number(std::uint64_t{0});
  to.count(values.size());
  for (const auto& [name, value] : values) {
    to.text(name);
    write_value(to, value, 0);
  }
  if (!lists.empty()) to.count(lists.size());
  for (const PageList& list : lists) write_list(to, list);
  std::string& bytes = to.bytes();
  const std::uint64_t size = bytes.size() - kStateHead;
  std::memcpy(bytes.data() + kCheckedHead - sizeof size, &size, sizeof size);
  const std::uint64_t sum = checksum_of_state(bytes);
  std::memcpy(bytes.data() + kCheckedHead, &sum, sizeof sum);
  return std::move(bytes);
}

void check_state(std::string_view bytes) {
  ByteReader from(bytes);
  if (from.raw(kStateMagic.size()) != kStateMagic) damaged("they do not begin with " + std::string(kStateMagic));
  const auto form = from.number<std::uint32_t>();
  if (form != kStateForm && form != kPagedStateForm) {
    throw StateFault("its bytes have form " + std::to_string(form) + ", this version of Frazil knows forms " +
                     std::to_string(kStateForm) + " and " + std::to_string(kPagedStateForm));
  }
  (void)from.number<std::uint64_t>();
  const auto size = from.number<std::uint64_t>(), sum = from.number<std::uint64_t>();
  if (size != from.left()) {
    damaged(std::to_string(size) + " are announced after the header, " + std::to_string(from.left()) + " are there");
  }
  if (sum != checksum_of_state(bytes)) damaged("their checksum differs");
}

std::uint64_t turn_of_state(std::string_view bytes) {
  ByteReader from(bytes);
  from.raw(kStateMagic.size() + sizeof kStateForm);
  return from.number<std::uint64_t>();
}

StateContent content_of_state(const std::shared_ptr<const std::string>& bytes) {
  ByteReader from(*bytes);
  from.raw(kStateMagic.size());
  const bool paged = from.number<std::uint32_t>() == kPagedStateForm;
  try {
    return StateReader(bytes).content(paged);
  } catch (const api::Error& error) {
    damaged(error.what());
  }
}

}  // namespace frazil::server
