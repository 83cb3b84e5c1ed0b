//===- OffsetPackingModel.cpp - build a packing problem's smallest form ---===//
//
// Checks the numbers of a problem, unites groups into rigid bodies, renumbers
// time into sections and computes the bytes live in each. The first step of
// solveOffsetPacking.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingModel.h"
#include "LargestSum.h"

#include "tenon/Support/CheckedArithmetic.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tenon::solver::packing {

using Buffer = OffsetPackingProblem::Buffer;

namespace {

constexpr int64_t largestTime = int64_t(1) << 61;
constexpr size_t mostSlots = size_t(1) << 30;

/// Bytes [low, high) during [begin, end).
struct Area {
  int64_t begin, end, low, high;
};

/// Whether two of the areas share a byte at some time.
bool anyOverlap(const std::vector<Area> &areas) {
  std::vector<std::tuple<int64_t, bool, size_t>> events; // time, begins, area
  events.reserve(2 * areas.size());
  for (size_t i = 0; i < areas.size(); ++i) {
    events.push_back({areas[i].begin, true, i});
    events.push_back({areas[i].end, false, i});
  }
  std::sort(events.begin(), events.end());
  std::map<int64_t, int64_t> live; // low -> high
  for (auto [time, begins, index] : events) {
    const Area &area = areas[index];
    if (!begins) {
      live.erase(area.low);
      continue;
    }
    auto above = live.lower_bound(area.low);
    if (above != live.end() && above->first < area.high)
      return true;
    if (above != live.begin() && std::prev(above)->second > area.low)
      return true;
    live.emplace(area.low, area.high);
  }
  return false;
}

class Builder {
public:
  Builder(const OffsetPackingProblem &problem, Model &model)
      : problem(problem), model(model) {}

  std::optional<ModelError> run() {
    if (auto error = checkNumbers())
      return error;
    if (auto error = formBodies())
      return error;
    disentangleGroups();
    numberSections();
    joinSlots();
    return checkFixed();
  }

private:
  std::optional<ModelError> invalid(size_t buffer, std::string what) {
    return ModelError{OffsetPackingStatus::Invalid,
                      "buffer " + std::to_string(buffer) + ": " + what};
  }
  std::optional<ModelError> infeasible(size_t buffer, std::string what) {
    return ModelError{OffsetPackingStatus::Infeasible,
                      "buffer " + std::to_string(buffer) + ": " + what};
  }

  std::optional<ModelError> checkNumbers();
  std::optional<ModelError> checkWindows(size_t index);
  std::optional<ModelError> formBodies();
  std::optional<ModelError> joinGroup(const std::vector<int32_t> &members);
  void addSlots(size_t index, int64_t shift);
  void disentangleGroups();
  bool membersOverlap(const Body &body) const;
  std::vector<Slot> unionOf(const Body &body) const;
  void numberSections();
  void joinSlots();
  std::optional<ModelError> checkFixed() const;

