//===- Reducer.cpp - Who combines what ranks exchange ---------------------===//
//
// See Reducer.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Reducer.h"

using namespace tenon;
using namespace tenon::libraries;

bool libraries::canReduce(Reducer reducer, ElementType type,
                          Combination combination) {
  const bool isFloat = type == ElementType::f16 || type == ElementType::bf16 ||
                       type == ElementType::f32 || type == ElementType::f64;
  switch (reducer) {
  case Reducer::ranks:
    return true;
  case Reducer::mpi:
    return !isFloat || (byteWidth(type) > 2 && combination == Combination::sum);
  case Reducer::nccl:
    return isFloat ? combination == Combination::sum
                   : type != ElementType::i1 && byteWidth(type) != 2;
  }
  return false;
}

std::string libraries::whyInvalid(const CollectiveDescription &d,
                                  Reducer reducer) {
  const bool combines = d.combination != Combination::none;
  if (reducer == Reducer::ranks ||
      (combines && canReduce(reducer, d.type, d.combination) &&
       (reducer != Reducer::nccl || d.outer == 1)))
    return "";
  return std::string(name(reducer)) + " does not carry out a collective '" +
         describe(d) + "'";
}

int64_t libraries::workspaceBytes(const CollectiveDescription &d,
                                  Reducer reducer) {
  return reducer == Reducer::nccl ? 0 : workspaceBytes(d);
}

std::vector<int64_t> libraries::argumentBytes(const CollectiveDescription &d,
                                              Reducer reducer) {
  return reducer == Reducer::nccl
             ? std::vector<int64_t>{operandBytes(d), resultBytes(d)}
             : argumentBytes(d);
}

std::optional<Reducer> libraries::reducerNamed(std::string_view name) {
  return name.empty() ? std::optional(Reducer::ranks) : fromName<Reducer>(name);
}
