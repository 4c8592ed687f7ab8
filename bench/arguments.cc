#include "bench/arguments.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

namespace bench {

void add_arguments(CLI::App& app, Arguments& arguments, const IsName& is_name, bool takes_folder) {
  app.add_option("--rounds", arguments.timing.rounds, "of each side");
  app.add_option("--json", arguments.json, "file for all figures");
  const auto take = [&arguments, is_name, takes_folder](const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (is_name(word)) {
        arguments.names.push_back(word);
      } else if (takes_folder && arguments.folder.empty()) {
        arguments.folder = word;
      } else {
        throw CLI::ValidationError("no row " + word);
      }
    }
  };
  app.add_option_function<std::vector<std::string>>("NAME", take, takes_folder ? "rows; the folder of models" : "rows");
}

int run_program(CLI::App& app, int argc, char** argv, const std::function<bool()>& body) try {
  app.parse(argc, argv);
  return body() ? 0 : 1;
} catch (const CLI::ParseError& error) {
  return app.exit(error) == 0 ? 0 : 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
  return 2;
}

void write_json(const std::string& path, const nlohmann::json& json) {
  if (path.empty()) return;
  std::ofstream out(path);
  out << json.dump(2) << '\n';
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace bench
