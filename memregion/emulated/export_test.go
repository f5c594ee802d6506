package emulated

// StoreWord and LoadWord are a program's accesses while moves are made; the word has the value in its first byte.
func StoreWord(b []byte, value byte) {
	hide()
	defer reveal()
	store(&words(b[:8])[0], uint64(value))
}

func LoadWord(b []byte) byte {
	hide()
	defer reveal()
	return byte(load(&words(b[:8])[0]))
}
