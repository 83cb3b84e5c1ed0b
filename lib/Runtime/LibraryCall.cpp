//===- LibraryCall.cpp - A library call that a processor runs -------------===//
//
// See LibraryCall.h.
//
//===----------------------------------------------------------------------===//

#include "LibraryCall.h"

using namespace tenon;
using namespace tenon::runtime;

std::unique_ptr<libraries::Call>
tenon::runtime::findCall(const format::Callee &callee,
                         const libraries::Description &description,
                         target::Isa isa, Error &error) {
  std::string why;
  auto call = libraries::Call::create(description, isa, why);
  if (!call)
    return refuse(error, Failure::machine,
                  "the file calls " + callee.library + " for " +
                      callee.description + ", which cannot run here: " + why);
  return call;
}
