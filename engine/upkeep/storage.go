package upkeep

import (
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Storage reads ALTER TABLE … SET (placement = …, replicas = …); what is not set is nil, or 0.
func Storage(options []statement.Option) (placed *string, replicas int, err error) {
	if len(options) == 0 {
		return nil, 0, sqlerror.New("42601", "ALTER TABLE … SET () sets nothing").WithHint(
			"There are placement, replicas, retention and retained_versions.")
	}
	for _, o := range options {
		switch o.Name {
		case "placement":
			placed = &o.Value
		case "replicas":
			if replicas, err = ReplicasIn(o.Value); err == nil && replicas == 0 {
				err = CheckReplicas(replicas)
			}
		default:
			err = UnknownParameter(o.Name)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return placed, replicas, nil
}
