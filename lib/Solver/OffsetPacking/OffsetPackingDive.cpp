//===- OffsetPackingDive.cpp - drop bodies on the skyline in an order -----===//
//
// The legal base of a body is where it comes to rest on the skyline over its
// slots. It only grows while others are placed. So a heap of (legal base, rank)
// may be lazy: the top entry is computed again, and if it has grown it goes
// back, else the body is placed. No list of conflicting pairs exists; memory is
// linear.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingDive.h"

#include "Skyline.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace tenon::solver::packing {

SortKeys::SortKeys(const Model &model)
    : count(static_cast<int32_t>(model.bodies.size())),
      keys(model.bodies.size() * numSortKeys, 0) {
  int32_t sections = model.numSections;
  std::vector<int64_t> live(sections + 1, 0);
  std::vector<int64_t> begun(sections + 1, 0), ended(sections + 1, 0);
  for (const Slot &slot : model.slots) {
    live[slot.begin] += slot.high - slot.low;
    live[slot.end] -= slot.high - slot.low;
    ++begun[slot.begin];
    ++ended[slot.end];
  }
  Skyline totals(sections);
  for (int32_t s = 0; s < sections; ++s) {
    if (s > 0) {
      live[s] += live[s - 1];
      begun[s] += begun[s - 1];
      ended[s] += ended[s - 1];
    }
    totals.raise(s, s + 1, live[s]);
  }
  for (int32_t i = 0; i < count; ++i) {
    const Body &body = model.bodies[i];
    if (body.firstSlot == body.endSlot)
      continue;
    int64_t *key = &keys[size_t(i) * numSortKeys];
    int32_t begin = sections, end = 0;
    double area = 0;
    for (const Slot &slot : model.slotsOf(body)) {
      begin = std::min(begin, slot.begin);
      end = std::max(end, slot.end);
      int64_t width = slot.end - slot.begin;
      area += static_cast<double>(width) *
              static_cast<double>(slot.high - slot.low);
      key[int(SortKey::Sections)] += width;
      key[int(SortKey::Overlaps)] +=
          begun[slot.end - 1] - (slot.begin > 0 ? ended[slot.begin] : 0);
      key[int(SortKey::Total)] =
          std::max(key[int(SortKey::Total)], totals.top(slot.begin, slot.end));
    }
    key[int(SortKey::Area)] = static_cast<int64_t>(std::min(area, 9.0e18));
    key[int(SortKey::Volume)] = static_cast<int64_t>(std::min(
        static_cast<double>(body.duration) * static_cast<double>(body.height),
        9.0e18));
    key[int(SortKey::Duration)] = body.duration;
    key[int(SortKey::Begin)] = begin;
    key[int(SortKey::End)] = end;
    key[int(SortKey::Length)] = end - begin;
    key[int(SortKey::Size)] = body.height;
  }
}

static SortKey keyOfLetter(char letter) {
  static constexpr std::string_view letters = "AVDCBOTELS";
  size_t position = letters.find(letter);
  assert(position != std::string_view::npos);
  return static_cast<SortKey>(position);
}

std::vector<int32_t> SortKeys::sorted(std::string_view letters,
                                      std::span<const int32_t> urgency) const {
  struct Column {
    SortKey key;
    bool smallerFirst;
  };
  std::vector<Column> columns;
  for (char letter : letters) {
    bool smallerFirst = letter >= 'a' && letter <= 'z';
    columns.push_back({keyOfLetter(static_cast<char>(
                           smallerFirst ? letter - 'a' + 'A' : letter)),
                       smallerFirst});
  }
  // The first column decides nearly always, so it lies beside the index: a look
  // at the table of keys would leave the cache.
  struct Entry {
    int64_t first;
    int32_t index;
  };
  std::vector<Entry> entries(count);
  for (int32_t i = 0; i < count; ++i) {
    int64_t first = key(i, columns.front().key);
    entries[i] = {columns.front().smallerFirst ? -first : first, i};
    if (!urgency.empty())
      entries[i].first = urgency[i];
  }
  std::sort(
      entries.begin(), entries.end(), [&](const Entry &a, const Entry &b) {
        if (a.first != b.first)
          return a.first > b.first;
        for (auto [which, smallerFirst] : columns)
          if (int64_t left = key(a.index, which), right = key(b.index, which);
              left != right)
            return smallerFirst ? left < right : left > right;
        return a.index < b.index;
      });
  std::vector<int32_t> order(count);
  for (int32_t i = 0; i < count; ++i)
    order[i] = entries[i].index;
  return order;
}

Bases dive(const Model &model, const std::vector<int32_t> &order) {
  Bases bases(model.bodies.size(), 0);
  Skyline skyline(model.numSections);
  auto place = [&](int32_t index, int64_t base) {
    bases[index] = base;
    for (const Slot &slot : model.slotsOf(model.bodies[index]))
      skyline.raise(slot.begin, slot.end, base + slot.high);
  };
  for (int32_t index : order)
    if (model.bodies[index].fixed)
      place(index, model.bodies[index].fixedBase);

  auto legalBase = [&](const Body &body) {
    int64_t base = 0;
    for (const Slot &slot : model.slotsOf(body))
      base = std::max(base, skyline.top(slot.begin, slot.end) - slot.low);
    return body.alignUp(base);
  };
  using Entry = std::pair<int64_t, int32_t>; // legal base, rank
  std::vector<Entry> entries;
  entries.reserve(order.size());
  for (int32_t rank = 0; rank < static_cast<int32_t>(order.size()); ++rank) {
    const Body &body = model.bodies[order[rank]];
    if (!body.fixed)
      entries.push_back({legalBase(body), rank});
  }
  // A base only grows, so an entry sinks from where it is, mostly not far.
  auto sink = [&](size_t place) {
    const Entry entry = entries[place];
    for (size_t child = 2 * place + 1; child < entries.size();
         child = 2 * place + 1) {
      if (child + 1 < entries.size() && entries[child + 1] < entries[child])
        ++child;
      if (entry < entries[child])
        break;
      entries[place] = entries[child];
      place = child;
    }
    entries[place] = entry;
  };
  std::make_heap(entries.begin(), entries.end(), std::greater<Entry>());
  while (!entries.empty()) {
    auto &[known, rank] = entries.front();
    int32_t index = order[rank];
    int64_t base = legalBase(model.bodies[index]);
    if (base > known) {
      known = base;
    } else {
      place(index, base);
      entries.front() = entries.back();
      entries.pop_back();
      if (entries.empty())
        break;
    }
    sink(0);
  }
  return bases;
}

} // namespace tenon::solver::packing
