// Writes the models of the serving benchmark to a folder:
//
//   serve_models DIR [--digits FILE]
//
// silero is left out where the folder of shared files does not have it (bench/run.sh says where that is).

#include <cstdio>
#include <filesystem>

#include <frazil/model.h>

#include "bench/arguments.h"
#include "bench/workload_models.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

/// As little as a model can do.
void write_small(const fs::path& path) {
  frazil::api::Model::from_text("graph small(%x: f32[N,4]) { %y = Add(%x, %x) return y = %y }").save(path.string());
}

bool write_models(const std::string& folder, const std::string& digits) {
  fs::create_directories(folder);
  write_small(fs::path(folder) / "small.onnx");
  for (const char* name : {"bert_small", "lstm"}) model_file(folder, name, false);
  fs::copy_file(digits, fs::path(folder) / "digits.onnx", fs::copy_options::overwrite_existing);
  const std::string silero = model_file(folder, "silero", false);
  if (fs::exists(silero)) {
    fs::copy_file(silero, fs::path(folder) / "silero.onnx", fs::copy_options::overwrite_existing);
  } else {
    std::fprintf(stderr, "serve_models: no %s: silero is left out\n", silero.c_str());
  }
  return true;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  std::string folder, digits = "examples/digits/model.onnx";
  CLI::App app("The models of the serving benchmark", "serve_models");
  app.add_option("DIR", folder)->required();
  app.add_option("--digits", digits);
  return bench::run_program(app, argc, argv, [&] { return bench::write_models(folder, digits); });
}
