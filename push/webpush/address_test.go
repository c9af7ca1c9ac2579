package webpush

import (
	"errors"
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	t.Parallel()
	for _, public := range []string{
		"8.8.8.8", "142.250.1.95", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "198.20.0.0",
		"2606:4700::1111", "2a00:1450:4001::95", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	} {
		if !isPublic(netip.MustParseAddr(public)) {
			t.Errorf("%s is refused", public)
		}
	}
	for _, special := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "2606:4700::1111%eth0", "fc00::1", "fd00:ec2::254", "fec0::1",
		"ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::", "3fff::1", "100::1", "4000::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
		"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
	} {
		if isPublic(netip.MustParseAddr(special)) {
			t.Errorf("%s is let through", special)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]error{
		"8.8.8.8:443": nil, "[2606:4700::1111]:443": nil,
		"127.0.0.1:443": errAddress, "[::1]:443": errAddress, "[fe80::1%lo]:443": errAddress, "/run/x.sock": errAddress, "": errAddress,
	} {
		if err := checkAddress(t.Context(), "tcp", address, nil); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", address, err, want)
		}
	}
}
