#include "govern/policy/input.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory_resource>

#include "govern/base/error.h"
#include "govern/policy/shown.h"

namespace frazil::govern {

Layout::Layout(const RecordType& record) : record_(&record) { add(record, "", kNone); }

void Layout::add(const RecordType& record, const std::string& prefix, std::uint32_t parent) {
  const auto first = static_cast<std::uint32_t>(slots_.size());
  for (const Field& field : record.fields) slots_.push_back({&field, prefix + field.name, parent, kNone});
  for (std::uint32_t i = 0; i < record.fields.size(); ++i) {
    if (record.fields[i].type.kind != ValueKind::record) continue;
    slots_[first + i].first = static_cast<std::uint32_t>(slots_.size());
    add(*record.fields[i].type.record, slots_[first + i].path + ".", first + i);
  }
}

const Layout& Layout::of(Hook hook) {
  static const std::vector<Layout> all = [] {
    std::vector<Layout> layouts;
    for (const HookInfo& row : hooks()) layouts.emplace_back(row.record).hook_ = row.hook;
    return layouts;
  }();
  return all[static_cast<std::size_t>(hook)];
}

std::optional<std::uint32_t> Layout::find(std::string_view path) const {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].path == path) return i;
  }
  return std::nullopt;
}

FieldId field_of(Hook hook, std::string_view path) {
  const auto slot = Layout::of(hook).find(path);
  if (!slot) fail(Code::internal, "hook '{}' has no field '{}'", name_of(hook), path);
  return {hook, *slot};
}

struct Input::State {
  explicit State(std::size_t slots_count) : slots(slots_count) {}
  std::vector<Value> slots;
  std::array<std::byte, 1024> first;
  std::pmr::monotonic_buffer_resource memory{first.data(), first.size()};
  Json json;  ///< owns the texts of from_json()
  std::string fault;

  Value* allocate(std::size_t count) {
    auto* items = static_cast<Value*>(memory.allocate(std::max<std::size_t>(count, 1) * sizeof(Value), alignof(Value)));
    std::uninitialized_default_construct_n(items, count);
    return items;
  }
};

Input::Input(Hook hook) : Input(Layout::of(hook)) {}
Input::Input(const Layout& layout) : layout_(&layout), state_(std::make_unique<State>(layout.slots().size())) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

std::span<const Value> Input::slots() const { return state_->slots; }
const std::string& Input::fault() const { return state_->fault; }

void Input::clear() {
  std::ranges::fill(state_->slots, Value());
  state_->memory.release();
  state_->json = nullptr;
  state_->fault.clear();
}

namespace {

/// Returns what is wrong with a value of the type; empty if nothing is.
std::string fault_of(const ValueType& type, const Value& value) {
  if (type.kind != value.kind) return fmt::format("expected {}, got another type", name_of(type));
  const bool sized = value.kind == ValueKind::text || value.kind == ValueKind::list || value.kind == ValueKind::map;
  if (sized && value.size > type.bound) {
    return fmt::format("{} {}, but at most {} are declared", value.size,
                       value.kind == ValueKind::text ? "bytes" : "elements", type.bound);
  }
  const std::uint32_t step = value.kind == ValueKind::map ? 2 : 1;
  if (value.kind != ValueKind::list && value.kind != ValueKind::map) return {};
  for (std::uint32_t i = 0; i < value.size; ++i) {
    if (step == 2 && value.items[2 * i].size > type.key_bound) {
      return fmt::format("a key of {} bytes, but at most {} are declared", value.items[2 * i].size, type.key_bound);
    }
    std::string fault = fault_of(*type.element, value.items[step * i + step - 1]);
    if (!fault.empty()) return fmt::format("element {}: {}", i, fault);
  }
  return {};
}

}  // namespace

void Input::put(FieldId field, const Value& value) {
  if (field.hook != layout_->hook()) {
    state_->fault = "a field of another hook";
    return;
  }
  const std::span<const Layout::Slot> slots = layout_->slots();
  const Layout::Slot& slot = slots[field.slot];
  if (std::string fault = fault_of(slot.field->type, value); !fault.empty() && state_->fault.empty()) {
    state_->fault = fmt::format("field '{}': {}", slot.path, fault);
  }
  state_->slots[field.slot] = value;
  for (std::uint32_t parent = slot.parent; parent != Layout::kNone; parent = slots[parent].parent) {
    const auto count = static_cast<std::uint32_t>(slots[parent].field->type.record->fields.size());
    state_->slots[parent] = Value::compound(ValueKind::record, &state_->slots[slots[parent].first], count);
  }
}

void Input::set(FieldId field, bool value) { put(field, Value::of(value)); }
void Input::set(FieldId field, std::int64_t value) { put(field, Value::of(value)); }
void Input::set(FieldId field, double value) { put(field, Value::of(value)); }

void Input::set(FieldId field, std::string_view value) {
  // A longer text is beyond every bound; its size must not wrap.
  put(field, Value::of(value.substr(0, std::numeric_limits<std::uint32_t>::max())));
}

void Input::set(FieldId field, std::span<const std::string_view> values) {
  Value* const items = state_->allocate(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) items[i] = Value::of(values[i]);
  put(field, Value::compound(ValueKind::list, items, static_cast<std::uint32_t>(values.size())));
}

void Input::set(FieldId field, std::span<const std::pair<std::string_view, std::string_view>> entries) {
  Value* const items = state_->allocate(2 * entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    items[2 * i] = Value::of(entries[i].first);
    items[2 * i + 1] = Value::of(entries[i].second);
  }
  put(field, Value::compound(ValueKind::map, items, static_cast<std::uint32_t>(entries.size())));
}

