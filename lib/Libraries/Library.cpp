//===- Library.cpp - What the compiler asks of a vendor's library ---------===//
//
// See Library.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Library.h"

#include <algorithm>
#include <vector>

using namespace tenon;
using namespace tenon::libraries;

Library::~Library() = default;

std::string Library::whyNotSupported(const Description &description,
                                     Isa isa) const {
  std::string error = whyInvalid(description);
  if (error.empty())
    create(description, isa, error);
  return error;
}

static std::vector<const Library *> &list() {
  static std::vector<const Library *> list = {
      &oneDNNLibrary(), &lapackLibrary(), &cublasLtLibrary()};
  return list;
}

std::span<const Library *const> tenon::libraries::all() { return list(); }

AddedLibrary::AddedLibrary(const Library &library) : library(&library) {
  list().insert(list().begin(), &library);
}

AddedLibrary::~AddedLibrary() { std::erase(list(), library); }

const Library &tenon::libraries::libraryOf(const Description &description) {
  return **std::ranges::find_if(all(), [&](const Library *library) {
    return library->takes(description);
  });
}

int64_t tenon::libraries::preferredPieces(const Description &description) {
  return libraryOf(description).preferredPieces(description);
}

std::string tenon::libraries::whyNotSupported(const Description &description,
                                              Isa isa) {
  return libraryOf(description).whyNotSupported(description, isa);
}

int64_t tenon::libraries::workspaceBytes(const Description &description,
                                         Isa isa) {
  std::string error;
  auto call = Call::create(description, isa, error);
  return call ? call->workspaceBytes() : -1;
}

std::unique_ptr<Call> Call::create(const Description &description, Isa isa,
                                   std::string &error) {
  error = whyInvalid(description);
  if (!error.empty())
    return nullptr;
  return libraryOf(description).create(description, isa, error);
}