  const OffsetPackingProblem &problem;
  Model &model;
  /// Times of the slots until they are numbered.
  struct Span {
    int64_t begin, end;
  };
  std::vector<Span> spans;
  int64_t granule = 0;

public:
  /// A moment of each section.
  std::vector<int64_t> timeOfSection;
};

std::optional<ModelError> Builder::checkWindows(size_t index) {
  const Buffer &buffer = problem.buffers[index];
  for (const Window &window : buffer.windows) {
    if (window.begin > window.end)
      return invalid(index, "window [" + std::to_string(window.begin) + ", " +
                                std::to_string(window.end) +
                                ") ends before it begins");
    if (window.begin < -largestTime || window.end > largestTime)
      return invalid(index, "a time beyond 2^61");
    int64_t sliceEnd =
        window.sliceEnd == Window::wholeBuffer ? buffer.size : window.sliceEnd;
    if (window.sliceBegin < 0 || sliceEnd < window.sliceBegin ||
        sliceEnd > buffer.size)
      return invalid(index, "slice [" + std::to_string(window.sliceBegin) +
                                ", " + std::to_string(sliceEnd) +
                                ") is not inside its " +
                                std::to_string(buffer.size) + " bytes");
  }
  if (buffer.windows.size() < 2)
    return std::nullopt;
  std::vector<Window> sorted = buffer.windows;
  std::sort(sorted.begin(), sorted.end(), [](const Window &a, const Window &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].begin < sorted[i - 1].end)
      return invalid(index, "its windows overlap at time " +
                                std::to_string(sorted[i].begin));
  return std::nullopt;
}

std::optional<ModelError> Builder::checkNumbers() {
  std::optional<int64_t> sum = 0;
  size_t numSlots = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.size < 0)
      return invalid(i, "size " + std::to_string(buffer.size) + " is negative");
    if (buffer.alignment < 1)
      return invalid(i, "alignment " + std::to_string(buffer.alignment) +
                            " is not positive");
    if (auto error = checkWindows(i))
      return error;
    // Room for the buffer wherever it lies, twice: at its distance in a group.
    for (int64_t part :
         {buffer.size, buffer.alignment, buffer.alignment,
          std::max<int64_t>(buffer.groupOffset, -largestSum),
          std::max<int64_t>(-std::max(buffer.groupOffset, -largestSum),
                            -largestSum),
          buffer.fixedOffset.value_or(0)})
      if (part > 0 && sum)
        sum = addChecked(*sum, part);
    if (!sum || *sum > largestSum || buffer.groupOffset < -largestSum)
      return invalid(i, "the sizes, offsets and alignments up to here add up "
                        "to more than 2^60");
    numSlots += buffer.windows.size();
    if (buffer.fixedOffset && *buffer.fixedOffset < 0)
      return invalid(i, "fixed offset " + std::to_string(*buffer.fixedOffset) +
                            " is negative");
  }
  if (numSlots > mostSlots || problem.buffers.size() > mostSlots)
    return ModelError{OffsetPackingStatus::Invalid,
                      "more than 2^30 buffers or windows"};
  if (problem.capacity && *problem.capacity < 0)
    return ModelError{OffsetPackingStatus::Invalid,
                      "capacity " + std::to_string(*problem.capacity) +
                          " is negative"};
  return std::nullopt;
}

void Builder::addSlots(size_t index, int64_t shift) {
  const Buffer &buffer = problem.buffers[index];
  for (const Window &window : buffer.windows) {
    int64_t sliceEnd =
        window.sliceEnd == Window::wholeBuffer ? buffer.size : window.sliceEnd;
    if (window.begin == window.end || window.sliceBegin == sliceEnd)
      continue;
    model.slots.push_back({0, 0, shift + window.sliceBegin, shift + sliceEnd});
    granule = std::gcd(granule, std::gcd(buffer.alignment, window.sliceBegin));
    spans.push_back({window.begin, window.end});
  }
}

std::optional<ModelError> Builder::formBodies() {
  size_t count = problem.buffers.size();
  model.bodyOfBuffer.assign(count, -1);
  model.shiftOfBuffer.assign(count, 0);
  model.bodies.reserve(count);
  model.slots.reserve(count);
  spans.reserve(count);
  std::map<int32_t, std::vector<int32_t>> groups;
  for (size_t i = 0; i < count; ++i)
    if (problem.buffers[i].group >= 0)
      groups[problem.buffers[i].group].push_back(static_cast<int32_t>(i));
  for (size_t i = 0; i < count; ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.group >= 0) {
      // The group's body stands where its first member does.
      const std::vector<int32_t> &members = groups[buffer.group];
      if (members.front() == static_cast<int32_t>(i))
        if (auto error = joinGroup(members))
          return error;
      continue;
    }
    if (buffer.fixedOffset && *buffer.fixedOffset % buffer.alignment != 0)
      return infeasible(i, "fixed offset " +
                               std::to_string(*buffer.fixedOffset) +
                               " is not a multiple of alignment " +
                               std::to_string(buffer.alignment));
    model.bodyOfBuffer[i] = static_cast<int32_t>(model.bodies.size());
    Body body;
    body.firstSlot = static_cast<int32_t>(model.slots.size());
    addSlots(i, 0);
    body.endSlot = static_cast<int32_t>(model.slots.size());
    body.alignment = buffer.alignment;
    body.height = buffer.size;
    body.fixed = buffer.fixedOffset.has_value();
    body.fixedBase = buffer.fixedOffset.value_or(0);
    model.bodies.push_back(body);
  }
  return std::nullopt;
}

