#include "onnx/import/names.h"

#include "base/value/text.h"
#include "tensor/onnx_fields.h"

namespace frazil::onnx {

Status check_name(std::string_view what, std::string_view name, const LoadLimits& limits) {
  if (!is_utf8(name)) return fail(Code::bad_model, "the name of {} is not UTF-8: '{}'", what, proto::shown(name));
  if (name.size() <= limits.name_bytes) return {};
  return fail(Code::limit, "a name has {} bytes, at most {} are allowed: '{}'", name.size(), limits.name_bytes,
              proto::shown(name));
}

}  // namespace frazil::onnx
