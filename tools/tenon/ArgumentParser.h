//===- ArgumentParser.h - Options of one verb ----------------------------===//
//
// A table of options, parsed from `--name=value` or `--name value`, printed as
// help. The tool has its own because LLVM's command line is one global table
// shared with every library that is linked in.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_ARGUMENTPARSER_H
#define TENON_TOOLS_TENON_ARGUMENTPARSER_H

#include "tools/tenon/Commands.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tenon::tool {

class ArgumentParser {
public:
  ArgumentParser(llvm::StringRef verb, llvm::StringRef summary,
                 llvm::StringRef positional)
      : verb(verb), summary(summary), positional(positional) {}

  void flag(llvm::StringRef name, bool &value, llvm::StringRef help);
  /// As above, nothing where the option is not given.
  void flag(llvm::StringRef name, std::optional<bool> &value,
            llvm::StringRef help);
  void text(llvm::StringRef name, std::string &value, llvm::StringRef meaning,
            llvm::StringRef help);
  void number(llvm::StringRef name, int64_t &value, llvm::StringRef meaning,
              llvm::StringRef help);
  /// Takes the value and returns what is wrong with it, empty for nothing.
  void custom(llvm::StringRef name, llvm::StringRef meaning,
              llvm::StringRef help,
              std::function<std::string(llvm::StringRef)> take);

  /// Text that help ends with, whole lines.
  void notes(llvm::StringRef text) { afterword = text.str(); }

  /// The exit code to leave with: 0 after printing help, 2 after a mistake;
  /// nothing if the command should go on. Exactly `positionals` other arguments
  /// are expected.
  std::optional<int> parse(Arguments arguments,
                           std::vector<std::string> &positionals,
                           size_t count = 1);

private:
  struct Option {
    std::string name, meaning, help;
    std::function<std::string(llvm::StringRef)> take;
  };

  void printHelp() const;

  std::string verb, summary, positional, afterword;
  std::vector<Option> options;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_ARGUMENTPARSER_H
