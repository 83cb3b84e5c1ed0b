//===- CheckOffsetPacking.cpp - is what a packing solution claims true? ---===//
//
// Shares no code with the solver and looks only at the problem as it was
// stated. In order: every offset obeys its own rules; no two buffers overlap;
// the arena is what it says; the bound is one. Can be read from top to bottom.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OffsetPacking.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tenon::solver {

using Buffer = OffsetPackingProblem::Buffer;
using Claim = std::optional<std::string>;
using Wide = __int128; // sums of any number of 64-bit values fit

static std::string text(Wide value) {
  const auto narrow = static_cast<int64_t>(value);
  return narrow == value ? std::to_string(narrow) : "a number beyond 64 bits";
}

static int64_t sliceEnd(const Buffer &buffer, const Window &window) {
  return window.sliceEnd == Window::wholeBuffer ? buffer.size : window.sliceEnd;
}

/// Alignment, fixed offsets, distances in groups.
static Claim checkEachOffset(const OffsetPackingProblem &problem,
                             const std::vector<int64_t> &offsets) {
  std::map<int32_t, std::pair<Wide, size_t>> baseOfGroup;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    std::string who =
        "buffer " + std::to_string(i) + " at offset " + text(offsets[i]);
    if (offsets[i] < 0)
      return who + ": the offset is negative";
    if (offsets[i] % buffer.alignment != 0)
      return who + ": not a multiple of alignment " + text(buffer.alignment);
    if (buffer.fixedOffset && offsets[i] != *buffer.fixedOffset)
      return who + ": its fixed offset is " + text(*buffer.fixedOffset);
    if (buffer.group < 0)
      continue;
    Wide base = Wide(offsets[i]) - buffer.groupOffset;
    auto [known, isNew] = baseOfGroup.insert({buffer.group, {base, i}});
    if (!isNew && known->second.first != base)
      return who + ": group " + text(buffer.group) + " wants it at " +
             text(known->second.first + buffer.groupOffset) +
             " because of buffer " + std::to_string(known->second.second);
  }
  return std::nullopt;
}

/// Sweeps time and keeps the arena cut into pieces; a piece belongs to nobody
/// or to one owner (a buffer or a group), whose members in it are counted.
static Claim checkOverlaps(const OffsetPackingProblem &problem,
                           const std::vector<int64_t> &offsets) {
  struct Event {
    int64_t time;
    bool begins; // ends first: windows are half-open
    size_t buffer;
    int64_t low, high;
  };
  std::vector<Event> events;
  events.reserve(2 * problem.buffers.size());
  for (size_t i = 0; i < offsets.size(); ++i)
    for (const Window &window : problem.buffers[i].windows) {
      const int64_t end = sliceEnd(problem.buffers[i], window);
      if (window.begin >= window.end || window.sliceBegin >= end)
        continue;
      // No further than the arena, which is a 64-bit number.
      const int64_t low = offsets[i] + window.sliceBegin,
                    high = offsets[i] + end;
      events.push_back({window.begin, true, i, low, high});
      events.push_back({window.end, false, i, low, high});
    }
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tie(a.time, a.begins, a.buffer, a.low) <
           std::tie(b.time, b.begins, b.buffer, b.low);
  });

  struct Piece {
    size_t buffer; // one of the members in it
    int64_t members;
  };
  std::map<int64_t, Piece> pieces; // from the key to the next key
  pieces[0] = {0, 0};
  auto cut = [&](int64_t at) {
    auto next = pieces.lower_bound(at);
    if (next != pieces.end() && next->first == at)
      return next;
    return pieces.insert(next, {at, std::prev(next)->second});
  };
  auto sameOwner = [&](size_t a, size_t b) {
    return a == b || (problem.buffers[a].group >= 0 &&
                      problem.buffers[a].group == problem.buffers[b].group);
  };
  for (const Event &event : events) {
    auto first = cut(event.low);
    auto last = cut(event.high);
    for (auto piece = first; piece != last; ++piece) {
      if (!event.begins) {
        --piece->second.members;
        continue;
      }
      if (piece->second.members > 0 &&
          !sameOwner(piece->second.buffer, event.buffer))
        return "buffers " + std::to_string(piece->second.buffer) + " and " +
               std::to_string(event.buffer) + " share byte " +
               text(piece->first) + " at time " + text(event.time);
      piece->second.buffer = event.buffer;
      ++piece->second.members;
    }
    // Join free pieces again, so that their number stays that of live buffers.
    if (!event.begins) {
      auto piece = first == pieces.begin() ? first : std::prev(first);
      while (piece != pieces.end() && piece->first <= event.high) {
        auto next = std::next(piece);
        if (next != pieces.end() && piece->second.members == 0 &&
            next->second.members == 0)
          pieces.erase(next);
        else
          piece = next;
      }
    }
  }
  return std::nullopt;
}

