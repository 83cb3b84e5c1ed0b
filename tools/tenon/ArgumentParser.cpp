//===- ArgumentParser.cpp - Options of one verb --------------------------===//
//
// See ArgumentParser.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Support/ExitCode.h"
#include "tenon/Support/NearestWord.h"

#include <algorithm>
#include <cstdio>

using namespace tenon;
using namespace tenon::tool;

/// Takes nothing, true or false.
template <typename Bool>
static std::function<std::string(std::string_view)> takeFlag(Bool &value) {
  return [&value](std::string_view given) -> std::string {
    if (!given.empty() && given != "true" && given != "false")
      return "expected true or false";
    value = given != "false";
    return "";
  };
}

void ArgumentParser::flag(std::string_view name, bool &value,
                          std::string_view help) {
  custom(name, "", help, takeFlag(value), {"true", "false"});
}

void ArgumentParser::flag(std::string_view name, std::optional<bool> &value,
                          std::string_view help) {
  custom(name, "", help, takeFlag(value), {"true", "false"});
}

void ArgumentParser::choice(std::string_view name, std::optional<bool> &value,
                            std::string_view no, std::string_view yes,
                            std::string_view help) {
  std::string words[] = {std::string(no), std::string(yes)};
  custom(name, words[0] + "|" + words[1], help,
         [&value, no = words[0], yes = words[1]](std::string_view given) {
           if (given != no && given != yes)
             return "expected " + no + " or " + yes;
           value = given == yes;
           return std::string();
         },
         {words[0], words[1]});
}

void ArgumentParser::text(std::string_view name, std::string &value,
                          std::string_view meaning, std::string_view help) {
  custom(name, meaning, help, [&value](std::string_view given) {
    value = given;
    return std::string();
  });
}

void ArgumentParser::number(std::string_view name, int64_t &value,
                            std::string_view meaning, std::string_view help) {
  custom(name, meaning, help, [&value](std::string_view given) {
    auto number = parseNumber(given);
    if (!number || *number < 0)
      return std::string("expected a number that is not negative");
    value = *number;
    return std::string();
  });
}

void ArgumentParser::custom(std::string_view name, std::string_view meaning,
                            std::string_view help,
                            std::function<std::string(std::string_view)> take,
                            std::vector<std::string> words) {
  options.push_back({std::string(name), std::string(meaning), std::string(help),
                     std::move(take), std::move(words)});
}

std::optional<int> ArgumentParser::parse(Arguments arguments,
                                         std::vector<std::string> &positionals,
                                         size_t count) {
  auto mistake = [&](const std::string &message) {
    std::fprintf(stderr, "error: %s\nnote: tenon %s --help lists the options\n",
                 message.c_str(), verb.c_str());
    return exitBadUsage;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string argument(arguments[i]);
    if (argument == "--help" || argument == "-h") {
      printHelp();
      return exitOk;
    }
    if (argument == "--man") {
      printManualPage();
      return exitOk;
    }
    if (argument == "--list-options") {
      printList();
      return exitOk;
    }
    if (!argument.starts_with("-") || argument == "-") {
      positionals.push_back(argument);
      continue;
    }
    size_t equals = argument.find('=');
    bool hasValue = equals != std::string::npos;
    std::string value = hasValue ? argument.substr(equals + 1) : "";
    std::string name = argument.substr(0, equals);
    name.erase(0, name.find_first_not_of('-'));
    if (argument == "-o")
      name = "output";
    auto option = std::find_if(options.begin(), options.end(),
                               [&](const Option &o) { return o.name == name; });
    if (option == options.end()) {
      std::vector<std::string> names = {"help"};
      for (const Option &known : options)
        names.push_back(known.name);
      return mistake("unknown option '" + argument + "'" +
                     didYouMean(name, names, "--"));
    }
    if (!hasValue && !option->meaning.empty()) {
      if (i + 1 == arguments.size())
        return mistake("option '" + argument + "' needs a value");
      value = arguments[++i];
    }
    std::string wrong = option->take(value);
    if (!wrong.empty())
      return mistake("option '--" + name + "' is given '" + value +
                     "': " + wrong + didYouMean(value, option->words));
  }
  if (positionals.size() != count)
    return mistake("expected " + std::to_string(count) + " argument" +
                   (count == 1 ? "" : "s") + " (" + positional + "), found " +
                   std::to_string(positionals.size()));
  return std::nullopt;
}
