//===- BoundClauses.h - search that learns clauses over bounds ------------===//
//
// Depth-first search over integers in ranges that learns from every failure.
// Each integer has two sides: its lower bound, and the lower bound of its
// negation; a yes-no question is an integer of 0 or 1. Everything that is known
// is of the form "this side is at least that", a Bound, and every rise is
// recorded with its reason: bounds that were known before. When two bounds
// contradict each other, their reasons are followed back until one of the last
// decision's consequences explains the failure alone; its opposite follows from
// what else is left, and both together become a clause, which cuts the same
// failure elsewhere. The search then goes back as far as the clause permits.
//
// What the integers mean, what follows from what, and what is decided is left
// to a derived class. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_BOUNDCLAUSES_H
#define TENON_LIB_SOLVER_BOUNDCLAUSES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::solver {

/// That a side is at least `value`.
struct Bound {
  int32_t side;
  int32_t value;

  /// The other side of the same integer is so high that this cannot be.
  Bound opposite() const { return {side ^ 1, 1 - value}; }
};

class BoundClauses {
public:
  virtual ~BoundClauses() = default;

protected:
  /// Why a side rose: kinds below `firstOwnKind` are this class's, others the
  /// derived class's, which also gives `first` and `second` their meaning.
  struct Reason {
    int32_t kind;
    int32_t first = 0, second = 0;
  };
  static constexpr int32_t none = 0, byClause = 1, byBounds = 2;
  static constexpr int32_t firstOwnKind = 3;

  /// Returns the side of its lower bound; the next is that of its negation.
  int32_t addVariable(int32_t least, int32_t most);

  bool isTrue(Bound bound) const { return lower[bound.side] >= bound.value; }
  bool isFalse(Bound bound) const { return isTrue(bound.opposite()); }
  int32_t level() const { return static_cast<int32_t>(levels.size()); }

  /// Records what follows for `reason`. False if it contradicts what is known;
  /// the conflict is then set.
  bool raise(Bound bound, Reason reason);
  /// The same, where all of `why` have to hold for it. If the bound were lower
  /// by some amount, those of `why` on sides before `shiftedSides` could be.
  bool raise(Bound bound, const std::vector<Bound> &why);
  /// Opens a level with a bound that is neither true nor false.
  void decide(Bound bound);
  /// Everything that follows; false if there is a conflict.
  bool propagate();
  /// Learns from the conflict and goes back. False if nothing is left: there is
  /// no solution.
  bool learn();
  /// Takes all decisions back. From time to time half of the clauses, those
  /// that depend on most decisions, are forgotten.
  void restart();

  /// Follows up on one risen side.
  virtual bool follow(int32_t side) = 0;
  /// Anything else, once no side is left to follow up on; `more` is set if it
  /// has to be called again.
  virtual bool followRest(bool &more) = 0;
  /// What `bound`, which a reason of the derived class gave (or a higher one),
  /// follows from.
  virtual void explain(Bound bound, const Reason &reason,
                       std::vector<Bound> &why) const = 0;
  /// A side that was followed up on has gone back.
  virtual void undo(int32_t side) = 0;
  /// All that was to be followed up on is obsolete.
  virtual void clearRest() = 0;

  /// Of each side, the value it is known to reach.
  std::vector<int32_t> lower;
  /// A contradiction: these cannot all be true, but are.
  std::vector<Bound> conflict;
  int32_t shiftedSides = 0;
  /// Watches and literals looked at; the derived class adds what it does.
  int64_t visits = 0;

private:
  struct Entry {
    int32_t side, value;
    int32_t before;   ///< the value until then
    int32_t previous; ///< the entry that gave it, or -1
    int32_t level;
    Reason reason;
  };
  struct Clause {
    size_t first;
    int32_t size;
    int32_t numLevels; ///< of decisions it depended on when it was learnt
    bool dead;
  };
  struct Watch {
    int32_t clause;
    int32_t threshold; ///< the literal is false if the side reaches it
    Bound blocker;     ///< if true, so is the clause
  };

  void explainEntry(Bound bound, const Entry &entry,
                    std::vector<Bound> &why) const;
  int32_t firstEntry(Bound bound) const;
  void require(Bound bound);
  void analyse();
  bool isImplied(int32_t side);
  bool propagateClauses();
  bool visitClause(const Watch &watch, int32_t side, bool &keep,
                   Bound &blocker);
  void backtrack(int32_t to);
  void forget();

  std::vector<int32_t> last; ///< of each side, its last entry, or -1
  std::vector<Entry> trail;
  std::vector<size_t> levels; ///< entries when each was opened
  size_t clauseHead = 0, followHead = 0;
  std::vector<Bound> literals;
  std::vector<Clause> clauses;
  size_t numAlive = 0, mostAlive = 4000;
  std::vector<std::vector<Watch>> watches; ///< by the side that falsifies
  std::vector<Bound> reasonBounds;
  // Of the analysis:
  std::vector<int32_t> need;   ///< of each side, the value that is needed
  std::vector<int32_t> needAt; ///< the entry that gave it, or -1
  std::vector<int32_t> touched;
  int32_t numCurrent = 0; ///< needed entries of the last level
  std::vector<Bound> learnt, scratch;
  std::vector<int32_t> levelsSeen;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_BOUNDCLAUSES_H
