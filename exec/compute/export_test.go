package compute

// LimitGroups lowers the bound on groups until restore is called.
func LimitGroups(bytes int64) (restore func()) {
	before := maxGroupBytes
	maxGroupBytes = bytes
	return func() { maxGroupBytes = before }
}
