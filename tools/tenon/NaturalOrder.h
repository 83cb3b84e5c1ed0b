//===- NaturalOrder.h - Names in the order people number them -------------===//
//
// `batch2` comes before `batch10`: runs of digits compare as numbers,
// everything else byte by byte.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_NATURALORDER_H
#define TENON_TOOLS_TENON_NATURALORDER_H

#include <string_view>

namespace tenon::tool {

/// Whether `a` comes before `b`. Names that differ only in leading zeros are in
/// the order of their bytes, so that no two different names are equal.
bool comesBefore(std::string_view a, std::string_view b);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_NATURALORDER_H
