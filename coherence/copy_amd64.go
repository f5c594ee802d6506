package coherence

// streamCopy stores units of 64 bytes with MOVNTDQ, past the caches, and ends with SFENCE: what lies in write-combining
// buffers is out before it returns. to begins on 64 bytes.
func streamCopy(to, from *byte, units int)

// streamBehind is streamCopy, and issues CLFLUSHOPT for as many lines of 64 bytes from flushed on, one behind the
// stores of each unit. What it flushes was stored by an earlier call: that one's SFENCE lies between.
func streamBehind(to, from, flushed *byte, units int)

// throughCopy stores units of 64 bytes and issues CLWB (write back, keep the line) after each. to begins on 64 bytes.
func throughCopy(to, from *byte, units int)

// probeCopies asks this processor for what stores past and through its caches, in units of bytes; nil: it has none.
func probeCopies() (unit int, stream, through func(to, from *byte, units int), behind func(to, from, flushed *byte, units int)) {
	return chooseCopies(cpuid)
}

// chooseCopies: MOVNTDQ is part of amd64; CPUID.7.0:EBX[23] is CLFLUSHOPT, EBX[24] CLWB.
func chooseCopies(cpuid func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)) (unit int, stream, through func(to, from *byte, units int), behind func(to, from, flushed *byte, units int)) {
	if highest, _, _, _ := cpuid(0, 0); highest >= 7 {
		_, ebx7, _, _ := cpuid(7, 0)
		if ebx7&(1<<23) != 0 {
			behind = streamBehind
		}
		if ebx7&(1<<24) != 0 {
			through = throughCopy
		}
	}
	return 64, streamCopy, through, behind
}
