//===- ConvertedCopy.h - Copies that change the element type --------------===//
//
// Private to this folder: what widens operands in front of a primitive that
// computes in f32, and rounds its result, where oneDNN has no fast conversion.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_CONVERTEDCOPY_H
#define TENON_LIB_LIBRARIES_CONVERTEDCOPY_H

#include "tenon/Support/ElementType.h"

#include <cstdint>
#include <vector>

namespace tenon::libraries {

/// Copies an array of `extents` between f32 and f32, bf16 or f16; strides are
/// in elements. Widening is exact, rounding is to nearest, ties to even. Made
/// once, so that a step does not allocate.
class ConvertedCopy {
public:
  ConvertedCopy(const std::vector<int64_t> &extents, ElementType from,
                const std::vector<int64_t> &fromStrides, ElementType to,
                const std::vector<int64_t> &toStrides);

  void run(const void *from, void *to) const;

private:
  struct Dimension {
    int64_t extent, from, to; // elements per step
  };
  template <typename Convert>
  void walk(const Convert &convert, size_t level,
            const typename Convert::From *from, typename Convert::To *to) const;

  std::vector<Dimension> dimensions; // outermost first, at least one
  ElementType from, to;
};

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_CONVERTEDCOPY_H
