#include "server/http/generate.h"

#include <algorithm>

#include "server/core/port.h"
#include "server/request/infer_message.h"
#include "server/request/json_tensor.h"

namespace frazil::server {
namespace {

/// Returns the port's shape for `count` elements, which lie along its last free axis.
api::Sizes shape_for(const api::Port& port, std::int64_t count, const std::string& what) {
  api::Sizes sizes;
  std::optional<std::size_t> free;
  std::int64_t known = 1;
  for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
    const auto extent = fixed_extent(port.dims[axis]);
    if (!extent) free = axis;
    sizes.push_back(extent.value_or(1));
    known *= sizes.back();
  }
  if (free && known > 0 && count % known == 0) {
    sizes[*free] = count / known;
    known = count;
  }
  if (known != count) refuse(what + ": " + port.type + " does not take " + std::to_string(count) + " elements");
  return sizes;
}

void read_field(JsonObject& json, std::string_view key, dom::element value, const Served& served,
                InferRequest& request) {
  const auto port = std::ranges::find(served.inputs(), key, &api::Port::name);
  const std::string what = "field '" + std::string(key) + "'";
  if (port == served.inputs().end()) {
    request.parameters.emplace(key, parameter_of(value, what));
    return;
  }
  if (port->kind != api::Array::Kind::tensor) refuse(what + ": the input is not a tensor");
  api::Array array(port->dtype, shape_for(*port, static_cast<std::int64_t>(json.count_of(value)), what));
  json.fill(array, value, what);
  request.inputs.emplace_back(key, std::move(array));
}

InferRequest read_object(JsonObject& json, const Served& served) {
  InferRequest request;
  for (const auto& [key, value] : json.root()) {
    if (key == "id") {
      request.id = get<std::string_view>(value, "\"id\"", "a string");
    } else if (key == "parameters") {
      for (const auto& [name, parameter] : get<dom::object>(value, "\"parameters\"", "an object")) {
        request.parameters.emplace(name, parameter_of(parameter, "parameter " + std::string(name)));
      }
    } else {
      read_field(json, key, value, served, request);
    }
  }
  return request;
}

}  // namespace

InferRequest read_generate(std::string_view body, const Served& served) {
  return read_json(body, [&](JsonObject& json) { return read_object(json, served); });
}

namespace {

/// Writes the fields of a response into an open object.
void write_fields(JsonText& json, const InferResponse& response) {
  json.member("model_name", response.model);
  json.member("model_version", response.version);
  if (!response.id.empty()) json.member("id", response.id);
  write_arms(json, response);
  for (const auto& [name, value] : response.outputs) {
    const std::string what = "output '" + name + "'";
    if (!value.is_tensor()) refuse(what + " is not a tensor, and the protocol has no form for it");
    json.key(name);
    if (value.count() != 1) json.begin_array();
    write_elements(json, value, what);
    if (value.count() != 1) json.end_array();
  }
}

/// Returns a server-sent event with the data.
Reply event(const std::string& data) {
  return {
      .type = std::string(kEventStream), .headers = {{"Cache-Control", "no-store"}}, .body = "data: " + data + "\n\n"};
}

}  // namespace

Reply write_generate(const InferResponse& response) {
  JsonText json;
  json.begin_object();
  write_fields(json, response);
  json.end_object();
  return {.body = json.take()};
}

Reply write_part_event(const InferResponse& response) {
  Reply reply = event(write_generate(response).body);
  reply.more = true;
  return reply;
}

Reply write_last_event(const InferResponse& response) {
  JsonText json;
  json.begin_object();
  write_fields(json, response);
  json.member("triton_final_response", true);
  json.end_object();
  return event(json.take());
}

Reply write_error_event(const Refusal& refusal) { return event(error_reply(refusal.status(), refusal.what()).body); }

}  // namespace frazil::server
