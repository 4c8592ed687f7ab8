// make_corpus FOLDER: writes the fuzzers' first inputs to FOLDER/<target>, and dictionaries to FOLDER/<target>.dict.
#include <cstdio>
#include <filesystem>

#include "base/os/io.h"
#include "corpus.h"
#include "ops/core/registry.h"

namespace frazil::fuzz {
namespace {

Status write_all(const std::filesystem::path& folder, const Seeds& seeds) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const auto& [name, bytes] : seeds) FRAZIL_CHECK(write_file((folder / name).string(), bytes));
  return {};
}

Status make(const std::filesystem::path& folder) {
  link_operators();
  Seeds models = model_seeds();
  Seeds messages = pb_seeds();
  add_onnx_cases(models, messages);
  FRAZIL_CHECK(write_all(folder / "import_fuzz", models));
  FRAZIL_CHECK(write_all(folder / "pb_fuzz", messages));
  FRAZIL_CHECK(write_all(folder / "npy_fuzz", npy_seeds()));
  FRAZIL_CHECK(write_all(folder / "infer_fuzz", infer_seeds()));
  FRAZIL_CHECK(write_all(folder / "connection_fuzz", connection_seeds()));
  FRAZIL_CHECK(write_file((folder / "connection_fuzz.dict").string(), connection_dictionary()));
  FRAZIL_CHECK(write_all(folder / "bundle_fuzz", bundle_seeds(models)));
  FRAZIL_CHECK(write_all(folder / "text_fuzz", text_seeds(models)));
  FRAZIL_CHECK(write_file((folder / "text_fuzz.dict").string(), text_dictionary()));
  FRAZIL_CHECK(write_all(folder / "policy_fuzz", policy_seeds()));
  FRAZIL_CHECK(write_file((folder / "policy_fuzz.dict").string(), policy_dictionary()));
  return write_file((folder / "npy_fuzz.dict").string(), npy_dictionary());
}

}  // namespace
}  // namespace frazil::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus FOLDER\n");
    return 2;
  }
  const auto made = frazil::fuzz::make(argv[1]);
  if (!made) std::fprintf(stderr, "make_corpus: %s\n", made.error().text().c_str());
  return made ? 0 : 1;
}