/// One body for a group. Its base is the offset of its lowest member, so that
/// every base from 0 up keeps all offsets from being negative.
std::optional<ModelError>
Builder::joinGroup(const std::vector<int32_t> &members) {
  int64_t lowest = problem.buffers[members.front()].groupOffset;
  for (int32_t i : members)
    lowest = std::min(lowest, problem.buffers[i].groupOffset);
  Body body;
  body.firstSlot = static_cast<int32_t>(model.slots.size());
  for (int32_t i : members) {
    const Buffer &buffer = problem.buffers[i];
    int64_t shift = buffer.groupOffset - lowest;
    model.bodyOfBuffer[i] = static_cast<int32_t>(model.bodies.size());
    model.shiftOfBuffer[i] = shift;
    body.height = std::max(body.height, shift + buffer.size);
    addSlots(i, shift);
    // base + shift = 0 (mod alignment), together with what is known so far.
    // Walk the known class until the new condition holds; it repeats after
    // alignment / gcd steps.
    int64_t period =
        buffer.alignment / std::gcd(body.alignment, buffer.alignment);
    auto joint = mulChecked(body.alignment, period);
    if (!joint || *joint > largestSum)
      return invalid(i, "the alignments of its group have a least common "
                        "multiple above 2^60");
    // residue + k * known = -shift (mod alignment), solved for k by Euclid.
    int64_t known = body.alignment % buffer.alignment;
    int64_t wanted =
        (-(shift % buffer.alignment) - body.residue % buffer.alignment) %
        buffer.alignment;
    if (wanted < 0)
      wanted += buffer.alignment;
    int64_t divisor = std::gcd(body.alignment, buffer.alignment);
    if (wanted % divisor != 0)
      return infeasible(i, "its alignment " + std::to_string(buffer.alignment) +
                               " and group offset " +
                               std::to_string(buffer.groupOffset) +
                               " contradict those of its group");
    // Inverse of known / divisor modulo period by the extended algorithm.
    int64_t r0 = period, r1 = (known / divisor) % period, t0 = 0, t1 = 1;
    while (r1 != 0) {
      int64_t quotient = r0 / r1;
      std::tie(r0, r1) = std::pair(r1, r0 - quotient * r1);
      std::tie(t0, t1) = std::pair(t1, t0 - quotient * t1);
    }
    __int128 steps =
        period == 1
            ? __int128(0)
            : (__int128(wanted / divisor) * (t0 < 0 ? t0 + period : t0)) %
                  period;
    body.residue += static_cast<int64_t>(steps * body.alignment);
    body.alignment = *joint;
    body.residue %= body.alignment;
    if (buffer.fixedOffset) {
      int64_t base = *buffer.fixedOffset - shift;
      if (base < 0 || (body.fixed && base != body.fixedBase))
        return infeasible(i, "fixed offset " +
                                 std::to_string(*buffer.fixedOffset) +
                                 " contradicts those of its group");
      body.fixed = true;
      body.fixedBase = base;
    }
  }
  if (body.fixed && body.alignUp(body.fixedBase) != body.fixedBase)
    return infeasible(members.front(),
                      "the fixed offset of its group contradicts an alignment");
  body.endSlot = static_cast<int32_t>(model.slots.size());
  model.bodies.push_back(body);
  return std::nullopt;
}

bool Builder::membersOverlap(const Body &body) const {
  std::vector<Area> areas;
  for (int32_t s = body.firstSlot; s < body.endSlot; ++s)
    areas.push_back({spans[s].begin, spans[s].end, model.slots[s].low,
                     model.slots[s].high});
  return anyOverlap(areas);
}