namespace {

/// Converts JSON values to values of declared types. `allocate` returns memory for a number of values.
template <class Allocate>
class FromJson {
 public:
  explicit FromJson(Allocate allocate) : allocate_(std::move(allocate)) {}

  Value convert(const Json& json, const ValueType& type, const std::string& path) {
    switch (type.kind) {
      case ValueKind::boolean: return Value::of(checked<bool>(json, json.is_boolean(), type, path));
      case ValueKind::integer: return Value::of(integer(json, type, path));
      case ValueKind::real: return Value::of(checked<double>(json, json.is_number(), type, path));
      case ValueKind::text: return text(json, type, path);
      case ValueKind::list: return list(json, type, path);
      case ValueKind::map: return map(json, type, path);
      case ValueKind::record: return record(json, *type.record, path);
      case ValueKind::absent:
      case ValueKind::error: break;
    }
    return {};
  }

  Value record(const Json& json, const RecordType& type, const std::string& path) {
    Value* const items = allocate_(type.fields.size());
    each_field(json, type, path, [&](std::uint32_t field, const Json& value, const std::string& inner) {
      items[field] = convert(value, type.fields[field].type, inner);
    });
    return Value::compound(ValueKind::record, items, static_cast<std::uint32_t>(type.fields.size()));
  }

  template <class F>
  static void each_field(const Json& json, const RecordType& type, const std::string& path, const F& call) {
    if (!json.is_object()) fail(Code::bad_input, "{}: expected an object, got {}", path, json.type_name());
    for (const auto& [name, value] : json.items()) {
      const auto field = type.find(name);
      if (!field) {
        fail(Code::bad_input, "{}: there is no field '{}'; the fields are {}", path, shown(name), type.field_names());
      }
      call(*field, value, fmt::format("{}.{}", path, name));
    }
  }

 private:
  template <class T>
  static T checked(const Json& json, bool fits, const ValueType& type, const std::string& path) {
    if (!fits) fail(Code::bad_input, "{}: expected {}, got {}", path, name_of(type), json.type_name());
    return json.template get<T>();
  }

  static void check_size(std::size_t size, std::uint32_t most, const char* of, const std::string& path) {
    if (size > most) fail(Code::bad_input, "{}: {} {}, but at most {} are declared", path, size, of, most);
  }

  static std::int64_t integer(const Json& json, const ValueType& type, const std::string& path) {
    const bool large = json.is_number_unsigned() && json.get<std::uint64_t>() >> 63 != 0;
    return checked<std::int64_t>(json, json.is_number_integer() && !large, type, path);
  }

  static Value text(const Json& json, const ValueType& type, const std::string& path) {
    if (!json.is_string()) fail(Code::bad_input, "{}: expected string, got {}", path, json.type_name());
    const std::string& text = json.get_ref<const std::string&>();
    check_size(text.size(), type.bound, "bytes", path);
    return Value::of(std::string_view(text));
  }

  Value list(const Json& json, const ValueType& type, const std::string& path) {
    if (!json.is_array()) fail(Code::bad_input, "{}: expected {}, got {}", path, name_of(type), json.type_name());
    check_size(json.size(), type.bound, "elements", path);
    Value* const items = allocate_(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
      items[i] = convert(json[i], *type.element, fmt::format("{}[{}]", path, i));
    }
    return Value::compound(ValueKind::list, items, static_cast<std::uint32_t>(json.size()));
  }

  Value map(const Json& json, const ValueType& type, const std::string& path) {
    if (!json.is_object()) fail(Code::bad_input, "{}: expected {}, got {}", path, name_of(type), json.type_name());
    check_size(json.size(), type.bound, "entries", path);
    Value* next = allocate_(2 * json.size());
    const Value map = Value::compound(ValueKind::map, next, static_cast<std::uint32_t>(json.size()));
    for (auto it = json.begin(); it != json.end(); ++it) {
      check_size(it.key().size(), type.key_bound, "bytes of a key", path);
      *next++ = Value::of(std::string_view(it.key()));
      *next++ = convert(it.value(), *type.element, fmt::format("{}['{}']", path, shown(it.key())));
    }
    return map;
  }

  Allocate allocate_;
};

}  // namespace

Input Input::from_json(const Layout& layout, Json json, std::string_view what) {
  Input input(layout);
  input.state_->json = std::move(json);
  State& state = *input.state_;
  FromJson reader([&state](std::size_t count) { return state.allocate(count); });
  const auto read = [&](auto self, const RecordType& record, const Json& object, std::uint32_t first,
                        const std::string& path) -> void {
    reader.each_field(object, record, path, [&](std::uint32_t index, const Json& value, const std::string& inner) {
      const std::uint32_t slot = first + index;
      const ValueType& type = record.fields[index].type;
      if (type.kind != ValueKind::record) return input.put({layout.hook(), slot}, reader.convert(value, type, inner));
      const std::uint32_t inside = layout.slots()[slot].first;
      const auto count = static_cast<std::uint32_t>(type.record->fields.size());
      state.slots[slot] = Value::compound(ValueKind::record, &state.slots[inside], count);
      self(self, *type.record, value, inside, inner);
    });
  };
  read(read, layout.record(), state.json, 0, std::string(what));
  return input;
}

Input Input::from_json(Hook hook, Json json, std::string_view what) {
  return from_json(Layout::of(hook), std::move(json), what);
}

}  // namespace frazil::govern
