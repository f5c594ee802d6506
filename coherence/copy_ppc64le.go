package coherence

// throughCopy stores units of 128 bytes and issues DCBST (write back, keep the line) after each. to begins on 128
// bytes.
func throughCopy(to, from *byte, units int)

// probeCopies: Power has no store that goes past the caches of ordinary memory.
func probeCopies() (unit int, stream, through func(to, from *byte, units int), behind func(to, from, flushed *byte, units int)) {
	return 128, nil, throughCopy, nil
}
