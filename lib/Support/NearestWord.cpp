//===- NearestWord.cpp - What a mistyped word was meant to be -------------===//
//
// See NearestWord.h. The distance is that of optimal string alignment.
//
//===----------------------------------------------------------------------===//

#include "tenon/Support/NearestWord.h"

#include <algorithm>
#include <vector>

using namespace tenon;

size_t tenon::editDistance(std::string_view a, std::string_view b) {
  // Row i holds the distances of the first i characters of `a` from every
  // beginning of `b`. A swap looks two rows back.
  std::vector<size_t> older, previous, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    older = std::move(previous);
    previous = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1,
                         previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row.back();
}

std::string tenon::nearestWord(std::string_view word,
                               std::span<const std::string> known) {
  std::string nearest;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string &candidate : known)
    if (size_t distance = editDistance(word, candidate); distance < least) {
      least = distance;
      nearest = candidate;
    }
  return nearest;
}

std::string tenon::didYouMean(std::string_view word,
                              std::span<const std::string> known,
                              std::string_view prefix) {
  std::string nearest = nearestWord(word, known);
  return nearest.empty()
             ? ""
             : "; did you mean '" + std::string(prefix) + nearest + "'?";
}
