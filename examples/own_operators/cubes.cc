// Two operators of a custom domain, defined like Frazil's own. These headers and <frazil/frazil.h> cannot be included
// in one file: both define Graph and Port.
#include <ir/op/define.h>
#include <ops/elementwise/math.h>

namespace acme {

using namespace frazil;

FRAZIL_OP(Cube, elementwise<1>({"Cube", 1, "X to the third power.", "com.acme"}, unary<elems::kFloat>,
                               [](Sx x) { return x * x * x; }));

FRAZIL_OP(CubeSum, composite({"CubeSum", 1, "The sum of two cubes.", "com.acme"}, binary<elems::kFloat>,
                             [](CompositeCx& cx) { cx.out(0, ops::Add(Cube(cx.in(0)), Cube(cx.in(1)))); }));

}  // namespace acme
