// RUN: not tenon-opt %s --import-inline-functions 2>&1 | FileCheck %s

// Nine functions that call the next one ten times are 10^9 operations. They are
// counted before anything is copied.

// CHECK: error: inlining makes more than 10000000 operations
func.func public @main(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f1(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f1(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f1(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f1(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f1(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f1(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f1(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f1(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f1(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f1(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f1(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f2(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f2(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f2(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f2(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f2(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f2(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f2(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f2(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f2(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f2(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f2(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f3(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f3(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f3(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f3(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f3(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f3(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f3(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f3(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f3(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f3(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f3(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f4(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f4(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f4(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f4(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f4(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f4(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f4(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f4(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f4(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f4(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f4(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f5(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f5(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f5(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f5(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f5(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f5(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f5(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f5(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f5(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f5(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f5(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f6(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f6(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f6(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f6(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f6(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f6(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f6(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f6(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f6(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f6(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f6(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f7(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f7(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f7(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f7(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f7(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f7(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f7(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f7(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f7(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f7(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f7(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f8(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f8(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f8(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f8(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f8(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f8(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f8(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f8(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f8(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f8(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f8(%x0: tensor<f32>) -> tensor<f32> {
  %x1 = call @f9(%x0) : (tensor<f32>) -> tensor<f32>
  %x2 = call @f9(%x1) : (tensor<f32>) -> tensor<f32>
  %x3 = call @f9(%x2) : (tensor<f32>) -> tensor<f32>
  %x4 = call @f9(%x3) : (tensor<f32>) -> tensor<f32>
  %x5 = call @f9(%x4) : (tensor<f32>) -> tensor<f32>
  %x6 = call @f9(%x5) : (tensor<f32>) -> tensor<f32>
  %x7 = call @f9(%x6) : (tensor<f32>) -> tensor<f32>
  %x8 = call @f9(%x7) : (tensor<f32>) -> tensor<f32>
  %x9 = call @f9(%x8) : (tensor<f32>) -> tensor<f32>
  %x10 = call @f9(%x9) : (tensor<f32>) -> tensor<f32>
  return %x10 : tensor<f32>
}
func.func private @f9(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
