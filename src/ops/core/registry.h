#pragma once

namespace frazil {

/// Forces the linker to keep all operators of this library, so that OpRegistry contains them. Does nothing at run time.
void link_operators();

}  // namespace frazil
