// Package inbox is Belfry's domain: the types, rules, positions and error codes that every other
// package speaks. It imports the standard library alone.
package inbox
