package coherence

// flushCIVAC issues DC CIVAC (clean and invalidate by virtual address to the point of coherency) for every line that
// [b, b+size) touches and returns how many. Linux lets user space execute it (SCTLR_EL1.UCI).
func flushCIVAC(b *byte, size int, line int) int

// fenceStore is DSB SY: DC CIVAC is completed by a DSB alone, a DMB would not do.
func fenceStore()

// fenceFull is DSB SY.
func fenceFull()

// cacheType reads CTR_EL0.
func cacheType() uint64

// probe: CTR_EL0.DminLine (bits 19:16) is log2 of the words of 4 bytes in the smallest data cache line.
func probe() (Features, func(*byte, int, int) int) {
	return Features{LineSize: 4 << (cacheType() >> 16 & 0xf), Instruction: "DC CIVAC"}, flushCIVAC
}
