#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "error/terminal.h"

namespace frazil::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Help : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string help_of(const std::string& command, const std::string& columns = "100") {
  std::vector<std::string> call{"--help"};
  if (!command.empty()) call.insert(call.begin(), command);
  const Ended ended = run_tool(call, {"COLUMNS=" + columns});
  EXPECT_EQ(ended.exit, 0) << command << ended.err;
  return ended.out;
}

/// Returns the rows of a part of the help, such as "Limits", without their continuation lines.
std::vector<std::string> rows_of(const std::string& help, const std::string& title) {
  std::vector<std::string> rows;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with(' ')) inside = line == title + ":";
    if (inside && line.starts_with("  ") && !line.starts_with("   ")) rows.push_back(line.substr(2));
  }
  return rows;
}

std::vector<std::string> first_words(std::vector<std::string> rows) {
  for (std::string& row : rows) row = row.substr(0, row.find(' '));
  return rows;
}

std::vector<std::string> commands() { return first_words(rows_of(help_of(""), "Commands")); }

/// Returns the long options of a command.
std::set<std::string> options_of(const std::string& help) {
  std::set<std::string> options;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with("  -")) continue;
    const std::size_t begin = line.find("--");
    options.insert(line.substr(begin, line.find_first_of(" ,", begin) - begin));
  }
  return options;
}

TEST_F(Help, LinesFitTheWidth) {
  std::vector<std::string> all = commands();
  EXPECT_GE(all.size(), 16);
  all.emplace_back();
  const std::pair<const char*, std::size_t> widths[] = {{"72", 72}, {"80", 80}, {"500", 100}, {"", 80}, {"wide", 80}};
  for (const std::string& command : all) {
    for (const auto& [columns, width] : widths) {
      std::size_t longest = 0;
      for (const std::string& line : lines_of(help_of(command, columns))) longest = std::max(longest, line.size());
      EXPECT_LE(longest, width) << command << " in " << columns;
      if (command == "run") EXPECT_GE(longest + 8, width) << columns;
    }
  }
}

TEST_F(Help, FitsTheTerminal) {
  for (const unsigned short columns : {60, 90, 200}) {
    const Ended ended = run_tool_on_terminal({"run", "--help"}, columns, {"COLUMNS="});
    EXPECT_EQ(ended.exit, 0);
    EXPECT_EQ(ended.out, help_of("run", std::to_string(columns))) << columns;
  }
}

TEST_F(Help, OptionsAreInGroups) {
  const std::string help = help_of("run");
  const auto group = [&](const char* title) { return first_words(rows_of(help, title)); };
  using testing::ElementsAre;
  EXPECT_THAT(group("Inputs"), ElementsAre("-i,", "--stream", "--carry", "--seed"));
  EXPECT_THAT(group("Execution"), ElementsAre("--tier", "--threads", "--numerics"));
  EXPECT_THAT(group("Limits"),
              ElementsAre("--memory-limit", "--arena-limit", "--max-elements", "--max-steps", "--deadline",
                          "--load-deadline", "--max-nodes", "--max-nesting", "--max-name-bytes"));
  EXPECT_THAT(group("Output"), ElementsAre("-o,", "--json", "--debug"));
  for (const std::string& row : rows_of(help, "Limits")) {
    const bool unit = row.contains("BYTES") || row.contains(" MS ") || row.contains(" N ");
    EXPECT_TRUE(unit) << row;
  }
}

TEST_F(Help, EachCommandHasTheCommonGroups) {
  for (const char* command : {"run", "bench", "test", "profile"}) {
    const std::set<std::string> options = options_of(help_of(command));
    for (const char* option : {"--tier", "--threads", "--memory-limit", "--max-steps", "--deadline", "--seed",
                               "--numerics", "--json", "--debug"}) {
      EXPECT_TRUE(options.contains(option)) << command << " " << option;
    }
  }
}

TEST_F(Help, ExamplesEndIt) {
  for (const char* command :
       {"", "run", "bench", "profile", "test", "inspect", "convert", "tune", "debug", "compare"}) {
    const std::string help = help_of(command);
    const std::size_t at = help.find("\nExamples:\n  frazil ");
    ASSERT_NE(at, std::string::npos) << command;
    for (const std::string& line : lines_of(help.substr(at + 1))) {
      EXPECT_TRUE(line == "Examples:" || line.starts_with("  ")) << line;
    }
  }
}

/// Only a line that continues ends with a backslash.
TEST_F(Help, LongExamplesContinue) {
  EXPECT_THAT(help_of("run", "80"),
              HasSubstr(" --input state=2x1x128 \\\n      --carry stateN=state --stream chunks.jsonl\n"));
}

