//===- Holding.cpp - How stored tensors hold a tensor --------------------===//
//
// The table of rules is at the end: a new one is an enumerator, its word in
// Index.fbs, and an entry there.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Holding.h"

#include "tenon/Support/Bfloat16.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

using namespace tenon;
using namespace tenon::format;

namespace {

/// A tensor with what holds it, for the functions of a rule.
struct Held {
  const Tensor &tensor;
  const Holding &holding;
  std::vector<const Storage *> storages;

  Held(const Index &index, const Tensor &tensor, const Holding &holding)
      : tensor(tensor), holding(holding) {
    for (uint32_t number : holding.storages)
      storages.push_back(&index.storages[number]);
  }
  const Storage &first() const { return *storages[0]; }
};

/// How a rule is followed. The tensor's bytes are `whole`, those of its
/// storages `stored`; what is only read is not written.
struct Rule {
  size_t storages = 1;
  /// Whether storages of these types and shapes fit, and what would.
  bool (*fits)(const Held &) = nullptr;
  const char *expected = "";
  std::string (*describe)(const Held &) = nullptr;
  void (*read)(const Held &, StoredBytes stored,
               std::span<std::byte> whole) = nullptr;
  void (*write)(const Held &, std::span<const std::byte> whole,
                StoredBytes stored) = nullptr;
};

//===----------------------------------------------------------------------===//
// Floats of other widths, by their bits: the processor's mode does not matter
//===----------------------------------------------------------------------===//

struct FloatFormat {
  int exponentBits = 0, fractionBits = 0;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint64_t infinity() const {
    return ((uint64_t(1) << exponentBits) - 1) << fractionBits;
  }
};

std::optional<FloatFormat> floatFormat(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return FloatFormat{5, 10};
  case ElementType::bf16:
    return FloatFormat{8, 7};
  case ElementType::f32:
    return FloatFormat{8, 23};
  case ElementType::f64:
    return FloatFormat{11, 52};
  default:
    return std::nullopt;
  }
}

constexpr FloatFormat wide{11, 52}; // f64, which has all others' values

uint64_t below(int bits) { return (uint64_t(1) << bits) - 1; }

/// The f64 of the same value.
uint64_t widen(uint64_t bits, FloatFormat from) {
  int shift = wide.fractionBits - from.fractionBits;
  uint64_t sign = bits >> (from.exponentBits + from.fractionBits);
  uint64_t magnitude = bits & below(from.exponentBits + from.fractionBits);
  uint64_t fraction = bits & below(from.fractionBits);
  uint64_t result = 0;
  if (magnitude >= from.infinity()) {
    result = wide.infinity() | fraction << shift;
  } else if (magnitude > fraction) {
    result = (magnitude << shift) +
             (uint64_t(wide.bias() - from.bias()) << wide.fractionBits);
  } else if (from.exponentBits == wide.exponentBits) {
    result = fraction;
  } else if (fraction != 0) {
    // Subnormal: its leading one becomes the implicit one.
    int leading = std::bit_width(fraction) - 1;
    result = fraction << (wide.fractionBits - leading);
    result += uint64_t(wide.bias() - from.bias() - from.fractionBits + leading)
              << wide.fractionBits;
  }
  return sign << 63 | result;
}

/// The nearest value of the format, the even one of two.
uint64_t narrow(uint64_t bits, FloatFormat to) {
  uint64_t sign = (bits >> 63) << (to.exponentBits + to.fractionBits);
  uint64_t magnitude = bits & below(63);
  if (magnitude > wide.infinity()) // NaN stays one
    return sign | to.infinity() | uint64_t(1) << (to.fractionBits - 1) |
           (bits & below(wide.fractionBits)) >>
               (wide.fractionBits - to.fractionBits);
  auto field = int(magnitude >> wide.fractionBits);
  int exponent = std::max(field, 1) - wide.bias() + to.bias();
  int shift = wide.fractionBits - to.fractionBits;
  uint64_t significand = (magnitude & below(wide.fractionBits)) |
                         uint64_t(field > 0) << wide.fractionBits;
  // What the exponent adds besides the implicit one of the significand.
  uint64_t base = 0;
  if (exponent >= 1)
    base = uint64_t(exponent - 1) << to.fractionBits;
  else
    shift += 1 - exponent;
  if (shift > wide.fractionBits + 1)
    return sign; // less than half of the least
  uint64_t quotient = shift > 0 ? significand >> shift : significand;
  uint64_t rest = shift > 0 ? significand & below(shift) : 0;
  uint64_t half = shift > 0 ? uint64_t(1) << (shift - 1) : 1;
  if (rest > half || (rest == half && quotient % 2 == 1))
    ++quotient;
  return sign | std::min(base + quotient, to.infinity());
}

