//===- LiveBytes.cpp - What is in memory while kernels run ----------------===//
//
// See LiveBytes.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/LiveBytes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace tenon;
using namespace tenon::precision;

LiveBytes::LiveBytes(llvm::ArrayRef<PlannedKernel> kernels, double mostBytes) {
  std::set<Key> read;
  for (const PlannedKernel &kernel : kernels)
    for (const Traffic &moved : kernel.reads)
      read.insert(keyOf(moved));
  std::map<Key, size_t> latest; // interval
  auto extend = [&](const Traffic &moved, size_t moment, bool isMade) {
    const Key key = keyOf(moved);
    if (moved.operation < 0 || !read.count(key))
      return;
    auto [entry, isNew] = latest.try_emplace(key, stays.size());
    // What is computed again is another one.
    if (isNew || isMade) {
      entry->second = stays.size();
      stays.push_back({moved, moment, moment});
    }
    Interval &interval = stays[entry->second];
    interval.last = std::max(interval.last, moment);
    interval.value.wholeBytes =
        std::max(interval.value.wholeBytes, moved.wholeBytes);
  };
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    auto made = llvm::concat<const Traffic>(kernel.writes, kernel.copies);
    // What no kernel reads leaves the step, such as an update; that runs as
    // soon as what it reads is there, wherever it stands.
    const bool leaves = llvm::none_of(
        made, [&](const Traffic &moved) { return read.count(keyOf(moved)); });
    size_t moment = leaves ? 0 : index;
    for (const Traffic &moved : kernel.reads)
      if (auto found = latest.find(keyOf(moved)); found != latest.end())
        moment = std::max(moment, stays[found->second].first);
    for (const Traffic &moved : kernel.reads)
      extend(moved, moment, /*isMade=*/false);
    for (const Traffic &moved : made)
      extend(moved, moment, /*isMade=*/true);
    runs.push_back(moment);
  }
  std::vector<double> changes(kernels.size() + 1);
  for (const Interval &interval : stays) {
    changes[interval.first] += interval.value.wholeBytes;
    changes[interval.last + 1] -= interval.value.wholeBytes;
  }
  std::vector<double> live;
  double now = 0;
  for (size_t index = 0; index < kernels.size(); ++index)
    live.push_back(now += changes[index]);
  highest = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  // Kernels before each that run at moments that count.
  std::vector<size_t> before{0};
  for (double bytes : live)
    before.push_back(before.back() + (bytes > mostBytes));
  for (const Interval &interval : stays)
    if (before[interval.last + 1] > before[interval.first])
      high.insert(keyOf(interval.value));
}

bool LiveBytes::isHigh(const Traffic &moved) const {
  return high.count(keyOf(moved)) != 0;
}
