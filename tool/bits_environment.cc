#include "tool/bits_environment.h"

#include <cstdlib>

#include <frazil/environment.h>

#include "govern/base/digest.h"
#include "kernel/simd/isa.h"
#include "kernel/tuning/tuning_file.h"

namespace frazil::tool {
namespace {

// Variables that may change bits. Tiers, threads and caches do not.
constexpr const char* kBitsVariables[] = {"FRAZIL_PASSES", "FRAZIL_FILL"};

}  // namespace

server::Environment bits_environment() {
  (void)api::with_environment(api::Options());  // installs the table and the vector set that variables name
  // The name of the processor does not decide bits, the table does.
  kernel::TuningKey key = kernel::tuning_key();
  key.cpu.clear();
  server::Environment environment;
  environment.parts = {
      {"build", FRAZIL_VERSION},
      {"isa", str(kernel::features())},
      {"tuning", govern::digest_text(govern::sha256(kernel::tuning_text(kernel::tuning(), key)))},
  };
  for (const char* const name : kBitsVariables) {
    const char* const value = std::getenv(name);
    if (value != nullptr) environment.parts[name] = value;
  }
  return environment;
}

}  // namespace frazil::tool
