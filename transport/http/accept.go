package http

import (
	"net/http"
	"strconv"
	"strings"
)

// The media types of an answer that ends.
const (
	// JSON is what every client takes: 200 whenever the request could be read, whatever came of it.
	JSON = "application/json"
	// ResponseJSON tells by its status whether the document was executed.
	ResponseJSON = "application/graphql-response+json"
)

// Accept is what a client takes, as its Accept header says (RFC 9110, section 12.5.1).
type Accept []mediaRange

type mediaRange struct {
	name    string // in lower case: a/b, a/* or */*
	quality float64
}

// ParseAccept reads a request's Accept header. One that is missing or blank takes everything; what can't
// be understood is passed over.
func ParseAccept(header http.Header) Accept {
	var ranges Accept
	isBlank := true
	for _, value := range header.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			isBlank = isBlank && name == ""
			if quality, ok := parseQuality(params); ok && strings.Contains(name, "/") {
				ranges = append(ranges, mediaRange{name, quality})
			}
		}
	}
	if isBlank {
		return Accept{{"*/*", 1}}
	}
	return ranges
}

// parseQuality finds the weight among the parameters of a media range. The others say nothing here: all
// that we send is UTF-8.
func parseQuality(params string) (quality float64, ok bool) {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		quality, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		// Not a number is no number between 0 and 1 either.
		return quality, err == nil && quality >= 0 && quality <= 1
	}
	return 1, true
}

// Quality returns how much a media type is wanted, from 0, not at all, to 1, and whether it is named
// itself. The most specific range decides, as the RFC has it: "*/*, application/json;q=0" takes no JSON.
func (a Accept) Quality(mediaType string) (quality float64, isNamed bool) {
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, name := range []string{mediaType, kind + "/*", "*/*"} {
		found := false
		for _, r := range a {
			if r.name == name {
				found, quality = true, max(quality, r.quality)
			}
		}
		if found {
			return quality, name == mediaType
		}
	}
	return 0, false
}

// JSON returns the one of our two JSON types that is wanted more, "" where neither is. Of two that are
// wanted alike it is ResponseJSON where that is named: who only takes everything may not know it.
func (a Accept) JSON() string {
	newer, isNamed := a.Quality(ResponseJSON)
	older, _ := a.Quality(JSON)
	switch {
	case newer == 0 && older == 0:
		return ""
	case newer > older, newer == older && isNamed:
		return ResponseJSON
	}
	return JSON
}
