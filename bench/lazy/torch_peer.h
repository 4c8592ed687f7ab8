#pragma once

#include "bench/lazy/implementation.h"

/// LibTorch's rows: node by node, as it is written without thinking of batches, and batched by hand. Empty in a build
/// without LibTorch.
namespace bench::lazy {

/// Its version; empty without it. To be called before anything else, on the thread that measures.
std::string start_torch();

void add_torch_rows(const TreeLstm& model, Implementations& rows);
void add_torch_rows(const TreeRnn& model, Implementations& rows);
void add_torch_rows(const MvRnn& model, Implementations& rows);
void add_torch_rows(const BiLstm& model, Implementations& rows);
void add_torch_rows(const EarlyExit& model, Implementations& rows);

}  // namespace bench::lazy
