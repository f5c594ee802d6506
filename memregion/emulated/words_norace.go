//go:build !race

package emulated

func hide()   {}
func reveal() {}
