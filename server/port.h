#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/model.h>

// What protocols, batches and pipelines read from a model's inputs and outputs.
namespace frazil::server {

/// An extent that is a number; nothing for a symbol or a formula.
std::optional<std::int64_t> fixed_extent(const std::string& dim);
/// Whether an extent is a symbol alone, so that equal ones are equal extents.
bool is_symbol(const std::string& dim);
/// Where a port of this name stands.
std::optional<std::size_t> position_of(const std::vector<api::Port>& ports, std::string_view name);

/// The shape as the protocol has it, in which -1 is an extent that varies.
api::Sizes protocol_shape(const api::Port& port);
/// The protocol's datatype, or the type itself where it has none.
std::string_view protocol_datatype(const api::Port& port);

}  // namespace frazil::server
