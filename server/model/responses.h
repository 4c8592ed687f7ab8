#pragma once

#include <vector>

#include "server/model/served.h"

// The outputs of answers, as requests want them.
namespace frazil::server {

/// Refuses (bad_request) a call that wants unknown outputs, or that wants outputs which are only sent in parts, without
/// parts.
void check_wanted(const Served& served, const Call& call);

/// Creates the answer to a request from the values of Served::outputs(), limited to those the request wants. Throws
/// Refusal.
InferResponse response_of(const Served& served, const InferRequest& request, std::vector<api::Array> values);

/// Creates a part from some of Served::emitted(), limited to those the request wants. Throws Refusal.
InferResponse part_response_of(const Served& served, const InferRequest& request, std::vector<NamedArray> values);

}  // namespace frazil::server
