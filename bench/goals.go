package main

// goal is a goal of the project for one figure.
type goal struct {
	Name  string
	Value float64
	Bound float64
	Least bool // Bound is a minimum; otherwise a maximum
	Pass  bool
}

func (g goal) relation() string {
	if g.Least {
		return ">="
	}
	return "<="
}

// judge adds the goals for which there are measurements.
func (r *report) judge() {
	atMost := func(name string, value, bound float64) {
		if value > 0 {
			r.Goals = append(r.Goals, goal{Name: name, Value: value, Bound: bound, Pass: value <= bound})
		}
	}
	atLeast := func(name string, value, bound float64) {
		if value > 0 {
			r.Goals = append(r.Goals, goal{Name: name, Value: value, Bound: bound, Least: true, Pass: value >= bound})
		}
	}
	atMost("CPU of a GetItem hit, in floors", r.ratio(getHit, nameKasoku, cpu), 1.5)
	atMost("CPU of a GetItem hit with SigV4, in floors", r.ratio(getSigned, nameKasoku, cpu), 2.2)
	if kasoku, dynamo := r.ratio(getHit, nameKasoku, cpu), r.ratio(getHit, nameDynamo, cpu); dynamo > 0 {
		atMost("CPU of a GetItem hit, in DynamoDB Locals", kasoku/dynamo, 0.1)
	}
	if kasoku, dynamo := r.ratio(getHit, nameKasoku, throughput), r.ratio(getHit, nameDynamo, throughput); dynamo > 0 {
		atLeast("throughput of GetItem hits, in DynamoDB Locals", kasoku/dynamo, 8)
	}
	atMost("p50 of PutItem on 1 connection, in direct ones", r.ratio(putOne, nameKasoku, p50), 1.15)
	atMost("p50 of PutItem on 8 connections, in direct ones", r.ratio(putEight, nameKasoku, p50), 1.15)
	if row := r.find(sizeScenario, sizeName(5_000_000)); row != nil {
		atMost("CPU of a hit among 5 million items, in hits among 10 thousand", row.Columns[cpu].Ratio, 1.3)
	}
	atMost("bytes of an entry in addition to key and payload", r.overhead, 250)
	atMost("origin requests of 1,000 clients for one cold key", r.storm, 1)
	atMost("KiB of an idle connection", r.idle/1024, 12)
	atLeast("throughput of GetItem from the embedded store, in DynamoDB Locals", r.ratio(storeGet, nameEmbedded, throughput), 5)
	atMost("CPU of a GetItem from the embedded store, in DynamoDB Locals", r.ratio(storeGet, nameEmbedded, cpu), 0.1667)
	atLeast("throughput of durable PutItem, in DynamoDB Locals in memory", r.ratio(storePut, nameEmbedded, throughput), 3)
	atLeast("throughput of Query of 25 items, in DynamoDB Locals", r.ratio(storeQuery, nameEmbedded, throughput), 5)
	atMost("memory of the embedded store, in DynamoDB Locals", r.memory, 0.5)
	atMost("seconds of CPU to the first answer", r.start/1e9, 0.2)
	if row := r.find(startMemoryScenario, nameKasoku); row != nil {
		atMost("ms from the start of a store in memory to its first answer", row.Columns[p50].Value/1e6, 15)
		atMost("MB of an idle store in memory", row.Columns[rss].Value/1e6, 25)
	}
	if dynoxide := r.ratio(suiteScenario, nameDynoxide, p50); dynoxide > 0 {
		atMost("time of 50 tests in forks, in those of dynoxide", r.ratio(suiteScenario, nameForks, p50)/dynoxide, 1)
	}
	r.judgePlain()
	r.judgeDAX(atMost)
	r.judgeCaches(atMost)
	r.judgeThrough(atMost, atLeast)
	r.judgeTLS(atMost)
	r.judgeH2(atMost)
	r.judgeCouch(atLeast)
	r.judgeMemcached(atMost)
	r.judgeCluster(atMost, atLeast)
	r.judgeLogs()
	r.judgeObserved(atMost)
	r.judgeLoggers(atMost, atLeast)
}

// ratio returns a target's value of a column as a multiple of the reference's.
func (r *report) ratio(scenario, target string, column int) float64 {
	if row := r.find(scenario, target); row != nil {
		return row.Columns[column].Ratio
	}
	return 0
}
