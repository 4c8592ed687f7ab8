#include "picture.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string_view>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace digits {
namespace {

constexpr const char* kInk = "#334155";
constexpr const char* kGreen = "#059669";
constexpr const char* kAmber = "#d97706";
constexpr const char* kRed = "#dc2626";

class Picture {
 public:
  explicit Picture(const Trace& trace) : trace_(trace) {
    const Trace::Sides first = trace.sides("exit1");
    images_ = first.yes + first.no;
    out_ << std::fixed << std::setprecision(1);
  }

  std::string draw() {
    const Trace::Sides exit1 = trace_.sides("exit1"), exit2 = trace_.sides("exit2");
    open();
    point("image", "image\\n1x1x8x8");
    card("stage1", "stage 1", images_, kGreen);
    diamond("exit1");
    card("stage2", "stage 2", exit1.no, kAmber);
    diamond("exit2");
    card("refine", "refine", exit2.no, kRed);
    point("answer", "answer");

    edge("image", "stage1", images_, kInk);
    edge("stage1", "exit1", images_, kInk);
    edge("exit1", "stage2", exit1.no, kInk, "no");
    edge("stage2", "exit2", exit1.no, kInk);
    edge("exit2", "refine", exit2.no, kInk, "no");
    edge("refine", "answer", exit2.no, kRed);
    edge("exit2", "answer", exit2.yes, kAmber, "yes");
    edge("exit1", "answer", exit1.yes, kGreen, "yes");
    out_ << "}\n";
    return out_.str();
  }

 private:
  void open() {
    out_ << "digraph digits {\n"
         << "  graph [rankdir=LR, bgcolor=white, pad=0.3, nodesep=0.3, ranksep=0.4];\n"
         << "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, fontcolor=\"" << kInk << "\", color=\""
         << kInk << "\"];\n"
         << "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, fontcolor=\"" << kInk
         << "\", arrowsize=0.6];\n";
  }

  void point(const char* id, const char* label) {
    out_ << "  " << id << " [label=\"" << label << "\", shape=box, style=\"rounded,filled\", fillcolor=\"#f1f5f9\"];\n";
  }

  void diamond(const char* id) {
    out_ << "  " << id << " [label=\"If " << id
         << "\\nsure?\", shape=diamond, style=filled, fillcolor=\"#e0e7ff\", color=\"#6366f1\"];\n";
  }

  /// Writes a stage: its title, then the operators that ran, one per line. Those of a loop's body are in a separate
  /// part at the end.
  void card(const char* id, const char* title, std::int64_t count, const char* color) {
    out_ << "  " << id
         << " [shape=plain, label=<<table border=\"1\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"4\""
         << " style=\"rounded\" color=\"" << color << "\" bgcolor=\"white\">\n";
    wide_row(title, color, 14);
    wide_row(std::to_string(count) + " images", kInk, 12);
    out_ << "    <hr/>\n";
    bool in_loop = false;
    for (const Trace::Node& node : trace_.nodes_of(id)) {
      if (node.repeated && !in_loop) {
        out_ << "    <hr/>\n";
        wide_row(std::string("Loop ") + id, color, 12);
        wide_row("&#8635; " + std::to_string(trace_.iterations(id)) + " iterations", color, 12);
        out_ << "    <hr/>\n";
        in_loop = true;
      }
      out_ << "    <tr><td align=\"left\">" << node.op << "</td><td align=\"left\"><font color=\"#94a3b8\">"
           << node.name.substr(node.name.find('/') + 1) << "</font></td></tr>\n";
    }
    out_ << "    </table>>];\n";
  }

  void wide_row(const std::string& text, const char* color, int size) {
    out_ << "    <tr><td colspan=\"2\"><font color=\"" << color << "\" point-size=\"" << size << "\"><b>" << text
         << "</b></font></td></tr>\n";
  }

  void edge(const char* from, const char* to, std::int64_t count, const char* color, const char* answer = nullptr) {
    const double share = images_ == 0 ? 0 : static_cast<double>(count) / static_cast<double>(images_);
    const bool exit = to == std::string_view("answer");
    out_ << "  " << from << " -> " << to << " [color=\"" << color << "\", penwidth=" << 1.2 + 5 * share
         << ", weight=" << (exit ? 1 : 20);
    if (answer == nullptr) {
      out_ << (exit ? "" : ", arrowhead=none");
    } else {
      out_ << ", label=<<table border=\"0\" cellspacing=\"0\" cellpadding=\"2\"><tr><td><b>" << answer
           << "</b></td></tr><tr><td>" << count << " images (" << 100 * share << " %)</td></tr></table>>";
    }
    out_ << "];\n";
  }

  const Trace& trace_;
  std::int64_t images_ = 0;
  std::ostringstream out_;
};

}  // namespace

std::string picture(const Trace& trace) { return Picture(trace).draw(); }

std::string render_svg(const std::string& dot_path, const std::string& svg_path) {
  std::array<std::string, 5> words{"dot", "-Tsvg", "-o", svg_path, dot_path};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t child = 0;
  const int fault = posix_spawnp(&child, "dot", nullptr, nullptr, arguments.data(), environ);
  if (fault == ENOENT) return "Graphviz's `dot` is not installed (Debian: apt install graphviz)";
  if (fault != 0) return "Graphviz's `dot` does not start";
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return "Graphviz's `dot` failed";
  return {};
}

}  // namespace digits
