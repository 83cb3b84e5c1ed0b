//===- ManualPage.h - Texts as pages for man ------------------------------===//
//
// What the page of tenon and those of its verbs have in common.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_MANUALPAGE_H
#define TENON_TOOLS_TENON_MANUALPAGE_H

#include <string>
#include <string_view>

namespace tenon::tool {

/// The text with what means something to roff escaped.
std::string roff(std::string_view text);

/// Whole lines, each moved to the right by two spaces.
std::string indented(std::string_view lines);

/// The beginning of a page up to the heading of its synopsis.
void printManualHeader(const std::string &name, std::string_view summary);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_MANUALPAGE_H
