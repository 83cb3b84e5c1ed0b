//===- Stored.h - Library descriptions as the file stores them -----------===//
//
// The bridge between the descriptions Fusion builds and the index of a `.tenon`
// file: Package stores them, the runtime restores and checks them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_STORED_H
#define TENON_LIBRARIES_STORED_H

#include "tenon/Format/Index.h"
#include "tenon/Libraries/Collective.h"
#include "tenon/Libraries/Description.h"
#include "tenon/Target/InstructionSets.h"

namespace tenon::libraries {

using target::Isa;

/// The callee for a call planned for `isa` with this machine's library version.
format::Callee store(const Description &description, Isa isa,
                     uint64_t workspaceBytes);

/// Inverse of store; nothing with a message in `error` if the callee is none
/// that store writes.
std::optional<Description> restore(const format::Callee &callee,
                                   std::string &error);

/// The same of a collective, which `ranks` ranks carry out.
format::Callee store(const CollectiveDescription &description);
std::optional<CollectiveDescription>
restoreCollective(const format::Callee &callee, int64_t ranks,
                  std::string &error);

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_STORED_H