uint64_t load(const std::byte *from, int64_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, size_t(width)); // amd64: low bytes first
  return bits;
}

/// As narrow(), for what a batch is converted with before every step: a loop
/// that compilers vectorise.
void roundAllToBf16(std::span<const std::byte> from, std::span<std::byte> to) {
  for (size_t i = 0; i < to.size() / 2; ++i) {
    float value;
    std::memcpy(&value, &from[4 * i], 4);
    uint16_t rounded = tenon::roundToBf16(value);
    std::memcpy(&to[2 * i], &rounded, 2);
  }
}

void convert(ElementType fromType, std::span<const std::byte> from,
             ElementType toType, std::span<std::byte> to) {
  if (fromType == ElementType::f32 && toType == ElementType::bf16)
    return roundAllToBf16(from, to);
  int64_t fromWidth = byteWidth(fromType), toWidth = byteWidth(toType);
  FloatFormat source = *floatFormat(fromType), target = *floatFormat(toType);
  for (size_t i = 0; i < from.size() / size_t(fromWidth); ++i) {
    uint64_t bits = narrow(
        widen(load(&from[i * size_t(fromWidth)], fromWidth), source), target);
    std::memcpy(&to[i * size_t(toWidth)], &bits, size_t(toWidth));
  }
}

//===----------------------------------------------------------------------===//
// Other places for the same elements
//===----------------------------------------------------------------------===//

/// Calls `move(i, j)` for element i of the tensor and its place j in what is
/// stored, both in elements.
template <typename Move>
void forElements(const Held &held, Move move) {
  const std::vector<int64_t> &shape = held.tensor.shape;
  const std::vector<int64_t> &order = held.holding.order;
  size_t rank = shape.size();
  std::vector<int64_t> steps(rank), at(rank); // by dimension of the tensor
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    steps[order.empty() ? i : size_t(order[i])] = stride;
    stride *= held.first().shape[i];
  }
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  int64_t place = 0;
  for (int64_t i = 0; i < count; ++i) {
    move(i, place);
    for (size_t d = rank; d-- > 0;) {
      place += steps[d];
      if (++at[d] < shape[d])
        break;
      place -= steps[d] * std::exchange(at[d], 0);
    }
  }
}

void gather(const Held &held, StoredBytes stored, std::span<std::byte> whole) {
  auto width = byteWidth(held.tensor.type);
  forElements(held, [&](int64_t i, int64_t j) {
    std::memcpy(&whole[size_t(i * width)], &stored[0][size_t(j * width)],
                size_t(width));
  });
}

void scatter(const Held &held, std::span<const std::byte> whole,
             StoredBytes stored) {
  auto width = byteWidth(held.tensor.type);
  std::ranges::fill(stored[0], std::byte{0});
  forElements(held, [&](int64_t i, int64_t j) {
    std::memcpy(&stored[0][size_t(j * width)], &whole[size_t(i * width)],
                size_t(width));
  });
}

bool isPermutation(const Held &held) {
  const std::vector<int64_t> &order = held.holding.order;
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != int64_t(i))
      return false;
  if (order.size() != held.tensor.shape.size() ||
      order.size() != held.first().shape.size())
    return false;
  for (size_t i = 0; i < order.size(); ++i)
    if (held.first().shape[i] != held.tensor.shape[size_t(order[i])])
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Two parts
//===----------------------------------------------------------------------===//

template <typename Part>
Part *elements(std::span<std::byte> bytes) {
  return reinterpret_cast<Part *>(bytes.data());
}

void join(const Held &, StoredBytes stored, std::span<std::byte> whole) {
  const auto *high = elements<uint16_t>(stored[0]);
  const auto *low = elements<int16_t>(stored[1]);
  for (size_t i = 0; i < whole.size() / 4; ++i) {
    uint32_t bits = (uint32_t(high[i]) << 16) + uint32_t(int32_t(low[i]));
    std::memcpy(&whole[i * 4], &bits, 4);
  }
}

