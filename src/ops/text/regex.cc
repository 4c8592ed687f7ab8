#include "ops/text/text.h"

#ifdef FRAZIL_RE2
#include <re2/re2.h>
#endif

#include "base/thread/poll_throttle.h"
#include "base/value/text.h"

namespace frazil::ops {

#ifdef FRAZIL_RE2

namespace {

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace

Status regex_full_match_types(InferCx& cx) {
  const RE2 pattern(cx.attrs<RegexFullMatchAttrs>().pattern, quiet());
  if (!pattern.ok()) return cx.error("attribute 'pattern': {}", printable(pattern.error()));
  cx.out(0, Type::tensor(Elem::boolean, cx.shape(0)));
  return {};
}

Status regex_full_match_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  FRAZIL_TRY(std::byte * out, call.out(0, x.sizes));
  const RE2 pattern(call.attrs<RegexFullMatchAttrs>().pattern, quiet());
  PollThrottle throttle;
  for (const std::string& text : x.as<std::string>()) {
    if (throttle.stop(16 + static_cast<std::int64_t>(text.size()))) return {};
    *out++ = std::byte{RE2::FullMatch(text, pattern)};
  }
  return {};
}

#else

Status regex_full_match_types(InferCx& cx) {
  return cx.unsupported("this library was built without RE2: install libre2-dev and configure with -DFRAZIL_RE2=ON");
}
Status regex_full_match_run(OpaqueCall&) { return fail(Code::unsupported, "this library was built without RE2"); }

#endif

}  // namespace frazil::ops
