#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace frazil {

/// Error codes. Errors of the user and bugs of Frazil have different codes.
enum class Code : std::uint8_t {
  bad_model,      ///< the model file or graph is not valid
  bad_input,      ///< a request's input, a flag or an environment variable is not valid
  unsupported,    ///< valid, but not supported by this build; the message says what to do
  limit,          ///< a configured limit (memory, steps, time, nesting) was reached
  out_of_memory,  ///< an allocation failed
  cancelled,      ///< cancelled on request
  internal,       ///< a bug in Frazil
};

std::string_view name_of(Code code);

/// An error as a value, in parts. text() is what users read.
struct Fault {
  Code code = Code::internal;
  std::string message;  ///< the problem and what was expected: "input 'cond': expected bool[], got float[1,2]"
  std::string node{};   ///< the node at fault, as Graph::describe() writes it: "node 'If_12' (If)"; "" if there is none
  std::string context{};  ///< what the node belongs to, outermost first: "'a.onnx': "; empty if there is no node

  /// Returns one line: "'a.onnx': node 'If_12' (If): input 'cond': expected bool[], got float[1,2]".
  std::string text() const { return node.empty() ? context + message : context + node + ": " + message; }
};

template <class T>
using Result = std::expected<T, Fault>;
using Status = Result<void>;

template <class... A>
[[nodiscard]] std::unexpected<Fault> fail(Code code, fmt::format_string<A...> format, A&&... args) {
  return std::unexpected(Fault{code, fmt::format(format, std::forward<A>(args)...)});
}

/// Returns an error at a node, which Graph::describe() has written.
template <class... A>
[[nodiscard]] std::unexpected<Fault> fail_at(std::string node, Code code, fmt::format_string<A...> format,
                                             A&&... args) {
  return std::unexpected(Fault{code, fmt::format(format, std::forward<A>(args)...), std::move(node)});
}

/// Puts `context` before the fault's text, e.g. "input 'x': ".
[[nodiscard]] inline std::unexpected<Fault> within(std::string_view context, Fault fault) {
  (fault.node.empty() ? fault.message : fault.context).insert(0, context);
  return std::unexpected(std::move(fault));
}

/// Names the node at fault, as Graph::describe() writes it. If the fault names another node, `node` becomes context: it
/// contains that node. An empty `node` changes nothing.
[[nodiscard]] inline std::unexpected<Fault> at_node(std::string node, Fault fault) {
  if (fault.node.empty()) {
    fault.node = std::move(node);
  } else if (!node.empty() && fault.node != node) {
    fault.context.insert(0, node + ": ");
  }
  return std::unexpected(std::move(fault));
}

/// Escapes control characters, e.g. line breaks of names from a file, because an error is one line.
Fault printable(Fault fault);

}  // namespace frazil

#define FRAZIL_CAT_(a, b) a##b
#define FRAZIL_CAT(a, b) FRAZIL_CAT_(a, b)

/// Returns the fault of `expr` (a Status or Result) from the enclosing function, if it has one.
#define FRAZIL_CHECK(expr)                                                          \
  do {                                                                              \
    if (auto frazil_status_ = (expr); !frazil_status_)                              \
      return std::unexpected(std::move(frazil_status_).error());                    \
  } while (false)

/// `FRAZIL_TRY(auto x, expr)`: declares x with the value of the Result `expr`, or returns its fault.
#define FRAZIL_TRY_(tmp, decl, expr)                              \
  auto tmp = (expr);                                              \
  if (!tmp) return std::unexpected(std::move(tmp).error());       \
  decl = std::move(*tmp)
#define FRAZIL_TRY(decl, expr) FRAZIL_TRY_(FRAZIL_CAT(frazil_try_, __LINE__), decl, expr)
