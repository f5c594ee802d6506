#include "textflag.h"

// func throughCopy(to, from *byte, units int)
// Guarantee: DCBST was issued once for every unit of 128 bytes, after its stores, and is completed on return: HWSYNC
// completes what its own processor issued, and a goroutine may be elsewhere when it comes to FenceFull. At most 1 MiB,
// because nothing here can be preempted.
TEXT ·throughCopy(SB), NOSPLIT|NOFRAME, $0-24
	MOVD to+0(FP), R3
	MOVD from+8(FP), R4
	MOVD units+16(FP), R5
	MOVD $16, R8
	MOVD $32, R9
	MOVD $48, R10
	CMP  R5, $0
	BEQ  done

loop:
	ADD     $64, R4, R6
	ADD     $64, R3, R7
	LXVD2X  (R0)(R4), VS32
	LXVD2X  (R4)(R8), VS33
	LXVD2X  (R4)(R9), VS34
	LXVD2X  (R4)(R10), VS35
	LXVD2X  (R0)(R6), VS36
	LXVD2X  (R6)(R8), VS37
	LXVD2X  (R6)(R9), VS38
	LXVD2X  (R6)(R10), VS39
	STXVD2X VS32, (R0)(R3)
	STXVD2X VS33, (R3)(R8)
	STXVD2X VS34, (R3)(R9)
	STXVD2X VS35, (R3)(R10)
	STXVD2X VS36, (R0)(R7)
	STXVD2X VS37, (R7)(R8)
	STXVD2X VS38, (R7)(R9)
	STXVD2X VS39, (R7)(R10)
	DCBST   (R3)
	ADD     $128, R4, R4
	ADD     $128, R3, R3
	ADD     $-1, R5, R5
	CMP     R5, $0
	BNE     loop

done:
	SYNC
	RET