/// Slots of a group whose members overlap, replaced by disjoint ones that cover
/// the same bytes at the same times. `begin` and `end` of the result index the
/// sorted times of the body.
std::vector<Slot> Builder::unionOf(const Body &body) const {
  std::set<int64_t> times;
  for (int32_t s = body.firstSlot; s < body.endSlot; ++s) {
    times.insert(spans[s].begin);
    times.insert(spans[s].end);
  }
  std::vector<int64_t> moments(times.begin(), times.end());
  std::vector<Slot> result;
  std::vector<size_t> open; // slots of the result that end at the last moment
  for (size_t t = 0; t + 1 < moments.size(); ++t) {
    std::vector<std::pair<int64_t, int64_t>> covered;
    for (int32_t s = body.firstSlot; s < body.endSlot; ++s)
      if (spans[s].begin <= moments[t] && moments[t] < spans[s].end)
        covered.push_back({model.slots[s].low, model.slots[s].high});
    std::sort(covered.begin(), covered.end());
    std::vector<std::pair<int64_t, int64_t>> merged;
    for (auto [low, high] : covered) {
      if (!merged.empty() && low <= merged.back().second)
        merged.back().second = std::max(merged.back().second, high);
      else
        merged.push_back({low, high});
    }
    std::vector<size_t> stillOpen;
    for (auto [low, high] : merged) {
      auto same = std::find_if(open.begin(), open.end(), [&](size_t i) {
        return result[i].low == low && result[i].high == high;
      });
      if (same != open.end()) {
        result[*same].end = static_cast<int32_t>(t + 1);
        stillOpen.push_back(*same);
        continue;
      }
      stillOpen.push_back(result.size());
      result.push_back(
          {static_cast<int32_t>(t), static_cast<int32_t>(t + 1), low, high});
    }
    open = std::move(stillOpen);
  }
  return result;
}

void Builder::disentangleGroups() {
  bool hasGroups = model.bodies.size() < problem.buffers.size();
  if (!hasGroups ||
      std::none_of(model.bodies.begin(), model.bodies.end(),
                   [&](const Body &body) { return membersOverlap(body); }))
    return;
  std::vector<Slot> slots;
  std::vector<Span> newSpans;
  for (Body &body : model.bodies) {
    int32_t first = static_cast<int32_t>(slots.size());
    if (membersOverlap(body)) {
      std::set<int64_t> times;
      for (int32_t s = body.firstSlot; s < body.endSlot; ++s) {
        times.insert(spans[s].begin);
        times.insert(spans[s].end);
      }
      std::vector<int64_t> moments(times.begin(), times.end());
      for (const Slot &slot : unionOf(body)) {
        newSpans.push_back({moments[slot.begin], moments[slot.end]});
        slots.push_back({0, 0, slot.low, slot.high});
      }
    } else {
      for (int32_t s = body.firstSlot; s < body.endSlot; ++s) {
        slots.push_back(model.slots[s]);
        newSpans.push_back(spans[s]);
      }
    }
    body.firstSlot = first;
    body.endSlot = static_cast<int32_t>(slots.size());
  }
  model.slots = std::move(slots);
  spans = std::move(newSpans);
}

void Builder::numberSections() {
  // At equal times ends come before begins: windows are half-open.
  std::vector<std::pair<int64_t, int32_t>> events;
  events.reserve(2 * spans.size());
  for (size_t s = 0; s < spans.size(); ++s) {
    events.push_back({spans[s].begin * 2 + 1, static_cast<int32_t>(s)});
    events.push_back({spans[s].end * 2, static_cast<int32_t>(s)});
  }
  std::sort(events.begin(), events.end());
  int32_t section = 0;
  bool grew = false;
  int64_t lastBegin = 0;
  for (Body &body : model.bodies)
    for (int32_t s = body.firstSlot; s < body.endSlot; ++s)
      body.duration += spans[s].end - spans[s].begin;
  spans = {};
  for (auto [key, slot] : events) {
    bool begins = key & 1;
    if (begins) {
      model.slots[slot].begin = section;
      grew = true;
      lastBegin = key >> 1;
      continue;
    }
    if (grew) {
      ++section;
      grew = false;
      timeOfSection.push_back(lastBegin);
    }
    model.slots[slot].end = section;
  }
  model.numSections = section;
}

/// Windows of one body that now touch become one slot.
void Builder::joinSlots() {
  size_t kept = 0;
  for (Body &body : model.bodies) {
    auto first = model.slots.begin() + body.firstSlot;
    auto last = model.slots.begin() + body.endSlot;
    if (last - first > 1)
      std::sort(first, last, [](const Slot &a, const Slot &b) {
        return std::tie(a.low, a.high, a.begin) <
               std::tie(b.low, b.high, b.begin);
      });
    int32_t newFirst = static_cast<int32_t>(kept);
    for (auto slot = first; slot != last; ++slot) {
      if (static_cast<int32_t>(kept) > newFirst) {
        Slot &previous = model.slots[kept - 1];
        if (previous.end == slot->begin && previous.low == slot->low &&
            previous.high == slot->high) {
          previous.end = slot->end;
          continue;
        }
      }
      model.slots[kept++] = *slot;
    }
    body.firstSlot = newFirst;
    body.endSlot = static_cast<int32_t>(kept);
  }
  model.slots.resize(kept);
  model.granule = std::max<int64_t>(granule, 1);
}

