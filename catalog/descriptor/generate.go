package descriptor

// The compiled schema is used by tests only: they read what this package writes with protobuf's own reader.
//go:generate protoc --descriptor_set_out=testdata/descriptor.protoset descriptor.proto
