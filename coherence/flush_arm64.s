#include "textflag.h"

// func flushCIVAC(b *byte, size int, line int) int
// Guarantee: DC CIVAC was issued exactly once for every line that [b, b+size) touches, and for no other (the
// arithmetic of lineSpan in lines.go), and is completed on return: DSB completes what its own processor issued, and a
// goroutine may be on another one when it comes to FenceFull. size is at most 1 MiB, because nothing here can be preempted.
TEXT ·flushCIVAC(SB), NOSPLIT, $0-32
	MOVD b+0(FP), R0
	MOVD size+8(FP), R1
	MOVD line+16(FP), R2
	MOVD $0, R3
	CBZ  R1, done
	ADD  R0, R1, R1      // R1 = end
	SUB  $1, R2, R4
	BIC  R4, R0, R0      // R0 = first line

loop:
	DC   CIVAC, R0
	ADD  R2, R0, R0
	ADD  $1, R3, R3
	CMP  R1, R0
	BLO  loop            // while R0 < end, unsigned

done:
	DSB  $15
	MOVD R3, ret+24(FP)
	RET

// func fenceStore()
// Guarantee: earlier loads, stores and cache maintenance are done before anything later begins.
TEXT ·fenceStore(SB), NOSPLIT, $0-0
	DSB $15
	RET

// func fenceFull()
// Guarantee: earlier loads, stores and cache maintenance are done before anything later begins.
TEXT ·fenceFull(SB), NOSPLIT, $0-0
	DSB $15
	RET

// func cacheType() uint64
TEXT ·cacheType(SB), NOSPLIT, $0-8
	MRS  CTR_EL0, R0
	MOVD R0, ret+0(FP)
	RET
