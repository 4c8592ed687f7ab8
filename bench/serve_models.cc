// Writes the models of the serving benchmark to a folder:
//
//   serve_models DIR [--digits FILE] [--small]
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

/// A loop that runs for as long as it is asked to.
void write_count(const fs::path& path) {
  frazil::api::Model::from_text(
      "graph count(%n: i64[]) { %y = Loop(%n, _, f32[] 0) body(%i, %on, %v) {"
      "%b = Add(%v, f32[] 1) %c = Cos(%b) yield %on, %c } return y = %y }")
      .save(path.string());
}

bool write_models(const std::string& folder, const std::string& digits, bool small) {
  fs::create_directories(folder);
  write_small(fs::path(folder) / "small.onnx");
  write_count(fs::path(folder) / "count.onnx");
  if (small) return true;
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
  bool small = false;
  app.add_flag("--small", small, "only those that need no time");
  return bench::run_program(app, argc, argv, [&] { return bench::write_models(folder, digits, small); });
}
