#include <algorithm>
#include <cmath>
#include <cstring>

#include "server/json_tensor.h"
#include "server/json_text.h"
#include "server/rest.h"
#include "server/url.h"
#include "server/yaml.h"

// The ways that requests took: GET /v2/paths, GET /v2/paths/NUMBER, POST /v2/paths/NUMBER/replay.
namespace frazil::server {
namespace {

constexpr std::size_t kMostListed = 1000;

PathLog::Query query_from(std::string_view text) {
  PathLog::Query query;
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
    } else if (key == "slower_us" && number) {
      query.slower_us = number;
    } else if (key == "limit" && number) {
      query.most = std::min<std::size_t>(*number, kMostListed);
    } else {
      const std::string given = std::string(key).append("=").append(value);
      throw Refusal(Http::bad_request,
                    "query '" + given + "': expected model, id, taken, error, slower_us or limit with its value");
    }
  }
  return query;
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

/// Nothing where they cannot be compared by number.
std::optional<double> largest_difference(const api::Array& a, const api::Array& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.sizes() != b.sizes() || a.dtype() == api::Dtype::string ||
      b.dtype() == api::Dtype::string) {
    return std::nullopt;
  }
  double largest = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) largest = std::max(largest, std::abs(a.number(i) - b.number(i)));
  return largest;
}

void append_comparison(std::string& json, const Journey& journey, const NamedArray& before, const NamedArray& now) {
  json += R"({"name":)";
  append_json(json, before.first);
  json += same_bits(before.second, now.second) ? R"(,"equal":true)" : R"(,"equal":false)";
  if (const auto difference = largest_difference(before.second, now.second)) {
    json += R"(,"largest_difference":)";
    append_number(json, *difference);
  }
  json += R"(,"before":)";
  append_json(json, shown_value(journey, before));
  json += R"(,"now":)";
  append_json(json, shown_value(journey, {before.first, now.second}));
  json += '}';
}

Reply compared(const Journey& before, const Outcome& now, const PathRecord& path) {
  Journey again{.number = before.number, .steps = path.steps()};
  Reply reply{.body = R"({"outputs":[)"};
  bool equal = now.has_value() == (before.status == Http::ok);
  if (now) {
    for (std::size_t i = 0; i < now->outputs.size() && i < before.outputs.size(); ++i) {
      if (i != 0) reply.body += ',';
      append_comparison(reply.body, before, before.outputs[i], now->outputs[i]);
      equal &= same_bits(before.outputs[i].second, now->outputs[i].second);
    }
    again.model = now->model;
    again.version = now->version;
  } else {
    again.status = now.error().status();
    again.error = now.error().what();
  }
  reply.body += equal ? R"(],"equal":true,"path":)" : R"(],"equal":false,"path":)";
  redact(again, before.redacted);
  append_journey(reply.body, again);
  reply.body += '}';
  return reply;
}

}  // namespace

void Rest::of_paths(const Message& message, const Sender& sender, Done done) const {
  constexpr std::string_view kPaths = "/v2/paths/", kReplay = "/replay";
  std::string_view rest = message.path.substr(std::min(kPaths.size(), message.path.size()));
  if (rest.empty()) {
    expect_method(message, "GET");
    Reply reply{.body = "["};
    PathLog::Query query = query_from(message.query);
    query.asker = sender.asker;
    append_list(reply.body, service_.paths().find(query),
                [&](const auto& journey) { append_journey(reply.body, *journey); });
    reply.body += ']';
    return done(std::move(reply));
  }
  const bool again = rest.ends_with(kReplay);
  if (again) rest.remove_suffix(kReplay.size());
  const auto number = whole_from(rest);
  if (!number)
    throw Refusal(Http::not_found, "there is no path '" + std::string(message.path) + "'; see docs/serving.md");
  if (again) return replay(message, *number, sender, std::move(done));
  expect_method(message, "GET");
  const auto journey = service_.paths().find(*number, sender.asker);
  if (journey == nullptr) throw Refusal(Http::not_found, "path " + std::to_string(*number) + " is not kept");
  Reply reply;
  append_journey(reply.body, *journey);
  done(std::move(reply));
}

void Rest::replay(const Message& message, std::uint64_t number, const Sender& sender, Done done) const {
  expect_method(message, "POST");
  const Done leave = with_place({.asker = sender.asker}, std::move(done));
  if (leave == nullptr) return;
  on_worker(leave, [*this, &message, number, sender](const Done& left) {
    service_.replay(number, change_from(message.body), sender.asker, sender.caller,
                    [left](const Journey& before, const Outcome& now, const PathRecord& path) {
                      left(compared(before, now, path));
                    });
  });
}

}  // namespace frazil::server
