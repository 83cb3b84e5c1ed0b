//===- BoundText.h - Limits on program text before it is parsed ----------===//
//
// MLIR's parser recurses with the nesting of its input and trusts the counts it
// reads, so a file of a few kilobytes can overflow the stack or ask for
// gigabytes. This scan runs over the bytes first, without recursion, and
// refuses what is beyond the documented limits. It also recodes boolean
// constants of newer producers. First step of reading; ReadStableHLO is its
// only caller.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_IMPORT_BOUNDTEXT_H
#define TENON_IMPORT_BOUNDTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tenon::importer {

/// What program text may hold. Each limit has a diagnostic and a test at n and
/// n + 1.
struct TextLimits {
  /// Open brackets of any kind at one place, and length of a chain of aliases.
  int64_t nesting = 1024;
  /// Dimensions of one shaped type.
  int64_t rank = 32;
  /// Operations of a module.
  int64_t operations = 10'000'000;
  /// Digits of one number outside a string.
  int64_t digits = 1024;
  /// Number of one result, and, if the text has not as many bytes itself, the
  /// largest numbers of all names together: the parser makes room for each.
  int64_t results = 1'000'000;
  /// Uses of aliases a type or attribute alias expands to.
  int64_t aliasSize = 1'000'000;
};

/// A place in the text, counted in bytes from its start, and what is wrong.
struct TextFault {
  size_t offset = 0;
  std::string message;
};

/// Scans `text` and reports the first thing beyond `limits`. Time is linear in
/// the text; memory in the number of aliases and of names with results.
/// Malformed text is no fault here: the parser reports it.
///
/// Boolean constants written as one byte per element
/// (`dense<"0x0001..."> : tensor<200xi1>`) are recoded in place to the bits
/// that MLIR 22 expects; the text keeps its length, so that locations stay
/// right.
std::optional<TextFault> boundText(llvm::MutableArrayRef<char> text,
                                   const TextLimits &limits = {});

/// A copy of `text`, called `name`, that the parser may be given: scanned and
/// recoded by boundText(). Null with `fault` filled in if it is not within the
/// limits, or there is no room for it.
std::unique_ptr<llvm::MemoryBuffer> boundedCopy(llvm::StringRef text,
                                                llvm::StringRef name,
                                                TextFault &fault,
                                                const TextLimits &limits = {});

} // namespace tenon::importer

#endif // TENON_IMPORT_BOUNDTEXT_H
