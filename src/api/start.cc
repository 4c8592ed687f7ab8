#include <frazil/text.h>

#include "api/host_call.h"
#include "base/os/knobs.h"
#include "base/value/text.h"
#include "kernel/simd/isa.h"
#include "kernel/tuning/tuning_file.h"
#include "ops/core/registry.h"

namespace frazil::api {

static_assert(static_cast<int>(Code::internal) == static_cast<int>(frazil::Code::internal));
static_assert(static_cast<int>(Code::unsupported) == static_cast<int>(frazil::Code::unsupported));
static_assert(static_cast<int>(Dtype::u2) == static_cast<int>(Elem::u2));
static_assert(static_cast<int>(Dtype::f64) == static_cast<int>(Elem::f64));

Error error_of(const Fault& fault) {
  const bool shown = fault.code <= frazil::Code::internal;
  return {shown ? static_cast<Code>(fault.code) : Code::internal, fault.text(), fault.node};
}

std::string printable(std::string_view text) { return frazil::printable(text); }

std::string_view name_of(Code code) { return frazil::name_of(static_cast<frazil::Code>(code)); }

void raise(const Fault& fault) { throw error_of(fault); }

namespace {

Status start_once() {
  FRAZIL_TRY(const Knobs& values, knobs());
  if (values.features) kernel::force_features(*values.features);
  FRAZIL_CHECK(kernel::use_tuning(values.tuning));
  link_operators();
  register_call();
  return {};
}

}  // namespace

void start() {
  static const Status started = start_once();
  if (!started) raise(started.error());
}

}  // namespace frazil::api
