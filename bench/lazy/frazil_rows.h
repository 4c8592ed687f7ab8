#pragma once

#include "bench/lazy/implementation.h"

/// Frazil's own rows.
namespace bench::lazy {

void add_frazil_rows(const TreeLstm& model, Implementations& rows);
void add_frazil_rows(const TreeRnn& model, Implementations& rows);
void add_frazil_rows(const MvRnn& model, Implementations& rows);
void add_frazil_rows(const BiLstm& model, Implementations& rows);
void add_frazil_rows(const EarlyExit& model, Implementations& rows);

}  // namespace bench::lazy
