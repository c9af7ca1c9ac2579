package exposim

// Table says what the words in a token cause, as the package comment does, for people to read.
const Table = `Of one message, in its ticket:

  unregistered        an error ticket, DeviceNotRegistered, that names the token
  refused             an error ticket with a code that no document knows
  codeless            an error ticket without details
  exceeded            an error ticket, MessageRateExceeded
  status              a ticket whose status is neither ok nor error
  noid                an ok ticket without an id; the device gets the message

Of one message, in its receipt; the device does not get it:

  gone                DeviceNotRegistered
  big                 MessageTooBig
  rate                MessageRateExceeded
  mismatch            MismatchSenderId
  credentials         InvalidCredentials
  developer           DeveloperError
  expo                ExpoError
  fcm                 ProviderError of FCM, as seen in the wild
  apns                ProviderError of Apple, as seen in the wild, with fields that no document knows
  strange             a code that no document knows
  lost                no receipt ever

Of a whole request, which is not taken:

  400                 VALIDATION_ERROR
  401                 {"error":"invalid_token",...}, without the key errors
  403                 UNAUTHORIZED
  413                 a page of HTML
  429                 TOO_MANY_REQUESTS, with Retry-After: 1
  reset               the connection is reset

Of a whole request that is taken all the same, so that who sends it again shows a message twice:

  500                 INTERNAL_SERVER_ERROR
  502, 503, 504       a page of HTML
  cut                 the connection is reset instead of an answer
  slow                the answer's first bytes, and then nothing
  html                200 with a page of HTML
  errors              200 with errors
  garbage             200 with half of a JSON document
  empty               200 with no body
  short, long         200 with one ticket too few, or too many
  array               200 with the tickets as a map, or the receipts as an array
`
