//===- FormLibraryGroups.cpp - Dots and convolutions for the library -----===//
//
// Makes a `library` group of every dot and convolution that the library runs on
// the planned instruction set, and of every LAPACK routine; small products are
// left to generated code where that is predicted to take less time. Runs before
// FormGroups, which then treats these groups as fixed.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/LapackCalls.h"
#include "tenon/Cost/ProductCost.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/LibraryCandidates.h"
#include "tenon/Fusion/LibraryGroup.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Libraries/WidenedProducts.h"
#include "tenon/Target/Target.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_FORMLIBRARYGROUPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

struct FormLibraryGroups
    : public fusion::impl::FormLibraryGroupsPassBase<FormLibraryGroups> {
  using FormLibraryGroupsPassBase::FormLibraryGroupsPassBase;
  FormLibraryGroups(FormLibraryGroupsPassOptions options,
                    const target::Target &machine)
      : FormLibraryGroupsPassBase(std::move(options)), machine(machine) {}

  void runOnOperation() override {
    // What runs on a GPU does not depend on the processor.
    auto isa = gpu ? FailureOr<target::Isa>(target::Isa())
                   : isaOfOption(getOperation(), cpu);
    if (failed(isa))
      return signalPassFailure();
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (llvm::isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp,
                    stablehlo::CustomCallOp>(op) &&
          !op->getParentOfType<step::GroupOp>())
        candidates.push_back(op);
    });
    for (Operation *op : candidates)
      formGroup(op, *isa);
  }

