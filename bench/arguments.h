#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/interleave.h"

/// What the programs that time rows have in common: arguments, exit codes and the file of figures.
namespace bench {

struct Arguments {
  std::string json;
  InterleaveOptions timing{.rounds = 41, .batch_ms = 5, .max_seconds = 20};
  std::vector<std::string> names;  ///< of rows; none: all
  std::string folder;              ///< of models; empty: not given

  bool wants(std::string_view name) const { return names.empty() || std::ranges::count(names, name) > 0; }
};

using IsName = std::function<bool(std::string_view word)>;

/// Adds --rounds, --json and NAME... for rows. With `takes_folder` one word that is no name is the folder.
void add_arguments(CLI::App& app, Arguments& arguments, const IsName& is_name, bool takes_folder);

/// Parses the arguments and runs `body`. The exit code: 0 where it returns true, 1 where it returns false, 2 after an
/// error, which is printed.
int run_program(CLI::App& app, int argc, char** argv, const std::function<bool()>& body);

/// Does nothing when `path` is empty.
void write_json(const std::string& path, const nlohmann::json& json);

}  // namespace bench