/// Two fixed bodies may contradict each other.
std::optional<ModelError> Builder::checkFixed() const {
  std::vector<Area> areas;
  for (const Body &body : model.bodies)
    if (body.fixed)
      for (const Slot &slot : model.slotsOf(body))
        areas.push_back({slot.begin, slot.end, body.fixedBase + slot.low,
                         body.fixedBase + slot.high});
  if (!anyOverlap(areas))
    return std::nullopt;
  return ModelError{OffsetPackingStatus::Infeasible,
                    "buffers with fixed offsets overlap"};
}

} // namespace

static void judgeShapes(Model &model) {
  model.canBeDropped = model.onlyBoxes = true;
  model.tallest = 0;
  for (const Body &body : model.bodies) {
    // Two slots of one section stand on each other; then the upper one has
    // low > 0 and the body is not flat-bottomed either.
    bool flat = true;
    for (const Slot &slot : model.slotsOf(body))
      flat &= slot.low == 0;
    if (body.fixed || !flat)
      model.canBeDropped = false;
    if (!flat || body.endSlot - body.firstSlot > 1)
      model.onlyBoxes = false;
    int64_t lowest = body.fixed ? body.fixedBase : body.alignUp(0);
    model.tallest = std::max(model.tallest, lowest + body.height);
  }
}

/// Max-live. Every occupied range begins at a multiple of the granule, so each
/// effectively ends at one too, except the topmost of all.
static void measure(Model &model, const std::vector<int64_t> *timeOfSection) {
  auto rounded = [&](int64_t bytes) {
    int64_t over = bytes % model.granule;
    return over == 0 ? bytes : bytes + (model.granule - over);
  };
  std::vector<int64_t> change(model.numSections + 1, 0);
  bool hasSlack = false;
  for (const Slot &slot : model.slots) {
    change[slot.begin] += rounded(slot.high) - slot.low;
    change[slot.end] -= rounded(slot.high) - slot.low;
    hasSlack |= rounded(slot.high) != slot.high;
  }
  std::vector<int64_t> slack(hasSlack ? model.numSections : 0, 0);
  if (hasSlack) {
    std::vector<std::vector<std::pair<int64_t, bool>>> events(
        model.numSections + 1);
    for (const Slot &slot : model.slots)
      if (int64_t s = rounded(slot.high) - slot.high) {
        events[slot.begin].push_back({s, true});
        events[slot.end].push_back({s, false});
      }
    std::multiset<int64_t> live;
    for (int32_t section = 0; section < model.numSections; ++section) {
      for (auto [s, begins] : events[section]) {
        if (begins)
          live.insert(s);
        else
          live.erase(live.find(s));
      }
      slack[section] = live.empty() ? 0 : *live.rbegin();
    }
  }
  model.maxLive = 0;
  int64_t sum = 0;
  for (int32_t section = 0; section < model.numSections; ++section) {
    sum += change[section];
    int64_t bytes = sum - (hasSlack ? slack[section] : 0);
    if (bytes > model.maxLive) {
      model.maxLive = bytes;
      if (timeOfSection)
        model.peakTime = (*timeOfSection)[section];
    }
  }
}

void classify(Model &model) {
  judgeShapes(model);
  measure(model, nullptr);
}

int64_t arenaOf(const Model &model, const Bases &bases) {
  int64_t arena = 0;
  for (size_t i = 0; i < model.bodies.size(); ++i)
    arena = std::max(arena, bases[i] + model.bodies[i].height);
  return arena;
}

std::optional<ModelError> buildModel(const OffsetPackingProblem &problem,
                                     Model &model) {
  model = Model();
  Builder builder(problem, model);
  if (auto error = builder.run())
    return error;
  judgeShapes(model);
  measure(model, &builder.timeOfSection);
  return std::nullopt;
}

} // namespace tenon::solver::packing
