package sigv4

func incomplete(message string) *Error { return &Error{"IncompleteSignatureException", message} }

func invalid(message string) *Error { return &Error{"InvalidSignatureException", message} }

func unsigned(header string) *Error {
	return invalid("'" + header + "' must be a 'SignedHeader' in the AWS Authorization.")
}

func badCredential(c *claim) *Error {
	return incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '" + string(c.credential) + "'")
}

func badDate(c *claim) *Error {
	return incomplete("Date must be in ISO-8601 'basic format'. Got '" + string(c.date) + "'. See http://en.wikipedia.org/wiki/ISO_8601")
}

func badAlgorithm(c *claim) *Error {
	return incomplete("Unsupported AWS 'algorithm': '" + string(c.algorithm) + "' (only " + algorithm + " for now). ")
}

func mismatch() *Error {
	return invalid("The request signature we calculated does not match the signature you provided. " +
		"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
}
