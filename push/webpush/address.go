package webpush

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errAddress is a host that stands at an address which is none of the public internet's.
var errAddress = errors.New("address is not public")

// checkAddress refuses to connect to what is not on the public internet. It sees the address that is
// dialled, after the look-up: a name that was checked before could since point elsewhere.
func checkAddress(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", errAddress, err)
	}
	if !isPublic(ap.Addr()) {
		return errAddress
	}
	return nil
}

// special is what IANA's special-purpose registries hold of the unicast space (RFC 6890 and its updates),
// beside what netip has a method for, and what wraps an IPv4 address that a gateway would unwrap.
var special = parsePrefixes(
	"0.0.0.0/8",       // this network
	"100.64.0.0/10",   // carrier-grade NAT, and some clouds' metadata
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved, and broadcast
	"2001::/23",       // protocol assignments, Teredo among them
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4
	"3fff::/20",       // documentation
)

var (
	// global is all of IPv6 that has been given out.
	global = netip.MustParsePrefix("2000::/3")
	// nat64 is how a host without IPv4 reaches it (RFC 6052); its last four bytes are the address.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

func parsePrefixes(texts ...string) []netip.Prefix {
	prefixes := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		prefixes[i] = netip.MustParsePrefix(text)
	}
	return prefixes
}

func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() && !global.Contains(a) || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, prefix := range special {
		if prefix.Contains(a) {
			return false
		}
	}
	return true
}
