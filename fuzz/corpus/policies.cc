#include <fstream>
#include <iterator>

#include "corpus.h"
#include "paths.h"

namespace frazil::fuzz {

Seeds policy_seeds() {
  Seeds seeds;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "examples/policies")) {
    std::ifstream file(entry.path());
    seeds[entry.path().stem().string()] = '\0' + std::string(std::istreambuf_iterator<char>(file), {});
  }
  const char* const conditions[] = {
      "has(parameters.size) && parameters[\"size\"].matches(\"^l.*e$\") || 1 / priority > 2",
      "report.operators.all(o, o in [\"Add\", \"Mul\"]) ? report.bounded : !(report.worst_memory * -2 >= 0x10)",
      "files.exists_one(f, f.name.startsWith('a') && f.bytes % 7 == 1) != [[1], []].exists(l, size(l) == 1)",
      "int(version) + int(2.5e3) < 5 && double(\"1e3\") / 0.0 > 1.0 && string(port) + \"x\" == host",
      "{\"a\": 1, \"b\": 2}.a in [1, 2] + [3] && tenant in {\"acme\": true}",
  };
  for (const char* condition : conditions)
    seeds["condition_" + std::to_string(seeds.size())] = std::string("\1") + condition;
  return seeds;
}

std::string policy_dictionary() {
  std::string out;
  for (const char* word : {"policy",
                           "serial",
                           "until",
                           "const",
                           "permit",
                           "forbid",
                           "case",
                           " on ",
                           "mode shadow",
                           "when",
                           "reason",
                           "with",
                           "expect",
                           "deny by",
                           "error",
                           "has(",
                           ".all(x, ",
                           ".exists(x, ",
                           ".exists_one(x, ",
                           "size(",
                           ".startsWith(",
                           ".endsWith(",
                           ".contains(",
                           ".matches(",
                           "int(",
                           "double(",
                           "string(",
                           " in ",
                           "&&",
                           "||",
                           "==",
                           "!=",
                           "<=",
                           ">=",
                           "? true : false",
                           "9223372036854775807",
                           "report.",
                           "parameters.",
                           "signature.",
                           "diff.",
                           "approvals.roles",
                           "forecast.memory",
                           "files",
                           "operators",
                           "run",
                           "load"}) {
    out += std::string("\"") + word + "\"\n";
  }
  return out;
}

}  // namespace frazil::fuzz
