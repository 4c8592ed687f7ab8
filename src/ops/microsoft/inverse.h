#pragma once

#include "ops/microsoft/microsoft.h"

namespace frazil::ops::microsoft {

Status inverse_types(InferCx& cx);
Status inverse_run(OpaqueCall& call);
FRAZIL_OP(Inverse,
          opaque({"Inverse", 1, "The inverses of square matrices; infinite or NaN where there is none.", kDomain},
                 unary<elems::kFloat>, inverse_types, inverse_run, "elimination is not a fold over scalars",
                 Opaque::Work::cubic));

}  // namespace frazil::ops::microsoft
