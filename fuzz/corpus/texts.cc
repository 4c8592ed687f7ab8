#include <set>

#include "corpus.h"
#include "ir/frz.h"
#include "ir/op/op.h"
#include "ir/text/text.h"
#include "onnx/import/import.h"
#include "paths.h"

namespace frazil::fuzz {

Seeds text_seeds(const Seeds& models) {
  Seeds seeds;
  for (const auto& [name, bytes] : models) {
    const auto graph = import_onnx_bytes(std::as_bytes(std::span(bytes)), nullptr);
    if (graph) seeds["model_" + name] = print(*graph);
  }
  const std::filesystem::path tests = test::source_dir() / "tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests)) {
    if (entry.path().extension() != ".frz") continue;
    const auto cases = test::read_frz(entry.path());
    for (std::size_t i = 0; cases && i < cases->size(); ++i) {
      seeds[fmt::format("{}_{}", entry.path().stem().string(), i)] = (*cases)[i].bare();
    }
  }
  return seeds;
}

std::string text_dictionary() {
  std::set<std::string> words = {"graph",
                                 "return",
                                 "yield",
                                 "dim",
                                 "weight",
                                 "assume true",
                                 "assume false",
                                 "in",
                                 "then_branch",
                                 "else_branch",
                                 "body",
                                 "seq<",
                                 "opt<",
                                 "map<i64, ",
                                 "[...]",
                                 "floordiv(",
                                 "mod(",
                                 "min(",
                                 "max(",
                                 "inf",
                                 "nan",
                                 "0x7fc00001",
                                 "_",
                                 "?0",
                                 "..",
                                 "9223372036854775807",
                                 "-9223372036854775808",
                                 "2305843009213693951"};
  for (int e = 0; e < kElemCount; ++e) words.insert(std::string(name_of(static_cast<Elem>(e))) + "[");
  for (const OpDef* op : OpRegistry::global().all()) {
    words.insert(std::string(op->name) + "(");
    for (const AttrField& field : op->attrs.fields) words.insert(std::string(field.name) + " = ");
  }
  std::string out;
  for (const std::string& word : words) out += '"' + word + "\"\n";
  return out;
}

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

void add_onnx_cases(Seeds& models, Seeds& messages) {
  constexpr std::uintmax_t kLargestModel = 4096, kLargestMessage = 512;
  const std::filesystem::path cases = test::shared_dir() / "onnx-tests";
  if (!std::filesystem::exists(cases)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cases)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = std::filesystem::relative(entry.path(), cases).string();
    std::string flat = name;
    std::ranges::replace(flat, '/', '_');
    if (entry.path().filename() == "model.onnx" && entry.file_size() < kLargestModel) models[flat] = content(entry);
    if (entry.path().extension() == ".pb" && entry.file_size() < kLargestMessage) {
      const char kind = name.find("sequence") != name.npos ? 1 : name.find("optional") != name.npos ? 2 : 0;
      messages[flat] = kind + content(entry);
    }
  }
}

}  // namespace frazil::fuzz
