package frontend

// For tests.
var (
	CommandLineOptions = commandLineOptions
	TimeoutOf          = timeoutOf
	EngineValue        = engineValue
	Inferred           = inferred
)
