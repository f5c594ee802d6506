package dialect

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// zoneOffsets are PostgreSQL's abbreviations of time zones (its file Default), and how many hours each is east of
// Greenwich. They come before names, and know no summer: DuckDB lacks most, has summers in CET and PST, and takes IST
// and BST for other ones.
const zoneOffsets = `ACT-5 ADT-3 AEDT+11 AEST+10 AKDT-8 AKST-9 ART-3 AST-4 AWST+8 BDT+6 BRST-2 BRT-3 BST+1 CDT-5
	CEST+2 CET+1 CETDST+2 CLT-3 COT-5 CST-6 EAT+3 EDT-4 EEST+3 EET+2 EETDST+3 EST-5 GMT+0 HKT+8
	HST-10 ICT+7 IDT+3 IST+2 JST+9 KST+9 MDT-6 MEST+2 MESZ+2 MET+1 METDST+2 MEZ+1 MSD+4 MSK+3 MST-7
	MYT+8 NZDT+13 NZST+12 NZT+12 PDT-7 PET-5 PHT+8 PKST+6 PKT+5 PST-8 SAST+2 SGT+8 UCT+0 UT+0 UTC+0
	WAT+1 WET+0 WETDST+1 Z+0 ZULU+0`

// zoneOf is the zone that an abbreviation means, Etc/GMT+8 of PST; empty: it is none that is known.
func zoneOf(abbreviation string) string {
	if abbreviation == "" || strings.ContainsAny(abbreviation, " \t\n+-") {
		return ""
	}
	for entry := range strings.FieldsSeq(zoneOffsets) {
		at := strings.IndexAny(entry, "+-")
		if !strings.EqualFold(entry[:at], abbreviation) {
			continue
		}
		hours, _ := strconv.Atoi(entry[at:])
		switch {
		case hours == 0:
			return "UTC"
		case hours < 0:
			return "Etc/GMT+" + strconv.Itoa(-hours)
		}
		return "Etc/GMT-" + strconv.Itoa(hours)
	}
	return ""
}

// What POSIX calls a time zone: an abbreviation that says nothing, and how many hours it is west of Greenwich; and the
// same with minutes. DuckDB reads some of them as hours east.
var (
	posixZone   = regexp.MustCompile(`^(?:[A-Za-z]{3,})?([-+]?)(\d{1,2})$`)
	minutesZone = regexp.MustCompile(`^(?:[A-Za-z]{3,})?[-+]?\d{1,2}:\d{2}(?::\d{2})?$`)
)

// zone writes a string that is a time zone by a name that DuckDB has.
func (r *translation) zone(t lex.Token) {
	value, ok := t.Value()
	if !ok {
		return
	}
	if strings.EqualFold(value, "nst") {
		r.refuse(t, "0A000", "time zone \""+value+"\" is not supported", "Name the zone America/St_Johns.")
	}
	if minutesZone.MatchString(value) {
		r.refuse(t, "0A000", "time zone \""+value+"\" is not supported",
			"Name the zone as Asia/Kolkata is, or add an interval.")
	}
	if m := posixZone.FindStringSubmatch(value); m != nil {
		hours, _ := strconv.Atoi(m[2])
		by := "UTC"
		if sign := cmp.Or(m[1], "+"); hours != 0 {
			by = "Etc/GMT" + sign + strconv.Itoa(hours)
		}
		r.replace(t.Start, t.End(), lex.QuoteString(by))
		return
	}
	if by := zoneOf(value); by != "" && !strings.EqualFold(by, value) {
		r.replace(t.Start, t.End(), lex.QuoteString(by))
	}
}
