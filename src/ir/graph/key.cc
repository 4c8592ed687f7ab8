#include "ir/graph/key.h"

#include <bit>

#include "ir/op/op.h"

namespace frazil {
namespace {

constexpr std::size_t kSmall = 4096;  // bytes of a tensor whose elements are part of a key
constexpr std::uint64_t kAbsent = ~std::uint64_t{0};

class AttributeWriter {
 public:
  explicit AttributeWriter(Key& key) : key_(key) {}

  void operator()(std::int64_t v) { key_.add(static_cast<std::uint64_t>(v)); }
  void operator()(float v) { key_.add(std::uint64_t{std::bit_cast<std::uint32_t>(v)}); }
  void operator()(const std::string& v) { key_.add(std::string_view(v)); }
  void operator()(const Tensor& v) { v.defined() ? key_.add(v) : key_.add(kAbsent); }
  template <class T>
  void operator()(const std::vector<T>& list) {
    key_.add(std::uint64_t{list.size()});
    for (const T& v : list) (*this)(v);
  }

 private:
  Key& key_;
};

}  // namespace

Key& Key::add(std::uint64_t number) {
  bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  return *this;
}

Key& Key::add(std::string_view text) {
  add(std::uint64_t{text.size()});
  bytes_ += text;
  return *this;
}

Key& Key::add(const Tensor& t) {
  add(static_cast<std::uint64_t>(t.elem())).add(std::uint64_t{t.rank()});
  for (const std::int64_t size : t.sizes()) add(static_cast<std::uint64_t>(size));
  const auto packed = t.bytes() < kSmall ? t.packed() : Result<Tensor>(std::unexpect);
  if (!packed) {
    add(std::uint64_t{reinterpret_cast<std::uintptr_t>(t.data())});
    for (const std::int64_t stride : t.strides()) add(static_cast<std::uint64_t>(stride));
  } else if (t.elem() == Elem::string) {
    for (const std::string& s : packed->as<std::string>()) add(std::string_view(s));
  } else {
    bytes_.append(reinterpret_cast<const char*>(packed->data()), packed->bytes());
  }
  return *this;
}

Key& Key::add_attributes(const Node& node) {
  for (const AttrField& f : node.op->attrs.fields) {
    const auto value = f.get(node.attrs.get());
    add(value ? std::uint64_t{value->index()} : kAbsent);
    if (value) std::visit(AttributeWriter(*this), *value);
  }
  return *this;
}

}  // namespace frazil
