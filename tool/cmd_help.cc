#include <memory>

#include "tool/commands.h"
#include "tool/completion.h"
#include "tool/manual.h"
#include "tool/report.h"

namespace frazil::tool {

void add_completion(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print the completions of commands and options for a shell");
  command->add_option("SHELL", *shell, "bash or zsh")->type_name("bash|zsh")->required();
  command->footer(
      "An installation has both files.\n\n"
      "Examples:\n"
      "  source <(frazil completion bash)\n"
      "  frazil completion zsh > ~/.zfunc/_frazil");
  command->callback([shell, &app, &action] {
    action = [shell, &app]() -> int {
      if (*shell != "bash" && *shell != "zsh") {
        fail(Code::bad_input, "SHELL: expected bash or zsh, got '{}'", *shell);
      }
      const CommandTable program = table_of(app);
      print_text(*shell == "bash" ? bash_completion(program) : zsh_completion(program));
      return kDone;
    };
  });
}

void add_man(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page of all commands");
  command->footer("Example:\n  frazil man | man -l -");
  command->callback([&app, &action] {
    action = [&app]() -> int {
      print_text(manual_of(table_of(app), FRAZIL_VERSION));
      return kDone;
    };
  });
}

}  // namespace frazil::tool
