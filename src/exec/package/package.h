#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/file_check.h"
#include "base/value/error.h"
#include "ir/graph/graph.h"
#include "pass/engine/passes.h"

namespace frazil::exec {

class Executable;

/// A packed artefact, *.frzc: a graph after the passes, its weights, their packed forms for this machine's kernels, and
/// the generated code that its runs used. It is one file, which is mapped instead of copied.
struct Package {
  Graph graph;
  std::vector<std::string> shapes;  ///< the shapes for which it was compiled, as given to `frazil compile`
};

/// Returns true if a file with these first bytes is a package.
bool is_package(std::string_view first_bytes);

/// Returns the graph that a package of this model holds: the graph after the passes. If types assume something, returns
/// the graph before the passes, because passes rely on assumptions. The runs that produce a package run this graph with
/// passes_of_package(); a run of the opened package then finds their code and packed weights.
Result<Graph> graph_of_package(const Executable& model);
/// Writes what an executable of such a graph has after its runs. Replaces the file atomically. Returns
/// Code::unsupported for a graph that the text form cannot hold.
Status write_package(const std::string& path, const Executable& executable, const std::vector<std::string>& shapes);

/// Opens a package. It holds machine code, so open only packages from a trusted source. Its packed weights are known to
/// this process while the graph lives, its code until the process ends. Returns Code::bad_input for a truncated or
/// damaged file. Returns Code::unsupported, with advice, for a package of another version or for another instruction
/// set. `copies`: as in MappedFile::open(). `check` is
/// called before the content is read.
Result<Package> open_package(const std::string& path, const std::string& copies = {}, const FileCheck& check = {});

/// Returns the choices for which runs of the packaged graph had their own plans. Returns nullopt for a graph that was
/// not read from a package nor derived from one; such a graph still needs the passes.
std::optional<std::vector<Choices>> packaged_choices(const Graph& graph);
/// Returns the passes that a package's graph still needs: those of the planner, or all if types assume something.
PassSet passes_of_package(const Graph& graph);

}  // namespace frazil::exec
