//===- StridedCopy.h - Copies between strided arrays ----------------------===//
//
// Private to this folder: what oneDNN's reorders cannot do, which is walking
// backwards and filling with zeros.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_STRIDEDCOPY_H
#define TENON_LIB_LIBRARIES_STRIDEDCOPY_H

#include <cstdint>
#include <vector>

namespace tenon::libraries {

/// Copies an array of `extents` elements of `width` bytes; strides are in
/// elements and may be negative. Without a source the target is filled with
/// zeros.
void copyStrided(const std::vector<int64_t> &extents, int64_t width,
                 const void *from, const std::vector<int64_t> &fromStrides,
                 void *to, const std::vector<int64_t> &toStrides);

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_STRIDEDCOPY_H
