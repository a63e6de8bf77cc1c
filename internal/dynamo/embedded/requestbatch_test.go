package embedded

import (
	"fmt"
	"strings"
	"testing"
)

// repeated joins n copies of a text, in which % is replaced by the number.
func repeated(n int, text string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(text, "%", fmt.Sprint(i))
	}
	return strings.Join(list, ",")
}

func TestParseBatchGetItemFaults(t *testing.T) {
	const key, other = `{"a":{"S":"x"}}`, `{"a":{"S":"y"}}`
	const tooMany = "Too many items requested for the BatchGetItem call"
	const twice = "Provided list of item keys contains duplicates"
	expectFaultsInOrder(t, "BatchGetItem", `"ReturnConsumedCapacity":"TOTAL"`,
		fault{`"RequestItems":{"abc":{"Keys":[` + repeated(60, key) + `],"AttributesToGet":["a","a"],"ProjectionExpression":""},
			"xyz":{"Keys":[` + repeated(41, key) + `]}}`, tooMany},
		fault{`"RequestItems":{"abc":{"Keys":[{"a":{}}],"AttributesToGet":["a","a"],"ProjectionExpression":""}}`,
			mixed + "{AttributesToGet} Expression parameters: {ProjectionExpression}"},
		fault{`"RequestItems":{"abc":{"Keys":[{"a":{}}],"AttributesToGet":["a","a"]},"xyz":{"Keys":[{"a":{}}],"ProjectionExpression":""}}`,
			mixed + "{AttributesToGet} Expression parameters: {ProjectionExpression}"},
		fault{`"RequestItems":{"abc":{"Keys":[{"a":{}}],"ExpressionAttributeNames":{}}}`, namesAlone},
		fault{`"RequestItems":{"abc":{"Keys":[` + key + `,{"a":{}}],"ProjectionExpression":""}}`, noType},
		fault{`"RequestItems":{"abc":{"Keys":[` + key + `,` + key + `],"AttributesToGet":["a","a"]}}`, duplicateA},
		fault{`"RequestItems":{"abc":{"Keys":[` + key + `,` + key + `],"ProjectionExpression":"","ExpressionAttributeNames":{}}}`, noNames},
		fault{`"RequestItems":{"abc":{"Keys":[` + key + `,` + key + `],"ProjectionExpression":""}}`, "Invalid ProjectionExpression: The expression can not be empty;"},
		fault{`"RequestItems":{"abc":{"Keys":[` + key + `,` + key + `],"ProjectionExpression":"b","ExpressionAttributeNames":{"#u":"a"}}}`, nameUnused},
		fault{`"RequestItems":{"abc":{"Keys":[` + key + `,` + key + `]},"xyz":{"Keys":[` + key + `],"ProjectionExpression":"b","ExpressionAttributeNames":{"#u":"a"}}}`, nameUnused},
		fault{`"RequestItems":{"abc":{"Keys":[` + key + `,` + other + `,` + key + `]}}`, twice},
	)
	f := expectRefused(t, "BatchGetItem")
	f(`{"RequestItems":{"abc":{"Keys":[{"a":{"S":"x"},"b":{"N":"1"}},{ "b" : {"N":"1"}, "\u0061":{"S":"\u0078"} }]}}}`, twice)
	f(`{"RequestItems":{"abc":{"Keys":[`+key+`,{"a":{"N":null,"\u0053":"x","Unknown":1}}]}}}`, twice)
	f(`{"RequestItems":{"abc":{"Keys":[{"a":{"N":"1"}},{"a":{"S":null,"\u004e":"\u0031"}}]}}}`, twice)
	f(`{"RequestItems":{"abc":{"Keys":[`+key+`]},"xyz":{"Keys":[{"b":{"B":"AA=="}},`+key+`,{"b":{"B":"AA=="}}]}}}`, twice)
	g := expectAccepted(t, "BatchGetItem")
	g(`{"RequestItems":{"abc":{"Keys":[{"a":{"N":"1"}},{"a":{"N":"1.0"}}]}}}`)
	g(`{"RequestItems":{"abc":{"Keys":[{"a":{"N":"1"}},{"a":{"\u004e":"1.0"}}]}}}`)
	g(`{"RequestItems":{"abc":{"Keys":[{"a":{"S":"1"}},{"a":{"N":"1"}},{"b":{"S":"1"}}]}}}`)
	g(`{"RequestItems":{"abc":{"Keys":[` + key + `]},"xyz":{"Keys":[` + key + `]}}}`)
	g(`{"RequestItems":{"abc":{"Keys":[` + repeated(60, `{"a":{"N":"%"}}`) + `]},"xyz":{"Keys":[` + repeated(40, `{"a":{"N":"%"}}`) + `]}}}`)
}

