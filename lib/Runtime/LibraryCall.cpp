//===- LibraryCall.cpp - A library call that a processor runs -------------===//
//
// See LibraryCall.h.
//
//===----------------------------------------------------------------------===//

#include "LibraryCall.h"

#include <algorithm>

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

InstructionTime
tenon::runtime::describeCall(std::span<const format::Callee> callees,
                             size_t number, const libraries::Call &call) {
  const auto before =
      std::ranges::count(callees.first(number), format::CalleeKind::library,
                         &format::Callee::kind);
  InstructionTime time;
  time.name = "library_call_" + std::to_string(before);
  time.what = callees[number].description + " (" + call.implementation() + ")";
  time.library = true;
  return time;
}
