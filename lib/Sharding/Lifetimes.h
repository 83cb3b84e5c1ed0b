//===- Lifetimes.h - When the values of a step take bytes -----------------===//
//
// Operations are numbered in the order in which they are written, those in
// loops and branches included. A value that memory holds takes bytes from the
// operation that makes it to the last one of its block that reads it; arguments
// take them all the time, and what replaces state takes the place of the old
// one. So this is an estimate: the order, and what is stored, are planned
// later.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDING_LIFETIMES_H
#define TENON_LIB_SHARDING_LIFETIMES_H

#include "tenon/Sharding/Propagate.h"

#include "llvm/ADT/DenseSet.h"

namespace tenon::sharding {

/// Loops and branches.
bool isControl(mlir::Operation *op);

/// Whether several operations read the value, none of them in a loop or branch
/// of its own, where a copy is made anew each time.
bool mayShareCopy(mlir::Value value);

class Lifetimes {
public:
  explicit Lifetimes(mlir::func::FuncOp main);

  /// Times, the end not included; empty for what takes no bytes.
  struct Span {
    int64_t begin = 0, end = 0;
    int64_t firstRead = 0; // at most the end
  };
  Span of(mlir::Value value) const;
  /// When the last operation that reads the value has ended.
  int64_t lastRead(mlir::Value value) const;

private:
  void number(mlir::Block &block);

  llvm::DenseMap<mlir::Operation *, int64_t> begins, ends;
  llvm::DenseSet<mlir::Value> replacing; // take the place of state
  int64_t now = 0;
};

} // namespace tenon::sharding

#endif // TENON_LIB_SHARDING_LIFETIMES_H
