//===- MemoryProfile.cpp - What lies in memory when ----------------------===//
//
// See MemoryProfile.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/MemoryProfile.h"

#include "tenon/Format/PinnedMemory.h"
#include "tenon/Support/Bytes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::tool;

MemoryProfile::MemoryProfile(const format::Index &index,
                             const format::Plan &plan)
    : plan(plan) {
  auto isTemporary = [&](const format::Slice &buffer) {
    return format::hasTemporaries(index, index.segments[buffer.segment]);
  };
  for (const format::Segment &segment : index.segments)
    if (format::hasTemporaries(index, segment))
      arena += segment.bytes;
  for (const format::PlannedOperation &operation : plan.operations) {
    operations.try_emplace(operation.begin, &operation);
    operations.try_emplace(operation.end, &operation);
    end = std::max(end, 2 * operation.end + 2);
  }
  // Of the values of one buffer, each ends where the next takes over.
  std::map<uint32_t, std::vector<Occupation>> buffers;
  for (int32_t value = 0; value < int32_t(plan.values.size()); ++value) {
    const format::PlannedValue &described = plan.values[value];
    const format::Slice &buffer = plan.buffers[described.buffer];
    if (!isTemporary(buffer))
      continue;
    for (const format::Lifetime &lifetime : described.lifetimes)
      buffers[described.buffer].push_back(
          {value, lifetime.begin, lifetime.end, buffer.offset,
           (described.bytes + 63) / 64 * 64, -1,
           plan.texts[described.type] == "scratch"});
  }
  std::map<int64_t, int64_t> changes;
  for (auto &[number, occupations] : buffers) {
    std::ranges::sort(occupations, {}, &Occupation::begin);
    uint64_t bytes = (plan.buffers[number].bytes + 63) / 64 * 64;
    int64_t until = -1;
    for (size_t i = 0; i < occupations.size(); ++i) {
      Occupation &occupation = occupations[i];
      if (i > 0 && occupations[i - 1].end == occupation.begin)
        occupation.over = occupations[i - 1].value;
      else
        occupation.begin = std::max<int64_t>(0, occupation.begin - 1);
      // The buffer counts once.
      int64_t begin = std::max(occupation.begin, until);
      if (begin < occupation.end) {
        changes[begin] += int64_t(bytes);
        changes[occupation.end] -= int64_t(bytes);
        until = occupation.end;
      }
      list.push_back(occupation);
    }
  }
  std::ranges::sort(list, [](const Occupation &a, const Occupation &b) {
    return std::tie(a.begin, a.offset, a.value) <
           std::tie(b.begin, b.offset, b.value);
  });
  int64_t live = 0;
  for (auto [moment, change] : changes) {
    live += change;
    sums[moment] = uint64_t(live);
    if (uint64_t(live) > most) {
      most = uint64_t(live);
      peak = moment;
    }
  }
}

std::string MemoryProfile::operationAt(int64_t moment) const {
  auto found = operations.find(moment / 2);
  return found == operations.end() ? std::string()
                                   : plan.texts[found->second->source];
}

/// Who wrote it and who reads it last.
static std::string reasonOf(const MemoryProfile &profile,
                            const Occupation &occupation) {
  auto name = [&](int64_t moment) {
    std::string source = profile.operationAt(moment);
    return "@" + std::to_string(moment / 2) +
           (source.empty() ? "" : " " + source);
  };
  if (occupation.scratch)
    return "scratch memory of " + name(occupation.end - 1);
  return "until " + name(occupation.end - 1);
}

void tool::printMemory(const format::Index &index, const format::Plan &plan,
                       const MemoryProfile &profile, int64_t rows) {
  uint64_t total = 0, waiting = 0;
  std::string parts;
  for (const format::Segment &segment : index.segments) {
    if (format::isPinned(index, segment)) {
      waiting += segment.bytes;
      continue;
    }
    total += segment.bytes;
    parts += (parts.empty() ? " " : ", ") + std::string(name(segment.kind)) +
             " " + printBytes(int64_t(segment.bytes));
  }
  llvm::outs() << "memory " << printBytes(int64_t(total));
  if (plan.memoryBudget)
    llvm::outs() << " of " << printBytes(int64_t(plan.memoryBudget));
  llvm::outs() << ":" << parts;
  if (waiting)
    llvm::outs() << "\npinned memory of the host, for values that wait: "
                 << printBytes(int64_t(waiting));
  uint64_t bound = plan.temporariesBound;
  llvm::outs() << "\ntemporaries: lower bound for this order "
               << printBytes(int64_t(bound)) << ", gap "
               << llvm::formatv(
                      "{0:f2} %",
                      bound
                          ? 100.0 *
                                double(int64_t(profile.temporaries() - bound)) /
                                double(bound)
                          : 0.0)
               << "\n";
  size_t overwrites = 0, again = 0, scratch = 0;
  for (const Occupation &occupation : profile.occupations()) {
    overwrites += occupation.over >= 0;
    again += profile.isRecomputed(occupation.value);
    scratch += occupation.scratch;
  }
  llvm::outs() << profile.occupations().size()
               << " values in temporaries: " << overwrites
               << " written over another, " << again << " computed again, "
               << scratch << " scratch\n\npeak: "
               << printBytes(int64_t(profile.peakBytes())) << " live at @"
               << profile.peakMoment() / 2 << ", "
               << profile.operationAt(profile.peakMoment()) << "\n\n";

  std::vector<const Occupation *> live;
  for (const Occupation &occupation : profile.occupations())
    if (occupation.begin <= profile.peakMoment() &&
        profile.peakMoment() < occupation.end)
      live.push_back(&occupation);
  std::ranges::sort(live, [](const Occupation *a, const Occupation *b) {
    return std::tuple(b->bytes, a->offset) < std::tuple(a->bytes, b->offset);
  });
  llvm::outs() << llvm::formatv("{0,12} {1,12}  {2,-22} {3}\n", "bytes",
                                "offset", "type", "computed by; live");
  uint64_t rest = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    const Occupation &occupation = *live[i];
    if (int64_t(i) >= rows) {
      rest += occupation.bytes;
      continue;
    }
    std::string notes;
    if (profile.isRecomputed(occupation.value))
      notes += ", computed again";
    if (occupation.over >= 0)
      notes += ", written over " + profile.typeOf(occupation.over) + " of " +
               profile.sourceOf(occupation.over);
    llvm::outs() << llvm::formatv(
        "{0,12} {1,12}  {2,-22} @{3} {4}; {5}{6}\n", occupation.bytes,
        occupation.offset, profile.typeOf(occupation.value),
        (occupation.begin + 1) / 2, profile.sourceOf(occupation.value),
        reasonOf(profile, occupation), notes);
  }
  if (int64_t(live.size()) > rows)
    llvm::outs() << llvm::formatv(
        "{0,12} in {1} smaller ones; --rows={2} lists all\n", rest,
        int64_t(live.size()) - rows, live.size());
}
