package statement

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// boolean reads an option that is a Boolean as PostgreSQL reads those of statements; without a value it is true.
func (o Option) boolean() (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(o.Value)) {
	case "", "true", "on", "1":
		return true, true
	case "false", "off", "0":
		return false, true
	}
	return false, false
}

func (o Option) notBoolean() error {
	return &sqlerror.Error{State: "42601", Message: o.Name + " requires a Boolean value", HintText: "Write true, false, on, off, 1 or 0, or nothing, which means true."}
}

// clause is an option as it was written, for messages.
func (o Option) clause() string {
	return strings.TrimSpace(strings.ToUpper(o.Name) + " " + o.Value)
}

// Check refuses options of a COPY that say nothing about its format or direction, as PostgreSQL does.
func (y *Copy) Check(format string) error {
	for _, o := range y.Options {
		if err := y.checkOption(format, o); err != nil {
			return err
		}
	}
	return nil
}

// directions are the options of CSV that mean something in one direction.
var directions = map[string]string{"force_quote": "TO", "force_not_null": "FROM", "force_null": "FROM"}

func (y *Copy) checkOption(format string, o Option) error {
	direction := "TO"
	if y.From {
		direction = "FROM"
	}
	_, isBoolean := o.boolean()
	switch name := strings.ReplaceAll(o.Name, "_", " "); {
	case y.Client && o.Name == "header" && !isBoolean && !strings.EqualFold(o.Value, "match"):
		return &sqlerror.Error{State: "42601", Message: `header requires a Boolean value or "match"`}
	case o.Name == "freeze" && !isBoolean:
		return o.notBoolean()
	case o.Name == "freeze" && !y.From:
		return unsupported("COPY freeze only available using COPY FROM", "Leave it out.")
	case format == "binary" && slices.Contains([]string{"delimiter", "delim", "null", "nullstr", "header"}, o.Name):
		return &sqlerror.Error{State: "42601", Message: "cannot specify " + strings.ToUpper(o.Name) + " in BINARY mode"}
	case (format == "text" || format == "binary") && (o.Name == "quote" || o.Name == "escape" || directions[o.Name] != ""):
		return unsupported("COPY "+name+" available only in CSV mode", "Write FORMAT csv.")
	case directions[o.Name] != "" && directions[o.Name] != direction:
		return unsupported("COPY "+name+" only available using COPY "+directions[o.Name], "Leave it out.")
	}
	return nil
}

// Freeze reports whether a COPY says FREEZE.
func (y *Copy) Freeze() bool {
	return slices.ContainsFunc(y.Options, func(o Option) bool {
		on, _ := o.boolean()
		return o.Name == "freeze" && on
	})
}

// checkMaintenance refuses options of VACUUM and ANALYZE that are none, or that contradict each other, as PostgreSQL
// does.
func checkMaintenance(tag string, options []Option) error {
	on := map[string]bool{}
	for _, o := range options {
		value, isBoolean := o.boolean()
		switch {
		case !slices.Contains(maintenanceOptions[tag], o.Name):
			return &sqlerror.Error{State: "42601", Message: "unrecognized " + tag + " option \"" + o.Name + "\""}
		case o.Name == "index_cleanup" && strings.EqualFold(o.Value, "auto"):
		case o.Name == "parallel":
			n, err := parallelWorkers(o)
			if err != nil {
				return err
			}
			value = n > 0
		case !isBoolean:
			return o.notBoolean()
		}
		on[o.Name] = value
		if !isBoolean || o.Name != "process_toast" || value {
			continue
		}
		on["no toast"] = true
	}
	switch {
	case on["full"] && on["parallel"]:
		return unsupported("VACUUM FULL cannot be performed in parallel", "Leave PARALLEL out.")
	case on["full"] && on["disable_page_skipping"]:
		return unsupported("VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL", "Leave it out.")
	case on["full"] && on["no toast"]:
		return unsupported("PROCESS_TOAST required with VACUUM FULL", "Leave it out.")
	}
	return nil
}

func parallelWorkers(o Option) (int, error) {
	n := 0
	for _, digit := range o.Value {
		if digit < '0' || digit > '9' || n > 1024 {
			n = 1025
			break
		}
		n = n*10 + int(digit-'0')
	}
	if o.Value == "" || n > 1024 {
		return 0, &sqlerror.Error{State: "42601", Message: "parallel option requires a value between 0 and 1024"}
	}
	return n, nil
}
