// RUN: tenon-opt %s --fusion-form-groups --verify-grouped-form | FileCheck %s

// The residual of a network: each sum has one term more, all terms are in memory
// in any case, and every sum is read behind the sort of the last one, where most
// is in memory: sixteen more of its results are kept. If all sums were computed
// again, the last one would read thirteen terms. One of nine terms is kept, of which
// the others are computed, so no kernel reads more than eight terms.

// CHECK-LABEL: func.func @main
// CHECK: %[[FORWARD:.*]]:2 = step.group elementwise({{.*}}) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
// CHECK: step.group generic(%[[FORWARD]]#1, {{.*}})
// CHECK: step.group elementwise({{.*}}%[[FORWARD]]#1{{.*}}) :
// CHECK: step.group elementwise({{.*}}%[[FORWARD]]#0, %arg10, {{.*}}) :
// CHECK: step.group elementwise(%arg9, %[[FORWARD]]#0, {{.*}}) :
// CHECK: step.group elementwise({{.*}}%[[FORWARD]]#0{{.*}}) :
// CHECK: step.group elementwise(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, {{.*}}) :
func.func @main(%a0: tensor<4096x4096xi8>, %a1: tensor<4096x4096xi8>, %a2: tensor<4096x4096xi8>, %a3: tensor<4096x4096xi8>, %a4: tensor<4096x4096xi8>, %a5: tensor<4096x4096xi8>, %a6: tensor<4096x4096xi8>, %a7: tensor<4096x4096xi8>, %a8: tensor<4096x4096xi8>, %a9: tensor<4096x4096xi8>, %a10: tensor<4096x4096xi8>, %a11: tensor<4096x4096xi8>, %a12: tensor<4096x4096xi8>, %c0: tensor<4096x4096xf32>, %c1: tensor<4096x4096xf32>, %c2: tensor<4096x4096xf32>, %c3: tensor<4096x4096xf32>, %c4: tensor<4096x4096xf32>, %c5: tensor<4096x4096xf32>, %c6: tensor<4096x4096xf32>, %c7: tensor<4096x4096xf32>, %c8: tensor<4096x4096xf32>, %c9: tensor<4096x4096xf32>, %c10: tensor<4096x4096xf32>, %c11: tensor<4096x4096xf32>, %c12: tensor<4096x4096xf32>, %c13: tensor<4096x4096xf32>, %c14: tensor<4096x4096xf32>, %c15: tensor<4096x4096xf32>)
    -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
  %b0 = stablehlo.convert %a0 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b1 = stablehlo.convert %a1 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b2 = stablehlo.convert %a2 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b3 = stablehlo.convert %a3 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b4 = stablehlo.convert %a4 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b5 = stablehlo.convert %a5 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b6 = stablehlo.convert %a6 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b7 = stablehlo.convert %a7 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b8 = stablehlo.convert %a8 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b9 = stablehlo.convert %a9 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b10 = stablehlo.convert %a10 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b11 = stablehlo.convert %a11 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %b12 = stablehlo.convert %a12 : (tensor<4096x4096xi8>) -> tensor<4096x4096xf32>
  %h1 = stablehlo.add %b0, %b1 : tensor<4096x4096xf32>
  %h2 = stablehlo.add %h1, %b2 : tensor<4096x4096xf32>
  %h3 = stablehlo.add %h2, %b3 : tensor<4096x4096xf32>
  %h4 = stablehlo.add %h3, %b4 : tensor<4096x4096xf32>
  %h5 = stablehlo.add %h4, %b5 : tensor<4096x4096xf32>
  %h6 = stablehlo.add %h5, %b6 : tensor<4096x4096xf32>
  %h7 = stablehlo.add %h6, %b7 : tensor<4096x4096xf32>
  %h8 = stablehlo.add %h7, %b8 : tensor<4096x4096xf32>
  %h9 = stablehlo.add %h8, %b9 : tensor<4096x4096xf32>
  %h10 = stablehlo.add %h9, %b10 : tensor<4096x4096xf32>
  %h11 = stablehlo.add %h10, %b11 : tensor<4096x4096xf32>
  %h12 = stablehlo.add %h11, %b12 : tensor<4096x4096xf32>
  %sorted:17 = "stablehlo.sort"(%h12, %c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7, %c8, %c9, %c10, %c11, %c12, %c13, %c14, %c15) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>, %x1: tensor<f32>, %y1: tensor<f32>, %x2: tensor<f32>, %y2: tensor<f32>, %x3: tensor<f32>, %y3: tensor<f32>, %x4: tensor<f32>, %y4: tensor<f32>, %x5: tensor<f32>, %y5: tensor<f32>, %x6: tensor<f32>, %y6: tensor<f32>, %x7: tensor<f32>, %y7: tensor<f32>, %x8: tensor<f32>, %y8: tensor<f32>, %x9: tensor<f32>, %y9: tensor<f32>, %x10: tensor<f32>, %y10: tensor<f32>, %x11: tensor<f32>, %y11: tensor<f32>, %x12: tensor<f32>, %y12: tensor<f32>, %x13: tensor<f32>, %y13: tensor<f32>, %x14: tensor<f32>, %y14: tensor<f32>, %x15: tensor<f32>, %y15: tensor<f32>, %x16: tensor<f32>, %y16: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>)
  %g12 = stablehlo.multiply %sorted#0, %h12 : tensor<4096x4096xf32>
  %s12 = "stablehlo.sort"(%g12) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g11 = stablehlo.multiply %s12, %h11 : tensor<4096x4096xf32>
  %s11 = "stablehlo.sort"(%g11) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g10 = stablehlo.multiply %s11, %h10 : tensor<4096x4096xf32>
  %s10 = "stablehlo.sort"(%g10) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g9 = stablehlo.multiply %s10, %h9 : tensor<4096x4096xf32>
  %s9 = "stablehlo.sort"(%g9) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g8 = stablehlo.multiply %s9, %h8 : tensor<4096x4096xf32>
  %s8 = "stablehlo.sort"(%g8) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g7 = stablehlo.multiply %s8, %h7 : tensor<4096x4096xf32>
  %s7 = "stablehlo.sort"(%g7) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g6 = stablehlo.multiply %s7, %h6 : tensor<4096x4096xf32>
  %s6 = "stablehlo.sort"(%g6) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g5 = stablehlo.multiply %s6, %h5 : tensor<4096x4096xf32>
  %s5 = "stablehlo.sort"(%g5) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g4 = stablehlo.multiply %s5, %h4 : tensor<4096x4096xf32>
  %s4 = "stablehlo.sort"(%g4) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g3 = stablehlo.multiply %s4, %h3 : tensor<4096x4096xf32>
  %s3 = "stablehlo.sort"(%g3) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g2 = stablehlo.multiply %s3, %h2 : tensor<4096x4096xf32>
  %s2 = "stablehlo.sort"(%g2) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %g1 = stablehlo.multiply %s2, %h1 : tensor<4096x4096xf32>
  %s1 = "stablehlo.sort"(%g1) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last0 = "stablehlo.sort"(%sorted#1) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last1 = "stablehlo.sort"(%sorted#2) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last2 = "stablehlo.sort"(%sorted#3) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last3 = "stablehlo.sort"(%sorted#4) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last4 = "stablehlo.sort"(%sorted#5) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last5 = "stablehlo.sort"(%sorted#6) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last6 = "stablehlo.sort"(%sorted#7) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last7 = "stablehlo.sort"(%sorted#8) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last8 = "stablehlo.sort"(%sorted#9) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last9 = "stablehlo.sort"(%sorted#10) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last10 = "stablehlo.sort"(%sorted#11) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last11 = "stablehlo.sort"(%sorted#12) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last12 = "stablehlo.sort"(%sorted#13) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last13 = "stablehlo.sort"(%sorted#14) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last14 = "stablehlo.sort"(%sorted#15) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %last15 = "stablehlo.sort"(%sorted#16) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x0: tensor<f32>, %y0: tensor<f32>):
    %less = stablehlo.compare LT, %x0, %y0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8, %s9, %s10, %s11, %s12, %last0, %last1, %last2, %last3, %last4, %last5, %last6, %last7, %last8, %last9, %last10, %last11, %last12, %last13, %last14, %last15 : tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<4096x4096xf32>
}
