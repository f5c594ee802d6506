package configuration

import (
	"slices"
	"strings"
)

// noticeLevels are the values of client_min_messages, the most talkative first.
var noticeLevels = []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"}

// Wants reports whether a client whose client_min_messages is least wants to hear of notices of a severity.
func Wants(least, severity string) bool {
	level := slices.Index(noticeLevels, strings.ToLower(severity))
	return level < 0 || level >= slices.Index(noticeLevels, least)
}