/// The bytes any plan needs at `time`. All ranges live then begin at multiples
/// of the common divisor of their alignments and slice begins. Being disjoint,
/// each of them, rounded up to it, still is; only the topmost needs no
/// rounding.
static Wide neededAt(const OffsetPackingProblem &problem, int64_t time) {
  struct Range {
    int64_t owner; // a group, or -1 - buffer
    Wide low, high;
  };
  std::vector<Range> ranges;
  int64_t granule = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    for (const Window &window : buffer.windows) {
      int64_t high = sliceEnd(buffer, window);
      if (time < window.begin || time >= window.end ||
          window.sliceBegin >= high)
        continue;
      bool grouped = buffer.group >= 0;
      Wide shift = grouped ? buffer.groupOffset : 0;
      ranges.push_back({grouped ? buffer.group : -1 - static_cast<int64_t>(i),
                        shift + window.sliceBegin, shift + high});
      granule =
          std::gcd(granule, std::gcd(buffer.alignment, window.sliceBegin));
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.owner, a.low) < std::tie(b.owner, b.low);
  });
  Wide sum = 0, largestSlack = 0;
  for (size_t i = 0; i < ranges.size();) {
    Wide low = ranges[i].low, high = low;
    int64_t owner = ranges[i].owner;
    // Members of a group that touch or overlap are one range.
    for (;
         i < ranges.size() && ranges[i].owner == owner && ranges[i].low <= high;
         ++i)
      high = std::max(high, ranges[i].high);
    Wide slack = (granule - (high - low) % granule) % granule;
    sum += high - low + slack;
    largestSlack = std::max(largestSlack, slack);
  }
  return sum - largestSlack;
}

static Claim checkBound(const OffsetPackingProblem &problem,
                        const OffsetPackingCertificate &certificate) {
  if (certificate.proof != OffsetPackingCertificate::Proof::MaxLive)
    return std::nullopt;
  Wide needed = neededAt(problem, certificate.time);
  if (certificate.bound > needed)
    return "bound " + text(certificate.bound) + ": at time " +
           text(certificate.time) + " only " + text(needed) +
           " bytes are needed";
  return std::nullopt;
}

Claim checkOffsetPacking(const OffsetPackingProblem &problem,
                         const OffsetPackingSolution &solution) {
  const OffsetPackingCertificate &certificate = solution.certificate;
  if (solution.status == OffsetPackingStatus::Invalid)
    return "the problem is called invalid: " + solution.message;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.size < 0 || buffer.alignment < 1)
      return "buffer " + std::to_string(i) + " has no sensible size";
    for (const Window &window : buffer.windows)
      if (window.sliceBegin < 0 || sliceEnd(buffer, window) > buffer.size)
        return "buffer " + std::to_string(i) + " has a slice outside of it";
  }
  if (Claim wrong = checkBound(problem, certificate))
    return wrong;
  if (solution.status == OffsetPackingStatus::Infeasible) {
    if (!solution.offsets.empty())
      return "an infeasible problem has offsets";
    if (certificate.proof == OffsetPackingCertificate::Proof::MaxLive &&
        (!problem.capacity || certificate.bound <= *problem.capacity))
      return "bound " + text(certificate.bound) +
             " does not exceed the capacity";
    return std::nullopt;
  }
  if (solution.status == OffsetPackingStatus::Undecided &&
      solution.offsets.empty())
    return std::nullopt;

  if (solution.offsets.size() != problem.buffers.size())
    return std::to_string(solution.offsets.size()) + " offsets for " +
           std::to_string(problem.buffers.size()) + " buffers";
  if (Claim wrong = checkEachOffset(problem, solution.offsets))
    return wrong;
  Wide arena = 0;
  for (size_t i = 0; i < solution.offsets.size(); ++i)
    arena =
        std::max(arena, Wide(solution.offsets[i]) + problem.buffers[i].size);
  if (arena != solution.arena)
    return "arena " + text(solution.arena) + ": the buffers reach " +
           text(arena);
  if (Claim wrong = checkOverlaps(problem, solution.offsets))
    return wrong;
  if (certificate.bound > arena)
    return "bound " + text(certificate.bound) + " exceeds the arena " +
           text(arena) + " of a valid plan";
  bool fits = !problem.capacity || arena <= *problem.capacity;
  if (solution.status == OffsetPackingStatus::Solved && !fits)
    return "arena " + text(arena) + " exceeds capacity " +
           text(*problem.capacity);
  if (solution.status == OffsetPackingStatus::Undecided && fits)
    return "the plan fits, so the problem is not undecided";
  return std::nullopt;
}

} // namespace tenon::solver
