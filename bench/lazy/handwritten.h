#pragma once

#include "bench/lazy/implementation.h"

/// The strongest baseline: each workload as its own program, batched by hand, without any runtime.
///
/// Products are those of products.h; the rest is one pass over each row (cells.h). A folded row looks up everything
/// that only depends on the word in a table. The table is built before the measurement, as it would exist after some
/// requests.
///
///   tree_lstm, tree_rnn   a minibatch by heights; results are placed where the parent's product reads them
///   bilstm                sentences sorted by length, so that the active ones are the first rows; x * input.w hoisted
///   early_exit            64 slots; a free one takes the next instance
///   mv_rnn                one tree after another: its products of matrices are large enough, and stay in the cache
namespace bench::lazy {

void add_handwritten_rows(const TreeLstm& model, Implementations& rows);
void add_handwritten_rows(const TreeRnn& model, Implementations& rows);
void add_handwritten_rows(const MvRnn& model, Implementations& rows);
void add_handwritten_rows(const BiLstm& model, Implementations& rows);
void add_handwritten_rows(const EarlyExit& model, Implementations& rows);

}  // namespace bench::lazy
