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
// Where the peak is to be at most so many bytes, those moments count at which
// more is there. What is stored at other moments alone is worth nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_LIVEBYTES_H
#define TENON_PRECISION_LIVEBYTES_H

#include "tenon/Precision/Outlook.h"

#include <set>
#include <tuple>
#include <vector>

namespace tenon::precision {

class LiveBytes {
public:
  /// Moments with more than `mostBytes` count.
  explicit LiveBytes(llvm::ArrayRef<PlannedKernel> kernels,
                     double mostBytes = 0);

  double peak() const { return highest; }
  /// Whether the value that a kernel moves is in memory at a moment that
  /// counts.
  bool isHigh(const Traffic &moved) const;

  /// A value in one of its forms, from the first moment to the last. What is
  /// computed again is in memory several times.
  struct Interval {
    Traffic value;
    size_t first, last;
  };
  const std::vector<Interval> &intervals() const { return stays; }
  /// When each kernel runs: a number below that of all kernels.
  const std::vector<size_t> &moments() const { return runs; }

private:
  using Key = std::tuple<int64_t, unsigned, bool>;
  static Key keyOf(const Traffic &moved) {
    return {moved.operation, moved.index, moved.isNarrow};
  }

  std::vector<Interval> stays;
  std::vector<size_t> runs;
  std::set<Key> high;
  double highest = 0;
};

} // namespace tenon::precision

#endif // TENON_PRECISION_LIVEBYTES_H
