target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [256 x float] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.fma.f32(float,float,float)
; Rows of a softmax: 1024 columns by 256 threads, two stages of the sum.
define ptx_kernel void @k(ptr addrspace(1) align 16 noalias readonly %x, ptr addrspace(1) align 16 noalias %y) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %m = mul i32 %c, 256
  %i = add i32 %m, %t
  %i64 = zext i32 %i to i64
  %p = getelementptr <4 x float>, ptr addrspace(1) %x, i64 %i64
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  %v0 = extractelement <4 x float> %v, i32 0
  %v1 = extractelement <4 x float> %v, i32 1
  %v2 = extractelement <4 x float> %v, i32 2
  %v3 = extractelement <4 x float> %v, i32 3
  %e0 = call float @llvm.nvvm.ex2.approx.ftz.f(float %v0)
  %e1 = call float @llvm.nvvm.ex2.approx.ftz.f(float %v1)
  %e2 = call float @llvm.nvvm.ex2.approx.ftz.f(float %v2)
  %e3 = call float @llvm.nvvm.ex2.approx.ftz.f(float %v3)
  %a0 = fadd float %e0, %e1
  %a1 = fadd float %e2, %e3
  %a = fadd float %a0, %a1
  br label %loop
loop:
  %n = phi i32 [0, %0], [%n1, %loop]
  %s = phi float [%a, %0], [%s3, %loop]
  %s1 = call float @llvm.fma.f32(float %s, float %e1, float %e2)
  %s2 = call float @llvm.fma.f32(float %s1, float %e3, float %e0)
  %s3 = call float @llvm.fma.f32(float %s2, float 0.25, float %e0)
  %n1 = add i32 %n, 1
  %go = icmp slt i32 %n1, 16
  br i1 %go, label %loop, label %done
done:
  %w1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %s3, i32 16, i32 31)
  %b1 = fadd float %s3, %w1
  %w2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %b1, i32 8, i32 31)
  %b2 = fadd float %b1, %w2
  %sp = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %b2, ptr addrspace(3) %sp
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %x1 = xor i32 %t, 32
  %sq = getelementptr float, ptr addrspace(3) @tile, i32 %x1
  %l = load float, ptr addrspace(3) %sq
  %q0 = fdiv float %e0, %l
  %q1 = fmul float %e1, %l
  %q2 = fmul float %e2, %l
  %q3 = fmul float %e3, %l
  %o0 = insertelement <4 x float> undef, float %q0, i32 0
  %o1 = insertelement <4 x float> %o0, float %q1, i32 1
  %o2 = insertelement <4 x float> %o1, float %q2, i32 2
  %o3 = insertelement <4 x float> %o2, float %q3, i32 3
  %yp = getelementptr <4 x float>, ptr addrspace(1) %y, i64 %i64
  store <4 x float> %o3, ptr addrspace(1) %yp, align 16
  ret void
}
