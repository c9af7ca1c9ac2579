// Package auth turns bearer tokens into callers. A token is a JWT (RFC 7519): sub is the user's id,
// scope a space-separated list of what it allows beyond the user's own inbox.
//
// Every refusal is an Unauthenticated error with one of a few constant messages. None holds any
// part of the token or of a key, so that all of them can be shown and logged.
package auth
