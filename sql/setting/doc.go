// Package setting is the table of settings, for SET, SHOW, RESET, set_config() and pg_settings.
//
//	name ── Find ─► Setting ── Read(words of SET) ─► value ── Show ─► what SHOW says
//	                   │            │
//	                   │            ├ type, unit, range, words: 22023 in PostgreSQL's texts
//	                   │            └ a value that means what is not done here: 0A000, which names the values that are possible
//	                   └ Changeable: who may set it, and when: 55P02
//
//	data/postgresql.tsv   every setting of PostgreSQL 15, as a server of it lists them in pg_settings (data/extract.sh)
//	policy.go             what each of those that a session may set is here: kept, or fixed
//	ours.go               the settings that PostgreSQL hides, and those of csmsql
//	meaning.go            DuckDB's that say what a text means: Meaning, of a plan's key; SetStatements, for DuckDB
//
// # Words
//
// A value is a setting's text in its base unit, as pg_settings.setting has it: 7000 for a statement_timeout of 7s. What
// is shown of it is what SHOW says. A setting is kept if each of its values has its effect. It is fixed if it can be
// set to nothing but the values whose effect is what is done here anyway: clients and dumps send such settings to make
// sure. It is the server's if no session may set it. A placeholder is an undefined setting, name.name, which PostgreSQL
// keeps for clients that use it.
//
// # Invariants
//
//   - SE1: every setting of PostgreSQL 15 is in the table, and a name that is not there is an error.
//   - SE2: no value is accepted that has no effect: of a fixed setting those in Possible are all, of a kept one a test
//     shows the effect.
//   - SE3: Show(Read(Show(v))) is Show(v) for every value v.
//
// # What it does not do
//
// It keeps no session's values and gives them no effect: package engine does. It knows no time zones and no schemas;
// the owner of those settings checks what they name.
package setting
