//===- Batches.h - Where a run's batches come from ------------------------===//
//
// A folder with one safetensors file per step, in the order of their names, or
// one file whose tensors have a leading step dimension. Both wrap at the end.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_BATCHES_H
#define TENON_TOOLS_TENON_BATCHES_H

#include "tenon/Format/Safetensors.h"
#include "tenon/Runtime/Executor.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::tool {

class Batches {
public:
  /// Null with a message in `error` if there is nothing readable at `path`.
  static std::unique_ptr<Batches> open(const std::string &path,
                                       std::string &error);

  /// Copies the batch of step `step` into the executor; `filled` gets the
  /// tensors. False with a message in `error` for a tensor of the wrong shape
  /// or type, or a file that cannot be read.
  bool load(runtime::Executor &executor, int64_t step,
            std::vector<size_t> &filled, std::string &error);

private:
  std::vector<std::string> files;                     // a folder's
  std::unique_ptr<format::SafetensorsReader> oneFile; // with steps inside
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_BATCHES_H
