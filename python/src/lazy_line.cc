#include <array>
#include <set>
#include <string>

#include "python/src/lazy.h"

// Recording stores a line of the user's program. Finding it must be cheap, so the result is cached per position in a
// function's code.
namespace frazil::python {
namespace {

/// A position in code and its line.
struct Known {
  PyCodeObject* code = nullptr;  ///< referenced, so that its address is not reused
  int instruction = 0;
  bool inside = false;  ///< true if is_between() holds for its file
  Line line{nullptr, 0};
};

constexpr std::size_t kKnown = 1U << 12U, kMaxFiles = 1U << 16U;
std::array<Known, kKnown> known_lines;  // guarded by the interpreter's lock

/// Returns a file name that lives as long as the process. Their number is bounded.
const char* interned(std::string_view file) {
  static auto& files = *new std::set<std::string, std::less<>>;
  const auto at = files.find(file);
  if (at != files.end()) return at->c_str();
  if (files.size() >= kMaxFiles) return "a file";
  return files.emplace(file).first->c_str();
}

/// Returns the folder of the package.
const std::string& folder() {
  static const auto& folder = *new std::string([] {
    const auto file = py::module_::import("frazil._frazil").attr("__file__").cast<std::string>();
    return file.substr(0, file.rfind('/') + 1);
  }());
  return folder;
}

/// Returns true for files between the user's line and the recording code: the package, and NumPy's functions that call
/// it.
bool is_between(const std::string& file) {
  return file.starts_with(folder()) || file == "<__array_function__ internals>";
}

void look_up(PyFrameObject* frame, PyCodeObject* code, int instruction, Known& entry) {
  const auto name = py::reinterpret_borrow<py::object>(code->co_filename).cast<std::string>();
  const int line = PyFrame_GetLineNumber(frame);
  Py_INCREF(code);
  Py_XDECREF(std::exchange(entry.code, code));
  entry.instruction = instruction;
  entry.inside = is_between(name);
  entry.line = {interned(name), static_cast<std::uint32_t>(line < 0 ? 0 : line)};
}

const Known& known_of(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const int instruction = PyFrame_GetLasti(frame);
  const auto hash = reinterpret_cast<std::uintptr_t>(code) / sizeof(void*) + static_cast<std::uintptr_t>(instruction);
  Known& entry = known_lines[hash % kKnown];
  if (entry.code != code || entry.instruction != instruction) look_up(frame, code, instruction, entry);
  Py_DECREF(code);
  return entry;
}

}  // namespace

Line user_line() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    const Known& here = known_of(frame);
    PyFrameObject* const back = here.inside ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    if (!here.inside) return here.line;
    frame = back;
  }
  return {nullptr, 0};
}

}  // namespace frazil::python
