//===- Convolution.cpp - Convolutions through oneDNN ----------------------===//
//
// Turns a ConvolutionDescription into single-threaded oneDNN primitives.
//
//===----------------------------------------------------------------------===//

#include "PrimitiveCall.h"

using namespace tenon;
using namespace tenon::libraries;

std::unique_ptr<PrimitiveCall>
tenon::libraries::createCall(const ConvolutionDescription &description,
                             const Engine &engine, std::string &error) {
  error = "convolutions are not offered yet";
  return nullptr;
}

int64_t
tenon::libraries::preferredPieces(const ConvolutionDescription &description) {
  return 2;
}
