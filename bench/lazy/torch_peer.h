#pragma once

#include "bench/lazy/implementation.h"

/// LibTorch's rows: node by node, in the natural style without batching, and batched by hand. Empty in a build without
/// LibTorch.
namespace bench::lazy {

/// Returns LibTorch's version; empty without LibTorch. Call it before anything else, on the measuring thread.
std::string start_torch();

void add_torch_rows(const TreeLstm& model, Implementations& rows);
void add_torch_rows(const TreeRnn& model, Implementations& rows);
void add_torch_rows(const MvRnn& model, Implementations& rows);
void add_torch_rows(const BiLstm& model, Implementations& rows);
void add_torch_rows(const EarlyExit& model, Implementations& rows);

}  // namespace bench::lazy
