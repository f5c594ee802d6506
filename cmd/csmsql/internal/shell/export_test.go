package shell

// For tests.
var (
	Complete   = complete
	Describing = describing
)
