#pragma once

#include <string_view>

#include "server/request.h"
#include "server/served.h"

// Triton's extension "generate": inputs and parameters as the fields of one JSON object, and outputs likewise.
namespace frazil::server {

/// A field that has the name of an input is its value: a number, a text or a truth value, or a list of them along the
/// only axis whose extent is free or more than 1; the other axes are 1. "id" is echoed, "parameters" are parameters,
/// and so are fields that no input has the name of. Throws Refusal (bad_request) that names the field.
InferRequest read_generate(std::string_view body, const Served& served);

/// The outputs as fields: one element as a value, more as a list.
Reply write_generate(const InferResponse& response);

}  // namespace frazil::server
