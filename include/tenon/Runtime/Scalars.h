//===- Scalars.h - One element of a tensor as text ------------------------===//
//
// Prints the value of a scalar, shortest text that gives it back, and reads it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_SCALARS_H
#define TENON_RUNTIME_SCALARS_H

#include "tenon/Runtime/Executor.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenon::runtime {

/// The element at the start of `bytes`.
std::string scalarText(ElementType type, std::span<const std::byte> bytes);

/// The value of a scalar tensor; nothing with `error` filled in if the device
/// has failed.
std::optional<std::string> valueText(const runtime::Executor &executor,
                                     size_t tensor, runtime::Error &error);

/// Whether a scalar of the type takes what a schedule computes: floats of 16
/// bits and more.
bool takesFraction(ElementType type);

/// The number that the element of such a type at the start of `bytes` is.
double readScalar(ElementType type, std::span<const std::byte> bytes);

/// Writes the element of such a type that is nearest to `value`.
void writeScalar(ElementType type, double value, std::span<std::byte> into);

/// Reads what scalarText() writes for such a type or an integer of 8 bits and
/// more. False if `text` is no value of it.
bool parseScalar(ElementType type, std::string_view text,
                 std::span<std::byte> into);

} // namespace tenon::runtime

#endif // TENON_RUNTIME_SCALARS_H
