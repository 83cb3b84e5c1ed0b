//===- StridedCopy.cpp - Copies between strided arrays --------------------===//
//
// Plain loops; the dimension with the smallest target stride runs innermost.
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace tenon::libraries;

StridedCopy::StridedCopy(const std::vector<int64_t> &extents, int64_t width,
                         const std::vector<int64_t> &fromStrides,
                         const std::vector<int64_t> &toStrides)
    : width(width) {
  for (size_t i = 0; i < extents.size(); ++i)
    dimensions.push_back(
        {extents[i], fromStrides[i] * width, toStrides[i] * width});
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension &a, const Dimension &b) {
              return std::abs(a.to) > std::abs(b.to);
            });
}

template <typename Element>
void StridedCopy::walk(size_t level, const char *from, char *to) const {
  const Dimension &d = dimensions[level];
  if (level + 1 < dimensions.size()) {
    for (int64_t i = 0; i < d.extent; ++i)
      walk<Element>(level + 1, from ? from + i * d.from : nullptr,
                    to + i * d.to);
    return;
  }
  if (d.to == sizeof(Element) && !from) {
    std::memset(to, 0, size_t(d.extent) * sizeof(Element));
    return;
  }
  if (d.to == sizeof(Element) && d.from == sizeof(Element)) {
    std::memcpy(to, from, size_t(d.extent) * sizeof(Element));
    return;
  }
  for (int64_t i = 0; i < d.extent; ++i) {
    Element value{};
    if (from)
      std::memcpy(&value, from + i * d.from, sizeof(value));
    std::memcpy(to + i * d.to, &value, sizeof(value));
  }
}

void StridedCopy::run(const void *from, void *to) const {
  const auto *source = static_cast<const char *>(from);
  auto *target = static_cast<char *>(to);
  if (width == 2)
    walk<uint16_t>(0, source, target);
  else
    walk<uint32_t>(0, source, target);
}
