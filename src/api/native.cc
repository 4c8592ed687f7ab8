#include <frazil/native.h>

#include "api/open.h"
#include "base/os/knobs.h"
#include "exec/native/backend.h"
#include "exec/native/code_maker.h"
#include "exec/native/compile_thread.h"
#include "exec/package/package.h"
#include "ir/graph/source_bytes.h"

namespace frazil::api {

CodeGenerator code_generator() {
  start();
  const auto module = exec::native_module();
  if (module) return {std::string((*module)->version), exec::native_module_file(), {}, false};
  exec::skip_warning_of_missing_module();
  return {{}, {}, module.error().text(), !knobs()->jit};
}

void warn_without_code_generator() {
  start();
  if (!knobs()->jit) return;
  if (const Status there = exec::has_native_module(); !there) exec::warn_of_missing_module(there.error());
}

void wait_for_compilation() { exec::CompileThread::instance().wait_until_idle(); }
bool is_compiling() { return exec::CompileThread::instance().busy(); }

struct PackageBuilder::Impl {
  Model model;
  Options options;
  ExecutionMode mode;
};

namespace {

std::shared_ptr<exec::Executable> plan(const Model& model, std::shared_ptr<const Graph> graph,
                                       const exec::Options& options) {
  const LoadScope scope(Access::impl(model).bounds, "planning the model", source_bytes(*graph));
  return take(exec::Executable::make(std::move(graph), options));
}

}  // namespace

PackageBuilder::PackageBuilder(const Model& model, Options options) {
  if (options.tier == "auto") options.tier = "2";
  const ExecutionMode mode = mode_of(options);
  exec::Options how = options_of(mode);
  exec::keep_registered_code();
  const auto& graph = Access::impl(model).graph;
  Graph packed = take(exec::graph_of_package(*plan(model, graph, {.passes = knobs()->passes})));
  how.passes = exec::passes_of_package(packed);
  Model made = Access::derived(std::move(packed), Access::impl(model));
  auto& impl = Access::impl(made);
  impl.executables[static_cast<std::size_t>(mode)] = plan(made, impl.graph, how);
  impl_ = std::make_shared<const Impl>(std::move(made), std::move(options), mode);
}

const Model& PackageBuilder::model() const { return impl_->model; }
Session PackageBuilder::open() const { return impl_->model.open(impl_->options); }

void PackageBuilder::save(const std::string& path, const std::vector<std::string>& shapes) const {
  check(exec::write_package(path, *Access::impl(impl_->model).executable(impl_->mode), shapes));
}

std::size_t PackageBuilder::code_objects() const { return exec::registered_code().size(); }

}  // namespace frazil::api
