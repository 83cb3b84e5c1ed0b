//===- FormatChoice.h - a number format for every value, with a proof -----===//
//
// A training step may hold each value, and compute each product, in one of a
// few number formats, ordered from narrow to wide (16 bits, f32, f64): the
// levels 0, 1, 2. A level has a cost, such as the time to write and read the
// value. Where two formats meet, a border has a cost: the cast between them.
// Format choice finds the levels with the smallest sum and proves it smallest.
//
// A border is paid if its wide variable is at level `from` or above while its
// narrow one is below level `below`. A border without a cost is forbidden: so a
// product that needs all operands narrow, if it is narrow itself, has a
// forbidden border with each. (Any cost of two levels that is submodular, as
// costs of casts are, is a sum of such borders.)
//
// Bytes may have a price, in units of cost for each. What is minimised then is
// the sum of costs plus the price of all bytes, those of levels and those of
// borders that are paid. The price is part of the problem, and a solution still
// says cost and bytes apart. So its proof says that no choice that costs as
// little takes fewer bytes, and none that takes as few bytes costs less.
//
// A worked example with the levels 0 = bf16 and 1 = f32. A product p reads x
// and w; w stays f32 in memory, and each cast takes 3:
//
//     variable    cost at 0   at 1        border             cost
//     x               2         4         x f32, p bf16        3
//     w               -         0         w f32, p bf16        3
//     p              10        20         p f32, x bf16        3
//
// x and p in bf16 cost 2 + 10, the cast of w 3: 15 in all.
//
// Costs here include the price of bytes, if they have one. The proof is an
// amount f per border, from 0 to its cost (forbidden: any). A border of cost c
// asks for c or nothing, and that is at least
//
//     f [wide variable >= from]  -  f [narrow variable >= below],
//
// since where both hold the difference is 0. Added to the costs of the levels,
// the amounts leave a cost per variable alone, so each variable's cheapest
// level may be taken for itself: no choice costs less than the sum of these
// minima. In the example the border of w and p gets 3: then w costs 3, p costs
// 10 or 20 - 3, x costs 2 or 4, and 3 + 10 + 2 = 15 is the bound. The choice is
// a minimum cut (Ishikawa 2003, "Exact optimization for Markov random fields
// with convex priors"), and its maximum flow gives amounts whose bound is equal
// to the cost.
//
// Of several cheapest choices the solution is the one in which every variable
// has the lowest level that it has in any of them. Where borders have no bytes,
// that is the one of fewest bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SOLVER_FORMATCHOICE_H
#define TENON_SOLVER_FORMATCHOICE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::solver {

struct FormatProblem {
  static constexpr int32_t mostLevels = 8;

  struct Level {
    /// In any unit that all costs share; not negative.
    int64_t cost = 0;
    /// Never less than at the level below.
    int64_t bytes = 0;
  };
  struct Variable {
    /// The lowest level it may have.
    int32_t least = 0;
    /// One per permitted level, from `least` up; never empty.
    std::vector<Level> levels;

    int32_t most() const {
      return least + static_cast<int32_t>(levels.size()) - 1;
    }
    const Level &at(int32_t level) const { return levels[level - least]; }
  };
  struct Border {
    int32_t wide = 0;
    int32_t from = 0;
    int32_t narrow = 0;
    int32_t below = 0;
    /// Nothing: forbidden.
    std::optional<int64_t> cost;
    /// Taken where it is paid; not negative.
    int64_t bytes = 0;
  };

  std::vector<Variable> variables;
  std::vector<Border> borders;
  /// Of a byte, in units of cost; not negative.
  int64_t price = 0;

  /// What a level, or a border that is paid and not forbidden, adds to what is
  /// minimised.
  int64_t priced(const Level &level) const {
    return level.cost + price * level.bytes;
  }
  int64_t priced(const Border &border) const {
    return *border.cost + price * border.bytes;
  }
};

struct FormatSolution {
  /// False where the forbidden borders leave no choice; `message` says why.
  bool valid = false;
  /// Per variable.
  std::vector<int32_t> levels;
  int64_t cost = 0; // without the price of bytes
  int64_t bytes = 0;
  /// No choice costs less, its bytes included at their price; equal to what the
  /// choice costs where the solver made it.
  int64_t bound = 0;
  /// The certificate: an amount per border, see above.
  std::vector<int64_t> amounts;
  /// Lower case, no period.
  std::string message;
};

/// `problem` is valid. Time is that of a maximum flow with a vertex per
/// variable and level.
FormatSolution solveFormats(const FormatProblem &problem);

/// The highest price of a byte, from 0 to `mostPrice`, for which the solution
/// costs at most `mostCost`, the price not counted; 0 also where there is none.
/// A higher price never makes a solution cheaper. The price that the problem
/// has does not matter; it is valid with `mostPrice`. Time is that of solving
/// it once for each binary digit of `mostPrice`.
int64_t highestPrice(FormatProblem problem, int64_t mostCost,
                     int64_t mostPrice);

/// A price of a byte, from 0 to `mostPrice`, whose solution `isEnough`, while
/// that of one unit less is not; 0 if that is enough, `mostPrice` also where
/// nothing below it was found to be. Where what is asked for follows from the
/// bytes alone it is the lowest. Problem and time are those of highestPrice.
int64_t lowestPrice(FormatProblem problem,
                    const std::function<bool(const FormatSolution &)> &isEnough,
                    int64_t mostPrice);

/// The first false claim of a solution, or nothing. Shares no code with the
/// solver.
std::optional<std::string> checkFormats(const FormatProblem &problem,
                                        const FormatSolution &solution);

/// What is wrong with a problem, or nothing. All costs together, the price of
/// all bytes included, and all bytes together, are at most 2^60.
std::optional<std::string> validateFormatProblem(const FormatProblem &problem);

std::optional<std::string> parseFormatProblem(std::string_view text,
                                              FormatProblem &problem);
std::string printFormatProblem(const FormatProblem &problem);
std::optional<std::string> parseFormatSolution(std::string_view text,
                                               FormatSolution &solution);
std::string printFormatSolution(const FormatSolution &solution);

} // namespace tenon::solver

#endif // TENON_SOLVER_FORMATCHOICE_H
