#pragma once

#include "choices.h"
#include "wire_tree.h"

namespace frazil::fuzz {

/// Changes a tree in one or a few places. Fields of `other`, if given, may be inserted.
void mutate(Field& root, const Field* other, Choices& choices);

/// Implements libFuzzer's custom mutator for bytes that contain one message after `head` bytes of another kind.
std::size_t mutate_message(Message message, std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);
/// Implements libFuzzer's custom crossover for such bytes.
std::size_t cross_messages(Message message, std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                           std::span<std::uint8_t> out, unsigned seed);

}  // namespace frazil::fuzz
