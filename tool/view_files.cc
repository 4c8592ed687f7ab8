#include "tool/view_files.h"

#include <cstddef>

// The build defines the paths; the assembler includes the files.
#define FRAZIL_EMBED(symbol, path)                                     \
  asm(".section .rodata\n"                                             \
      ".global frazil_view_" #symbol "\n"                              \
      "frazil_view_" #symbol ":\n"                                     \
      ".incbin \"" path "\"\n"                                         \
      ".global frazil_view_" #symbol "_end\n"                          \
      "frazil_view_" #symbol "_end:\n"                                 \
      ".byte 0\n"                                                      \
      ".previous\n");                                                  \
  extern "C" const char frazil_view_##symbol[], frazil_view_##symbol##_end[]

FRAZIL_EMBED(index, FRAZIL_VIEW_PAGE "/index.html");
FRAZIL_EMBED(style, FRAZIL_VIEW_PAGE "/view.css");
FRAZIL_EMBED(script, FRAZIL_VIEW_PAGE "/view.js");
FRAZIL_EMBED(model, FRAZIL_VIEW_PAGE "/model.js");
FRAZIL_EMBED(dom, FRAZIL_VIEW_PAGE "/dom.js");
FRAZIL_EMBED(report, FRAZIL_VIEW_PAGE "/report.js");
FRAZIL_EMBED(cytoscape, FRAZIL_VIEW_MODULES "/cytoscape/dist/cytoscape.min.js");
FRAZIL_EMBED(cytoscape_license, FRAZIL_VIEW_MODULES "/cytoscape/LICENSE");
FRAZIL_EMBED(dagre, FRAZIL_VIEW_MODULES "/cytoscape-dagre/dist/cytoscape-dagre.min.js");
FRAZIL_EMBED(dagre_license, FRAZIL_VIEW_MODULES "/cytoscape-dagre/LICENSE");

namespace frazil::tool {
namespace {

constexpr std::string_view kScript = "text/javascript; charset=utf-8", kText = "text/plain; charset=utf-8";

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

}  // namespace

std::vector<PageFile> view_files() {
  const auto file = [](std::string_view path, std::string_view type, const char* begin, const char* end) {
    return PageFile{path, type, between(begin, end)};
  };
  return {
      file("/", "text/html; charset=utf-8", frazil_view_index, frazil_view_index_end),
      file("/view.css", "text/css; charset=utf-8", frazil_view_style, frazil_view_style_end),
      file("/view.js", kScript, frazil_view_script, frazil_view_script_end),
      file("/model.js", kScript, frazil_view_model, frazil_view_model_end),
      file("/dom.js", kScript, frazil_view_dom, frazil_view_dom_end),
      file("/report.js", kScript, frazil_view_report, frazil_view_report_end),
      file("/cytoscape.js", kScript, frazil_view_cytoscape, frazil_view_cytoscape_end),
      file("/cytoscape-dagre.js", kScript, frazil_view_dagre, frazil_view_dagre_end),
      file("/licenses/cytoscape.txt", kText, frazil_view_cytoscape_license, frazil_view_cytoscape_license_end),
      file("/licenses/cytoscape-dagre.txt", kText, frazil_view_dagre_license, frazil_view_dagre_license_end),
  };
}

}  // namespace frazil::tool
