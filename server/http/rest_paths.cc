#include <algorithm>
#include <cmath>
#include <cstring>

#include "server/config/yaml.h"
#include "server/core/json_text.h"
#include "server/http/rest.h"
#include "server/http/rest_at_once.h"
#include "server/net/url.h"
#include "server/request/json_tensor.h"

// Recorded paths of requests: GET /v2/paths, GET /v2/paths/NUMBER, POST /v2/paths/NUMBER/replay.
namespace frazil::server {
namespace {

constexpr std::size_t kMaxListed = 1000;

constexpr std::size_t kMaxListBytes = 1U << 20U;  // lists are written on the transport's thread

struct ListQuery {
  PathLog::Query of;
  bool steps = true;
};

ListQuery query_from(std::string_view text) {
  ListQuery list;
  PathLog::Query& query = list.of;
  for (const auto& [key, value] : query_of(text)) {
    const auto number = whole_from(value);
    if (key == "model") {
      query.model = value;
    } else if (key == "id") {
      query.id = value;
    } else if (key == "taken") {
      query.taken = value;
    } else if (key == "error") {
      query.error = value;
    } else if (key == "node") {
      query.node = value;
    } else if (key == "steps" && (value == "true" || value == "false")) {
      list.steps = value == "true";
    } else if (key == "after" && number) {
      query.after = *number;
    } else if (key == "slower_us" && number) {
      query.slower_us = number;
    } else if (key == "limit" && number) {
      query.most = std::min<std::size_t>(*number, kMaxListed);
    } else {
      const std::string given = std::string(key).append("=").append(value);
      throw Refusal(Http::bad_request,
                    "query '" + given +
                        "': expected model, id, node, taken, error, slower_us, after, limit or steps with its value");
    }
  }
  return list;
}

Service::Change change_from(std::string_view body) {
  Service::Change change;
  if (body.empty()) return change;
  const JsonObject json(body);
  change.model = text_or_nothing(json.root(), "model");
  change.version = text_or_nothing(json.root(), "version");
  if (const auto parameters = maybe(json.root(), "parameters")) {
    for (const auto& [key, value] : get<dom::object>(*parameters, "field \"parameters\"", "an object")) {
      change.parameters.emplace(key, parameter_of(value, "parameter " + std::string(key)));
    }
  }
  if (const auto choices = maybe(json.root(), "choices")) {
    for (const auto& [key, value] : get<dom::object>(*choices, "field \"choices\"", "an object")) {
      change.choices.emplace(key, get<std::string_view>(value, "choice " + std::string(key), "a branch's name"));
    }
  }
  return change;
}

bool same_bits(const api::Array& a, const api::Array& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  if (a.dtype() == api::Dtype::string) return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Returns nullopt if the values are not numeric tensors of equal sizes.
std::optional<double> largest_difference(const api::Array& a, const api::Array& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.sizes() != b.sizes() || a.dtype() == api::Dtype::string ||
      b.dtype() == api::Dtype::string) {
    return std::nullopt;
  }
  double largest = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) largest = std::max(largest, std::abs(a.number(i) - b.number(i)));
  return largest;
}

void write_comparison(JsonText& json, const RequestRecord& record, const NamedArray& before, const NamedArray& now,
                      bool tensors) {
  json.begin_object();
  json.member("name", before.first);
  json.member("equal", same_bits(before.second, now.second));
  if (const auto difference = largest_difference(before.second, now.second);
      difference && !is_hidden(record, before.first)) {
    json.member("largest_difference", *difference);
  }
  if (tensors) {
    json.member("before", shown_value(record, before));
    json.member("now", shown_value(record, {before.first, now.second}));
  }
  json.end_object();
}

Reply compared(const RequestRecord& before, const Outcome& now, const PathRecord& path, bool tensors) {
  RequestRecord again{.number = before.number, .steps = path.steps(), .labels = before.labels};
  JsonText json;
  json.begin_object();
  json.key("outputs");
  json.begin_array();
  bool equal = now.has_value() == (before.status == Http::ok);
  if (now) {
    for (std::size_t i = 0; i < now->outputs.size() && i < before.outputs.size(); ++i) {
      write_comparison(json, before, before.outputs[i], now->outputs[i], tensors);
      equal &= same_bits(before.outputs[i].second, now->outputs[i].second);
    }
    again.model = now->model;
    again.version = now->version;
  } else {
    again.status = now.error().status();
    again.error = now.error().what();
  }
  json.end_array();
  json.member("equal", equal);
  hide_personal(again);
  redact(again, before.redacted);
  json.key("path");
  write_record(json, again, tensors);
  json.end_object();
  return {.body = json.take()};
}

}  // namespace

Reply at_once::list_paths(Service& service, const Rest::ActiveRequest& asked) {
  ListQuery query = query_from(asked.message.query);
  query.of.identity = asked.identity;
  if (service.privacy() != nullptr) query.of.id = service.privacy()->id(query.of.id);
  const bool tensors = query.steps && service.gate().check_tensors(asked.identity, query.of.model);
  JsonText json;
  json.begin_array();
  for (const auto& record : service.paths().find(query.of)) {
    if (json.size() > kMaxListBytes) break;
    query.steps ? write_record(json, *record, tensors) : write_brief_record(json, *record);
  }
  json.end_array();
  return {.body = json.take()};
}

Reply at_once::show_path(Service& service, const Rest::ActiveRequest& asked) {
  const auto number = whole_from(asked.names.item);
  const auto record = number ? service.paths().find(*number, asked.identity) : nullptr;
  if (record == nullptr) throw Refusal(Http::not_found, "path " + asked.names.item + " is not kept");
  const bool tensors = service.gate().check_tensors(asked.identity, record->model);
  JsonText json;
  write_record(json, *record, tensors);
  return {.body = json.take()};
}

void Rest::replay(ActiveRequest& asked, Done done) const {
  const auto number = whole_from(asked.names.item);
  if (!number) throw Refusal(Http::not_found, "path " + asked.names.item + " is not kept");
  const Done leave = with_place({.identity = asked.identity}, std::move(done));
  if (leave == nullptr) return;
  service_.workers().post(answering(leave, [*this, asked = std::move(asked), number = *number](const Done& left) {
    const bool tensors = service_.gate().check_tensors(asked.identity, asked.names.model);
    service_.replay(number, change_from(asked.message.body), asked.identity, asked.caller,
                    [left, tensors](const RequestRecord& before, const Outcome& now, const PathRecord& path) {
                      left(compared(before, now, path, tensors));
                    });
  }));
}

}  // namespace frazil::server
