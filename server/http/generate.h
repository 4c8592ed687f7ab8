#pragma once

#include <string_view>

#include "server/model/served.h"
#include "server/request/request.h"

// Triton's extension "generate": inputs, parameters and outputs as fields of one JSON object.
namespace frazil::server {

/// Reads a request. A field with the name of an input is its value: a number, a text, a boolean, or a list of them. A
/// list lies along the only axis whose extent is free or more than 1. "id" is echoed. "parameters" and all other fields
/// are parameters. Throws Refusal (bad_request) that names the field.
InferRequest read_generate(std::string_view body, const Served& served);

/// Writes outputs as fields: a single element as a value, several as a list.
Reply write_generate(const InferResponse& response);

// The same as server-sent events, for requests that are answered in parts.

Reply write_part_event(const InferResponse& response);
/// Adds the field "triton_final_response": true.
Reply write_last_event(const InferResponse& response);
/// Replaces the last event after others have been sent.
Reply write_error_event(const Refusal& refusal);

}  // namespace frazil::server
