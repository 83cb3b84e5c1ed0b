//===- ReduceByLibrary.cpp - Sums in an order of a library's --------------===//
//
// Where a user asks for it (--fast-collectives), what carries the bytes between
// ranks also combines elements, as far as it can: libraries::canReduce. Bits
// then depend on how many ranks there are and on the library.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Collectives.h"
#include "tenon/Collectives/Passes.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Support/Fields.h"

#include "mlir/IR/Builders.h"

namespace tenon::collectives {
#define GEN_PASS_DEF_REDUCEBYLIBRARYPASS
#include "tenon/Collectives/Passes.h.inc"
} // namespace tenon::collectives

using namespace mlir;
using namespace tenon;
using libraries::Combination;

namespace {

struct ReduceByLibrary
    : public collectives::impl::ReduceByLibraryPassBase<ReduceByLibrary> {
  using ReduceByLibraryPassBase::ReduceByLibraryPassBase;

  void runOnOperation() override {
    auto reducer = fromName<libraries::Reducer>(library.getValue());
    if (!reducer || *reducer == libraries::Reducer::ranks) {
      getOperation().emitError() << "library: expected mpi or nccl, found '"
                                 << library.getValue() << "'";
      return signalPassFailure();
    }
    getOperation().walk([&](Operation *op) {
      if (op->getNumRegions() == 0 || !exchanges(op))
        return;
      std::string whyNot;
      auto described = describeCollective(op, whyNot);
      if (described && libraries::canReduce(*reducer, described->type,
                                            described->combination))
        op->setAttr(step::reducerAttrName,
                    StringAttr::get(&getContext(), library.getValue()));
    });
  }
};

} // namespace
