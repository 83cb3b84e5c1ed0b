//===- GroupCost.h - Seconds and bytes of groups --------------------------===//
//
// What a group costs on a Target, by a roofline: it takes as long as its
// arithmetic or its memory traffic, whichever is longer, and what starting it
// costs. A group that is not worth cutting (LaunchLimits) runs on one
// core, and none waits for another: most groups in a round of a loop are small.
// Passes compare groups by it, the report sums it up.
//
// Worked example, a sum of two f32[4096,1024] on two cores that copy 40 GB/s:
// 3 * 16.8 MB / 40 GB/s = 1.26 ms for the bytes, 4.2 M additions at 192 G/s =
// 0.02 ms, so 1.26 ms and the launch.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COST_GROUPCOST_H
#define TENON_COST_GROUPCOST_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Target/Target.h"

#include "mlir/IR/Region.h"

#include <optional>
#include <vector>

namespace tenon::cost {

/// One run of a group, or of all groups of a step.
struct Cost {
  double flops = 0;      // of dots and convolutions, a multiply-add being two
  double operations = 0; // others, a simple one per element being one
  double bytes = 0;      // operands read and results written, each once
  double seconds = 0;
};

/// One run of `group` on all cores of `target`.
Cost costOf(step::GroupOp group, const target::Target &target);

/// What the seconds of a group are made of.
struct Roofline {
  double compute = 0; // seconds
  double start = 0;   // seconds
  double bytes = 0;   // as in Cost
  int64_t cores = 1;  // that it runs on
  /// Bytes of each operand of the group that it reads, and of each result.
  llvm::SmallVector<double> operandBytes, resultBytes;

  /// The seconds with this many bytes in place of its own.
  double seconds(double movedBytes, const target::Target &target) const;
};

/// As costOf(); products are multiplied in `multiplied`, if that is given, in
/// place of the type that they have.
Roofline rooflineOf(step::GroupOp group, const target::Target &target,
                    std::optional<ElementType> multiplied = std::nullopt);

/// Seconds in which a library's call on so many cores widens elements of 16
/// bits to f32, or rounds as many, in blocks that stay in caches.
double conversionSeconds(double elements, int64_t cores);

/// What a library's product of f32 would take longer if its operands were of
/// such a type of 16 bits, which it widens in copies that it makes of f32 as
/// well, and its result, which it rounds. Nothing where it does not, or where
/// the processor multiplies 16 bits no slower.
std::optional<double> secondsOfConversions(step::GroupOp group,
                                           const target::Target &target,
                                           ElementType type);

/// Leaves the predicted time of each group on it as step::nanosecondsAttrName.
void annotateTimes(mlir::Region &region, const target::Target &target);

struct StepCost {
  Cost total;
  /// The part of each kind of group that occurs, in the order of GroupKind.
  std::vector<std::pair<step::GroupKind, Cost>> kinds;
};

/// One run of a region in grouped form, loops multiplied out where their trips
/// are evident. Of several branches the dearest counts.
StepCost predictStep(mlir::Region &region, const target::Target &target);

} // namespace tenon::cost

#endif // TENON_COST_GROUPCOST_H
