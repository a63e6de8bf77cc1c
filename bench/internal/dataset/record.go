package dataset

import "strconv"

// RecordsPerPartition is the number of records in a partition: record i has
// partition key i/RecordsPerPartition and sort key i%RecordsPerPartition.
const RecordsPerPartition = 25

// Records is the table for comparing stores: items of about 1 KB, as DynamoDB counts it.
const Records = "records"

// recordBulk is the length of a record's large attribute.
const recordBulk = 1000

// AppendRecordKey appends the key of record i.
func AppendRecordKey(dst []byte, i int) []byte {
	dst = append(dst, `{"pk":{"S":"`...)
	dst = appendRecordPartition(dst, i)
	n := i % RecordsPerPartition
	return append(dst, `"},"sk":{"S":"s`+string([]byte{byte('0' + n/10), byte('0' + n%10)})+`"}}`...)
}

func appendRecordPartition(dst []byte, i int) []byte {
	return appendPadded(append(dst, 'r'), i/RecordsPerPartition)
}

// AppendRecord appends record i.
func AppendRecord(dst []byte, i int) []byte {
	dst = AppendRecordKey(dst, i)
	dst = append(dst[:len(dst)-1], `,"n":{"N":"`...)
	dst = strconv.AppendInt(dst, int64(100_000_000+i), 10)
	dst = append(dst, `"},"bulk":{"S":"`...)
	start := int(hash(i) >> 40 % (textLen - recordBulk))
	dst = append(dst, text[start:start+recordBulk]...)
	return append(dst, `"}}`...)
}

// recordHead is the start of a request's body.
const recordHead = `{"TableName":"` + Records + `",`

// AppendRecordGet appends the body of a GetItem for record i.
func AppendRecordGet(dst []byte, i int) []byte {
	dst = append(dst, recordHead+`"Key":`...)
	return append(AppendRecordKey(dst, i), '}')
}

// AppendRecordPut appends the body of a PutItem for record i.
func AppendRecordPut(dst []byte, i int) []byte {
	dst = append(dst, recordHead+`"Item":`...)
	return append(AppendRecord(dst, i), '}')
}

// AppendRecordQuery appends the body of a Query for the partition of record i.
func AppendRecordQuery(dst []byte, i int) []byte {
	dst = append(dst, recordHead+`"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"`...)
	return append(appendRecordPartition(dst, i), `"}}}`...)
}

// AppendRecordBatch appends the body of a BatchWriteItem that puts n records from
// i on.
func AppendRecordBatch(dst []byte, i, n int) []byte {
	dst = append(dst, `{"RequestItems":{"`+Records+`":[`...)
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"PutRequest":{"Item":`...)
		dst = append(AppendRecord(dst, i+k), `}}`...)
	}
	return append(dst, `]}}`...)
}

// AppendRecordQueryAnswer appends the answer to AppendRecordQuery's request.
func AppendRecordQueryAnswer(dst []byte, i int) []byte {
	dst = append(dst, `{"Items":[`...)
	first := i / RecordsPerPartition * RecordsPerPartition
	for k := range RecordsPerPartition {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = AppendRecord(dst, first+k)
	}
	return append(dst, `],"Count":25,"ScannedCount":25}`...)
}

// AppendRecordGetAnswer appends the answer to AppendRecordGet's request.
func AppendRecordGetAnswer(dst []byte, i int) []byte {
	return append(AppendRecord(append(dst, `{"Item":`...), i), '}')
}

// CreateRecords returns the body of a CreateTable for the table Records.
func CreateRecords() []byte { return Set{Table: Records}.CreateTable() }
