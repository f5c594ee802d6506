package noderpc

// ProtocolVersion is the protocol that this program speaks.
const ProtocolVersion = protocolVersion
