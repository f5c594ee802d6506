package pgcatalog

// Operator is the operator that stands for one of PostgreSQL's on patterns in texts for DuckDB, its own name where
// DuckDB finds that by itself. quantifier is any, all, or empty. It is never longer than what it stands for.
func Operator(name, quantifier string) string {
	switch quantifier {
	case "any":
		return "`" + name + "|"
	case "all":
		return "`" + name + "&"
	}
	switch name {
	case "~":
		return "`"
	case "!~":
		return "!`"
	}
	return name
}
