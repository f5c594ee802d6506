package coherence

// streamCopy stores units of 64 bytes with STNP, a hint that they are not needed in the caches soon, and ends with DSB
// SY. to begins on 64 bytes.
func streamCopy(to, from *byte, units int)

// throughCopy stores units of 64 bytes and issues DC CVAC (clean to the point of coherency, keep the line) after
// each. to begins on 64 bytes.
func throughCopy(to, from *byte, units int)

// probeCopies: both are part of arm64. One DC CVAC covers a unit only where lines are no shorter.
func probeCopies() (unit int, stream, through func(to, from *byte, units int), behind func(to, from, flushed *byte, units int)) {
	if features, _ := probe(); features.LineSize < 64 {
		return 64, streamCopy, nil, nil
	}
	return 64, streamCopy, throughCopy, nil
}
