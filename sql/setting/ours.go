package setting

import "github.com/csmsql/csmsql/sql/optimization"

// Names of settings, and a value, that package engine gives their effect.
const (
	Dialect         = "csm.dialect"
	Disable         = "csm.disable"
	SessionMemory   = "csm.session_memory"
	MaxStaleness    = "csm.max_staleness"
	Verify          = "csm.verify"
	TimeZone        = "timezone"
	PlanCacheMode   = "plan_cache_mode"
	ForceCustomPlan = "force_custom_plan" // every statement is replanned
)

// hidden are settings that PostgreSQL has and does not list.
func hidden() []*Setting {
	return []*Setting{
		{Name: "default_with_oids", Kind: Bool, Context: "user", Default: "off", Hidden: true},
		{Name: "is_superuser", Kind: Bool, Context: "internal", Default: "on", Hidden: true},
		{Name: "role", Kind: String, Context: "user", Default: "none", Hidden: true},
		{Name: "seed", Kind: Real, Context: "user", Default: "unavailable", Min: "-1", Max: "1", Hidden: true},
		{Name: "session_authorization", Kind: String, Context: "user", Default: "postgres", Hidden: true},
		{Name: "ssl_renegotiation_limit", Kind: Integer, Unit: "kB", Context: "user", Default: "0", Min: "0", Max: "0", Hidden: true},
	}
}

// ours are the settings of csmsql.
func ours() []*Setting {
	choice := func(name, value, short string, words ...string) *Setting {
		return &Setting{
			Name: name, Kind: Enum, Context: "user", Category: "Customized Options", Default: value, Short: short, Words: words, Policy: Kept,
		}
	}
	return []*Setting{
		choice("csm.backend", "auto", "Chooses what runs a query that both could run: DuckDB or the Arrow kernels.", "auto", "duckdb", "compute"),
		choice("csm.dialect", "postgres",
			"Says what the text of statements means: what it means in PostgreSQL, or in DuckDB.", "duckdb", "postgres"),
		choice("csm.distribute", "auto", "Chooses whether a query over several nodes' memory is split among them.", "auto", "off", "always"),
		choice("csm.shuffle", "auto", "Chooses whether the parts of a query shuffle tables that lie the wrong way for it.", "auto", "off", "always"),
		choice("csm.verify", "auto", "Says when a chunk that is read is compared with its checksum; a session can only be stricter than its node.",
			"off", "auto", "first", "always"),
		{
			Name: "csm.session_memory", Kind: Integer, Unit: "kB", Context: "user", Category: "Customized Options", Default: "0", Min: "0", Max: "2147483647",
			Short: "Bounds what the session makes the node keep: messages, statements, plans, portals, answers, rows of COPY.",
			Extra: "0 is what the node grants: half of what is free for its clients, however much --memory is.", Policy: Kept,
		},
		{
			Name: MaxStaleness, Kind: Integer, Unit: "ms", Context: "user", Category: "Customized Options", Default: "0", Min: "0", Max: "2147483647",
			Short: "Lets queries of a cluster see rows this much older than the last commit, without asking etcd for that one.",
			Extra: "0 is none: every query sees each commit that was acknowledged before it. Statements that write always do.", Policy: Kept,
		},
		{Name: "csm.disable", Kind: String, Context: "user", Category: "Customized Options", Short: optimization.Description(), Policy: Kept},
	}
}
