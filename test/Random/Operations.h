//===- Operations.h - What random programs are made of -------------------===//
//
// Lists of emitters by subject; Operations.cpp joins them. How often one is
// drawn is how often it is listed.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_RANDOM_OPERATIONS_H
#define TENON_TEST_RANDOM_OPERATIONS_H

#include "Program.h"

namespace tenon::random {

std::vector<Emitter> elementwiseEmitters();
std::vector<Emitter> shapeEmitters();
std::vector<Emitter> reductionEmitters();
std::vector<Emitter> contractionEmitters();
std::vector<Emitter> indexingEmitters();
std::vector<Emitter> controlEmitters();
std::vector<Emitter> attentionEmitters(); // of programs of their own

/// A value of any type of at most `most` elements.
Value anyValue(Program &program, int64_t minRank = 0, int64_t most = 1000);
/// A value with elements of a kind, of at most `most` elements.
Value anyOf(Program &program, const std::function<bool(const Element &)> &fits,
            int64_t minRank = 0, int64_t most = 1000);

bool isReal(const Element &element);
bool isNumber(const Element &element); // neither boolean nor complex

/// `[a, b, c]` and `array<i64: a, b, c>`.
std::string list(const Shape &values);
std::string array(const Shape &values);

/// `(operand types) -> results`.
std::string signature(const std::vector<Type> &operands,
                      const std::vector<Type> &results);

/// An operation that combines two elements into one, for reducers; exact if it
/// is the same in any order.
std::string combiner(Program &program, const Element &element, bool exact);

/// `(tensor<T>, tensor<T>) -> tensor<T>` as the region of a generic operation.
std::string region(Program &program, const Element &element,
                   const std::string &operation);

} // namespace tenon::random

#endif // TENON_TEST_RANDOM_OPERATIONS_H
