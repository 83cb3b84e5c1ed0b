//===- Memory.h - Memory that knows who wrote it --------------------------===//
//
// A Region is memory of the device, of a block (shared), of a warp (local), or
// of the host that the device may see. Beside its bytes it holds
//
//   - per byte whether it was ever written, and whether cp.async is about to
//   write it;
//   - per piece of 16 bytes (per word, half or byte where these go different
//     ways) who wrote and who read it last: two slots each, which name block,
//     thread and the thread's clock;
//   - for nodes of a graph, which bytes this node read and wrote.
//
// An access conflicts with a recorded one if one of them writes, not both are
// strong (atomic, volatile, relaxed), and nothing orders them (Order in
// Launch.h). Of more than two readers, two are kept, from different blocks or
// else from different warps: what orders a writer after both of them by
// barriers of blocks or whole warps orders it after all. A record of another
// grid (of another block, for shared memory) is out of date by its generation,
// so nothing need be cleared between launches.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_EMULATEDCUDA_MEMORY_H
#define TENON_LIB_EMULATEDCUDA_MEMORY_H

#include "Program.h"
#include <unordered_map>

namespace tenon::emulated {

/// A recorded access, 0 if there is none: generation 12 bits, clock 19, strong
/// 1, block 22, thread 10.
using Slot = uint64_t;
constexpr Slot strongSlot = Slot(1) << 32;
constexpr uint32_t clockLimit = 1u << 19, blockLimit = 1u << 22,
                   generationLimit = 1u << 12, threadLimit = 1u << 10;
inline Slot makeSlot(uint32_t generation, uint32_t clock, uint32_t block,
                     uint32_t thread) {
  return Slot(generation) << 52 | Slot(clock) << 33 | Slot(block) << 10 |
         thread;
}
inline uint32_t generationOf(Slot slot) { return slot >> 52; }
inline uint32_t clockOf(Slot slot) { return slot >> 33 & (clockLimit - 1); }
inline uint32_t blockOf(Slot slot) { return slot >> 10 & (blockLimit - 1); }
inline uint32_t threadOf(Slot slot) { return slot & (threadLimit - 1); }
inline bool sameThread(Slot a, Slot b) { return uint32_t(a) == uint32_t(b); }

struct Cell {
  Slot writes[2], reads[2];
};

constexpr uint32_t pageBytes = 4096, pageWords = pageBytes / 4, pieceBytes = 16;

/// The cells of a page. A piece of 16 bytes has one cell until it is accessed
/// in smaller parts; then it has cells of their size, for good.
class ShadowPage {
public:
  /// Calls `visit(cell, offset)` for the cells of `count` bytes, a power of two
  /// up to 16, which begin at a multiple of that.
  template <typename Visit>
  void forCells(uint32_t offset, uint32_t count, Visit visit) {
    const uint32_t piece = offset / pieceBytes;
    if (grains[piece] < grainOf(count))
      split(piece, grainOf(count));
    const uint8_t shift = shifts[grains[piece]];
    Cell *first = cells[grains[piece]].get();
    for (uint32_t i = offset >> shift, end = (offset + count - 1) >> shift;
         i <= end; ++i)
      visit(first[i], i << shift);
  }

private:
  /// Cells of 16, 4, 2 or 1 bytes.
  static constexpr uint8_t shifts[] = {4, 2, 1, 0};
  static uint8_t grainOf(uint32_t count) {
    return count >= 16 ? 0 : count >= 4 ? 1 : count == 2 ? 2 : 3;
  }
  void split(uint32_t piece, uint8_t grain);

