#include "wire_mutate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>

#include "vocabulary.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace frazil::fuzz {
namespace {

std::string shake(std::string text, std::size_t room) {
  const std::size_t size = text.size();
  text.resize(size + room);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

struct Place {
  Field* parent;
  std::size_t at;
  Field& field() const { return parent->fields[at]; }
};

void collect(Field& parent, std::vector<Place>& to) {
  for (std::size_t i = 0; i < parent.fields.size(); ++i) {
    to.push_back({&parent, i});
    collect(parent.fields[i], to);
  }
}
void collect(const Field& parent, std::vector<const Field*>& to) {
  for (const Field& f : parent.fields) {
    to.push_back(&f);
    collect(f, to);
  }
}

bool is_graph(const Field& f) { return f.message == Message::graph || f.message == Message::function; }

/// One change. The places go stale with it.
class Mutation {
 public:
  Mutation(Field& root, const Field* other, Choices& choices) : root_(root), other_(other), c_(choices) {
    collect(root_, places_);
  }

  /// False when there is nothing to change in the way that was drawn.
  bool apply() {
    switch (c_.weighted({8, 6, 4, 24, 20, 8, 14, 2, 10, 5, 3, 2})) {
      case 0: return drop();
      case 1: return duplicate();
      case 2: return swap();
      case 3: return number();
      case 4: return rename();
      case 5: return raw();
      case 6: return transplant();
      case 7: return lie();
      case 8: return add_node();
      case 9: return add_initializer();
      case 10: return nest();
      default: return retag();
    }
  }

 private:
  using Is = std::function<bool(const Field&)>;

  const Place* any(const Is& is) {
    std::vector<const Place*> fit;
    for (const Place& p : places_) {
      if (is(p.field())) fit.push_back(&p);
    }
    return fit.empty() ? nullptr : c_.pick(fit);
  }
  const Place* any() {
    return any([](const Field&) { return true; });
  }

  // ---- structure ----

  bool drop() {
    const Place* p = any();
    if (p == nullptr) return false;
    p->parent->fields.erase(p->parent->fields.begin() + static_cast<std::ptrdiff_t>(p->at));
    return true;
  }
  bool duplicate() {
    const Place* p = any();
    if (p == nullptr) return false;
    const Field copy = p->field();
    const std::size_t times = c_.chance(90) ? 1 : 1 + c_.below(20);
    p->parent->fields.insert(p->parent->fields.begin() + static_cast<std::ptrdiff_t>(p->at), times, copy);
    return true;
  }
  bool swap() {
    const Place* p = any();
    if (p == nullptr || p->parent->fields.size() < 2) return false;
    std::swap(p->field(), p->parent->fields[c_.below(p->parent->fields.size())]);
    return true;
  }
  /// Another message of the same kind, of this tree or the other one, in a message's place or beside it.
  bool transplant() {
    const Place* p = any([](const Field& f) { return f.nested(); });
    if (p == nullptr) return false;
    std::vector<const Field*> donors;
    collect(other_ != nullptr && c_.chance(60) ? *other_ : std::as_const(root_), donors);
    const Field& old = p->field();
    std::erase_if(donors,
                  [&](const Field* f) { return f->message != old.message || f->packed != old.packed || f == &old; });
    if (donors.empty()) return false;
    Field copy = *c_.pick(donors);
    if (!c_.chance(10)) copy.tag = old.tag;
    if (c_.chance(60)) {
      p->field() = std::move(copy);
    } else {
      p->parent->fields.insert(p->parent->fields.begin() + static_cast<std::ptrdiff_t>(p->at), std::move(copy));
    }
    return true;
  }
  bool nest() {
    const Place* p = any([](const Field& f) { return f.message == Message::graph; });
    const Place* from = any(is_graph);
    if (p == nullptr || from == nullptr) return false;
    std::vector<Field> content = from->field().fields;
    p->field().fields = std::move(content);
    return true;
  }
  bool lie() {
    const Place* p = any([](const Field& f) { return f.wire == Wire::bytes; });
    if (p == nullptr) return false;
    p->field().skew = static_cast<int>(c_.between(-3, 3));
    if (c_.chance(20)) p->field().skew = 1 << c_.below(30);
    return true;
  }
  bool retag() {
    const Place* p = any();
    if (p == nullptr) return false;
    p->field().tag = static_cast<std::uint32_t>(c_.between(1, 26));
    if (c_.chance(20)) p->field().wire = c_.pick({Wire::varint, Wire::fixed64, Wire::bytes, Wire::fixed32});
    return true;
  }

  // ---- content ----

  bool number() {
    const Place* p = any([](const Field& f) { return f.wire != Wire::bytes; });
    if (p == nullptr) return false;
    Field& f = p->field();
    f.number = number_for(f);
    return true;
  }
  std::uint64_t number_for(const Field& f) {
    switch (f.role) {
      case Role::real:
        if (f.wire == Wire::fixed64) return std::bit_cast<std::uint64_t>(some_real(c_));
        return std::bit_cast<std::uint32_t>(static_cast<float>(some_real(c_)));
      case Role::extent: return static_cast<std::uint64_t>(some_extent(c_));
      case Role::data_type: return c_.chance(40) ? c_.pick({1u, 7u, 6u, 9u, 8u}) : c_.below(28);
      case Role::attr_type: return c_.below(16);
      case Role::version: return c_.chance(95) ? c_.below(28) : static_cast<std::uint64_t>(some_integer(c_));
      default: break;
    }
    if (c_.chance(30)) return f.number + (c_.chance(50) ? 1 : ~std::uint64_t{0});
    return static_cast<std::uint64_t>(some_integer(c_));
  }

  bool rename() {
    const Place* p = any([](const Field& f) { return f.wire == Wire::bytes && !f.nested() && f.role != Role::raw; });
    if (p == nullptr) return false;
    Field& f = p->field();
    const auto kind = c_.weighted({60, 30, 10});
    if (kind == 2) {
      f.bytes = shake(f.bytes, 8);
    } else if (kind == 1) {
      f.bytes = word_for(f.role);
    } else {
      f.bytes =
          any([&](const Field& g) { return g.role == f.role && g.wire == Wire::bytes && !g.nested(); })->field().bytes;
    }
    return true;
  }
  std::string word_for(Role role) {
    switch (role) {
      case Role::op_type: return some_operator(c_);
      case Role::domain: return c_.pick({"", "ai.onnx", "ai.onnx.ml", "local", "com.microsoft", "frazil"});
      case Role::attr_name: return c_.pick(attribute_names());
      case Role::dim_name: return c_.pick({"N", "M", "?", "", "None", "?0", "x.0", "N + 1"});
      case Role::value_name: return c_.pick({"", "x", "y", "cond", "?"});
      default: return c_.pick(attribute_texts());
    }
  }

  bool raw() {
    const Place* p = any([](const Field& f) { return f.role == Role::raw; });
    if (p == nullptr) return false;
    std::string& bytes = p->field().bytes;
    const auto kind = c_.weighted({50, 20, 15, 15});
    if (kind == 0 && bytes.size() >= 4) {
      put_element(bytes);
    } else if (kind == 1 && !bytes.empty()) {
      bytes.resize(c_.below(bytes.size()));
    } else if (kind == 2) {
      bytes.resize(bytes.size() + 1 + c_.below(16));
    } else {
      bytes = shake(bytes, 8);
    }
    return true;
  }
  void put_element(std::string& bytes) {
    const std::size_t width = bytes.size() >= 8 && c_.chance(50) ? 8 : 4;
    const std::size_t at = c_.below(bytes.size() / width) * width;
    const auto integer = static_cast<std::uint64_t>(some_integer(c_));
    const float real = static_cast<float>(some_real(c_));
    if (width == 8 || c_.chance(50)) {
      std::memcpy(bytes.data() + at, &integer, width);
    } else {
      std::memcpy(bytes.data() + at, &real, width);
    }
  }

  // ---- growth ----

  std::string some_value_name() {
    const Place* p = any([](const Field& f) { return f.role == Role::value_name && !f.bytes.empty(); });
    return p == nullptr ? "x" : p->field().bytes;
  }
  std::string new_name() { return "v" + std::to_string(c_.below(1000)); }

  Field attribute_of(const AttrField& field) {
    constexpr int kTypes[] = {2, 1, 3, 7, 6, 8, 4};  // by AttrKind
    std::vector<Field> f{
        text_field(1, Role::attr_name, std::string(field.name)),
        number_field(20, Role::attr_type, static_cast<std::uint64_t>(kTypes[static_cast<int>(field.kind)]))};
    const std::size_t count = c_.below(5);
    switch (field.kind) {
      case AttrKind::integer:
        f.push_back(number_field(
            3, Role::integer,
            static_cast<std::uint64_t>(c_.chance(60) ? static_cast<std::int64_t>(c_.below(3)) : some_integer(c_))));
        break;
      case AttrKind::real: f.push_back(real_field(2)); break;
      case AttrKind::string: f.push_back(text_field(4, Role::text, c_.pick(attribute_texts()))); break;
      case AttrKind::integers:
        for (std::size_t i = 0; i < count; ++i)
          f.push_back(number_field(8, Role::integer, static_cast<std::uint64_t>(some_integer(c_))));
        break;
      case AttrKind::reals:
        for (std::size_t i = 0; i < count; ++i) f.push_back(real_field(7));
        break;
      case AttrKind::strings:
        for (std::size_t i = 0; i < count; ++i) f.push_back(text_field(9, Role::text, c_.pick(attribute_texts())));
        break;
      case AttrKind::tensor: f.push_back(message_field(5, Message::tensor, tensor_fields(""))); break;
    }
    return message_field(5, Message::attribute, std::move(f));
  }
  Field real_field(std::uint32_t tag) {
    Field f = number_field(tag, Role::real, std::bit_cast<std::uint32_t>(static_cast<float>(some_real(c_))));
    f.wire = Wire::fixed32;
    return f;
  }

  std::vector<Field> tensor_fields(const std::string& name) {
    std::vector<Field> f;
    std::size_t count = 1;
    for (std::size_t rank = c_.below(4); rank-- > 0;) {
      const std::size_t extent = c_.chance(90) ? 1 + c_.below(3) : 0;
      f.push_back(number_field(1, Role::extent, extent));
      count *= extent;
    }
    const bool real = c_.chance(40);
    f.push_back(number_field(2, Role::data_type, real ? 1 : 7));
    if (!name.empty()) f.push_back(text_field(8, Role::value_name, name));
    for (std::size_t i = 0; i < count; ++i) {
      f.push_back(real ? real_field(4) : number_field(7, Role::integer, static_cast<std::uint64_t>(some_integer(c_))));
    }
    return f;
  }

  bool add_initializer() {
    const Place* p = any([](const Field& f) { return f.message == Message::graph; });
    if (p == nullptr) return false;
    const std::string name = c_.chance(70) ? new_name() : some_value_name();
    p->field().fields.push_back(message_field(5, Message::tensor, tensor_fields(name)));
    return true;
  }

  bool add_node() {
    const Place* p = any(is_graph);
    if (p == nullptr) return false;
    const OpDef& op = *c_.pick(operators());
    std::vector<Field> node{text_field(4, Role::op_type, std::string(op.name))};
    if (!op.domain.empty()) node.push_back(text_field(7, Role::domain, std::string(op.domain)));
    for (const Port& port : op.inputs) {
      const std::size_t times = port.use == Port::Use::variadic ? c_.below(4) : 1;
      const bool given = port.use == Port::Use::required || c_.chance(60);
      for (std::size_t i = 0; i < times; ++i) {
        node.push_back(text_field(1, Role::value_name, given ? some_value_name() : std::string()));
      }
    }
    for (const AttrField& field : op.attrs.fields) {
      if (field.required || c_.chance(40)) node.push_back(attribute_of(field));
    }
    if (const auto* region = std::get_if<Region>(&op.form)) add_bodies(*region, node);
    const bool function = p->field().message == Message::function;
    const std::size_t outputs = std::max<std::size_t>(1, c_.chance(80) ? op.outputs.size() : c_.below(4));
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::string name = new_name();
      node.push_back(text_field(2, Role::value_name, name));
      if (!function && c_.chance(70)) {
        p->field().fields.push_back(message_field(12, Message::value_info, {text_field(1, Role::value_name, name)}));
      }
    }
    p->field().fields.push_back(message_field(function ? 7 : 1, Message::node, std::move(node)));
    return true;
  }
  void add_bodies(const Region& region, std::vector<Field>& node) {
    for (const std::string_view name : region.block_attrs) {
      const Place* body = any([](const Field& f) { return f.message == Message::graph; });
      node.push_back(message_field(
          5, Message::attribute,
          {text_field(1, Role::attr_name, std::string(name)), number_field(20, Role::attr_type, 5),
           message_field(6, Message::graph, body == nullptr ? std::vector<Field>() : body->field().fields)}));
    }
  }

  Field& root_;
  const Field* other_;
  Choices& c_;
  std::vector<Place> places_;
};

using Seed = std::array<std::uint8_t, 4>;

}  // namespace

