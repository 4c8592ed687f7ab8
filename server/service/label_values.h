#pragma once

#include "server/model/served.h"
#include "server/request/labels.h"

namespace frazil::server {

/// Follows personal values through a version: in a model from inputs to outputs, through conditions and the states of
/// sequences; in a pipeline through its values, formulas and conditions, and into the versions that it calls. A
/// condition on a personal value makes personal all that runs under it. Names in Served::personal() count, too. A
/// result that is not labelled does not depend on a personal value; the reverse does not hold.
Labels labels_of(const Served& served, const PersonalNames& names);

}  // namespace frazil::server
