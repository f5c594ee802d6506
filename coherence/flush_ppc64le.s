#include "textflag.h"

// func flushDCBF(b *byte, size int, line int) int
// Guarantee: DCBF with L=0 was issued exactly once for every line that [b, b+size) touches, and for no other (the
// arithmetic of lineSpan in lines.go), and is completed on return: HWSYNC completes what its own processor issued, and a
// goroutine may be on another one when it comes to FenceFull. size is at most 1 MiB, because nothing here can be preempted.
TEXT ·flushDCBF(SB), NOSPLIT|NOFRAME, $0-32
	MOVD b+0(FP), R3
	MOVD size+8(FP), R4
	MOVD line+16(FP), R5
	MOVD $0, R6
	CMP  R4, $0
	BEQ  done
	ADD  R3, R4, R4      // R4 = end
	NEG  R5, R7          // R7 = ^(line-1)
	AND  R7, R3, R3      // R3 = first line

loop:
	DCBF (R3)            // L=0
	ADD  R5, R3, R3
	ADD  $1, R6, R6
	CMPU R3, R4
	BLT  loop            // while R3 < end, unsigned

done:
	SYNC                 // HWSYNC
	MOVD R6, ret+24(FP)
	RET

// func fenceStore()
// Guarantee: earlier loads, stores and flushes are done before anything later begins.
TEXT ·fenceStore(SB), NOSPLIT|NOFRAME, $0-0
	SYNC                 // HWSYNC
	RET

// func fenceFull()
// Guarantee: earlier loads, stores and flushes are done before anything later begins.
TEXT ·fenceFull(SB), NOSPLIT|NOFRAME, $0-0
	SYNC                 // HWSYNC
	RET
