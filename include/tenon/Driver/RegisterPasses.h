//===- RegisterPasses.h - Every pass of Tenon, for tools ------------------===//
//
// Registers the passes of all stages and a pipeline per stage under the names
// tenon-opt and reproducers use.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DRIVER_REGISTERPASSES_H
#define TENON_DRIVER_REGISTERPASSES_H

namespace tenon {

void registerAllPasses();

} // namespace tenon

#endif // TENON_DRIVER_REGISTERPASSES_H
