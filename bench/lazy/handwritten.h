#pragma once

#include "bench/lazy/implementation.h"

/// The last yardstick: each workload as a program of its own, batched by hand, without any runtime around it.
///
/// Products are those of products.h, the rest is one pass over each row (cells.h). A folded row looks up what depends
/// on the word only: the table is there before the clock starts, as it would be after some requests.
///
/// tree_lstm, tree_rnn   a minibatch by heights; results are put where the parent's product reads them
/// bilstm                sentences by length, so that those still active are the first rows; x * input.w hoisted
/// early_exit            64 slots; one that is free takes the next instance
/// mv_rnn                tree after tree: a product of matrices is large enough, and stays in the cache
namespace bench::lazy {

void add_handwritten_rows(const TreeLstm& model, Implementations& rows);
void add_handwritten_rows(const TreeRnn& model, Implementations& rows);
void add_handwritten_rows(const MvRnn& model, Implementations& rows);
void add_handwritten_rows(const BiLstm& model, Implementations& rows);
void add_handwritten_rows(const EarlyExit& model, Implementations& rows);

}  // namespace bench::lazy
