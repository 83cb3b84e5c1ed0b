//===- RegroupCopies.h - After a plan was chosen: copies join readers ----===//
//
// The recomputation problem knows the groups of the program. Once it is solved,
// what runs again may form larger groups with what reads it, which takes less
// time and memory than was planned, never more.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_REGROUPCOPIES_H
#define TENON_LIB_DRIVER_REGROUPCOPIES_H

#include "CandidatePlanner.h"
#include "KernelScratch.h"

#include "tenon/Target/Target.h"

namespace tenon::driver {

struct Regrouping {
  int64_t copies = 0;           // that joined a reader
  int64_t nanosecondsSaved = 0; // predicted
};

/// Merges copies with their readers and places all buffers again. The plan
/// stays as it was where that would need more bytes.
Regrouping regroupCopies(PlannedStep &plan, const KernelScratch &scratch,
                         const target::Target &machine, SearchOptions options);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_REGROUPCOPIES_H
