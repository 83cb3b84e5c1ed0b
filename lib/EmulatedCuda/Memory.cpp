//===- Memory.cpp - Regions and where they lie ------------------------===//

#include "Memory.h"
#include <cstring>
#include <sys/mman.h>

using namespace tenon::emulated;

namespace {
constexpr uint8_t poison = 0xFF; // all float types read it as a NaN
constexpr uint64_t hostPage = 4096;
/// Between two allocations, so that an access behind one does not hit the next.
constexpr uint64_t guardBytes = 4096;

/// Calls `visit(word, bits)` for the words of a range of bytes; bit i stands
/// for byte i.
template <typename Visit>
void forWords(uint64_t offset, uint64_t count, Visit visit) {
  uint64_t end = offset + count;
  while (offset < end) {
    uint64_t word = offset / 4;
    unsigned first = offset % 4, last = std::min<uint64_t>(end - word * 4, 4);
    visit(word, static_cast<uint8_t>((1u << last) - (1u << first)));
    offset = (word + 1) * 4;
  }
}
} // namespace

Region::Region(Kind kind, uint64_t begin, uint64_t bytes, uint8_t *data,
               bool written)
    : kind(kind), begin(begin), bytes(bytes), data(data),
      state((bytes + 3) / 4, written ? writtenWord : 0),
      shadow(kind == Local || kind == Constant
                 ? 0
                 : (bytes + pageBytes - 1) / pageBytes) {}

void ShadowPage::split(uint32_t piece, uint8_t grain) {
  auto &finer = cells[grain];
  if (!finer)
    finer = std::make_unique<Cell[]>(pageBytes >> shifts[grain]);
  const uint8_t shift = shifts[grains[piece]];
  const Cell *before = cells[grains[piece]].get();
  for (uint32_t offset = piece * pieceBytes; offset < (piece + 1) * pieceBytes;
       offset += 1u << shifts[grain])
    finer[offset >> shifts[grain]] = before[offset >> shift];
  grains[piece] = grain;
}

bool Region::areBytesWritten(uint64_t offset, uint64_t count) const {
  bool all = true;
  forWords(offset, count, [&](uint64_t word, uint8_t bits) {
    all &= (state[word] & bits) == bits && !(state[word] >> 4 & bits);
  });
  return all;
}

bool Region::areBytesInFlight(uint64_t offset, uint64_t count) const {
  bool any = false;
  forWords(offset, count, [&](uint64_t word, uint8_t bits) {
    any |= (state[word] >> 4 & bits) != 0;
  });
  return any;
}

void Region::setWritten(uint64_t offset, uint64_t count, bool written) {
  if (written && (offset | count) % 4 == 0) {
    for (uint64_t word = offset / 4; word < (offset + count) / 4; ++word)
      state[word] |= writtenWord;
    return;
  }
  forWords(offset, count, [&](uint64_t word, uint8_t bits) {
    state[word] = written ? state[word] | bits : state[word] & ~bits;
  });
}

void Region::setInFlight(uint64_t offset, uint64_t count, bool inFlight) {
  forWords(offset, count, [&](uint64_t word, uint8_t bits) {
    state[word] =
        inFlight ? state[word] | bits << 4 : state[word] & ~(bits << 4);
  });
}

void Region::markFootprint(uint64_t offset, uint64_t count, bool read,
                           bool write) {
  // Whole words of one page are what nearly all accesses are.
  if ((offset | count) % 4 == 0 && offset % pageBytes + count <= pageBytes)
    if (auto &page = (*footprint)[offset / pageBytes]) {
      const uint8_t bits = (read ? 0x0F : 0) | (write ? 0xF0 : 0);
      uint8_t *words = page->data() + offset % pageBytes / 4;
      for (uint64_t i = 0; i < count / 4; ++i)
        words[i] |= bits;
      return;
    }
  forWords(offset, count, [&](uint64_t word, uint8_t bits) {
    auto &page = (*footprint)[word / pageWords];
    if (!page)
      page = std::make_unique<std::array<uint8_t, pageWords>>();
    (*page)[word % pageWords] |= (read ? bits : 0) | (write ? bits << 4 : 0);
  });
}

