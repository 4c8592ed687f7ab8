#include "govern/gate/decision_log.h"

#include <array>
#include <shared_mutex>
#include <unordered_map>

#include "govern/base/digest.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMostStored = 65'536;

Json json_of_value(const Value& value, const ValueType& type);

Json json_of_items(const Value& value, const ValueType& type) {
  Json list = Json::array();
  for (std::uint32_t i = 0; i < value.size; ++i) list.push_back(json_of_value(value.items[i], *type.element));
  return list;
}

Json json_of_entries(const Value& value, const ValueType& type) {
  Json map = Json::object();
  for (std::uint32_t i = 0; i < value.size; ++i) {
    map[std::string(value.items[2 * i].view())] = json_of_value(value.items[2 * i + 1], *type.element);
  }
  return map;
}

Json json_of_record(const Value& value, const RecordType& record) {
  Json object = Json::object();
  for (std::uint32_t i = 0; i < value.size; ++i) {
    const Field& field = record.fields[i];
    if (field.per_request || value.items[i].kind == ValueKind::absent) continue;
    object[field.name] = json_of_value(value.items[i], field.type);
  }
  return object;
}

Json json_of_value(const Value& value, const ValueType& type) {
  switch (value.kind) {
    case ValueKind::boolean: return value.boolean;
    case ValueKind::integer: return value.integer;
    case ValueKind::real: return value.real;
    case ValueKind::text: return std::string(value.view());
    case ValueKind::list: return json_of_items(value, type);
    case ValueKind::map: return json_of_entries(value, type);
    case ValueKind::record: return json_of_record(value, *type.record);
    case ValueKind::absent:
    case ValueKind::error: break;
  }
  return nullptr;
}

std::string text_of_kept(const Input& input) try { return canonical(kept_input(input)); } catch (const Error&) {
  return {};
}

}  // namespace

Json kept_input(const Input& input) {
  const RecordType& record = input.layout().record();
  const Value all =
      Value::compound(ValueKind::record, input.slots().data(), static_cast<std::uint32_t>(record.fields.size()));
  return {{"hook", name_of(input.hook().value())}, {"input", json_of_record(all, record)}};
}

std::string decision_digest(const Input& input) { return digest_text(sha256(canonical(kept_input(input)))); }

std::string DecisionLog::keep(const Input& input) {
  if (audit_ == nullptr || !input.hook() || !input.fault().empty()) return {};
  const std::string text = text_of_kept(input);
  if (text.empty()) return {};
  std::string digest = digest_text(sha256(text));
  {
    const std::scoped_lock lock(mutex_);
    if (stored_.contains(digest)) return digest;
  }
  audit_->put_blob(text);
  const std::scoped_lock lock(mutex_);
  if (stored_.size() < kMostStored) stored_.insert(digest);
  return digest;
}

std::string DecisionLog::keep_permitted(const Input& input, std::string_view policy, std::string_view rule,
                                        std::string_view model) {
  std::string digest = keep(input);
  if (digest.empty()) return digest;
  {
    const std::scoped_lock lock(mutex_);
    const std::string key = fmt::format("{} {}", policy, digest);
    if (decided_.contains(key)) return digest;
    if (decided_.size() < kMostStored) decided_.insert(key);
  }
  Json event = {{"kind", "decide"},
                {"hook", name_of(input.hook().value())},
                {"policy", policy},
                {"rule", rule},
                {"model", model}};
  refer_to_decision(event, digest);
  audit_->append(std::move(event));
  return digest;
}

void refer_to_decision(Json& event, std::string_view digest) {
  if (digest.empty()) return;
  event["decision"] = digest;
  Json& blobs = event["blobs"];
  if (blobs.is_null()) blobs = Json::array();
  blobs.push_back(digest);
}

namespace {

/// The digests of the inputs of hook `run`, by their texts.
class RunDigests {
 public:
  std::string of(const std::array<std::string_view, 4>& fields) {
    const std::string key = fmt::format("{}", fmt::join(fields, std::string_view("\0", 1)));
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = digests_.find(key); known != digests_.end()) return known->second;
    }
    static constexpr std::array<const char*, 4> kFields = {"tenant", "model", "version", "digest"};
    Input input(Hook::run);
    for (std::size_t i = 0; i < fields.size(); ++i) input.set(field_of(Hook::run, kFields[i]), fields[i]);
    std::string digest = decision_digest(input);
    const std::unique_lock lock(mutex_);
    if (digests_.size() >= kMostStored) digests_.clear();
    digests_.emplace(key, digest);
    return digest;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::string> digests_;  ///< guarded by mutex_
};

std::string_view text_in_event(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found == event.end() ? std::string_view() : std::string_view(found->get_ref<const std::string&>());
}

}  // namespace

void refer_to_run(Json& event) {
  static RunDigests digests;
  event["decision"] = digests.of({text_in_event(event, "tenant"), text_in_event(event, "model"),
                                  text_in_event(event, "version"), text_in_event(event, "definition")});
}

}  // namespace frazil::govern