void mutate(Field& root, const Field* other, Choices& choices) {
  constexpr std::size_t kLargest = 20'000;
  std::vector<const Field*> all;
  for (std::size_t changes = 1 + choices.below(4); changes > 0; --changes) {
    for (int tries = 0; tries < 8 && !Mutation(root, other, choices).apply(); ++tries) continue;
    all.clear();
    collect(std::as_const(root), all);
    if (all.size() > kLargest) return;
  }
}

std::size_t mutate_message(Message message, std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  const auto bits = std::bit_cast<Seed>(seed);
  Choices choices(bits);
  auto tree = read_tree(message, {data, size});
  if (!tree || choices.chance(5)) return LLVMFuzzerMutate(data, size, max_size);
  mutate(*tree, nullptr, choices);
  const std::string out = write_tree(*tree);
  if (out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

std::size_t cross_messages(Message message, std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                           std::span<std::uint8_t> out, unsigned seed) {
  const auto bits = std::bit_cast<Seed>(seed);
  Choices choices(bits);
  auto tree = read_tree(message, a);
  const auto other = read_tree(message, b);
  if (!tree || !other) return 0;
  mutate(*tree, &*other, choices);
  const std::string bytes = write_tree(*tree);
  if (bytes.size() > out.size()) return 0;
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace frazil::fuzz