private:
  /// A custom call that is a LAPACK routine.
  std::optional<LibraryCandidate> describeCustomCall(Operation *op,
                                                     std::string &whyNot) {
    auto description =
        describeLapack(cast<stablehlo::CustomCallOp>(op), whyNot);
    if (!description)
      return std::nullopt;
    return LibraryCandidate{*description, {op}, op->getOperands()};
  }

  /// In which types the call may multiply, the best one first.
  template <typename Description>
  SmallVector<ElementType> computeTypes(const Description &description,
                                        target::Isa isa) {
    ElementType operands;
    if constexpr (std::is_base_of_v<libraries::MatmulDescription, Description>)
      operands = description.lhsType == description.rhsType
                     ? description.lhsType
                     : ElementType::f32;
    else
      operands = description.type;
    if (machineFor(isa).multipliesNatively(operands, isa))
      return {operands, ElementType::f32};
    return {ElementType::f32};
  }

  /// The call for a dot, which the library need not run.
  std::optional<LibraryCandidate> describeProduct(Operation *op,
                                                  DotSurroundings surroundings,
                                                  std::string &whyNot) {
    auto candidate = describeDot(op, surroundings, whyNot);
    if (!candidate || !gpu)
      return candidate;
    libraries::GpuMatmulDescription onGpu(*matmulOf(candidate->description));
    if (tf32 && onGpu.lhsType == ElementType::f32 &&
        onGpu.rhsType == ElementType::f32)
      onGpu.factors = libraries::Factors::tf32;
    candidate->description = onGpu;
    return candidate;
  }

  /// The call that a dot becomes, read by a transpose if that is possible. What
  /// conversions widen and round the call does where that takes no longer.
  std::optional<LibraryCandidate> chooseProduct(Operation *op, target::Isa isa,
                                                std::string &whyNot) {
    auto converts = [&](const LibraryCandidate &candidate) {
      auto *matmul =
          std::get_if<libraries::MatmulDescription>(&candidate.description);
      return matmul && libraries::widensInCopies(*matmul, isa);
    };
    std::string ignored;
    for (bool conversions : {true, false})
      for (bool transpose : {true, false}) {
        if (conversions && gpu)
          continue;
        const bool isLast = !conversions && !transpose;
        std::string &why = isLast ? whyNot : ignored;
        auto candidate = describeProduct(op, {transpose, conversions}, why);
        // The library is asked, which takes time, if there is a conversion.
        if (conversions && !(candidate && converts(*candidate)))
          continue;
        candidate = accept(std::move(candidate), isa, why);
        if (candidate && (!conversions || converts(*candidate)))
          return candidate;
      }
    return std::nullopt;
  }

  /// The candidate if the library runs it, its pieces and the type that it
  /// multiplies in chosen.
  std::optional<LibraryCandidate>
  accept(std::optional<LibraryCandidate> candidate, target::Isa isa,
         std::string &whyNot) {
    if (!candidate)
      return std::nullopt;
    int64_t pieces = libraries::preferredPieces(candidate->description);
    bool runs = std::visit(
        [&]<typename Description>(Description &description) {
          description.pieces = pieces;
          if constexpr (std::is_same_v<Description,
                                       libraries::LapackDescription> ||
                        std::is_same_v<Description,
                                       libraries::GpuMatmulDescription>) {
            whyNot = libraries::whyNotSupported(description, isa);
            return whyNot.empty();
          } else {
            return llvm::any_of(
                computeTypes(description, isa), [&](ElementType type) {
                  description.computeType = type;
                  whyNot = libraries::whyNotSupported(description, isa);
                  return whyNot.empty();
                });
          }
        },
        candidate->description);
    if (!runs)
      return std::nullopt;
    return candidate;
  }

  /// Says why in the remark of `op` if generated code is to compute it.
  bool leavesToKernel(Operation *op, target::Isa isa, std::string &whyNot) {
    auto seconds =
        choose ? cost::productSeconds(op, machineFor(isa), isa) : std::nullopt;
    if (!seconds || seconds->library <= seconds->generated)
      return false;
    whyNot = llvm::formatv("generated code takes {0:F2} us, the call {1:F2} us "
                           "(predicted)",
                           seconds->generated * 1e6, seconds->library * 1e6)
                 .str();
    return true;
  }

  void formGroup(Operation *op, target::Isa isa) {
    std::string whyNot;
    std::optional<LibraryCandidate> candidate;
    if (leavesToKernel(op, isa, whyNot)) {
    } else if (llvm::isa<stablehlo::DotGeneralOp>(op)) {
      candidate = chooseProduct(op, isa, whyNot);
    } else if (llvm::isa<stablehlo::CustomCallOp>(op)) {
      candidate = accept(describeCustomCall(op, whyNot), isa, whyNot);
    } else if (gpu) {
      whyNot = "cuBLASLt has matrix products alone";
    } else {
      candidate = accept(describeConvolution(op, whyNot), isa, whyNot);
    }
    if (!candidate) {
      remark::missed(op->getLoc(), remark::RemarkOpts::name("LibraryCall")
                                       .category("fusion-form-library-groups"))
          << remark::reason("{0}", whyNot);
      return;
    }
    Operation *last = candidate->operations.back();
    OpBuilder builder(last);
    auto group =
        step::GroupOp::create(builder, op->getLoc(), last->getResultTypes(),
                              candidate->operands, step::GroupKind::library);
    group->setAttr(exec::libraryAttrName,
                   exec::toAttribute(&getContext(), candidate->description));
    Block *body = builder.createBlock(&group.getBody());
    IRMapping mapping;
    for (Value operand : candidate->operands) {
      Value argument = body->addArgument(operand.getType(), operand.getLoc());
      if (!mapping.contains(operand))
        mapping.map(operand, argument);
    }
    for (Operation *member : candidate->operations)
      builder.clone(*member, mapping);
    step::YieldOp::create(
        builder, op->getLoc(),
        llvm::map_to_vector(last->getResults(), [&](Value result) {
          return mapping.lookup(result);
        }));
    last->replaceAllUsesWith(group.getOutputs());
    for (Operation *member : llvm::reverse(candidate->operations))
      if (member->use_empty())
        member->erase();
    remark::passed(op->getLoc(), remark::RemarkOpts::name("LibraryCall")
                                     .category("fusion-form-library-groups"))
        << "library call formed";
  }

  target::Target machineFor(target::Isa isa) const {
    return machine.value_or(target::builtInTarget(isa));
  }

  /// Nothing for the built-in one of the instruction set.
  std::optional<target::Target> machine;
};

} // namespace

std::unique_ptr<Pass>
fusion::createFormLibraryGroupsPass(FormLibraryGroupsPassOptions options,
                                    const target::Target &machine) {
  return std::make_unique<FormLibraryGroups>(std::move(options), machine);
}
