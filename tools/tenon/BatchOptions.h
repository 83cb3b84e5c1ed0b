//===- BatchOptions.h - What the command line says of batches -------------===//
//
// Which files a run takes its batches from, what their rows are, under which
// names, and in which order.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_BATCHOPTIONS_H
#define TENON_TOOLS_TENON_BATCHOPTIONS_H

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Support/ElementType.h"

#include <map>

namespace tenon::tool {

struct BatchOptions {
  std::string entryPoint = "step"; // that takes the batches
  std::string path;                // a file or a folder; empty for no batches
  bool isSteps = false; // as `steps:PATH` says, which is what PATH alone means
  bool isSamples = false;                   // as `samples:PATH` says
  std::optional<ElementType> tokenType;     // of files that are lists of tokens
  std::map<std::string, std::string> names; // in files, of arguments
  std::optional<bool> refusesRemainder;
  std::optional<uint64_t> shuffle; // the seed
  int64_t epochs = 0;              // 0 for any number
  int64_t readers = 2;             // threads

  void take(ArgumentParser &parser);
  /// Reads `PATH`, `steps:PATH` or `samples:PATH`.
  void takePath(std::string_view text);
  /// What is wrong with options that are right one by one; empty for nothing.
  std::string whyContradictory() const;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_BATCHOPTIONS_H
