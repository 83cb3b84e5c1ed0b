//===- PrintOptions.cpp - A verb's options as texts -----------------------===//
//
// Help for people, a page for man, and a list for the completion of shells are
// made of the same table.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/ManualPage.h"

#include <algorithm>
#include <cstdio>

using namespace tenon;
using namespace tenon::tool;

void ArgumentParser::printHelp() const {
  std::printf("usage: tenon %s%s%s [options]\n\n%s\n\noptions:\n", verb.c_str(),
              positional.empty() ? "" : " ", positional.c_str(),
              summary.c_str());
  auto spelling = [](const Option &option) {
    return "--" + option.name +
           (option.meaning.empty() ? "" : "=" + option.meaning);
  };
  size_t width = 0;
  for (const Option &option : options)
    width = std::max(width, spelling(option).size());
  for (const Option &option : options)
    std::printf("  %-*s%s\n", int(width + 2), spelling(option).c_str(),
                option.help.c_str());
  if (!afterword.empty())
    std::printf("\n%s", afterword.c_str());
  std::printf("\nexamples:\n%s", indented(exampleLines).c_str());
}

void ArgumentParser::printManualPage() const {
  std::string line = summary;
  std::replace(line.begin(), line.end(), '\n', ' ');
  printManualHeader("tenon-" + verb, line.substr(0, line.find(". ")));
  std::printf(
      "\\fBtenon %s\\fR %s [options]\n.SH DESCRIPTION\n%s\n.SH OPTIONS\n",
      verb.c_str(), roff(positional).c_str(), roff(summary).c_str());
  for (const Option &option : options)
    std::printf(".TP\n\\fB%s\\fR%s\n%s\n", roff("--" + option.name).c_str(),
                option.meaning.empty() ? ""
                                       : roff("=" + option.meaning).c_str(),
                roff(option.help).c_str());
  // Its lines are broken already, and some are tables.
  if (!afterword.empty())
    std::printf(".SH NOTES\n.nf\n%s.fi\n", roff(afterword).c_str());
  std::printf(".SH EXAMPLES\n.nf\n%s.fi\n", roff(exampleLines).c_str());
  std::printf(".SH SEE ALSO\n\\fBtenon\\fR(1), which lists the exit codes\n");
}

void ArgumentParser::printList() const {
  for (const Option &option : options) {
    std::string words;
    for (const std::string &word : option.words)
      words += (words.empty() ? "" : " ") + word;
    std::printf("--%s\t%s\t%s\t%s\n", option.name.c_str(),
                option.meaning.empty() ? "" : "=", words.c_str(),
                option.help.c_str());
  }
}
