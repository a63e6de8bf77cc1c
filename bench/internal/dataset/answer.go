package dataset

// AppendGetAnswer appends the answer to AppendGet's request.
func (s Set) AppendGetAnswer(dst []byte, i int) []byte {
	dst = append(dst, `{"Item":`...)
	dst = s.AppendItem(dst, i)
	return append(dst, '}')
}

// GetAnswerLen returns the length of AppendGetAnswer's text, in any order of the attributes.
func (s Set) GetAnswerLen(i int) int { return len(`{"Item":}`) + s.ItemLen(i) }

// AppendQueryAnswer appends the answer to AppendQuery's request.
func (s Set) AppendQueryAnswer(dst []byte, i int) []byte {
	dst = append(dst, `{"Count":10,"Items":[`...)
	first := i / PerPartition * PerPartition
	for k := range PerPartition {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = s.AppendItem(dst, first+k)
	}
	return append(dst, `],"ScannedCount":10}`...)
}

// AppendBatchAnswer appends the answer to a BatchGetItem of the numbered items.
func (s Set) AppendBatchAnswer(dst []byte, numbers []int) []byte {
	dst = append(dst, `{"Responses":{"`...)
	dst = append(dst, s.Table...)
	dst = append(dst, `":[`...)
	for k, i := range numbers {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = s.AppendItem(dst, i)
	}
	return append(dst, `]},"UnprocessedKeys":{}}`...)
}
