#include "base/value/error.h"

#include "base/value/text.h"

namespace frazil {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::bad_model: return "bad model";
    case Code::bad_input: return "bad input";
    case Code::unsupported: return "unsupported";
    case Code::limit: return "limit reached";
    case Code::out_of_memory: return "out of memory";
    case Code::cancelled: return "cancelled";
    case Code::internal: return "internal error";
  }
  return "unknown";
}

Fault printable(Fault fault) {
  for (std::string* text : {&fault.message, &fault.node, &fault.context}) *text = printable(*text);
  return fault;
}

}  // namespace frazil