TEST_F(Help, MistypedWordsOfEveryCommandGetASuggestion) {
  std::set<std::string> seen;  // common options are tried with one command
  for (const std::string& command : commands()) {
    const auto suggests = [](const Ended& ended, const std::string& kind, const std::string& word,
                             const std::string& help) {
      EXPECT_EQ(ended.exit, 2);
      EXPECT_EQ(ended.err, "frazil: there is no " + kind + " '" + word + "q'; did you mean '" + word +
                               "'?; see frazil " + help + "--help\n");
    };
    suggests(run_tool({command + "q"}), "command", command, "");
    for (const std::string& option : options_of(help_of(command))) {
      if (seen.insert(option).second) suggests(run_tool({command, option + "q"}), "option", option, command + " ");
    }
  }
}

TEST_F(Help, TheManualPageHasEveryOptionAndVariable) {
  const Ended page = run_tool({"man"});
  ASSERT_EQ(page.exit, 0) << page.err;
  const auto roff = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  for (const std::string& command : commands()) {
    const std::size_t begin = page.out.find(".SS " + roff(command) + "\n");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string section = page.out.substr(begin, page.out.find("\n.S", begin + 1) - begin);
    for (const std::string& option : options_of(help_of(command))) EXPECT_THAT(section, HasSubstr(roff(option)));
  }
  EXPECT_THAT(page.out, HasSubstr("\n.B FRAZIL_VERIFY\n"));
  EXPECT_THAT(page.out, Not(HasSubstr("\n\n")));
}

/// Returns what bash completes for the words, the last of which is begun.
std::vector<std::string> completed(const std::vector<std::string>& words) {
  const TempFolder folder;
  const std::string script = folder.write("frazil.bash", run_tool({"completion", "bash"}).out);
  std::filesystem::create_directories(folder / "data");
  folder.write("data.onnx", "");
  std::string call =
      "cd '" + (folder / "").string() + "' && bash -c 'compopt() { :; }; . ./frazil.bash; COMP_WORDS=(frazil";
  for (const std::string& word : words) call += " \"" + word + "\"";
  call += "); COMP_CWORD=" + std::to_string(words.size()) + "; _frazil; printf \"%s\\n\" \"${COMPREPLY[@]}\"' > out";
  EXPECT_EQ(std::system(call.c_str()), 0) << script;
  std::vector<std::string> found = lines_of(content_of(folder / "out"));
  std::erase(found, "");
  return found;
}

TEST_F(Help, BashCompletes) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  using testing::UnorderedElementsAre;
  EXPECT_EQ(completed({""}), commands());
  EXPECT_THAT(completed({"pr"}), ElementsAre("profile"));
  EXPECT_THAT(completed({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(completed({"run", "--me"}), ElementsAre("--memory-limit"));
  EXPECT_THAT(completed({"run", "--tier", ""}), ElementsAre("auto", "ref", "0", "1", "2"));
  EXPECT_THAT(completed({"run", "--tier", "=", "a"}), ElementsAre("auto"));
  EXPECT_THAT(completed({"run", "--tier", "="}), ElementsAre("auto", "ref", "0", "1", "2"));
  EXPECT_THAT(completed({"run", "da"}), UnorderedElementsAre("data", "data.onnx"));
  EXPECT_THAT(completed({"run", "--output-dir", "da"}), ElementsAre("data"));
  EXPECT_THAT(completed({"run", "--threads", ""}), IsEmpty());
  EXPECT_THAT(completed({"run", "--tier", "--"}), IsEmpty());
  EXPECT_THAT(completed({"completion", ""}), ElementsAre("bash", "zsh"));
  EXPECT_THAT(completed({"policy", ""}), ElementsAre("check", "test", "explain", "diff", "hooks"));
  EXPECT_THAT(completed({"policy", "check", "--"}), UnorderedElementsAre("--help", "--json"));
  EXPECT_THAT(completed({"policy", "check", "da"}), UnorderedElementsAre("data", "data.onnx"));
  for (const std::string& command : commands()) {
    EXPECT_THAT(completed({command, "--"}), testing::UnorderedElementsAreArray(options_of(help_of(command))))
        << command;
  }
}

TEST_F(Help, ZshCompletionsHaveEveryOption) {
  const std::string script = run_tool({"completion", "zsh"}).out;
  EXPECT_TRUE(script.starts_with("#compdef frazil\n"));
  for (const std::string& command : commands()) {
    const std::size_t begin = script.find("\n      " + command + ")\n");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string part = script.substr(begin, script.find(" ;;\n", begin) - begin);
    for (const std::string& option : options_of(help_of(command))) EXPECT_THAT(part, HasSubstr(option)) << command;
  }
  EXPECT_EQ(run_tool({"completion", "fish"}).err, "frazil: SHELL: expected bash or zsh, got 'fish'\n");
}

}  // namespace
}  // namespace frazil::test
