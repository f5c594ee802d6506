//go:build !race

package memregion

const heapCaches = false
