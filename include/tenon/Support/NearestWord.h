//===- NearestWord.h - What a mistyped word was meant to be ---------------===//
//
// A tool that does not know a word names the one that was probably meant.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_NEARESTWORD_H
#define TENON_SUPPORT_NEARESTWORD_H

#include <span>
#include <string>
#include <string_view>

namespace tenon {

/// How many characters must be inserted, removed, replaced, or swapped with
/// their neighbour to turn one word into the other.
size_t editDistance(std::string_view a, std::string_view b);

/// The first of the nearest words; empty if even that one differs in more than
/// a third of the characters of `word`, at least one.
std::string nearestWord(std::string_view word,
                        std::span<const std::string> known);

/// `; did you mean 'WORD'?` for the nearest word, or nothing.
std::string didYouMean(std::string_view word,
                       std::span<const std::string> known,
                       std::string_view prefix = "");

} // namespace tenon

#endif // TENON_SUPPORT_NEARESTWORD_H
