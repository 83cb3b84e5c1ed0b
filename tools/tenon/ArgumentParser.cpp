//===- ArgumentParser.cpp - Options of one verb --------------------------===//
//
// See ArgumentParser.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon::tool;
using llvm::StringRef;

/// Takes nothing, true or false.
template <typename Bool>
static std::function<std::string(StringRef)> takeFlag(Bool &value) {
  return [&value](StringRef given) -> std::string {
    if (!given.empty() && given != "true" && given != "false")
      return "expected true or false";
    value = given != "false";
    return "";
  };
}

void ArgumentParser::flag(StringRef name, bool &value, StringRef help) {
  options.push_back({name.str(), "", help.str(), takeFlag(value)});
}

void ArgumentParser::flag(StringRef name, std::optional<bool> &value,
                          StringRef help) {
  options.push_back({name.str(), "", help.str(), takeFlag(value)});
}

void ArgumentParser::text(StringRef name, std::string &value, StringRef meaning,
                          StringRef help) {
  custom(name, meaning, help, [&value](StringRef given) {
    value = given.str();
    return std::string();
  });
}

void ArgumentParser::number(StringRef name, int64_t &value, StringRef meaning,
                            StringRef help) {
  custom(name, meaning, help, [&value](StringRef given) {
    if (given.getAsInteger(10, value) || value < 0)
      return std::string("expected a number that is not negative");
    return std::string();
  });
}

void ArgumentParser::custom(StringRef name, StringRef meaning, StringRef help,
                            std::function<std::string(StringRef)> take) {
  options.push_back({name.str(), meaning.str(), help.str(), std::move(take)});
}

void ArgumentParser::printHelp() const {
  llvm::outs() << "usage: tenon " << verb << (positional.empty() ? "" : " ")
               << positional << " [options]\n\n"
               << summary << "\n\noptions:\n";
  size_t width = 0;
  auto spelling = [](const Option &option) {
    return "--" + option.name +
           (option.meaning.empty() ? "" : "=" + option.meaning);
  };
  for (const Option &option : options)
    width = std::max(width, spelling(option).size());
  for (const Option &option : options) {
    std::string name = spelling(option);
    llvm::outs() << "  " << name << std::string(width - name.size() + 2, ' ')
                 << option.help << "\n";
  }
  if (!afterword.empty())
    llvm::outs() << "\n" << afterword;
}

std::optional<int> ArgumentParser::parse(Arguments arguments,
                                         std::vector<std::string> &positionals,
                                         size_t count) {
  auto mistake = [&](const llvm::Twine &message) {
    llvm::errs() << "error: " << message << "\n"
                 << "note: tenon " << verb << " --help lists the options\n";
    return 2;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      printHelp();
      return 0;
    }
    if (!argument.starts_with("-") || argument == "-") {
      positionals.push_back(argument.str());
      continue;
    }
    StringRef name = argument == "-o" ? StringRef("output")
                                      : argument.ltrim('-').split('=').first;
    bool hasValue = argument.contains('=');
    StringRef value = argument.split('=').second;
    auto option =
        llvm::find_if(options, [&](const Option &o) { return o.name == name; });
    if (option == options.end())
      return mistake("unknown option '" + argument + "'");
    if (!hasValue && !option->meaning.empty()) {
      if (i + 1 == arguments.size())
        return mistake("option '" + argument + "' needs a value");
      value = arguments[++i];
    }
    std::string wrong = option->take(value);
    if (!wrong.empty())
      return mistake("option '--" + name + "' is given '" + value +
                     "': " + wrong);
  }
  if (positionals.size() != count)
    return mistake("expected " + llvm::Twine(count) + " argument" +
                   (count == 1 ? "" : "s") + " (" + positional + "), found " +
                   llvm::Twine(positionals.size()));
  return std::nullopt;
}
