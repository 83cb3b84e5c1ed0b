//===- BoundClauses.cpp - search that learns clauses over bounds ----------===//
//
// The trail of bounds, propagation of clauses by two watched literals each, and
// the analysis of conflicts; see the header.
//
//===----------------------------------------------------------------------===//

#include "BoundClauses.h"

#include <algorithm>
#include <cassert>

namespace tenon::solver {

int32_t BoundClauses::addVariable(int32_t least, int32_t most) {
  assert(least <= most);
  int32_t side = static_cast<int32_t>(lower.size());
  lower.push_back(least);
  lower.push_back(-most);
  last.resize(lower.size(), -1);
  watches.resize(lower.size());
  need.resize(lower.size(), 0);
  needAt.resize(lower.size(), -1);
  return side;
}

bool BoundClauses::raise(Bound bound, Reason reason) {
  if (isTrue(bound))
    return true;
  Entry entry = {bound.side,       bound.value, lower[bound.side],
                 last[bound.side], level(),     reason};
  if (isFalse(bound)) {
    conflict.clear();
    explainEntry(bound, entry, conflict);
    conflict.push_back(bound.opposite());
    return false;
  }
  last[bound.side] = static_cast<int32_t>(trail.size());
  lower[bound.side] = bound.value;
  trail.push_back(entry);
  return true;
}

bool BoundClauses::raise(Bound bound, const std::vector<Bound> &why) {
  int32_t first = static_cast<int32_t>(reasonBounds.size());
  reasonBounds.insert(reasonBounds.end(), why.begin(), why.end());
  return raise(bound,
               {byBounds, first, static_cast<int32_t>(reasonBounds.size())});
}

void BoundClauses::decide(Bound bound) {
  assert(!isTrue(bound) && !isFalse(bound));
  levels.push_back(trail.size());
  raise(bound, Reason{none});
}

void BoundClauses::explainEntry(Bound bound, const Entry &entry,
                                std::vector<Bound> &why) const {
  const Reason &reason = entry.reason;
  if (reason.kind == none)
    return;
  if (reason.kind == byClause) {
    const Clause &clause = clauses[reason.first];
    for (int32_t i = 0; i < clause.size; ++i)
      if (Bound literal = literals[clause.first + i];
          literal.side != bound.side)
        why.push_back(literal.opposite());
    return;
  }
  if (reason.kind == byBounds) {
    int32_t surplus = entry.value - bound.value;
    for (int32_t i = reason.first; i < reason.second; ++i) {
      Bound needed = reasonBounds[i];
      if (needed.side < shiftedSides)
        needed.value -= surplus;
      why.push_back(needed);
    }
    return;
  }
  explain(bound, reason, why);
}

void BoundClauses::backtrack(int32_t to) {
  if (level() > to) {
    size_t size = levels[to];
    while (trail.size() > size) {
      const Entry &entry = trail.back();
      lower[entry.side] = entry.before;
      last[entry.side] = entry.previous;
      if (trail.size() <= followHead)
        undo(entry.side);
      trail.pop_back();
    }
    levels.resize(to);
  }
  size_t used = 0;
  for (size_t i = trail.size(); i-- > 0 && used == 0;)
    if (trail[i].reason.kind == byBounds)
      used = trail[i].reason.second;
  reasonBounds.resize(used);
  clauseHead = std::min(clauseHead, trail.size());
  followHead = std::min(followHead, trail.size());
  clearRest();
}

bool BoundClauses::propagateClauses() {
  for (; clauseHead < trail.size(); ++clauseHead) {
    int32_t side = trail[clauseHead].side;
    // What is added meanwhile goes to other lists.
    std::vector<Watch> &list = watches[side];
    size_t kept = 0;
    bool fine = true;
    visits += static_cast<int64_t>(list.size() / 4);
    for (size_t i = 0; i < list.size(); ++i) {
      Watch watch = list[i];
      bool keep = true;
      if (fine && watch.threshold <= lower[side] && !isTrue(watch.blocker))
        fine = visitClause(watch, side, keep, watch.blocker);
      if (keep)
        list[kept++] = watch;
    }
    list.resize(kept);
    if (!fine)
      return false;
  }
  return true;
}

/// A watched literal has become false: watches another one, or the other
/// watched literal has to be true.
bool BoundClauses::visitClause(const Watch &watch, int32_t side, bool &keep,
                               Bound &blocker) {
  const Clause &clause = clauses[watch.clause];
  Bound *first = &literals[clause.first];
  if (first[0].side == (side ^ 1) && first[0].value == 1 - watch.threshold)
    std::swap(first[0], first[1]);
  blocker = first[0];
  ++visits;
  if (isTrue(first[0]))
    return true;
  for (int32_t i = 2; i < clause.size; ++i) {
    if (isFalse(first[i]))
      continue;
    visits += i;
    std::swap(first[1], first[i]);
    watches[first[1].side ^ 1].push_back(
        {watch.clause, 1 - first[1].value, first[0]});
    keep = false;
    return true;
  }
  visits += clause.size;
  return raise(first[0], {byClause, watch.clause, 0});
}

bool BoundClauses::propagate() {
  for (bool more = true; more;) {
    if (!propagateClauses())
      return false;
    if (followHead < trail.size()) {
      if (!follow(trail[followHead++].side))
        return false;
      continue;
    }
    more = false;
    if (!followRest(more))
      return false;
    more |= followHead < trail.size();
  }
  return true;
}

/// The first entry that made it true, or -1 if it was so from the start.
int32_t BoundClauses::firstEntry(Bound bound) const {
  assert(isTrue(bound));
  int32_t at = last[bound.side];
  while (at >= 0 && trail[at].before >= bound.value)
    at = trail[at].previous;
  return at >= 0 && trail[at].level > 0 ? at : -1;
}

void BoundClauses::require(Bound bound) {
  int32_t at = firstEntry(bound);
  if (at < 0)
    return;
  int32_t &known = needAt[bound.side];
  if (known < 0)
    touched.push_back(bound.side);
  if (at > known) {
    int32_t current = static_cast<int32_t>(levels.back());
    numCurrent += at >= current && known < current;
    known = at;
    need[bound.side] = bound.value;
  } else if (at == known) {
    need[bound.side] = std::max(need[bound.side], bound.value);
  }
}

/// Whether a needed bound follows from other needed ones before it.
bool BoundClauses::isImplied(int32_t side) {
  const Entry &entry = trail[needAt[side]];
  if (entry.reason.kind == none)
    return false;
  scratch.clear();
  explainEntry({side, need[side]}, entry, scratch);
  return std::all_of(scratch.begin(), scratch.end(), [&](Bound bound) {
    return firstEntry(bound) < 0 ||
           (needAt[bound.side] >= 0 && needAt[bound.side] < needAt[side] &&
            need[bound.side] >= bound.value);
  });
}

/// Sets `learnt`: a clause that is false now, of which only the first literal
/// is of the last level.
void BoundClauses::analyse() {
  numCurrent = 0;
  for (Bound bound : conflict)
    require(bound);
  learnt.clear();
  for (size_t i = trail.size(); i-- > 0;) {
    const Entry &entry = trail[i];
    if (needAt[entry.side] != static_cast<int32_t>(i))
      continue;
    needAt[entry.side] = -1;
    Bound bound = {entry.side, need[entry.side]};
    if (numCurrent == 1) {
      learnt.push_back(bound.opposite());
      break;
    }
    --numCurrent;
    scratch.clear();
    explainEntry(bound, entry, scratch);
    visits += static_cast<int64_t>(scratch.size());
    for (Bound needed : scratch)
      require(needed);
  }
  for (int32_t side : touched)
    if (needAt[side] >= 0 && !isImplied(side))
      learnt.push_back(Bound{side, need[side]}.opposite());
}

bool BoundClauses::learn() {
  if (level() == 0)
    return false;
  // A conflict may have come up whose bounds were all there before the last
  // decision.
  int32_t deepest = 0;
  for (Bound bound : conflict)
    if (int32_t at = firstEntry(bound); at >= 0)
      deepest = std::max(deepest, trail[at].level);
  backtrack(deepest);
  if (deepest == 0)
    return false;
  analyse();
  int32_t back = 0;
  levelsSeen.clear();
  for (size_t i = 1; i < learnt.size(); ++i) {
    int32_t at = trail[needAt[learnt[i].side ^ 1]].level;
    levelsSeen.push_back(at);
    if (at > back) {
      back = at;
      std::swap(learnt[1], learnt[i]);
      std::swap(levelsSeen[0], levelsSeen[i - 1]);
    }
  }
  std::sort(levelsSeen.begin(), levelsSeen.end());
  levelsSeen.erase(std::unique(levelsSeen.begin(), levelsSeen.end()),
                   levelsSeen.end());
  for (int32_t side : touched)
    needAt[side] = -1;
  touched.clear();
  backtrack(back);
  if (learnt.size() == 1)
    return raise(learnt[0], Reason{none});
  int32_t index = static_cast<int32_t>(clauses.size());
  clauses.push_back({literals.size(), static_cast<int32_t>(learnt.size()),
                     static_cast<int32_t>(levelsSeen.size()), false});
  ++numAlive;
  literals.insert(literals.end(), learnt.begin(), learnt.end());
  for (int32_t i = 0; i < 2; ++i)
    watches[learnt[i].side ^ 1].push_back(
        {index, 1 - learnt[i].value, learnt[1 - i]});
  return raise(learnt[0], {byClause, index, 0});
}

void BoundClauses::restart() {
  backtrack(0);
  if (numAlive > mostAlive)
    forget();
}

void BoundClauses::forget() {
  // Nothing is explained at level 0, so no reason needs them any more.
  constexpr int32_t alwaysKept = 2;
  std::vector<int32_t> candidates;
  for (size_t i = 0; i < clauses.size(); ++i)
    if (!clauses[i].dead && clauses[i].numLevels > alwaysKept)
      candidates.push_back(static_cast<int32_t>(i));
  std::sort(candidates.begin(), candidates.end(), [&](int32_t a, int32_t b) {
    return clauses[a].numLevels != clauses[b].numLevels
               ? clauses[a].numLevels > clauses[b].numLevels
               : a < b;
  });
  candidates.resize(candidates.size() / 2);
  for (int32_t index : candidates)
    clauses[index].dead = true;
  numAlive -= candidates.size();
  mostAlive += mostAlive / 8;
  for (std::vector<Watch> &list : watches)
    std::erase_if(
        list, [&](const Watch &watch) { return clauses[watch.clause].dead; });
}

} // namespace tenon::solver
