//===- DistinctItems.h - One number for equal items -----------------------===//

#ifndef TENON_SUPPORT_DISTINCTITEMS_H
#define TENON_SUPPORT_DISTINCTITEMS_H

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenon {

/// FNV-1a, by numbers in place of bytes.
inline uint64_t hashOfNumbers(const std::vector<int64_t> &numbers) {
  uint64_t hash = 14695981039346656037u;
  for (int64_t number : numbers)
    hash = (hash ^ uint64_t(number)) * 1099511628211u;
  return hash;
}

/// Appends items that are new; the number of an item is its place.
template <typename Item>
class DistinctItems {
public:
  explicit DistinctItems(std::vector<Item> &items) : items(items) {}

  /// Equal items have equal hashes.
  int32_t number(Item item, uint64_t hash) {
    std::vector<int32_t> &alike = byHash[hash];
    for (int32_t number : alike)
      if (items[number] == item)
        return number;
    alike.push_back(static_cast<int32_t>(items.size()));
    items.push_back(std::move(item));
    return alike.back();
  }

private:
  std::vector<Item> &items;
  std::unordered_map<uint64_t, std::vector<int32_t>> byHash;
};

} // namespace tenon

#endif // TENON_SUPPORT_DISTINCTITEMS_H
