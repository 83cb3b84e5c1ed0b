//===- Writer.h - Writes .tenon files -------------------------------------===//
//
// Turns an Index and the raw bytes of its sections into the bytes of a `.tenon`
// file (docs/Forms.md has the layout). The same input gives the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_WRITER_H
#define TENON_FORMAT_WRITER_H

#include "tenon/Format/Index.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tenon::format {

/// The bytes of one section; of kinds other than PTX at most one.
struct SectionBytes {
  SectionKind kind = SectionKind::constants;
  std::span<const std::byte> bytes;
};

/// The bytes of the file. `index.sections` is ignored and made anew from
/// `sections`, in their order.
std::vector<std::byte> write(const Index &index,
                             std::span<const SectionBytes> sections);

} // namespace tenon::format

#endif // TENON_FORMAT_WRITER_H
