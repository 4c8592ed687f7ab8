#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <frazil/model.h>
#include <frazil/session.h>

namespace frazil::api {

/// The code generator of this process, libfrazil_jit.so. FRAZIL_CODE_GENERATOR and FRAZIL_JIT choose it.
struct CodeGenerator {
  std::string version;  ///< "LLVM 19.1.7"; empty if there is none
  std::string file;
  std::string missing;    ///< the reason why there is none; empty if there is one
  bool disabled = false;  ///< there is none because FRAZIL_JIT is off
};

/// Opens the code generator if it is not open, and describes it. The caller reports a missing one: no warning of it is
/// logged afterwards. Thread-safe.
CodeGenerator code_generator();
/// Logs a warning if there is no code generator, unless FRAZIL_JIT is off or the process has logged it before. Checks
/// that the file exists, but does not open it. Thread-safe.
void warn_without_code_generator();

/// Waits until the code that runs on tier "auto" have requested is compiled, by the thread of the process that compiles
/// in the background. Later runs may request more. Thread-safe.
void wait_for_compilation();
/// Returns whether code is being compiled in the background. A program that returns from main() waits for that code; it
/// may leave by std::_Exit() instead. Thread-safe.
bool is_compiling();

/// A package in the making: one file with a model, its packed weights and the machine code that runs need, which
/// Model::load reads. It is for machines with the same instruction set. Not thread-safe.
///
///   PackageBuilder package(model);
///   Session session = package.open();
///   for (int i = 0; i < 3; ++i) session.run({{"x", x}});  // loops and plans are compiled after the first run
///   package.save("model.frzc");
class PackageBuilder {
 public:
  /// Plans the model within its limits. Runs use `options`; tier "auto" means "2". The process keeps the code that it
  /// generates from now on. Throws the errors of Model::open().
  explicit PackageBuilder(const Model& model, Options options = {});

  /// Returns the model that the package holds: the graph after the passes.
  const Model& model() const;
  /// Opens a session of that model with the options. The package contains the code that its runs needed, for the
  /// extents of their inputs.
  Session open() const;
  /// Writes the package. `shapes` are texts that describe the inputs of the runs; the package keeps them. Replaces the
  /// file atomically. Throws Code::unsupported for a graph that the text form cannot hold.
  void save(const std::string& path, const std::vector<std::string>& shapes = {}) const;
  /// Returns the number of objects of generated code that save() writes.
  std::size_t code_objects() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace frazil::api
