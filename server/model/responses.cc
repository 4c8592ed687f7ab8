#include "server/model/responses.h"

#include <algorithm>

#include "server/core/port.h"
#include "server/request/classify.h"

namespace frazil::server {
namespace {

api::Array wanted_form(const Served& served, const WantedOutput& wanted, const api::Array& value) {
  return wanted.classes == 0 ? value : classes_of(value, wanted.classes, served.labels(wanted.name), wanted.name);
}

}  // namespace

InferResponse response_of(const Served& served, const InferRequest& request, std::vector<api::Array> values) {
  InferResponse response;
  if (request.outputs.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      response.outputs.emplace_back(served.outputs()[i].name, std::move(values[i]));
    return response;
  }
  for (const WantedOutput& wanted : request.outputs) {
    if (const auto at = position_of(served.outputs(), wanted.name)) {
      response.outputs.emplace_back(wanted.name, wanted_form(served, wanted, values[*at]));
    }
  }
  return response;
}

InferResponse part_response_of(const Served& served, const InferRequest& request, std::vector<NamedArray> values) {
  InferResponse response;
  if (request.outputs.empty()) response.outputs = std::move(values);
  for (const WantedOutput& wanted : request.outputs) {
    const auto value = std::ranges::find(values, wanted.name, &NamedArray::first);
    if (value != values.end()) response.outputs.emplace_back(wanted.name, wanted_form(served, wanted, value->second));
  }
  return response;
}

void check_wanted(const Served& served, const Call& call) {
  for (const WantedOutput& wanted : call.request.outputs) {
    if (position_of(served.outputs(), wanted.name)) continue;
    const std::string what = "output '" + wanted.name + "'";
    if (!position_of(served.emitted(), wanted.name)) {
      throw Refusal(Http::bad_request, "model '" + served.name() + "' has no " + what);
    }
    if (!call.part) {
      throw Refusal(Http::bad_request, what + " of model '" + served.name() +
                                           "' is only sent in parts: use generate_stream or ModelStreamInfer");
    }
  }
}

}  // namespace frazil::server