void split(const Held &, std::span<const std::byte> whole, StoredBytes stored) {
  auto *high = elements<uint16_t>(stored[0]);
  auto *low = elements<int16_t>(stored[1]);
  for (size_t i = 0; i < whole.size() / 4; ++i) {
    auto bits = uint32_t(load(&whole[i * 4], 4));
    // Half way up goes up, so that what is left over fits in 16 bits.
    uint32_t rounded = (bits + 0x8000u) >> 16;
    high[i] = uint16_t(rounded);
    low[i] = int16_t(bits - (rounded << 16));
  }
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

bool hasTypeAndShape(const Held &held) {
  return held.first().type == held.tensor.type &&
         held.first().shape == held.tensor.shape;
}

std::string wordsOf(const Storage &storage) {
  std::string text(name(storage.type));
  for (size_t i = 0; i < storage.shape.size(); ++i)
    text += (i ? ", " : "[") + std::to_string(storage.shape[i]);
  return text + (storage.shape.empty() ? "" : "]");
}

// In the order of the enumerators.
constexpr Rule rules[] = {
    {1, hasTypeAndShape, "its type and shape",
     [](const Held &) { return std::string("as it is"); },
     [](const Held &, StoredBytes stored, std::span<std::byte> whole) {
       std::ranges::copy(stored[0], whole.begin());
     },
     [](const Held &, std::span<const std::byte> whole, StoredBytes stored) {
       std::ranges::copy(whole, stored[0].begin());
     }},
    {1,
     [](const Held &held) {
       return held.first().type != held.tensor.type &&
              floatFormat(held.tensor.type) && floatFormat(held.first().type) &&
              held.first().shape == held.tensor.shape;
     },
     "another of f16, bf16, f32 and f64, and its shape",
     [](const Held &held) {
       return "converted to " + std::string(name(held.first().type));
     },
     [](const Held &held, StoredBytes stored, std::span<std::byte> whole) {
       convert(held.first().type, stored[0], held.tensor.type, whole);
     },
     [](const Held &held, std::span<const std::byte> whole,
        StoredBytes stored) {
       convert(held.tensor.type, whole, held.first().type, stored[0]);
     }},
    {1,
     [](const Held &held) {
       return held.first().type == held.tensor.type && isPermutation(held);
     },
     "its type, and its extents in the order that is given",
     [](const Held &held) { return "laid out as " + wordsOf(held.first()); },
     gather, scatter},
    {1,
     [](const Held &held) {
       return held.first().type == held.tensor.type &&
              std::ranges::equal(held.first().shape, held.tensor.shape,
                                 std::ranges::greater_equal());
     },
     "its type, and extents that are no smaller",
     [](const Held &held) { return "padded to " + wordsOf(held.first()); },
     gather, scatter},
    {2,
     [](const Held &held) {
       return held.tensor.type == ElementType::f32 &&
              held.storages[0]->type == ElementType::bf16 &&
              held.storages[1]->type == ElementType::i16 &&
              held.storages[0]->shape == held.tensor.shape &&
              held.storages[1]->shape == held.tensor.shape;
     },
     "a bf16 and an i16 of its shape for an f32",
     [](const Held &) {
       return std::string("in two parts, a bf16 and an i16");
     },
     join, split},
};

const Rule &ruleOf(const Holding &holding) {
  return rules[size_t(holding.rule)];
}

} // namespace

std::string tenon::format::whyNotHeld(const Index &index, const Tensor &tensor,
                                      const Holding &holding) {
  static_assert(std::size(rules) == namesOf<HoldingRule>.size());
  if (!isKnown(holding.rule))
    return "is held by unknown rule " + std::to_string(int(holding.rule));
  const Rule &rule = ruleOf(holding);
  if (holding.storages.size() != rule.storages)
    return "has " + std::to_string(holding.storages.size()) +
           " stored tensors, " + std::string(name(holding.rule)) + " needs " +
           std::to_string(rule.storages);
  if (holding.rule != HoldingRule::laidOut && !holding.order.empty())
    return "has an order of dimensions, but is not laid out";
  Held held(index, tensor, holding);
  if (rule.fits(held))
    return "";
  std::string found;
  for (const Storage *storage : held.storages)
    found += (found.empty() ? "" : " and ") + wordsOf(*storage);
  return "is held " + std::string(name(holding.rule)) + " by " + found +
         ", expected " + rule.expected;
}

std::string tenon::format::describe(const Index &index,
                                    const Holding &holding) {
  return ruleOf(holding).describe(Held(index, {}, holding));
}

void tenon::format::readHeld(const Index &index, const Tensor &tensor,
                             const Holding &holding, StoredBytes stored,
                             std::span<std::byte> into) {
  ruleOf(holding).read(Held(index, tensor, holding), stored, into);
}

void tenon::format::writeHeld(const Index &index, const Tensor &tensor,
                              const Holding &holding,
                              std::span<const std::byte> from,
                              StoredBytes stored) {
  ruleOf(holding).write(Held(index, tensor, holding), from, stored);
}
