//===- ManualPage.cpp - Texts as pages for man ----------------------------===//
//
// See ManualPage.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ManualPage.h"

#include <cstdio>

using namespace tenon;

std::string tool::roff(std::string_view text) {
  std::string escaped;
  bool isStart = true;
  for (char c : text) {
    // A line that begins with one of these would be a request.
    if (isStart && (c == '.' || c == '\''))
      escaped += "\\&";
    isStart = c == '\n';
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped;
}

std::string tool::indented(std::string_view lines) {
  std::string moved;
  for (size_t i = 0; i < lines.size(); ++i) {
    if ((i == 0 || lines[i - 1] == '\n') && lines[i] != '\n')
      moved += "  ";
    moved += lines[i];
  }
  return moved;
}

void tool::printManualHeader(const std::string &name,
                             std::string_view summary) {
  std::string title = name;
  for (char &c : title)
    c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  if (summary.ends_with('.'))
    summary.remove_suffix(1);
  std::printf(".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", title.c_str(),
              roff(name).c_str(), roff(summary).c_str());
}
