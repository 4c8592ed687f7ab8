#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/model.h>

// Properties of a model's inputs and outputs for protocols, batching and pipelines.
namespace frazil::server {

/// Returns the value of a constant extent, or nullopt for a symbol or a formula.
std::optional<std::int64_t> fixed_extent(const std::string& dim);
/// Returns true if an extent is a plain symbol, so that equal texts mean equal extents.
bool is_symbol(const std::string& dim);
/// Returns the index of the port with this name.
std::optional<std::size_t> position_of(const std::vector<api::Port>& ports, std::string_view name);

/// Returns zeros of the port's type. Free extents are 1, or 0 along a growing axis.
api::Array zeros_of(const api::Port& port, std::optional<std::size_t> growing = {});

/// Returns the shape in the protocol's form, with -1 for a variable extent.
api::Sizes protocol_shape(const api::Port& port);
/// Returns the protocol's datatype, or the type itself if the protocol has none.
std::string_view protocol_datatype(const api::Port& port);

}  // namespace frazil::server