  std::unique_ptr<Cell[]> cells[4] = {
      std::make_unique<Cell[]>(pageBytes / pieceBytes)};
  uint8_t grains[pageBytes / pieceBytes] = {};
};

/// Per word: bits 0 to 3 for bytes read, bits 4 to 7 for bytes written.
using Footprint = std::vector<std::unique_ptr<std::array<uint8_t, pageWords>>>;

enum class AccessKind : uint8_t {
  Read,
  Write,
  StrongRead,
  StrongWrite,
  Atomic
};
inline bool isWrite(AccessKind kind) {
  return kind == AccessKind::Write || kind >= AccessKind::StrongWrite;
}
inline bool isStrong(AccessKind kind) { return kind >= AccessKind::StrongRead; }

struct Region {
  enum Kind : uint8_t { Device, Host, Shared, Local, Constant };
  Region(Kind kind, uint64_t begin, uint64_t bytes, uint8_t *data,
         bool written);

  Kind kind;
  uint64_t begin, bytes;
  uint8_t *data;
  /// Per word: bits 0 to 3 for bytes written, 4 to 7 for bytes in flight.
  std::vector<uint8_t> state;
  static constexpr uint8_t writtenWord = 0x0F;
  std::vector<std::unique_ptr<ShadowPage>> shadow;
  std::unique_ptr<Footprint> footprint;

  bool contains(uint64_t address, uint64_t count) const {
    return address >= begin && address - begin <= bytes &&
           count <= bytes - (address - begin);
  }
  /// The shadow of the byte at an offset.
  ShadowPage &page(uint64_t offset) {
    auto &page = shadow[offset / pageBytes];
    if (!page)
      page = std::make_unique<ShadowPage>();
    return *page;
  }
  /// All of the bytes [offset, offset + count) have been written and none is in
  /// flight. Whole words are what nearly all accesses are.
  bool isWritten(uint64_t offset, uint64_t count) const {
    if ((offset | count) % 4)
      return areBytesWritten(offset, count);
    const uint8_t *words = state.data() + offset / 4;
    for (uint64_t word = 0; word < count / 4; ++word)
      if (words[word] != writtenWord)
        return false;
    return true;
  }
  bool isInFlight(uint64_t offset, uint64_t count) const {
    if ((offset | count) % 4)
      return areBytesInFlight(offset, count);
    uint8_t any = 0;
    for (uint64_t word = offset / 4; word < (offset + count) / 4; ++word)
      any |= state[word];
    return any > writtenWord;
  }
  void setWritten(uint64_t offset, uint64_t count, bool written);
  void setInFlight(uint64_t offset, uint64_t count, bool inFlight);
  void markFootprint(uint64_t offset, uint64_t count, bool read, bool write);
  /// Copies which bytes of another region were written, as a copy between them
  /// does.
  void copyWritten(uint64_t offset, const Region &from, uint64_t fromOffset,
                   uint64_t count);

private:
  bool areBytesWritten(uint64_t offset, uint64_t count) const;
  bool areBytesInFlight(uint64_t offset, uint64_t count) const;
};

/// The device's memory and what of the host's it sees. Addresses are never used
/// twice, so that a freed range stays known.
class DeviceMemory {
public:
  explicit DeviceMemory(uint64_t capacity);
  ~DeviceMemory();

  /// Null if there is not enough.
  Region *allocate(uint64_t bytes, Region::Kind kind = Region::Device);
  bool release(uint64_t address);
  Region *addHost(void *pointer, uint64_t bytes);
  bool removeHost(void *pointer);
  /// The region that holds the byte, or null.
  Region *find(uint64_t address) {
    return latest && latest->contains(address, 1) ? latest
                                                  : findAnother(address);
  }
  /// In words, where an address lies that no region holds.
  std::string describe(uint64_t address) const;
  uint64_t used() const { return usedBytes; }
  uint64_t capacity() const { return capacityBytes; }
  std::vector<Region *> regions();

private:
  Region *findAnother(uint64_t address);

  uint64_t capacityBytes, usedBytes = 0;
  uint64_t reserved = 0, reservedBytes = 0, next = 0;
  std::map<uint64_t, std::unique_ptr<Region>> live;
  std::map<uint64_t, uint64_t> freed;
  Region *latest = nullptr;
};

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_MEMORY_H
