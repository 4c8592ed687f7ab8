#include "bench/lazy/torch_peer.h"

namespace bench::lazy {

std::string start_torch() { return ""; }

void add_torch_rows(const TreeLstm& /*model*/, Implementations& /*rows*/) {}
void add_torch_rows(const TreeRnn& /*model*/, Implementations& /*rows*/) {}
void add_torch_rows(const MvRnn& /*model*/, Implementations& /*rows*/) {}
void add_torch_rows(const BiLstm& /*model*/, Implementations& /*rows*/) {}
void add_torch_rows(const EarlyExit& /*model*/, Implementations& /*rows*/) {}

}  // namespace bench::lazy
