#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/value/error.h"

namespace frazil {

/// The kind of a file that holds a model or a part of one.
enum class FileKind : std::uint8_t { model, external, package };

/// A check of a file before its content has any effect; a fault ends the load. `path` is empty for a model in memory.
/// An empty function allows every file.
using FileCheck = std::function<Status(FileKind kind, std::string_view path, std::span<const std::byte> content)>;

}  // namespace frazil
