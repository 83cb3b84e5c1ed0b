//===- StridedCopy.h - Copies between strided arrays ----------------------===//
//
// Private to this folder: what oneDNN's reorders cannot do, which is walking
// backwards and filling with zeros.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_STRIDEDCOPY_H
#define TENON_LIB_LIBRARIES_STRIDEDCOPY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::libraries {

/// Copies an array of `extents` elements of `width` bytes; strides are in
/// elements and may be negative. Made once, so that a step does not allocate.
class StridedCopy {
public:
  StridedCopy(const std::vector<int64_t> &extents, int64_t width,
              const std::vector<int64_t> &fromStrides,
              const std::vector<int64_t> &toStrides);

  /// Without a source the target is filled with zeros.
  void run(const void *from, void *to) const;

private:
  struct Dimension {
    int64_t extent, from, to; // bytes per step
  };
  template <typename Element>
  void walk(size_t level, const char *from, char *to) const;

  std::vector<Dimension> dimensions; // outermost first
  int64_t width;
};

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_STRIDEDCOPY_H
