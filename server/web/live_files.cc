#include "server/web/live_files.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "server/core/embed.h"

// FRAZIL_LIVE_FILES is defined by the build.
#define FRAZIL_LIVE(name, file) FRAZIL_EMBED(frazil_live_##name, FRAZIL_LIVE_FILES "/" file)

FRAZIL_LIVE(index, "index.html");
FRAZIL_LIVE(style, "live.css");
FRAZIL_LIVE(script, "live.js");
FRAZIL_LIVE(pipeline, "pipeline.js");
FRAZIL_LIVE(path, "path.js");
FRAZIL_LIVE(element, "element.js");
FRAZIL_LIVE(server, "server.js");

namespace frazil::server {
namespace {

constexpr std::string_view kRoot = "/v2/live", kScript = "text/javascript; charset=utf-8";

struct PageFile {
  std::string_view path, type, content;
};

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

const auto& files() {
  static const std::array list = {
      PageFile{"", "text/html; charset=utf-8", between(frazil_live_index, frazil_live_index_end)},
      PageFile{"/live.css", "text/css; charset=utf-8", between(frazil_live_style, frazil_live_style_end)},
      PageFile{"/live.js", kScript, between(frazil_live_script, frazil_live_script_end)},
      PageFile{"/pipeline.js", kScript, between(frazil_live_pipeline, frazil_live_pipeline_end)},
      PageFile{"/path.js", kScript, between(frazil_live_path, frazil_live_path_end)},
      PageFile{"/element.js", kScript, between(frazil_live_element, frazil_live_element_end)},
      PageFile{"/server.js", kScript, between(frazil_live_server, frazil_live_server_end)},
  };
  return list;
}

}  // namespace

Reply live_file(std::string_view path) {
  const auto file = std::ranges::find(files(), path.substr(kRoot.size()), &PageFile::path);
  if (file == files().end()) {
    throw Refusal(Http::not_found, "there is no path '" + std::string(path) + "'; see docs/reference/live-view.md");
  }
  return {.type = std::string(file->type),
          .headers = {{"Cache-Control", "no-store"},
                      {"Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}},
          .body = std::string(file->content)};
}

}  // namespace frazil::server
