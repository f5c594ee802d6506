//go:build race

package memregion

// heapCaches lets programs have their domain's cache on Go's heap, where the race detector sees what they do. Then
// processes of one domain have a cache each, it ends with its process, and it is not at the region's address; and
// the memory answers fetches, also on home-snoop fabrics.
const heapCaches = true
