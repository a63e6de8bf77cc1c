package shape

// Requests of DynamoDB Streams.

var (
	streamARN = text(37, 1024)
	shardID   = text(28, 65)
)

func listStreams() *shape {
	return structure("ListStreamsInput",
		member("Limit", pageOfHundred),
		member("ExclusiveStartStreamArn", streamARN),
		member("TableName", someTable))
}

func describeStream() *shape {
	return structure("DescribeStreamInput",
		required("StreamArn", streamARN),
		member("Limit", pageOfHundred),
		member("ExclusiveStartShardId", shardID),
		member("ShardFilter", structure("ShardFilter",
			required("Type", enumOf("CHILD_SHARDS")),
			required("ShardId", shardID))))
}

func getShardIterator() *shape {
	return structure("GetShardIteratorInput",
		required("ShardId", shardID),
		required("ShardIteratorType", enumOf("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")),
		required("StreamArn", streamARN),
		member("SequenceNumber", text(21, 40)))
}

func getRecords() *shape {
	return structure("GetRecordsInput",
		required("ShardIterator", text(1, 2048)),
		member("Limit", number(integerKind, 1, 1000)))
}
