#pragma once

namespace frazil {

/// Makes the linker keep every operator of this library, so that OpRegistry knows them. Does nothing at run time.
void link_operators();

}  // namespace frazil
