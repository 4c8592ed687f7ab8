#pragma once

#include <cassert>

#include "sym/dim.h"
#include "sym/expressions.h"

namespace frazil {

struct Scope::Impl : sym::Expressions {
  Dim own(Dim d) const {
    assert(nodes().owns(d) && "Dims of two Scopes mixed");
    return d;
  }
};

}  // namespace frazil
