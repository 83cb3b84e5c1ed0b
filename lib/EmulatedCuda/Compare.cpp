//===- Compare.cpp - setp and testp ---------------------------------------===//

#include "FloatFormat.h"
#include "Forms.h"
#include "Lanes.h"

using namespace tenon::emulated;

namespace {

enum class Relation {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

template <Relation relation, typename T>
bool holds(T a, T b) {
  bool unordered = a != a || b != b;
  switch (relation) {
  case Relation::Eq:
    return a == b;
  case Relation::Ne:
    return !unordered && a != b;
  case Relation::Lt:
    return a < b;
  case Relation::Le:
    return a <= b;
  case Relation::Gt:
    return a > b;
  case Relation::Ge:
    return a >= b;
  case Relation::Equ:
    return unordered || a == b;
  case Relation::Neu:
    return unordered || a != b;
  case Relation::Ltu:
    return unordered || a < b;
  case Relation::Leu:
    return unordered || a <= b;
  case Relation::Gtu:
    return unordered || a > b;
  case Relation::Geu:
    return unordered || a >= b;
  case Relation::Num:
    return !unordered;
  case Relation::Nan:
    return unordered;
  }
}

struct Half {
  static constexpr FloatFormat format = f16Format;
};
struct Brain {
  static constexpr FloatFormat format = bf16Format;
};

/// A lane's number in a type that C++ compares as the GPU does.
template <typename T>
auto numberOf(const Instruction &instruction, const void *lanes,
              unsigned lane) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>)
    return decode(static_cast<const uint16_t *>(lanes)[lane], T::format);
  else if constexpr (std::is_same_v<T, float>)
    return flushedIf(instruction.flush,
                     static_cast<const float *>(lanes)[lane]);
  else
    return static_cast<const T *>(lanes)[lane];
}

/// p|q = (a relation b) and/or/xor c, q the same with the relation inverted.
template <Relation relation, typename T>
void compare(Warp &warp, const Instruction &instruction, Mask active) {
  const auto &operands = instruction.operands;
  const void *a = warp.lanesOf<char>(operands[2]),
             *b = warp.lanesOf<char>(operands[3]);
  Mask result = 0;
  forLanes(active, [&](unsigned lane) {
    result |= Mask(holds<relation>(numberOf<T>(instruction, a, lane),
                                   numberOf<T>(instruction, b, lane)))
              << lane;
  });
  Mask inverse = ~result;
  if (operands.size() > 4) {
    Mask other = warp.predicate(operands[4]);
    const std::string &opcode = instruction.opcode;
    for (Mask *mask : {&result, &inverse})
      *mask = opcode.find(".and.") != std::string::npos  ? *mask & other
              : opcode.find(".or.") != std::string::npos ? *mask | other
                                                         : *mask ^ other;
  }
  writePredicate(warp, operands[0], active, result);
  writePredicate(warp, operands[1], active, inverse);
}

template <int kind, typename T>
void testFloat(Warp &warp, const Instruction &instruction, Mask active) {
  auto *a = warp.lanesOf<T>(instruction.operands[1]);
  Mask result = 0;
  forLanes(active, [&](unsigned lane) {
    T x = a[lane];
    bool yes = kind == 0   ? std::isfinite(x)
               : kind == 1 ? std::isinf(x)
               : kind == 2 ? !std::isnan(x)
               : kind == 3 ? std::isnan(x)
               : kind == 4 ? std::isnormal(x)
                           : std::fpclassify(x) == FP_SUBNORMAL;
    result |= Mask(yes) << lane;
  });
  writePredicate(warp, instruction.operands[0], active, result);
}

#define RELATION(NAME, RELATION_, TYPE, SUFFIX, BITS)                          \
  {"setp." NAME SUFFIX, "d1 |d1 s" BITS " s" BITS,                             \
   compare<Relation::RELATION_, TYPE>},                                        \
  {                                                                            \
    "setp." NAME "{.and,.or,.xor}" SUFFIX, "d1 |d1 s" BITS " s" BITS " s1",    \
        compare<Relation::RELATION_, TYPE>                                     \
  }
#define INTEGER(TYPE, SUFFIX, BITS)                                            \
  RELATION("eq", Eq, TYPE, SUFFIX, BITS),                                      \
      RELATION("ne", Ne, TYPE, SUFFIX, BITS),                                  \
      RELATION("{lt,lo}", Lt, TYPE, SUFFIX, BITS),                             \
      RELATION("{le,ls}", Le, TYPE, SUFFIX, BITS),                             \
      RELATION("{gt,hi}", Gt, TYPE, SUFFIX, BITS),                             \
      RELATION("{ge,hs}", Ge, TYPE, SUFFIX, BITS)
#define FLOAT(TYPE, SUFFIX, BITS)                                              \
  RELATION("eq", Eq, TYPE, SUFFIX, BITS),                                      \
      RELATION("ne", Ne, TYPE, SUFFIX, BITS),                                  \
      RELATION("lt", Lt, TYPE, SUFFIX, BITS),                                  \
      RELATION("le", Le, TYPE, SUFFIX, BITS),                                  \
      RELATION("gt", Gt, TYPE, SUFFIX, BITS),                                  \
      RELATION("ge", Ge, TYPE, SUFFIX, BITS),                                  \
      RELATION("equ", Equ, TYPE, SUFFIX, BITS),                                \
      RELATION("neu", Neu, TYPE, SUFFIX, BITS),                                \
      RELATION("ltu", Ltu, TYPE, SUFFIX, BITS),                                \
      RELATION("leu", Leu, TYPE, SUFFIX, BITS),                                \
      RELATION("gtu", Gtu, TYPE, SUFFIX, BITS),                                \
      RELATION("geu", Geu, TYPE, SUFFIX, BITS),                                \
      RELATION("num", Num, TYPE, SUFFIX, BITS),                                \
      RELATION("nan", Nan, TYPE, SUFFIX, BITS)

const Form compareForms[] = {
    INTEGER(int16_t, ".s16", "16"),
    INTEGER(uint16_t, "{.u16,.b16}", "16"),
    INTEGER(int32_t, ".s32", "32"),
    INTEGER(uint32_t, "{.u32,.b32}", "32"),
    INTEGER(int64_t, ".s64", "64"),
    INTEGER(uint64_t, "{.u64,.b64}", "64"),
    FLOAT(Half, ".f16", "16"),
    FLOAT(Brain, ".bf16", "16"),
    FLOAT(float, "{,.ftz}.f32", "32"),
    FLOAT(double, ".f64", "64"),
    {"testp.finite.f32", "d1 s32", testFloat<0, float>},
    {"testp.finite.f64", "d1 s64", testFloat<0, double>},
    {"testp.infinite.f32", "d1 s32", testFloat<1, float>},
    {"testp.infinite.f64", "d1 s64", testFloat<1, double>},
    {"testp.number.f32", "d1 s32", testFloat<2, float>},
    {"testp.number.f64", "d1 s64", testFloat<2, double>},
    {"testp.notanumber.f32", "d1 s32", testFloat<3, float>},
    {"testp.notanumber.f64", "d1 s64", testFloat<3, double>},
    {"testp.normal.f32", "d1 s32", testFloat<4, float>},
    {"testp.normal.f64", "d1 s64", testFloat<4, double>},
    {"testp.subnormal.f32", "d1 s32", testFloat<5, float>},
    {"testp.subnormal.f64", "d1 s64", testFloat<5, double>},
};

} // namespace

void tenon::emulated::addCompareForms(FormTable &table) {
  table.add(compareForms);
}
