// Package scalar turns the schema's own scalars into Go values and back.
package scalar
