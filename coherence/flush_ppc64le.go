package coherence

// flushDCBF issues DCBF with L=0 (write back and drop in every processor of the coherence domain) for every line that
// [b, b+size) touches and returns how many. L=1 and L=3 drop less and are of no use here.
func flushDCBF(b *byte, size int, line int) int

// fenceStore is HWSYNC: LWSYNC does not order DCBF.
func fenceStore()

// fenceFull is HWSYNC.
func fenceFull()

// probe: every POWER that runs ppc64le Linux has lines of 128 bytes.
func probe() (Features, func(*byte, int, int) int) {
	return Features{LineSize: 128, Instruction: "DCBF"}, flushDCBF
}
