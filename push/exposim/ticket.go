package exposim

import (
	"encoding/binary"
	"encoding/hex"
	"time"
)

// outcome is what becomes of one message, as its token's last word says.
type outcome struct {
	word string
	// ticket is the ticket where it is not an ok one with an id; %s is the token.
	ticket string
	// receipt is the receipt where it is not an ok one; "" for one that never appears.
	receipt string
	// reaches says that the device gets the message.
	reaches bool
}

// outcomes has all outcomes; the first is that of a token that asks for none. A ticket's id holds the index.
var outcomes = []outcome{
	{reaches: true, receipt: `{"status":"ok"}`},
	{word: "unregistered", ticket: `{"status":"error","message":"\"%s\" is not a registered push notification recipient",` +
		`"details":{"error":"DeviceNotRegistered","expoPushToken":"%s"}}`},
	{word: "refused", ticket: `{"status":"error","message":"The moon is full.","details":{"error":"FullMoon"}}`},
	{word: "codeless", ticket: `{"status":"error","message":"Something went wrong."}`},
	{word: "exceeded", ticket: errorReceipt("MessageRateExceeded")},
	{word: "status", ticket: `{"status":"pondering","id":"00000000-0000-7000-8000-000000000000"}`},
	{word: "noid", ticket: `{"status":"ok"}`, reaches: true},
	{word: "gone", receipt: errorReceipt("DeviceNotRegistered")},
	{word: "big", receipt: errorReceipt("MessageTooBig")},
	{word: "rate", receipt: errorReceipt("MessageRateExceeded")},
	{word: "mismatch", receipt: errorReceipt("MismatchSenderId")},
	{word: "credentials", receipt: errorReceipt("InvalidCredentials")},
	{word: "developer", receipt: errorReceipt("DeveloperError")},
	{word: "expo", receipt: errorReceipt("ExpoError")},
	{word: "fcm", receipt: `{"status":"error","message":"There was an unknown error with the FCM server.",` +
		`"details":{"error":"ProviderError","fault":"fcm","fcm":{"error":"MismatchSenderId"}}}`},
	{word: "apns", receipt: `{"status":"error","message":"The Apple Push Notification service unexpectedly dropped the connection.` +
		` Retry sending the notification later.","messageEnum":1004,"messageParamValues":[],"details":{"error":"ProviderError",` +
		`"errorCodeEnum":1,"sentAt":1749587690},"__debug":{"internalError":"stream closed"}}`},
	{word: "strange", receipt: errorReceipt("FullMoon")},
	{word: "lost"},
}

// tooBig is the index of the outcome of a message that is too big.
const tooBig = 8

func errorReceipt(code string) string {
	return `{"status":"error","message":"A message of the simulator.","details":{"error":"` + code + `"}}`
}

// outcomeByWord is where a word stands in outcomes.
var outcomeByWord = func() map[string]byte {
	byWord := make(map[string]byte, len(outcomes))
	for i, o := range outcomes {
		byWord[o.word] = byte(i) //nolint:gosec // there are not 256
	}
	return byWord
}()

// issuer makes the ids of tickets. An id is a UUIDv7 that holds all there is to know about its receipt: when
// the message was taken, and its outcome. So a simulator keeps nothing for receipts, however many messages
// a benchmark sends; its run's random bytes keep it from knowing the ids of another.
type issuer struct {
	run   [3]byte
	count uint32
}

func (i *issuer) issue(at time.Time, outcome byte) string {
	i.count++
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16) //nolint:gosec // not before 1970
	id[6], id[7] = 0x70, outcome
	id[8] = 0x80
	copy(id[9:12], i.run[:])
	binary.BigEndian.PutUint32(id[12:], i.count)
	var text [36]byte
	hex.Encode(text[:], id[:4])
	hex.Encode(text[9:], id[4:6])
	hex.Encode(text[14:], id[6:8])
	hex.Encode(text[19:], id[8:10])
	hex.Encode(text[24:], id[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// read returns what an id holds, and whether it is one that was issued.
func (i *issuer) read(text string) (at time.Time, outcome byte, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return time.Time{}, 0, false
	}
	var id [16]byte
	if _, err := hex.Decode(id[:], []byte(text[:8]+text[9:13]+text[14:18]+text[19:23]+text[24:])); err != nil {
		return time.Time{}, 0, false
	}
	ok = id[6] == 0x70 && int(id[7]) < len(outcomes) && id[8] == 0x80 && [3]byte(id[9:12]) == i.run &&
		binary.BigEndian.Uint32(id[12:]) <= i.count
	ms := binary.BigEndian.Uint64(id[:8]) >> 16
	return time.UnixMilli(int64(ms)), id[7], ok //nolint:gosec // of 48 bits
}
