//===- MemoryProfile.h - What lies in memory when ------------------------===//
//
// From the plan in a file: which values occupy the temporaries at which
// moments, who wrote and who last reads each, and the moment with the most.
// What `tenon inspect --memory` and its picture are made from.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILER_MEMORYPROFILE_H
#define TENON_TOOLS_TENON_COMPILER_MEMORYPROFILE_H

#include "tenon/Format/Index.h"

#include <map>
#include <string>
#include <vector>

namespace tenon::tool {

/// A value in the temporaries from `begin` to before `end`; its place is taken
/// while the operation that writes it still reads.
struct Occupation {
  int32_t value = 0;
  int64_t begin = 0, end = 0;
  uint64_t offset = 0, bytes = 0; // rounded up to what it occupies
  int32_t over = -1;              // the value it was written over, if any
  bool scratch = false;           // only while one operation runs
};

class MemoryProfile {
public:
  /// Of a plan of the index.
  MemoryProfile(const format::Index &index, const format::Plan &plan);

  /// By begin, then by offset.
  const std::vector<Occupation> &occupations() const { return list; }
  /// Bytes occupied from each of these moments on.
  const std::map<int64_t, uint64_t> &occupied() const { return sums; }
  int64_t peakMoment() const { return peak; }
  uint64_t peakBytes() const { return most; }
  int64_t endOfStep() const { return end; }
  uint64_t temporaries() const { return arena; }

  const std::string &typeOf(int32_t value) const {
    return plan.texts[plan.values[value].type];
  }
  const std::string &sourceOf(int32_t value) const {
    return plan.texts[plan.values[value].source];
  }
  bool isRecomputed(int32_t value) const {
    return plan.values[value].recomputed;
  }
  /// What runs at a moment, for people; empty for the ends of the step.
  std::string operationAt(int64_t moment) const;

private:
  const format::Plan &plan;
  std::vector<Occupation> list;
  std::map<int64_t, uint64_t> sums;
  std::map<int64_t, const format::PlannedOperation *> operations; // by time
  int64_t peak = 0, end = 0;
  uint64_t most = 0, arena = 0;
};

/// The arena over time as a self-contained SVG: a box per value, with a title
/// for the pointer, the bytes occupied below, the peak marked.
std::string memoryPicture(const MemoryProfile &profile,
                          const std::string &title);

/// The peak moment as a table of the `rows` largest values.
void printMemory(const format::Index &index, const format::Plan &plan,
                 const MemoryProfile &profile, int64_t rows);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMPILER_MEMORYPROFILE_H
