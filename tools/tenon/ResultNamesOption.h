//===- ResultNamesOption.h - The option --name ----------------------------===//
//
// Compile, plan and run take it in the same words.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RESULTNAMESOPTION_H
#define TENON_TOOLS_TENON_RESULTNAMESOPTION_H

#include "tools/tenon/ArgumentParser.h"

namespace tenon::tool {

/// May be given several times. `verb` says in help what it is for, if not for
/// everything.
inline void takeResultNames(ArgumentParser &parser,
                            std::vector<std::string> &names,
                            std::string_view verb) {
  parser.custom(
      "name", "RESULT=NAME",
      std::string(verb) +
          "call a result NAME; RESULT is its number, from 0, or a name"
          " of it",
      [&names](std::string_view text) -> std::string {
        // A path may hold the sign, a name does not.
        size_t equals = text.rfind('=');
        if (equals == std::string_view::npos || equals == 0 ||
            equals + 1 == text.size())
          return "expected a result and its name, such as 1=accuracy";
        if (text.find_first_of("',\"\n", equals) != std::string_view::npos)
          return "a name holds no quotes, commas or line ends";
        names.emplace_back(text);
        return "";
      });
}

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_RESULTNAMESOPTION_H
