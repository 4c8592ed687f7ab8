#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/interleave.h"

/// Shared by the programs that time rows: arguments, exit codes and the JSON file of results.
namespace bench {

struct Arguments {
  std::string json;
  InterleaveOptions timing{.rounds = 41, .batch_ms = 5, .max_seconds = 20};
  std::vector<std::string> names;  ///< names of rows; empty: all
  std::string folder;              ///< folder of the models; empty: not given

  bool wants(std::string_view name) const { return names.empty() || std::ranges::count(names, name) > 0; }
};

using IsName = std::function<bool(std::string_view word)>;

/// Adds --rounds, --json and NAME... for rows. With `takes_folder`, one word that is not a name is the folder.
void add_arguments(CLI::App& app, Arguments& arguments, const IsName& is_name, bool takes_folder);

/// Parses the arguments and runs `body`. Returns the exit code: 0 if `body` returns true, 1 if it returns false, 2
/// after an error, which is printed.
int run_program(CLI::App& app, int argc, char** argv, const std::function<bool()>& body);

/// Writes the file unless `path` is empty.
void write_json(const std::string& path, const nlohmann::json& json);

}  // namespace bench