void Region::copyWritten(uint64_t offset, const Region &from,
                         uint64_t fromOffset, uint64_t count) {
  for (; (offset | fromOffset) % 4 == 0 && count >= 4;
       offset += 4, fromOffset += 4, count -= 4) {
    const uint8_t theirs = from.state[fromOffset / 4];
    uint8_t &mine = state[offset / 4];
    // Bytes in flight have no value yet.
    mine = (mine & ~writtenWord) | (theirs & ~(theirs >> 4) & writtenWord);
  }
  for (uint64_t i = 0; i < count; ++i)
    setWritten(offset + i, 1, from.isWritten(fromOffset + i, 1));
}

DeviceMemory::DeviceMemory(uint64_t capacity) : capacityBytes(capacity) {
  // Addresses for many times what is alive at once, without memory behind them.
  reservedBytes = uint64_t(1) << 44;
  void *place = MAP_FAILED;
  while (place == MAP_FAILED && reservedBytes > capacity) {
    place = mmap(nullptr, reservedBytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
      reservedBytes /= 2;
  }
  if (place == MAP_FAILED)
    reservedBytes = 0;
  else
    reserved = next = reinterpret_cast<uint64_t>(place);
}

DeviceMemory::~DeviceMemory() {
  if (reserved)
    munmap(reinterpret_cast<void *>(reserved), reservedBytes);
}

Region *DeviceMemory::allocate(uint64_t bytes, Region::Kind kind) {
  uint64_t mapped = (bytes + guardBytes + hostPage - 1) / hostPage * hostPage;
  if (bytes > capacityBytes - usedBytes ||
      mapped > reservedBytes - (next - reserved))
    return nullptr;
  auto *data = reinterpret_cast<uint8_t *>(next);
  if (mprotect(data, mapped, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  memset(data, poison, bytes);
  auto &region = live[next] =
      std::make_unique<Region>(kind, next, bytes, data, false);
  next += mapped;
  usedBytes += bytes;
  return region.get();
}

bool DeviceMemory::release(uint64_t address) {
  auto found = live.find(address);
  if (found == live.end() || found->second->kind != Region::Device)
    return false;
  uint64_t bytes = found->second->bytes;
  // Pages go back to the system, the addresses stay taken.
  mmap(reinterpret_cast<void *>(address),
       (bytes + hostPage - 1) / hostPage * hostPage, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  freed[address] = bytes;
  usedBytes -= bytes;
  live.erase(found);
  latest = nullptr;
  return true;
}

Region *DeviceMemory::addHost(void *pointer, uint64_t bytes) {
  uint64_t begin = reinterpret_cast<uint64_t>(pointer);
  auto after = live.lower_bound(begin);
  if ((after != live.end() && after->first < begin + bytes) || find(begin))
    return nullptr;
  return (live[begin] =
              std::make_unique<Region>(Region::Host, begin, bytes,
                                       static_cast<uint8_t *>(pointer), true))
      .get();
}

bool DeviceMemory::removeHost(void *pointer) {
  auto found = live.find(reinterpret_cast<uint64_t>(pointer));
  if (found == live.end() || found->second->kind != Region::Host)
    return false;
  live.erase(found);
  latest = nullptr;
  return true;
}

Region *DeviceMemory::findAnother(uint64_t address) {
  auto after = live.upper_bound(address);
  if (after == live.begin())
    return nullptr;
  Region *region = std::prev(after)->second.get();
  if (!region->contains(address, 1))
    return nullptr;
  return latest = region;
}

std::string DeviceMemory::describe(uint64_t address) const {
  if (auto after = freed.upper_bound(address); after != freed.begin()) {
    auto &[begin, bytes] = *std::prev(after);
    if (address - begin < bytes)
      return "byte " + std::to_string(address - begin) +
             " of a freed allocation of " + std::to_string(bytes) + " bytes";
  }
  if (auto after = live.upper_bound(address); after != live.begin()) {
    const Region &region = *std::prev(after)->second;
    if (uint64_t behind = address - region.begin - region.bytes;
        behind < guardBytes)
      return "byte " + std::to_string(address - region.begin) +
             " of an allocation of " + std::to_string(region.bytes) + " bytes";
  }
  char text[64];
  snprintf(text, sizeof(text), "address 0x%llx, which is in no allocation",
           static_cast<unsigned long long>(address));
  return text;
}

std::vector<Region *> DeviceMemory::regions() {
  std::vector<Region *> all;
  for (auto &[begin, region] : live)
    all.push_back(region.get());
  return all;
}
