//===- OperationOrdering.h - the order with the smallest peak -------------===//
//
// Operations may run in any order that respects their data, their control
// edges and the sequence of side effects. The order decides how many bytes are
// live at once. Operation ordering looks for a small peak, and proves how small
// it can be at best.
//
// A worked example. Two independent pairs: a makes 6 bytes that b turns into 1,
// c makes 4 bytes that d turns into 2; e reads both results (output 0).
//
//     order        bytes while each runs      peak
//     a c b d e     6 10 11  7  3              11
//     a b c d e     6  7  5  7  3               7
//
// A result is placed while the operands are still there (b: 6 + 1) and operands
// leave after their last reader. Running b right after a closes a's big value
// before c opens another.
//
// The bound: when an operation runs, all that it depends on has run and nothing
// that depends on it has. So values that lead from the former to it or to the
// latter are live, whatever the order. Here at b: a's 6 and its own 1 make 7:
// the second order is proved smallest. The certificate is that operation.
//
// One operation says little where values wait for operations that may run at
// any time, as they do for the gradients of weights. But one of those runs
// first. Say x (5 bytes) makes y (5), y makes z (0), u (9) reads x and z, v (9)
// reads y and z, and their results are read at once. When u runs before v, y is
// live, since v reads it; when v runs before u, x is. So 5 + 5 + 9 = 19 bytes
// are live when the first of the two runs, although each alone proves 14. A
// certificate is such a frontier: operations of which none depends on another.
// When the first of them runs, all that it depends on has run, and nothing that
// depends on any of them has. The smallest sum over the frontier is the bound.
//
// In-place pairs: if an operation is the last reader of an operand, a named
// result may take the operand's place; together they then count as the larger
// of both while it runs. Values that are kept stay until the end.
//
// The compiler (Memory/SearchOrder) asks for each block of a step whether there
// is a better order than the one it has; effects, which its operations do not
// have, are in files for tenon-solve only.
//
// Deterministic: effort is counted in passes and window states, never in
// seconds. The given order is always among the candidates.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_OPERATIONORDERING_H
#define TENON_SOLVER_OPERATIONORDERING_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::solver {

struct OrderingProblem {
  struct Operation {
    /// Size of the main result; not negative.
    int64_t bytes = 0;
    /// Bytes needed only while the operation runs.
    int64_t workspace = 0;
    /// Operations with side effects keep their given order among themselves.
    bool effect = false;
  };
  /// A further result. Value i is the main result of operation i, value
  /// operations.size() + k is extraResults[k].
  struct Result {
    int32_t producer = 0;
    int64_t bytes = 0;
  };
  struct Use {
    int32_t value = 0;
    int32_t user = 0;
  };
  struct Control {
    int32_t before = 0;
    int32_t after = 0;
  };
  /// `result` (of `operation`) may be written over `operand`.
  struct InPlace {
    int32_t operation = 0;
    int32_t operand = 0;
    int32_t result = 0;
  };

  /// In the given order, which respects all edges.
  std::vector<Operation> operations;
  std::vector<Result> extraResults;
  std::vector<Use> uses;
  std::vector<Control> controls;
  std::vector<InPlace> inPlace;
  /// Values that stay live until the end.
  std::vector<int32_t> kept;

  int32_t valueCount() const {
    return static_cast<int32_t>(operations.size() + extraResults.size());
  }
  int32_t producer(int32_t value) const {
    return value < static_cast<int32_t>(operations.size())
               ? value
               : extraResults[value - operations.size()].producer;
  }
  int64_t bytes(int32_t value) const {
    return value < static_cast<int32_t>(operations.size())
               ? operations[value].bytes
               : extraResults[value - operations.size()].bytes;
  }
};

struct OrderingOptions {
  /// Most operations in a window that is solved exactly.
  int32_t windowSize = 12;
  /// Windows solved, in all.
  int32_t windows = 400;
  /// Work for the bound, in visited operations and edges: for single operations
  /// and, unless the problem is large, once more for frontiers.
  int64_t boundWork = 60'000'000;
  /// Work for the search below the best peak, in operations looked at.
  int64_t searchLooks = 30'000'000;
};

struct OrderingCertificate {
  /// None depends on another; while the first of them runs, whichever it is,
  /// at least `bound` bytes are live. Empty for an empty problem.
  std::vector<int32_t> frontier;
};

struct OrderingSolution {
  bool valid = false;
  std::vector<int32_t> order;
  int64_t peak = 0;
  /// Of the given order; not part of the text form.
  int64_t givenPeak = 0;
  int64_t bound = 0;
  OrderingCertificate certificate;
  /// If above 0: a search found that no order has a peak below it. Reported as
  /// searched: the checker does not repeat the search.
  int64_t searchedBound = 0;
  /// Which candidate won: "given", "list", ...
  std::string method;
  /// Why the problem is invalid; lower case, no period.
  std::string message;
};

/// Finds an order; its peak is never above that of the given order.
OrderingSolution solveOrdering(const OrderingProblem &problem,
                               const OrderingOptions &options = {});

/// An order that follows the given one as far as it can without a larger peak
/// than `order`, a valid one, has: at each point the first operation of the
/// given order that is ready runs, if the others can then follow in the order
/// of `order`. So what a better order changes is little. `work`, in operations
/// run for a try, bounds the time; when it is spent, the rest follows `order`.
std::vector<int32_t> nearGivenOrder(const OrderingProblem &problem,
                                    const std::vector<int32_t> &order,
                                    int64_t work = 3'000'000);

/// The first false claim of a solution, or nothing. Shares no code with the
/// solver.
std::optional<std::string> checkOrdering(const OrderingProblem &problem,
                                         const OrderingSolution &solution);

std::optional<std::string>
validateOrderingProblem(const OrderingProblem &problem);

std::optional<std::string> parseOrderingProblem(std::string_view text,
                                                OrderingProblem &problem);
std::string printOrderingProblem(const OrderingProblem &problem);
std::optional<std::string> parseOrderingSolution(std::string_view text,
                                                 OrderingSolution &solution);
std::string printOrderingSolution(const OrderingSolution &solution);

} // namespace tenon::solver

#endif // TENON_SOLVER_OPERATIONORDERING_H
