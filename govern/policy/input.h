#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "govern/base/json.h"
#include "govern/policy/hooks.h"

namespace frazil::govern {

/// The places of a record's fields in a flat array: its own fields first, then those of each record inside.
class Layout {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Slot {
    const Field* field;
    std::string path;      ///< "forecast.memory"
    std::uint32_t parent;  ///< the slot of the record around it, or kNone
    std::uint32_t first;   ///< the slot of the first field inside, if the field is a record
  };

  /// `record` must outlive the layout.
  explicit Layout(const RecordType& record);
  static const Layout& of(Hook hook);

  const RecordType& record() const { return *record_; }
  /// Returns the hook whose record it is, if it was made by of().
  std::optional<Hook> hook() const { return hook_; }
  std::span<const Slot> slots() const { return slots_; }
  /// Returns the slot of a path such as "forecast.memory".
  std::optional<std::uint32_t> find(std::string_view path) const;

 private:
  void add(const RecordType& record, const std::string& prefix, std::uint32_t parent);
  const RecordType* record_;
  std::optional<Hook> hook_;
  std::vector<Slot> slots_;
};

/// A field of a hook's record: what Input::set() takes. Look it up once and keep it.
struct FieldId {
  std::optional<Hook> hook;
  std::uint32_t slot = 0;
};
/// Throws Code::internal if the hook has no field of this path.
FieldId field_of(Hook hook, std::string_view path);

/// The input of a decision: the values of a hook's record. A field that is not set is absent.
///
/// set() refers to the memory of texts, which must live until the decision. A value of another type or beyond its
/// declared bound makes the input faulty, and so does a field of another hook. Every decision on a faulty input denies.
/// One thread uses an input; use it again after clear(), which keeps memory.
class Input {
 public:
  explicit Input(Hook hook);
  /// `layout` must outlive the input.
  explicit Input(const Layout& layout);
  /// Copies a JSON object. `what` names the object in errors. Throws Code::bad_input for unknown fields, other types
  /// and values beyond their bounds. Members may be missing.
  static Input from_json(Hook hook, Json json, std::string_view what);
  static Input from_json(const Layout& layout, Json json, std::string_view what);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  void set(FieldId field, bool value);
  void set(FieldId field, std::int64_t value);
  void set(FieldId field, double value);
  void set(FieldId field, std::string_view value);
  void set(FieldId field, const char* value) { set(field, std::string_view(value)); }
  void set(FieldId field, std::span<const std::string_view> values);
  void set(FieldId field, std::span<const std::pair<std::string_view, std::string_view>> entries);
  void clear();

  const Layout& layout() const { return *layout_; }
  std::optional<Hook> hook() const { return layout_->hook(); }
  std::span<const Value> slots() const;
  /// Returns why the input is faulty; empty if it is not.
  const std::string& fault() const;

 private:
  struct State;
  void put(FieldId field, const Value& value);
  const Layout* layout_;
  std::unique_ptr<State> state_;
};

}  // namespace frazil::govern
