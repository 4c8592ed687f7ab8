#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value/error.h"
#include "ir/graph/graph.h"
#include "pass/engine/passes.h"

namespace frazil::exec {

class Executable;

/// A packed artefact, *.frzc: a graph that the passes have seen, its weights, their packed forms for this machine's
/// kernels, and the generated code that runs of it used. One file, which is mapped and not copied.
struct Package {
  Graph graph;
  std::vector<std::string> shapes;  ///< for which it was compiled, as its maker wrote them
};

/// True for the first bytes of a package.
bool is_package(std::string_view first_bytes);

/// The graph that a package of this model holds: what the passes made of it or, where types assume something, the graph
/// before them, as passes rely on what is assumed. Runs for a package are runs of this graph, with
/// passes_of_package(), so that what they need is found again.
Result<Graph> graph_of_package(const Executable& model);
/// Writes what an executable of such a graph has after its runs; the file is replaced atomically. Code::unsupported for
/// a graph that the text form cannot hold.
Status write_package(const std::string& path, const Executable& executable, const std::vector<std::string>& shapes);

/// Opens a package, which holds machine code: only one from somebody who is trusted. Its graph, with its packed weights
/// and its code known to this process while the graph lives. Code::bad_input for a file that is cut off or damaged,
/// Code::unsupported, with what to do, for one that was made by another version or for instructions that this machine
/// does not have.
/// `copies`: as of MappedFile::open().
Result<Package> open_package(const std::string& path, const std::string& copies = {});

/// The branches for which runs of the packaged graph had plans of their own. Returns nullopt for a graph that was not
/// read from a package or derived from one that was, so that it still needs the passes.
std::optional<std::vector<Choices>> packaged_choices(const Graph& graph);
/// The passes that a package's graph still needs: those of the planner or, where types assume something, all.
PassSet passes_of_package(const Graph& graph);

}  // namespace frazil::exec
