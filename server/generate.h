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

// The same as server-sent events, for requests whose answers come in parts.

Reply write_part_event(const InferResponse& response);
/// With the field "triton_final_response": true.
Reply write_last_event(const InferResponse& response);
/// Instead of the last one, where others have been sent before.
Reply write_error_event(const Refusal& refusal);

}  // namespace frazil::server