func TestParseBatchGetItem(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/xyz"
	r := mustParse(t, "BatchGetItem", parseBatchGetItem, `{"RequestItems":{"abc":{"Keys":[{},{}]},"`+arn+`":{"Unknown":1,"Keys":[ {"a":{"N":"1.0"}} , {"b":{"S":"x"}}],
		"ProjectionExpression":"#a","ConsistentRead":true,"ExpressionAttributeNames":{"#a":"b"}},"abc":{"AttributesToGet":null,"Keys":[{}]}},
		"ReturnConsumedCapacity":"INDEXES"}`)
	if len(r.Tables) != 2 || r.Capacity != capacityIndexes {
		t.Fatalf("got %+v", r)
	}
	first, second := r.Tables[0], r.Tables[1]
	if first.Table != "abc" || len(first.Keys) != 1 || first.Consistent || first.Projection != nil || len(first.Rest) != 0 {
		t.Errorf("got %+v", first)
	}
	if second.Table != "xyz" || second.Named != arn || !second.Consistent || fmt.Sprint(second.Projection) != "[[b]]" {
		t.Errorf("got %+v", second)
	}
	if a, b := attributesText(&second.Keys[0]), string(second.KeyTexts[0]); a != `{"a":{"N":"1"}}` || b != `{"a":{"N":"1.0"}}` {
		t.Errorf("got %s, %s", a, b)
	}
	if rest := string(second.Rest); rest != `,"ProjectionExpression":"#a","ExpressionAttributeNames":{"#a":"b"},"ConsistentRead":true` {
		t.Error("got", rest)
	}
}

func TestParseBatchWriteItemFaults(t *testing.T) {
	large := `{"PutRequest":{"Item":{"a":{"S":"` + strings.Repeat("x", maxItem) + `"}}}}`
	const put, del = `"PutRequest":{"Item":{"a":{}}}`, `"DeleteRequest":{"Key":{"a":{"N":"x"}}}`
	const notNumber = "The parameter cannot be converted to a numeric value: x"
	expectFaultsInOrder(t, "BatchWriteItem", `"ReturnConsumedCapacity":"TOTAL"`,
		fault{`"RequestItems":{"abc":[` + repeated(13, `{}`) + `],"xyz":[` + repeated(13, `{}`) + `]}`,
			"Too many items requested for the BatchWriteItem call"},
		fault{`"RequestItems":{"abc":[{}]}`, noType},
		fault{`"RequestItems":{"abc":[{` + put + `,` + del + `}]}`, manyTypes},
		fault{`"RequestItems":{"abc":[{` + del + `}]}`, notNumber},
		fault{`"RequestItems":{"abc":[` + large + `,{` + del + `}]}`, errItemSize.Message},
	)
	f := expectRefused(t, "BatchWriteItem")
	f(`{"RequestItems":{"abc":[{`+put+`},{`+put+`,`+del+`}]}}`, noType)
	f(`{"RequestItems":{"abc":[{`+del+`},{`+put+`,`+del+`}]}}`, notNumber)
	f(`{"RequestItems":{"abc":[{`+del+`}],"xyz":[{}]}}`, notNumber)
	expectAccepted(t, "BatchWriteItem")(`{"RequestItems":{"abc":[` + repeated(13, `{"DeleteRequest":{"Key":{}}}`) + `],"xyz":[` + repeated(12, `{"PutRequest":{"Item":{}}}`) + `]}}`)
}

func TestParseBatchWriteItem(t *testing.T) {
	r := mustParse(t, "BatchWriteItem", parseBatchWriteItem, `{"RequestItems":{"abc":[ {"PutRequest":{"Item":{"a":{"N":"1.0"}}}} ,
		{"PutRequest":null,"DeleteRequest":{"Key":{"b":{"S":"x"}}}}],"xyz":[{"DeleteRequest":{"Key":{}}}]},
		"ReturnItemCollectionMetrics":"SIZE","ReturnConsumedCapacity":"TOTAL"}`)
	if len(r.Tables) != 2 || r.Capacity != capacityTotal || !r.Metrics {
		t.Fatalf("got %+v", r)
	}
	var got []string
	for _, table := range r.Tables {
		for i, w := range table.Writes {
			got = append(got, fmt.Sprint(table.Table, table.Named, w.Table, w.Named, w.Kind, attributesText(&w.Item), string(table.Texts[i])))
		}
	}
	want := []string{
		`abcabcabcabc1{"a":{"N":"1"}}{"PutRequest":{"Item":{"a":{"N":"1.0"}}}}`,
		`abcabcabcabc3{"b":{"S":"x"}}{"PutRequest":null,"DeleteRequest":{"Key":{"b":{"S":"x"}}}}`,
		`xyzxyzxyzxyz3{}{"DeleteRequest":{"Key":{}}}`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
