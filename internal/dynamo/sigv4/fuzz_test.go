package sigv4

import "testing"

// FuzzAuthorization sends arbitrary headers and queries. The verifier must reject them all, because
// the secret is not in the corpus.
func FuzzAuthorization(f *testing.F) {
	good, _ := example("/")
	f.Add(string(good.Get("Authorization")), "", "20261120T120000Z")
	f.Add("AWS4-HMAC-SHA256 Credential="+scope+",SignedHeaders="+signed+",Signature="+dummy, "", "20261120T120000Z")
	f.Add("AWS4-HMAC-SHA256 ,=,Signature=,,Credential=////", "", "")
	f.Add("", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=APPKEY%2F20261120%2Fap-northeast-1%2Fdynamodb%2Faws4_request"+
		"&X-Amz-Date=20261120T120000Z&X-Amz-SignedHeaders=host%3Bx-amz-date&X-Amz-Signature="+dummy, "20261120T120000Z")
	f.Add("", "X-Amz-Algorithm=%&%X-Amz-Date=%2", "x")
	v := NewVerifier(region, service, []Key{{"APPKEY", "another secret"}})
	f.Fuzz(func(t *testing.T, authorization, query, date string) {
		r := head("POST", "/a/../b?"+query, "Host: o", "X-Amz-Date: "+date)
		if authorization != "" {
			r.Fields = append(r.Fields, field("Authorization", authorization))
		}
		if _, err := v.Verify(r, nil, noon); err == nil {
			t.Errorf("verified %q %q %q", authorization, query, date)
		} else if err.Type == "" || err.Message == "" {
			t.Errorf("error without type or message: %#v", err)
		}
	})
}
