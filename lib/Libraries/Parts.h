//===- Parts.h - A range in parts of nearly the same length ---------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_PARTS_H
#define TENON_LIB_LIBRARIES_PARTS_H

#include <cstdint>

namespace tenon::libraries {

inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// `extent` in as few parts of nearly the same length as there must be.
struct Parts {
  Parts(int64_t extent, int64_t longest)
      : extent(extent), count(ceilDivide(extent, longest)) {}
  int64_t begin(int64_t part) const { return part * extent / count; }
  int64_t size(int64_t part) const { return begin(part + 1) - begin(part); }
  int64_t largest() const { return ceilDivide(extent, count); }

  int64_t extent, count;
};

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_PARTS_H
