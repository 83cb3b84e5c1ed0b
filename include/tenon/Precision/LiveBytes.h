//===- LiveBytes.h - What is in memory while kernels run ------------------===//
//
// The values that lie in memory while each kernel of a step runs, in the order
// in which the kernels stand in the program: a value is there from the first
// kernel that writes it to the last one that reads it. Arguments are not
// counted, nor what leaves the step, which takes their place. Formats are
// chosen by it where bytes have a price. It is no plan of memory, which comes
// later and may order kernels in another way; but which values are there at the
// peak, and how large it is roughly, follows from it.
//
// Formats at most halve what is in memory. So moments at which less than half
// of the peak is there never become the peak, and what is stored at such
// moments alone is worth nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_LIVEBYTES_H
#define TENON_PRECISION_LIVEBYTES_H

#include "tenon/Precision/Outlook.h"

#include <set>
#include <tuple>

namespace tenon::precision {

class LiveBytes {
public:
  explicit LiveBytes(llvm::ArrayRef<PlannedKernel> kernels);

  double peak() const { return highest; }
  /// Whether the value that a kernel moves is in memory at a moment that could
  /// be the peak with other formats.
  bool isHigh(const Traffic &moved) const;

private:
  /// A value in one of its forms.
  using Key = std::tuple<int64_t, unsigned, bool>;
  static Key keyOf(const Traffic &moved) {
    return {moved.operation, moved.index, moved.isNarrow};
  }
  struct Interval {
    Key key;
    size_t first, last; // kernels
    double bytes;
  };

  std::set<Key> high;
  double highest = 0;
};

} // namespace tenon::precision

#endif // TENON_PRECISION_LIVEBYTES_H
