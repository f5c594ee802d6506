package memregion

// What a fabric is; the layers above ask these and never compare kinds.

// Durable tells that bytes survive a power failure once Sync has returned.
func (k FabricKind) Durable() bool { return k == FabricFile }

// HardwareCoherent tells that every process which maps the region sees a store without anybody writing caches back or invalidating them.
// Both fabrics of this version are: all their processes share one machine's page cache.
func (k FabricKind) HardwareCoherent() bool { return k == FabricShm || k == FabricFile }

// Local tells that only processes of the lender's machine can map the region.
func (k FabricKind) Local() bool { return k == FabricShm || k == FabricFile }
