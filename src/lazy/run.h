#pragma once

#include <span>

#include "lazy/node.h"

namespace frazil::lazy {

/// Makes the values there: runs what they depend on, and nothing else; of what runs, the values that the program still
/// holds are kept. In an instance of a batch (lazy/batch.h), waits until the batch has run them.
Status run(std::span<const Ref> wanted);
inline Status run(const Ref& wanted) { return run(std::span(&wanted, 1)); }

/// The result of a run for a node.
void assign(const Ref& result, Datum datum);

}  // namespace frazil::lazy
