//===- ArgumentParser.h - Options of one verb ----------------------------===//
//
// A table of options, parsed from `--name=value` or `--name value`, and printed
// as help, as a manual page, and as a list for the completion of shells. LLVM's
// command line would be one global table shared with every library that is
// linked in, and is not there in the tool that has no compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_ARGUMENTPARSER_H
#define TENON_TOOLS_TENON_ARGUMENTPARSER_H

#include "tools/tenon/Commands.h"

#include "tenon/Support/ParseNumber.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tenon::tool {

class ArgumentParser {
public:
  ArgumentParser(std::string_view verb, std::string_view summary,
                 std::string_view positional)
      : verb(verb), summary(summary), positional(positional) {}

  void flag(std::string_view name, bool &value, std::string_view help);
  /// As above, nothing where the option is not given.
  void flag(std::string_view name, std::optional<bool> &value,
            std::string_view help);
  /// One of two words, which mean false and true.
  void choice(std::string_view name, std::optional<bool> &value,
              std::string_view no, std::string_view yes, std::string_view help);
  void text(std::string_view name, std::string &value, std::string_view meaning,
            std::string_view help);
  void number(std::string_view name, int64_t &value, std::string_view meaning,
              std::string_view help);
  /// Takes the value and returns what is wrong with it, empty for nothing.
  /// `words` are values that it may have: shells complete them, and the nearest
  /// one is named where the value is wrong.
  void custom(std::string_view name, std::string_view meaning,
              std::string_view help,
              std::function<std::string(std::string_view)> take,
              std::vector<std::string> words = {});

  /// Text behind the options, whole lines.
  void notes(std::string_view text) { afterword = text; }
  /// Command lines that help ends with, one to a line, without indentation.
  void examples(std::string_view lines) { exampleLines = lines; }

  /// The exit code to leave with: 0 after --help, --man or --list-options was
  /// answered, 2 after a mistake; nothing if the command should go on. Exactly
  /// `positionals` other arguments are expected.
  std::optional<int> parse(Arguments arguments,
                           std::vector<std::string> &positionals,
                           size_t count = 1);

private:
  struct Option {
    std::string name, meaning, help;
    std::function<std::string(std::string_view)> take;
    std::vector<std::string> words;
  };

  // In PrintOptions.cpp.
  void printHelp() const;
  /// A page for man, in section 1.
  void printManualPage() const;
  /// A line per option, with tabs between its fields: `--name`, `=` if it takes
  /// a value, the words that the value may be, help.
  void printList() const;

  std::string verb, summary, positional, afterword, exampleLines;
  std::vector<Option> options;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_ARGUMENTPARSER_H
