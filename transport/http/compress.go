package http

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// compressFrom is the size from which an answer is compressed, in bytes: a smaller one fits into a packet.
const compressFrom = 1024

// compress has an answer sent as gzip to clients that take it. Streams do not come through here.
var compress = func() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.EnableZstd(false),
		gzhttp.ContentTypes([]string{JSON, ResponseJSON}))
	if err != nil {
		panic(err) // for options that contradict each other
	}
	return wrap
}()
