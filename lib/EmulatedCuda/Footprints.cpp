//===- Footprints.cpp - Which bytes a piece of work read and wrote --------===//

#include "Footprints.h"
#include <algorithm>
#include <bit>

using namespace tenon::emulated;

void tenon::emulated::noteFootprints(DeviceMemory &memory) {
  for (Region *region : memory.regions())
    if (!region->footprint)
      region->footprint = std::make_unique<Footprint>(
          (region->bytes + pageBytes - 1) / pageBytes);
}

Footprints tenon::emulated::takeFootprints(DeviceMemory &memory) {
  Footprints taken;
  for (Region *region : memory.regions())
    if (region->footprint &&
        std::any_of(region->footprint->begin(), region->footprint->end(),
                    [](auto &page) { return page != nullptr; }))
      taken[region] = std::move(region->footprint);
  return taken;
}

void tenon::emulated::dropFootprints(DeviceMemory &memory) {
  for (Region *region : memory.regions())
    region->footprint.reset();
}

void tenon::emulated::join(Footprints &into, const Footprints &from) {
  for (auto &[region, pages] : from) {
    auto &mine = into[region];
    if (!mine)
      mine = std::make_unique<Footprint>(pages->size());
    for (size_t i = 0; i < pages->size(); ++i) {
      if (!(*pages)[i])
        continue;
      if (!(*mine)[i])
        (*mine)[i] = std::make_unique<std::array<uint8_t, pageWords>>();
      uint8_t *to = (*mine)[i]->data();
      const uint8_t *words = (*pages)[i]->data();
      for (uint32_t word = 0; word < pageWords; ++word)
        to[word] |= words[word];
    }
  }
}

std::string Conflict::text() const {
  return "touch byte " + std::to_string(byte) + " of an allocation of " +
         std::to_string(region->bytes) + " bytes, one writes";
}

std::optional<Conflict> tenon::emulated::findConflict(const Footprints &a,
                                                      const Footprints &b) {
  for (auto &[region, pagesA] : a) {
    auto found = b.find(region);
    if (found == b.end())
      continue;
    for (size_t page = 0; page < pagesA->size(); ++page) {
      auto &x = (*pagesA)[page], &y = (*found->second)[page];
      if (!x || !y)
        continue;
      for (uint32_t word = 0; word < pageWords; ++word) {
        uint8_t bits = ((*x)[word] >> 4 & ((*y)[word] | (*y)[word] >> 4)) |
                       ((*x)[word] & (*y)[word] >> 4);
        if (bits & 0xF)
          return Conflict{region, (page * pageWords + word) * 4 +
                                      std::countr_zero(unsigned(bits & 0xF))};
      }
    }
  }
  return std::nullopt;
}
