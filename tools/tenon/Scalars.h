//===- Scalars.h - One element of a tensor as text ------------------------===//
//
// Prints the value of a scalar result, shortest text that gives it back.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_SCALARS_H
#define TENON_TOOLS_TENON_SCALARS_H

#include "tenon/Support/ElementType.h"

#include <cstddef>
#include <span>
#include <string>

namespace tenon::tool {

/// The element at the start of `bytes`.
std::string scalarText(ElementType type, std::span<const std::byte> bytes);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_SCALARS_H
